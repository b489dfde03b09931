//! `/nodes/{node}/qemu`: virtual machines.

pub(crate) mod cloudinit;
pub(crate) mod drives;
pub(crate) mod list;
pub(crate) mod machine;
pub(crate) mod permission;
pub(crate) mod read;
pub(crate) mod update;

//! `/nodes/{node}/qemu`: virtual machines.

pub(crate) mod clone;
pub(crate) mod cloudinit;
pub(crate) mod create;
pub(crate) mod destroy;
pub(crate) mod drives;
pub(crate) mod feature;
pub(crate) mod list;
pub(crate) mod machine;
pub(crate) mod move_disk;
pub(crate) mod permission;
pub(crate) mod read;
pub(crate) mod resize;
pub(crate) mod restore;
pub(crate) mod template;
pub(crate) mod update;

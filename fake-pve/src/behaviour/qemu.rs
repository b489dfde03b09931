//! `/nodes/{node}/qemu`: virtual machines.

pub(crate) mod list;
pub(crate) mod read;

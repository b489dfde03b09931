//! `/nodes/{node}/lxc`: containers.

pub(crate) mod change;
pub(crate) mod clone;
pub(crate) mod create;
pub(crate) mod list;
pub(crate) mod move_volume;
pub(crate) mod permission;
pub(crate) mod read;
pub(crate) mod update;

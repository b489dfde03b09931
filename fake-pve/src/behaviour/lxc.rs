//! `/nodes/{node}/lxc`: containers.

pub(crate) mod list;
pub(crate) mod read;

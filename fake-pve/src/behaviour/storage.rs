//! `/storage` and `/nodes/{node}/storage`: definitions, what nodes see of them, and their volumes.

pub(crate) mod appliance;
pub(crate) mod config;
pub(crate) mod content;
pub(crate) mod download;
pub(crate) mod import;
pub(crate) mod node;
pub(crate) mod prune;
pub(crate) mod restore;
pub(crate) mod scan;
pub(crate) mod upload;
pub(crate) mod volume;

//! `/storage` and `/nodes/{node}/storage`: definitions, what nodes see of them, and their volumes.

pub(crate) mod config;

//! pvemcp: an MCP server for the whole Proxmox VE API, with gates.

pub mod config;
pub mod error;
pub mod policy;
pub mod pve;
pub mod redact;
#[cfg(feature = "rehearse")]
pub mod rehearse;

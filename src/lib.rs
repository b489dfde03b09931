//! pvemcp: an MCP server for the whole Proxmox VE API, with gates.
//!
//! # Map
//! - [`config`] reads the environment into settings. [`server`] is what one process shares.
//! - [`mcp`] speaks MCP; [`mcp::stdio`] and [`http`] carry it; [`call`] is the way in from the shell, [`doctor`] looks at the settings. All of them come to
//!   [`server::Server::call`].
//! - [`tools`] are values in a registry; a tool knows no gate. Whatever one sends goes through `Ctx::api` or `Ctx::ssh`.
//! - [`tools::confirm`] asks a person before something destructive; [`policy::confirm`] keeps what was asked.
//! - [`policy`] decides and makes permits; [`pve`] and [`ssh`] do what has one. There is no other way out.
//! - [`redact`] decides what may be shown of requests, answers and errors.

pub mod call;
pub mod catalog;
pub mod config;
pub mod console;
pub mod doctor;
pub mod error;
pub mod http;
pub mod list_tools;
pub mod mcp;
pub mod policy;
pub mod pve;
pub mod redact;
#[cfg(feature = "rehearse")]
pub mod rehearse;
pub mod server;
pub mod ssh;
pub mod tools;

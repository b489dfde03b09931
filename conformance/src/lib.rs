//! Drives every tool of pvemcp against the fakes, over MCP, and looks at what reached the cluster.
//!
//! [`Session`] is a small MCP client of its own (JSON lines), so that the server is not judged by its own library.
//! [`Stage`] is one cluster with one server in front of it; each trial has its own. [`trial`] says what must hold for
//! every tool; `tests/trials.rs` runs it for each one by name, and the program `conformance run` for any server.

pub mod clients;
pub mod cluster;
pub mod effect;
pub mod expected;
pub mod fixtures;
pub mod over_ssh;
pub mod prerequisites;
pub mod report;
pub mod serve;
pub mod session;
pub mod stage;
pub mod trial;
pub mod workflow;

pub use session::Session;
pub use stage::{Gates, Stage, Subject};

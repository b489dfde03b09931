//! The SSH of a fake cluster's nodes, over SSH.

mod client;
mod commands;
mod containers;
mod replay;

//! fake-pve from outside: over HTTPS, the way clients see it.

mod access;
mod client;
mod cluster;
mod generic;
mod import;
mod pipeline;
mod program;
mod raw;
mod replay;
mod tasks;
mod walk;
mod wire;

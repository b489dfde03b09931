//! fake-pve from outside: over HTTPS, the way clients see it.

mod access;
mod client;
mod cluster;
mod fetch;
mod generic;
mod import;
mod pipeline;
mod program;
mod replay;
mod storage;
mod tasks;
mod upload;
mod volumes;
mod walk;

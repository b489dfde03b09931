//! fake-pve from outside: over HTTPS, the way clients see it.

mod access;
mod agent;
mod bulk;
mod client;
mod cluster;
mod console;
mod generic;
mod import;
mod lxc;
mod migrate;
mod pipeline;
mod power;
mod program;
mod qemu;
mod raw;
mod replay;
mod snapshot;
mod statistics;
mod task;
mod tasks;
mod walk;
mod wire;

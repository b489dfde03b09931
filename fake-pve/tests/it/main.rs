//! fake-pve from outside: over HTTPS, the way clients see it.

mod access;
mod client;
mod cluster;
mod generic;
mod import;
mod lxc;
mod pipeline;
mod program;
mod qemu;
mod replay;
mod tasks;
mod walk;

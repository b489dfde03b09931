//! fake-pve from outside: over HTTPS, the way clients see it.

mod access;
mod client;
mod cluster;
mod generic;
mod pipeline;
mod power;
mod program;
mod task;
mod tasks;
mod walk;

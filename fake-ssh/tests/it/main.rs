//! The SSH of a fake cluster's nodes, over SSH.

mod client;
mod commands;
mod confinement;
mod containers;
mod faults;
mod files;
mod program;
mod replay;
mod timing;

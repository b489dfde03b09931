//! The tools over SSH, against the nodes of a fake cluster and a real sshd.

mod guests;
mod node_files;
mod nodes;
mod place;
mod terminals;

//! SSH, against real counterparts: OpenSSH's sshd and agent, and the shells that command lines end up in.

mod answering;
mod clock;
mod files;
mod hosts;
mod login;
mod policy;
mod programs;
mod quoting;
mod running;
mod settings;
pub mod sshd;
mod terminals;
mod tools;

//! Integration tests of pvemcp: one binary, one file per subject.

mod against_fake;
mod client;
mod config;
mod house;
mod policy;
mod readme;
mod redaction;
mod scripted;
mod tasks;
mod tls;

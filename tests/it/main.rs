//! Integration tests of pvemcp: one binary, one file per subject.

mod against_fake;
mod aliases;
mod arguments;
mod catalog_commands;
mod catalogue;
mod client;
mod command_line;
mod config;
mod confirm;
mod doctor;
mod files;
mod gates;
mod generic;
mod guest_config;
mod house;
mod http;
mod jobs;
mod policy;
mod readme;
mod redaction;
mod registry;
#[cfg(feature = "rehearse")]
mod rehearse;
mod scripted;
mod search;
mod served;
mod session;
mod ssh;
mod ssh_tools;
mod stdio;
mod surface;
mod tags;
mod tasks;
mod tls;
mod whole;
mod workflows;

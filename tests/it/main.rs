//! Integration tests of pvemcp: one binary, one file per subject.

mod config;
mod house;
mod policy;
mod readme;

//! The generic tools: five that reach the whole API under the same policy as the generated ones.

pub mod describe;
mod filter;
mod group;
pub mod index;
pub mod info;
pub(crate) mod line;
mod path;
pub mod read;
pub mod search;
mod subject;
mod words;
pub mod write;

/// Their toolset.
pub const DOMAINS: &[&str] = &["api"];

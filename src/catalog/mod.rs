//! `pvemcp catalog import|diff|show`: the API of other Proxmox versions as files, what an upgrade changes, and everything
//! about one method.

mod diff;
mod import;
mod show;
mod source;

use std::io;
use std::path::PathBuf;

use pve_catalog::import::ImportError;
use pve_catalog::imported::ImportedError;

pub use diff::diff;
pub use import::{Import, import};
pub use show::show;
pub use source::open;

use crate::config::ConfigError;
use crate::error::Fault;

/// Why one of them failed.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// A file cannot be read.
    #[error("{0}: {1}")]
    Read(PathBuf, String),
    /// A document is none.
    #[error("{0}: {1}")]
    Document(String, ImportError),
    /// Facts are not used.
    #[error("{0}: {1}")]
    Facts(String, ImportedError),
    /// A file cannot be written.
    #[error("cannot write {0}: {1}")]
    Write(PathBuf, io::Error),
    /// A node does not give its document.
    #[error("{0}")]
    Node(Fault),
    /// The settings for reaching a node are wrong.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Settings(Vec<ConfigError>),
    /// Something on the command line.
    #[error("{0}")]
    Usage(String),
}

//! `pvemcp catalog import --from FILE --to FILE`: an `apidoc.js` as facts, one method per line.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pve_catalog::import::{self, ImportError};

/// Why an import failed.
#[derive(Debug, thiserror::Error)]
pub enum CatalogImportError {
    /// The document cannot be read.
    #[error("cannot read {0}: {1}")]
    Read(PathBuf, io::Error),
    /// The document is none.
    #[error("{0}: {1}")]
    Document(PathBuf, ImportError),
    /// The facts cannot be written.
    #[error("cannot write {0}: {1}")]
    Write(PathBuf, io::Error),
}

/// Reads, converts, writes; returns how many methods there are. The same document always gives the same file.
///
/// # Errors
/// When a file cannot be read or written, or is no API document.
pub fn import(from: &Path, to: &Path) -> Result<usize, CatalogImportError> {
    let apidoc = fs::read_to_string(from).map_err(|error| CatalogImportError::Read(from.into(), error))?;
    let facts = import::read(&apidoc, import::Wanted::Facts)
        .map_err(|error| CatalogImportError::Document(from.into(), error))?;
    fs::write(to, import::to_jsonl(&facts)).map_err(|error| CatalogImportError::Write(to.into(), error))?;
    Ok(facts.len())
}

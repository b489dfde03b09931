//! `pvemcp catalog import --from FILE|https://node:8006 --to FILE`: an `apidoc.js` as facts, one method per line.

use std::fs;
use std::path::PathBuf;

use pve_catalog::Catalog;
use pve_catalog::import::{self, Wanted};
use pve_catalog::imported::version_line;

use super::{CatalogError, source};

/// What to import.
#[derive(Debug, Clone)]
pub struct Import {
    /// A file, or the address of a node.
    pub from: String,
    /// The file of facts to write.
    pub to: PathBuf,
    /// Whether Proxmox's own texts are kept.
    pub texts: bool,
    /// The version of Proxmox that the document is of; it does not say so itself.
    pub pve_version: Option<String>,
}

/// Reads, converts, looks whether the server would take it, writes. The same document always gives the same file.
///
/// # Errors
/// When something cannot be read or written, or is no API document.
pub async fn import(what: Import) -> Result<&'static Catalog, CatalogError> {
    let Import { from, to, texts, pve_version } = what;
    let header = pve_version.map(|version| version_line(&version)).transpose();
    let header = header.map_err(|problem| CatalogError::Usage(format!("--pve-version: {problem}")))?;
    let document = source::text(&from).await?;
    let wanted = if texts { Wanted::Texts } else { Wanted::Facts };
    let facts = import::read(&document, wanted).map_err(|error| CatalogError::Document(from.clone(), error))?;
    let lines = header.unwrap_or_default() + &import::to_jsonl(&facts);
    let catalog = Catalog::imported(&lines).map_err(|error| CatalogError::Facts(from, error))?;
    fs::write(&to, lines).map_err(|error| CatalogError::Write(to, error))?;
    Ok(catalog)
}

//! Where a catalogue comes from: this build, a file, or a node.

use std::path::Path;

use pve_catalog::Catalog;
use pve_catalog::import::{self, Wanted};

use super::CatalogError;
use crate::config::{Address, text_of_catalog};
use crate::console::note;
use crate::pve::fetch_apidoc;

/// The text of `https://node:8006` or of a file.
pub(super) async fn text(from: &str) -> Result<String, CatalogError> {
    if from.contains("://") {
        let (address, warnings) = Address::from_env(from).map_err(CatalogError::Settings)?;
        warnings.iter().for_each(|warning| note(&format!("warning: {warning}")));
        return fetch_apidoc(&address).await.map_err(CatalogError::Node);
    }
    text_of_catalog(Path::new(from)).map_err(|problem| CatalogError::Read(from.into(), problem))
}

/// The catalogue of this build (`embedded`), of a file (facts, or an `apidoc.js`), or of a node (`https://node:8006`).
///
/// # Errors
/// When it cannot be read, or holds no catalogue.
pub async fn open(from: &str) -> Result<&'static Catalog, CatalogError> {
    if from == "embedded" {
        return Ok(Catalog::embedded());
    }
    let text = text(from).await?;
    // Facts are one JSON object a line; a document begins with the name it is assigned to.
    let facts = match text.trim_start().starts_with('{') {
        true => text,
        false => {
            let facts = import::read(&text, Wanted::Texts);
            import::to_jsonl(&facts.map_err(|error| CatalogError::Document(from.into(), error))?)
        }
    };
    Catalog::imported(&facts).map_err(|error| CatalogError::Facts(from.into(), error))
}

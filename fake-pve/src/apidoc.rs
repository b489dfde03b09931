//! `/pve-docs/api-viewer/apidoc.js`: the document about the API that every node serves to anybody, made from the catalogue.

use std::sync::LazyLock;

use pve_catalog::{Catalog, document};

use crate::http::Reply;

/// Where every node serves it.
pub(crate) const PATH: &str = "/pve-docs/api-viewer/apidoc.js";

/// The data, then the beginning of a script: whoever reads the file must know where the data end.
static DOCUMENT: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let data = document::of(Catalog::embedded());
    format!("const apiSchema = {data}\n;\n\nlet fakeViewer = function() {{ return []; }};\n").into_bytes()
});

/// The document.
pub(crate) fn page() -> Reply {
    Reply::new(200, "OK", "application/javascript", DOCUMENT.clone())
}

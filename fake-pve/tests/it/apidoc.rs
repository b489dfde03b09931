//! The document about the API that a node serves.

use fake_pve::FakePve;
use pve_catalog::diff::Difference;
use pve_catalog::import::{self, Wanted};
use pve_catalog::{Catalog, Verb};

use crate::client::Api;

#[tokio::test]
async fn anybody_gets_the_document_and_it_is_the_catalogue() {
    let pve = FakePve::builder().start().await.expect("a cluster");
    let nobody = Api::anonymous(&pve);
    let url = format!("{}/pve-docs/api-viewer/apidoc.js", pve.url());
    let document = nobody.http.get(url).send().await.expect("an answer").text().await.expect("text");
    let facts = import::to_jsonl(&import::read(&document, Wanted::Facts).expect("the official form"));
    let imported = Catalog::imported(&facts).expect("sound facts");
    assert!(Difference::between(Catalog::embedded(), imported).is_empty());
    assert!(imported.get(Verb::Get, "/version").is_some());
}

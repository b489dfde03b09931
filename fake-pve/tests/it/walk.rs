//! Every method of the catalogue is known to the pipeline, and no call breaks the server.

use fake_pve::{FakePve, Level, coverage};
use pve_catalog::{Catalog, Verb, path};

use crate::client::Api;

#[tokio::test]
async fn every_get_is_answered_and_no_list_has_sample_rows() {
    let pve = FakePve::builder().start().await.expect("a cluster");
    let api = Api::root(&pve).await;
    for method in Catalog::embedded().methods().iter().filter(|method| method.verb == Verb::Get) {
        let value = |name: &str| {
            Some(match name {
                "node" => "pve1",
                "vmid" if method.path.contains("/lxc/") => "200",
                "vmid" => "100",
                "storage" => "local",
                "userid" => "root@pam",
                _ => "some1",
            })
        };
        let path = path::render(method.path, value).expect("a path");
        let got = api.get(&path).await;
        assert!(got.status != 401 && got.status != 403, "{} {}", method.key(), got.body);
    }
    for entry in pve.requests() {
        assert!(entry.template.is_some(), "{} {} found no template", entry.verb, entry.path);
        assert_ne!(entry.status, 501, "{} {}", entry.verb, entry.path);
    }
}

/// What answers, by level, with the number of methods. The two together are all: none is left to 501 or to a bare shape.
const LEVELS: [(Level, usize); 4] =
    [(Level::Behaviour, 645), (Level::Index, 35), (Level::Shape, 0), (Level::Unmodelled, 0)];

#[test]
fn every_method_answers() {
    let levels = coverage();
    let count = |level| levels.iter().filter(|(_, other)| *other == level).count();
    assert_eq!(LEVELS.map(|(level, _)| (level, count(level))), LEVELS);
    assert_eq!(levels.len(), Catalog::embedded().methods().len());
}

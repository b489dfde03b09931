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
        if entry.level == Level::Unmodelled {
            assert_eq!(entry.status, 501);
        }
    }
}

/// Methods that nothing models yet. The number may only shrink.
const UNMODELLED: usize = 7;

#[test]
fn coverage_does_not_shrink() {
    let levels = coverage();
    let count = |level| levels.iter().filter(|(_, other)| *other == level).count();
    let each = [Level::Behaviour, Level::Index, Level::Shape, Level::Unmodelled];
    println!("{:?}", each.map(|level| (level, count(level))));
    let open: Vec<&String> =
        levels.iter().filter(|(_, level)| *level == Level::Unmodelled).map(|(key, _)| key).collect();
    assert!(open.len() <= UNMODELLED, "{} methods are not modelled: {open:#?}", open.len());
}

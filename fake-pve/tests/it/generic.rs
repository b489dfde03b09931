//! What the catalogue alone answers: indexes and shapes, and never a success that changes nothing.

use fake_pve::{FakePve, Level, Scenario, coverage};
use pve_catalog::path;
use serde_json::json;

use crate::client::Api;

async fn node() -> (FakePve, Api) {
    let pve = FakePve::builder().scenario(Scenario::empty()).start().await.expect("a cluster");
    let api = Api::root_token(&pve);
    (pve, api)
}

#[tokio::test]
async fn folders_list_their_children() {
    let (_pve, api) = node().await;
    let got = api.get("/cluster").await;
    assert!(got.data().as_array().is_some_and(|items| items.contains(&json!({"name": "resources"}))));
    assert_eq!(api.get("/nodes/pve1/qemu/100").await.data()[0].as_object().map(|item| item.len()), Some(1));
}

#[tokio::test]
async fn nothing_pretends_to_change_what_it_does_not_model() {
    let (_pve, api) = node().await;
    let open = coverage().into_iter().filter(|(_, level)| *level == Level::Unmodelled).map(|(key, _)| key);
    for key in open {
        let (verb, template) = key.split_once(' ').expect("a verb and a path");
        let value = |name: &str| Some(if name == "node" { "pve1" } else { "100" });
        let path = path::render(template, value).expect("a path");
        let request = api.http.request(verb.parse().expect("a verb"), api.at(&path));
        let got = api.send(request).await;
        assert_ne!(got.status, 200, "{key}: {}", got.body);
    }
}

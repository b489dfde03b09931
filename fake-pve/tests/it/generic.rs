//! What the catalogue alone answers: collections, pairs of options, indexes, shapes.

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
async fn what_is_made_in_a_collection_can_be_read_changed_and_removed() {
    let (pve, api) = node().await;
    let entry = json!({"type": "graphite", "server": "192.0.2.1", "port": 2003, "disable": 1});
    assert_eq!(api.post("/cluster/metrics/server/graph", entry.clone()).await.status, 200);
    assert_eq!(api.post("/cluster/metrics/server/graph", entry).await.status, 500);
    let list = api.get("/cluster/metrics/server").await;
    assert_eq!((&list.data()[0]["id"], &list.data()[0]["port"]), (&json!("graph"), &json!(2003)));
    let shown = api.get("/cluster/metrics/server/graph").await;
    let digest = shown.data()["digest"].as_str().expect("a digest").to_string();
    let change = json!({"server": "192.0.2.2", "port": 2004, "delete": "disable", "digest": digest});
    assert_eq!(api.put("/cluster/metrics/server/graph", change.clone()).await.status, 200);
    let got = api.put("/cluster/metrics/server/graph", change).await;
    let text = "detected modified configuration - file changed by other user? Try again.";
    assert_eq!((got.status, got.refusal().1), (500, text));
    let shown = api.get("/cluster/metrics/server/graph").await;
    assert_eq!((&shown.data()["server"], &shown.data()["disable"]), (&json!("192.0.2.2"), &json!(null)));
    assert_eq!(api.delete("/cluster/metrics/server/graph").await.status, 200);
    assert_eq!(api.get("/cluster/metrics/server").await.data(), &json!([]));
    assert!(pve.requests().iter().all(|entry| entry.level == Level::Collection));
}

#[tokio::test]
async fn options_are_kept() {
    let (_pve, api) = node().await;
    let path = "/cluster/options";
    let got = api.put(path, json!({"keyboard": "de", "max_workers": 4})).await;
    assert_eq!(got.status, 200, "{}", got.body);
    let got = api.get(path).await;
    assert_eq!((&got.data()["keyboard"], &got.data()["max_workers"]), (&json!("de"), &json!(4)));
    assert_eq!(api.put(path, json!({"delete": "keyboard"})).await.status, 200);
    assert_eq!(api.get(path).await.data()["keyboard"], json!(null));
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

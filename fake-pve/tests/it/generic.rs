//! What the catalogue alone answers: collections, pairs of options, indexes, shapes.

use fake_pve::{FakePve, Level, Scenario};
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
    let path = "/nodes/pve1/config";
    let got = api.put(path, json!({"startall-onboot-delay": 5, "wakeonlan": "02:00:00:00:00:01"})).await;
    assert_eq!(got.status, 200, "{}", got.body);
    let got = api.get(path).await;
    assert_eq!(got.data()["wakeonlan"], "02:00:00:00:00:01");
    let both = json!({"wakeonlan": "02:00:00:00:00:02", "delete": "wakeonlan"});
    assert_eq!(api.put(path, both).await.status, 500);
    assert_eq!(api.put(path, json!({"delete": "wakeonlan"})).await.status, 200);
    assert_eq!(api.get(path).await.data()["wakeonlan"], json!(null));
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
    let got = api.post("/nodes/pve1/wakeonlan", json!({})).await;
    assert_eq!(got.refusal().1, "fake-pve: POST /nodes/{node}/wakeonlan is not modelled");
    assert_eq!(got.status, 501);
}

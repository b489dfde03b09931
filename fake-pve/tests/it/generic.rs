//! What the catalogue alone answers: collections, indexes, shapes.

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
    let entry = json!({"id": "100-0", "type": "local", "target": "pve2", "schedule": "*/5", "disable": 1});
    assert_eq!(api.post("/cluster/replication", entry.clone()).await.status, 200);
    assert_eq!(api.post("/cluster/replication", entry).await.status, 500);
    let list = api.get("/cluster/replication").await;
    assert_eq!((&list.data()[0]["id"], &list.data()[0]["schedule"]), (&json!("100-0"), &json!("*/5")));
    let shown = api.get("/cluster/replication/100-0").await;
    let digest = shown.data()["digest"].as_str().expect("a digest").to_string();
    let change = json!({"schedule": "*/10", "delete": "disable", "digest": digest});
    assert_eq!(api.put("/cluster/replication/100-0", change.clone()).await.status, 200);
    let got = api.put("/cluster/replication/100-0", change).await;
    let text = "detected modified configuration - file changed by other user? Try again.";
    assert_eq!((got.status, got.refusal().1), (500, text));
    let shown = api.get("/cluster/replication/100-0").await;
    assert_eq!((&shown.data()["schedule"], &shown.data()["disable"]), (&json!("*/10"), &json!(null)));
    assert_eq!(api.delete("/cluster/replication/100-0").await.status, 200);
    assert_eq!(api.get("/cluster/replication").await.data(), &json!([]));
    assert!(pve.requests().iter().all(|entry| entry.level == Level::Collection));
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
    let got = api.post("/nodes/pve1/vncshell", json!({})).await;
    assert_eq!(got.refusal().1, "fake-pve: POST /nodes/{node}/vncshell is not modelled");
    assert_eq!(got.status, 501);
}

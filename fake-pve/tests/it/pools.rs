//! Pools, in both spellings.

use fake_pve::{FakePve, Scenario};
use serde_json::{Value, json};

use crate::client::Api;

async fn node() -> (FakePve, Api) {
    let scenario = Scenario::one_vm().user("ann@pve", "secret-12", "/pool/a", "PVEPoolUser");
    let pve = FakePve::builder().scenario(scenario).start().await.expect("a cluster");
    let api = Api::root(&pve).await;
    for pool in ["a", "a/b", "c"] {
        api.post("/pools", json!({"poolid": pool})).await.data();
    }
    (pve, api)
}

fn members(pool: &Value) -> Vec<&str> {
    pool["members"].as_array().into_iter().flatten().filter_map(|member| member["id"].as_str()).collect()
}

#[tokio::test]
async fn pools_are_nested_and_seen_by_right() {
    let (pve, api) = node().await;
    for (form, text) in [
        (json!({"poolid": "a"}), "create pool failed: pool 'a' already exists"),
        (json!({"poolid": "x/y"}), "create pool failed: parent 'x' of pool 'x/y' does not exist"),
    ] {
        assert_eq!(api.post("/pools", form).await.refusal().1, text);
    }
    let names = |list: &Value| -> Vec<String> {
        list.as_array().into_iter().flatten().filter_map(|pool| pool["poolid"].as_str().map(str::to_string)).collect()
    };
    assert_eq!(names(api.get("/pools").await.data()), ["a", "a/b", "c"]);
    let ann = Api::login(&pve, "ann@pve", "secret-12").await;
    assert_eq!(names(ann.get("/pools").await.data()), ["a", "a/b"]);
    assert_eq!(ann.get("/pools/c").await.status, 403);
    let got = api.delete("/pools/a").await;
    assert_eq!(got.refusal().1, "delete pool failed: pool 'a' is not empty (contains pool 'a/b')");
    let got = api.send(api.http.delete(api.at("/pools?poolid=a%2Fb"))).await;
    got.data();
    api.delete("/pools/a").await.data();
    assert_eq!(names(api.get("/pools").await.data()), ["c"]);
}

#[tokio::test]
async fn members_come_and_go() {
    let (_pve, api) = node().await;
    api.put("/pools", json!({"poolid": "a/b", "vms": "100", "storage": "local", "comment": "inner"})).await.data();
    let shown = api.get("/pools?poolid=a%2Fb").await;
    let shown = &shown.data()[0];
    assert_eq!((members(shown), &shown["comment"]), (vec!["qemu/100", "storage/pve1/local"], &json!("inner")));
    let some = api.get("/pools?poolid=a%2Fb&type=storage").await;
    assert_eq!(members(&some.data()[0]), ["storage/pve1/local"]);
    let refused = api.put("/pools/c", json!({"vms": "100"})).await;
    let text = "update pools failed: VM 100 belongs already to pool 'a/b' and 'allow-move' is not set";
    assert_eq!(refused.refusal().1, text);
    api.put("/pools/c", json!({"vms": "100", "allow-move": 1})).await.data();
    assert_eq!(members(api.get("/pools/c").await.data()), ["qemu/100"]);
    let got = api.put("/pools/c", json!({"vms": "100"})).await;
    assert_eq!(got.refusal().1, "update pools failed: VM 100 is already a pool member");
    api.put("/pools/c", json!({"vms": "100", "delete": 1})).await.data();
    let got = api.put("/pools/c", json!({"storage": "local", "delete": 1})).await;
    assert_eq!(got.refusal().1, "update pools failed: Storage 'local' is not a pool member");
    assert_eq!(api.get("/pools/none").await.refusal().1, "pool 'none' does not exist");
}

//! `/storage`: definitions of storages.

use fake_pve::{FakePve, Scenario};
use serde_json::json;

use crate::client::Api;

async fn started(scenario: Scenario) -> (FakePve, Api) {
    let pve = FakePve::builder().scenario(scenario).start().await.expect("a cluster");
    let api = Api::root_token(&pve);
    (pve, api)
}

#[tokio::test]
async fn a_directory_is_defined_changed_and_removed() {
    let (_pve, api) = started(Scenario::empty()).await;
    let new = json!({"storage": "d1", "type": "dir", "path": "/mnt/d1", "content": "images,iso", "nodes": "pve1"});
    assert_eq!(api.post("/storage", new.clone()).await.data(), &json!({"storage": "d1", "type": "dir"}));
    assert_eq!(api.post("/storage", new).await.refusal().1, "create storage failed: storage ID 'd1' already defined");
    let shown = api.get("/storage/d1").await;
    let digest = shown.data()["digest"].as_str().expect("a digest").to_string();
    assert_eq!((&shown.data()["content"], &shown.data()["path"]), (&json!("images,iso"), &json!("/mnt/d1")));
    let change =
        json!({"content": "iso", "delete": "nodes", "disable": 1, "digest": digest, "max-protected-backups": 3});
    assert_eq!(api.put("/storage/d1", change.clone()).await.data()["storage"], "d1");
    let text = "update storage failed: detected modified configuration - file changed by other user? Try again.";
    assert_eq!(api.put("/storage/d1", change).await.refusal().1, text);
    let mut shown = api.get("/storage/d1").await.data().clone();
    shown["digest"].take();
    assert_eq!(
        shown,
        json!({"type": "dir", "path": "/mnt/d1", "content": "iso", "disable": 1, "max-protected-backups": 3, "storage": "d1", "digest": null})
    );
    assert_eq!(api.put("/storage/d1", json!({"disable": 0, "bwlimit": ""})).await.status, 200);
    assert_eq!(api.get("/storage/d1").await.data()["disable"], json!(null));
    assert_eq!(api.delete("/storage/d1").await.data(), &json!(null));
    assert_eq!(api.delete("/storage/d1").await.refusal().1, "delete storage failed: storage 'd1' does not exist");
    assert_eq!(api.get("/storage/d1").await.refusal(), (500, "storage 'd1' does not exist", &json!(null)));
}

#[tokio::test]
async fn options_are_judged_by_type() {
    let (_pve, api) = started(Scenario::empty()).await;
    for (form, text) in [
        (json!({"storage": "x1", "type": "dir"}), "missing value for required option 'path'"),
        (json!({"storage": "x1", "type": "btrfs", "krbd": 1, "path": "/x"}), "unexpected property 'krbd'"),
        (
            json!({"storage": "x1", "type": "dir", "path": "/x", "is_mountpoint": "a\nb"}),
            "property contains a line feed",
        ),
        (
            json!({"storage": "x1", "type": "lvm", "vgname": "pve", "content": "iso"}),
            "storage does not support content type 'iso'",
        ),
    ] {
        let got = api.post("/storage", form).await;
        assert_eq!(got.refusal(), (500, text, &json!(null)));
    }
    for (form, text) in [
        (json!({"server": "x"}), "unexpected property 'server'"),
        (json!({"snapshot-as-volume-chain": 0}), "can't change value of fixed parameter 'snapshot-as-volume-chain'"),
        (json!({"delete": "path"}), "unable to delete required option 'path'"),
        (json!({"delete": "bogus"}), "no such option 'bogus'"),
        (json!({"delete": "content", "content": "iso"}), "cannot set and delete property 'content' at the same time!"),
    ] {
        let got = api.put("/storage/local", form).await;
        assert_eq!(got.refusal().1, format!("update storage failed: {text}"));
    }
    let got = api.put("/storage/nope", json!({"content": "iso"})).await;
    assert_eq!(got.refusal().1, "update storage failed: storage 'nope' does not exist");
}

#[tokio::test]
async fn what_does_not_answer_is_refused_unless_disabled() {
    let (_pve, api) = started(Scenario::empty()).await;
    let nfs = |id: &str, server: &str| json!({"storage": id, "type": "nfs", "server": server, "export": "/export/pve"});
    let got = api.post("/storage", nfs("n1", "198.51.100.9")).await;
    assert_eq!(got.refusal().1, "create storage failed: storage 'n1' is not online");
    assert_eq!(api.get("/storage/n1").await.status, 500);
    let mut disabled = nfs("n1", "198.51.100.9");
    disabled["disable"] = json!(1);
    assert_eq!(api.post("/storage", disabled).await.status, 200);
    assert_eq!(api.post("/storage", nfs("n2", "192.0.2.60")).await.status, 200);
    let shown = api.get("/storage/n2").await;
    assert_eq!((&shown.data()["path"], &shown.data()["shared"]), (&json!("/mnt/pve/n2"), &json!(1)));
    assert_eq!(shown.data()["content"], "images");
    let pbs = json!({"storage": "b1", "type": "pbs", "server": "nas.example.com", "datastore": "store1", "username": "u@pbs", "password": "secret-1", "encryption-key": "autogen"});
    let got = api.post("/storage", pbs).await;
    assert!(got.data()["config"]["encryption-key"].as_str().is_some_and(|key| key.contains("fingerprint")));
    assert!(!api.get("/storage/b1").await.body.contains("secret-1"));
}

#[tokio::test]
async fn lists_show_what_somebody_may_see() {
    let scenario = Scenario::empty().user("ann@pve", "pw", "/storage/local", "PVEDatastoreUser");
    let (pve, api) = started(scenario).await;
    assert_eq!(api.get("/storage").await.data().as_array().map(Vec::len), Some(2));
    assert_eq!(api.get("/storage?type=lvmthin").await.data()[0]["storage"], "local-lvm");
    let ann = Api::login(&pve, "ann@pve", "pw").await;
    let got = ann.get("/storage").await;
    assert_eq!((got.data().as_array().map(Vec::len), &got.data()[0]["storage"]), (Some(1), &json!("local")));
    assert_eq!(
        ann.get("/storage/local").await.refusal().1,
        "Permission check failed (/storage/local, Datastore.Allocate)"
    );
}

#[tokio::test]
async fn secrets_stand_in_files_of_their_own() {
    let (pve, api) = started(Scenario::empty()).await;
    let share = json!({
        "storage": "c1", "type": "cifs", "server": "192.0.2.9", "share": "s", "username": "u", "password": "open sesame",
        "disable": 1,
    });
    assert_eq!(api.post("/storage", share).await.status, 200);
    let file = |name: &str| pve.world(|world| world.file(&format!("/etc/pve/priv/storage/{name}")));
    assert_eq!(file("c1.pw").as_deref(), Some("password=open sesame\n"));
    assert!(pve.world(|world| world.files()).contains("/etc/pve/priv/storage/c1.pw"));
    assert!(!api.get("/storage/c1").await.body.contains("sesame"));
    assert_eq!(api.put("/storage/c1", json!({"password": "other"})).await.status, 200);
    assert_eq!(file("c1.pw").as_deref(), Some("password=other\n"));
    assert_eq!(api.delete("/storage/c1").await.status, 200);
    assert_eq!(file("c1.pw"), None);
}

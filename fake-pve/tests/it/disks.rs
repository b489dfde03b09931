//! Disks of a node: what is made of them, and given back.

use fake_pve::Scenario;
use serde_json::{Value, json};

use crate::qemu::{ended, started};

const AT: &str = "/nodes/pve1/disks";

#[tokio::test]
async fn disks_become_storages_and_are_given_back() {
    let (pve, api) = started(Scenario::empty()).await;
    let unused = api.get(&format!("{AT}/list?type=unused")).await;
    assert_eq!(unused.data().as_array().map(Vec::len), Some(1));
    for (kind, more, key) in [
        ("directory", json!({"device": "/dev/sdb"}), "path"),
        ("lvm", json!({"device": "/dev/sdb"}), "vgname"),
        ("lvmthin", json!({"device": "/dev/sdb"}), "thinpool"),
        ("zfs", json!({"devices": "/dev/sdb", "raidlevel": "single"}), "pool"),
    ] {
        let mut params = json!({"name": "data", "add_storage": 1});
        more.as_object().into_iter().flatten().for_each(|(key, value)| params[key] = value.clone());
        let got = api.post(&format!("{AT}/{kind}"), params.clone()).await;
        assert_eq!(ended(&api, &got).await.0, "OK", "{kind}");
        let storage = pve.world(|world| world.storages["data"].clone());
        assert!(
            storage.config[key].as_str().is_some_and(|value| value.ends_with("data")) && storage.size > 0,
            "{kind}"
        );
        let got = api.post(&format!("{AT}/{kind}"), params).await;
        assert_eq!(got.refusal().1, "device '/dev/sdb' is already in use", "{kind}");
        let got = api.put(&format!("{AT}/wipedisk"), json!({"disk": "/dev/sdb"})).await;
        assert_eq!(got.status, 500, "{kind}");
        let group = if kind == "lvmthin" { "&volume-group=data" } else { "" };
        let got = api.delete(&format!("{AT}/{kind}/data?cleanup-disks=1&cleanup-config=1{group}")).await;
        assert_eq!(ended(&api, &got).await.0, "OK", "{kind}");
        assert!(pve.world(|world| !world.storages.contains_key("data")), "{kind}");
        let again = api.get(&format!("{AT}/list?type=unused")).await;
        assert_eq!(again.data().as_array().map(Vec::len), Some(1), "{kind}");
    }
}

#[tokio::test]
async fn pools_and_groups_are_listed() {
    let (_pve, api) = started(Scenario::empty()).await;
    let groups = api.get(&format!("{AT}/lvm")).await;
    assert_eq!((&groups.data()["children"][0]["name"], &groups.data()["leaf"]), (&json!("pve"), &json!(0)));
    let thin = api.get(&format!("{AT}/lvmthin")).await;
    assert_eq!((&thin.data()[0]["vg"], &thin.data()[0]["lv"]), (&json!("pve"), &json!("data")));
    let pool = json!({"name": "tank", "devices": "/dev/sdb", "raidlevel": "mirror"});
    assert_eq!(api.post(&format!("{AT}/zfs"), pool).await.refusal().1, "mirror needs at least 2 disks");
    let smart = api.get(&format!("{AT}/smart?disk=/dev/sdb&healthonly=1")).await;
    assert_eq!(smart.data(), &json!({"health": "PASSED"}));
    assert_eq!(api.get(&format!("{AT}/smart?disk=/dev/sdz")).await.refusal().1, "not a valid block device");
}

#[tokio::test]
async fn disks_are_prepared() {
    let (_pve, api) = started(Scenario::empty()).await;
    let got = api.post(&format!("{AT}/initgpt"), json!({"disk": "/dev/sda"})).await;
    assert_eq!(got.refusal().1, "disk /dev/sda already in use");
    let got = api.post(&format!("{AT}/initgpt"), json!({"disk": "/dev/sdb"})).await;
    assert!(got.data().as_str().is_some_and(|upid| upid.contains(":diskinit:sdb:")));
    ended(&api, &got).await;
    let gpt = async || {
        let list = api.get(&format!("{AT}/list")).await;
        let disks = list.data().as_array().cloned().unwrap_or_default();
        disks.into_iter().find(|disk| disk["devpath"] == "/dev/sdb").map_or(Value::Null, |disk| disk["gpt"].clone())
    };
    assert_eq!(gpt().await, 1);
    ended(&api, &api.put(&format!("{AT}/wipedisk"), json!({"disk": "/dev/sdb"})).await).await;
    assert_eq!(gpt().await, 0);
}

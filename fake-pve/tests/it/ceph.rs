//! Ceph, from nothing to a file system.

use fake_pve::Scenario;
use serde_json::{Value, json};

use crate::qemu::{ended, started};

const AT: &str = "/nodes/pve1/ceph";

#[tokio::test]
async fn a_cluster_begins_without() {
    let (_pve, api) = started(Scenario::empty()).await;
    for path in ["/status", "/osd", "/pool", "/mon", "/cfg/raw", "/fs"] {
        let got = api.get(&format!("{AT}{path}")).await;
        assert_eq!((got.status, got.refusal().1), (500, "binary not installed: /usr/bin/ceph-mon"), "{path}");
    }
    let got = api.post(&format!("{AT}/init"), json!({})).await;
    assert_eq!(got.refusal().1, "Ceph Nautilus required - please run 'pveceph install'");
    assert_eq!(api.get("/cluster/ceph/metadata?scope=versions").await.data(), &json!({"node": {}}));
    assert_eq!(api.get(&format!("{AT}/releases")).await.data().as_array().map(Vec::len), Some(6));
}

#[tokio::test]
async fn from_init_to_a_file_system() {
    let (pve, api) = started(Scenario::cluster().ceph_installed()).await;
    assert_eq!(api.get(&format!("{AT}/status")).await.refusal().1, "pveceph configuration not initialized");
    assert_eq!(api.post(&format!("{AT}/init"), json!({"size": 2, "min_size": 1})).await.data(), &Value::Null);
    let got = api.get(&format!("{AT}/status")).await;
    assert_eq!(got.refusal().1, "rados_connect failed - No such file or directory");
    for node in ["pve1", "pve2"] {
        let got = api.post(&format!("/nodes/{node}/ceph/mon/{node}"), json!({})).await;
        assert_eq!(ended(&api, &got).await.0, "OK");
        let got = api.post(&format!("/nodes/{node}/ceph/osd"), json!({"dev": "/dev/sdb"})).await;
        assert_eq!(ended(&api, &got).await.0, "OK");
    }
    let got = api.post(&format!("{AT}/mon/pve1"), json!({})).await;
    assert_eq!(got.refusal().1, "monitor 'pve1' already exists");
    let status = api.get("/cluster/ceph/status").await;
    assert_eq!(
        (&status.data()["health"]["status"], &status.data()["osdmap"]["num_up_osds"]),
        (&json!("HEALTH_OK"), &json!(2))
    );
    let tree = api.get(&format!("{AT}/osd")).await;
    assert_eq!(tree.data()["root"]["children"][0]["children"].as_array().map(Vec::len), Some(2));

    let got = api.post(&format!("{AT}/pool"), json!({"name": "vms", "add_storages": 1})).await;
    assert_eq!(ended(&api, &got).await.0, "OK");
    assert_eq!(pve.world(|world| world.storages["vms"].plugin()), "rbd");
    assert_eq!(ended(&api, &api.put(&format!("{AT}/pool/vms"), json!({"pg_num": 64})).await).await.0, "OK");
    assert_eq!(api.get(&format!("{AT}/pool")).await.data()[0]["pg_num"], 64);
    let got = api.post(&format!("{AT}/fs/shared"), json!({})).await;
    assert_eq!(got.refusal().1, "no running Metadata Server (MDS) found!");
    ended(&api, &api.post(&format!("{AT}/mds/pve1"), json!({})).await).await;
    assert_eq!(ended(&api, &api.post(&format!("{AT}/fs/shared"), json!({"add-storage": 1})).await).await.0, "OK");
    assert_eq!(api.get(&format!("{AT}/mds")).await.data()[0]["state"], "up:active");
    let got = api.delete(&format!("{AT}/fs/shared")).await;
    assert!(ended(&api, &got).await.0.starts_with("storage 'shared' is not disabled"));
}

#[tokio::test]
async fn disks_leave_step_by_step() {
    let (pve, api) = started(Scenario::empty().ceph_installed()).await;
    api.post(&format!("{AT}/init"), json!({"size": 1, "min_size": 1})).await;
    ended(&api, &api.post(&format!("{AT}/mon/pve1"), json!({})).await).await;
    ended(&api, &api.post(&format!("{AT}/osd"), json!({"dev": "/dev/sdb"})).await).await;
    assert_eq!(pve.world(|world| world.nodes["pve1"].disks["/dev/sdb"]["osdid"].clone()), 0);
    assert_eq!(api.delete(&format!("{AT}/osd/7")).await.refusal().1, "no such OSD '7'");
    assert_eq!(api.delete(&format!("{AT}/osd/0")).await.refusal().1, "osd is in use (in == 1)");
    assert_eq!(api.post(&format!("{AT}/osd/0/out"), json!({})).await.status, 200);
    assert_eq!(api.delete(&format!("{AT}/osd/0")).await.refusal().1, "osd is still running (up == 1)");
    ended(&api, &api.post(&format!("{AT}/stop"), json!({"service": "osd.0"})).await).await;
    assert_eq!(ended(&api, &api.delete(&format!("{AT}/osd/0?cleanup=1")).await).await.0, "OK");
    assert_eq!(pve.world(|world| world.nodes["pve1"].disks["/dev/sdb"].get("used").cloned()), None);
    assert_eq!(api.delete(&format!("{AT}/mon/pve1")).await.refusal().1, "can't remove last monitor");
}

#[tokio::test]
async fn flags_are_set_at_once_or_by_a_task() {
    let (_pve, api) = started(Scenario::empty().ceph_installed()).await;
    api.post(&format!("{AT}/init"), json!({})).await;
    ended(&api, &api.post(&format!("{AT}/mon/pve1"), json!({})).await).await;
    assert_eq!(api.put("/cluster/ceph/flags/noout", json!({"value": 1})).await.data(), &Value::Null);
    assert_eq!(api.get("/cluster/ceph/flags/noout").await.data(), 1);
    let got = api.put("/cluster/ceph/flags", json!({"noout": 0, "noscrub": 1})).await;
    assert_eq!(ended(&api, &got).await.0, "OK");
    assert_eq!(api.get(&format!("{AT}/osd")).await.data()["flags"], "noscrub");
    assert_eq!(api.put("/cluster/ceph/health-mute/TOO_FEW_OSDS", json!({"value": 1})).await.status, 200);
    assert_eq!(api.get("/cluster/ceph/health-mute").await.data()[0]["code"], "TOO_FEW_OSDS");
}

//! Snapshots: the tree, what is refused when, configuration and volumes after each step.

use fake_pve::{FakePve, Scenario};
use serde_json::{Value, json};

use crate::client::Api;
use crate::task::{log, run, upid};

async fn cluster(scenario: Scenario) -> (FakePve, Api) {
    let pve = FakePve::builder().scenario(scenario).start().await.expect("a cluster");
    let api = Api::root(&pve).await;
    (pve, api)
}

const VM: &str = "/nodes/pve1/qemu/100/snapshot";

async fn delete(api: &Api, path: &str, end: &str) {
    let upid = upid(&api.delete(path).await);
    assert_eq!(crate::task::status(api, &upid).await, end, "{path}");
}

fn named<'v>(list: &'v Value, name: &str) -> &'v Value {
    list.as_array().and_then(|list| list.iter().find(|item| item["name"] == name)).expect("the snapshot")
}

#[tokio::test]
async fn a_tree_grows_and_shrinks() {
    let (pve, api) = cluster(Scenario::one_vm()).await;
    let list = api.get(VM).await;
    let digest = list.data()[0]["digest"].clone();
    let here = json!({"name": "current", "description": "You are here!", "digest": digest, "running": 0});
    assert_eq!(list.data(), &json!([here]));
    let first = run(&api, VM, json!({"snapname": "s1", "description": "a\nb"}), "OK").await;
    let lines = log(&api, &first).await;
    assert_eq!(lines[0], "snapshotting 'drive-scsi0' (local-lvm:vm-100-disk-0)");
    assert_eq!(lines[1], "  Logical volume \"snap_vm-100-disk-0_s1\" created.");
    run(&api, VM, json!({"snapname": "s2", "vmstate": 1}), "OK").await;
    run(&api, VM, json!({"snapname": "s3"}), "OK").await;
    let list = api.get(VM).await;
    let s2 = named(list.data(), "s2");
    assert_eq!((&s2["parent"], &s2["vmstate"], &s2["description"]), (&json!("s1"), &json!(0), &json!("")));
    assert_eq!(named(list.data(), "current")["parent"], "s3");
    let held =
        || pve.world(|world| world.volume("pve1", "local-lvm:vm-100-disk-0").expect("the disk").snapshots.clone());
    assert_eq!(held(), ["s1", "s2", "s3"]);
    delete(&api, &format!("{VM}/s2"), "OK").await;
    assert_eq!(named(api.get(VM).await.data(), "s3")["parent"], "s1");
    assert_eq!(held(), ["s1", "s3"]);
    run(&api, &format!("{VM}/s1/rollback"), json!({}), "OK").await;
    assert_eq!(named(api.get(VM).await.data(), "current")["parent"], "s1");
    delete(&api, &format!("{VM}/s1"), "OK").await;
    let list = api.get(VM).await;
    assert_eq!(
        (&named(list.data(), "s3")["parent"], &named(list.data(), "current")["parent"]),
        (&json!(null), &json!(null))
    );
}

#[tokio::test]
async fn names_are_refused_before_and_in_the_task() {
    let (_pve, api) = cluster(Scenario::one_vm().ct(200, "pve1", json!({}))).await;
    for name in ["1bad", "a.b", "a b", "x", &"a".repeat(41)] {
        let got = api.post(VM, json!({"snapname": name})).await;
        assert_eq!(got.status, 400, "{name}");
        assert!(got.refusal().2["snapname"].is_string(), "{name}");
    }
    let got = api.post(VM, json!({"snapname": "current"})).await;
    assert_eq!(got.refusal().1, "unable to use snapshot name 'current' (reserved name)");
    let got = api.post("/nodes/pve1/lxc/200/snapshot", json!({"snapname": "vzdump"})).await;
    assert_eq!(got.refusal().1, "unable to use snapshot name 'vzdump' (reserved name)");
    let got = api.post("/nodes/pve1/lxc/200/snapshot", json!({"snapname": "s1", "vmstate": 1})).await;
    let text = "property is not defined in schema and the schema does not allow additional properties";
    assert_eq!(got.refusal().2, &json!({"vmstate": text}));
    run(&api, VM, json!({"snapname": "s1"}), "OK").await;
    run(&api, VM, json!({"snapname": "s1"}), "snapshot name 's1' already used").await;
    delete(&api, &format!("{VM}/nope"), "snapshot 'nope' does not exist").await;
    run(&api, &format!("{VM}/nope/rollback"), json!({}), "snapshot 'nope' does not exist").await;
    let got = api.get(&format!("{VM}/nope")).await;
    assert_eq!(got.data(), &json!([{"cmd": "rollback"}, {"cmd": "config"}]));
    let text = "Configuration file 'nodes/pve1/lxc/999.conf' does not exist";
    run(&api, "/nodes/pve1/lxc/999/snapshot", json!({"snapname": "s1"}), text).await;
}

#[tokio::test]
async fn the_section_reads_back_and_its_description_changes() {
    let (_pve, api) = cluster(Scenario::one_vm().ct(200, "pve1", json!({}))).await;
    run(&api, VM, json!({"snapname": "s1", "description": "old"}), "OK").await;
    let config = format!("{VM}/s1/config");
    let got = api.get(&config).await;
    assert_eq!(
        (&got.data()["description"], &got.data()["memory"], &got.data()["parent"]),
        (&json!("old"), &json!("512"), &json!(null))
    );
    assert_eq!(api.put(&config, json!({"description": "new"})).await.data(), &json!(null));
    assert_eq!(api.get(&config).await.data()["description"], "new");
    assert_eq!(api.put(&format!("{VM}/nope/config"), json!({})).await.status, 200);
    let got = api.put(&format!("{VM}/nope/config"), json!({"description": "x"})).await;
    assert_eq!(got.refusal(), (500, "snapshot 'nope' does not exist", &json!(null)));
    run(&api, "/nodes/pve1/lxc/200/snapshot", json!({"snapname": "s1", "description": "d"}), "OK").await;
    let list = api.get("/nodes/pve1/lxc/200/snapshot").await;
    let s1 = named(list.data(), "s1");
    assert_eq!((&s1["description"], &s1["vmstate"]), (&json!("d\n"), &json!(null)));
}

#[tokio::test]
async fn memory_comes_along_and_comes_back() {
    let (pve, api) = cluster(Scenario::one_vm().running(100)).await;
    let upid = run(&api, VM, json!({"snapname": "s1", "vmstate": 1}), "OK").await;
    assert_eq!(log(&api, &upid).await[0], "saving VM state and RAM using storage 'local-lvm'");
    assert_eq!(named(api.get(VM).await.data(), "s1")["vmstate"], 1);
    let config = api.get(&format!("{VM}/s1/config")).await;
    assert_eq!(
        (&config.data()["vmstate"], &config.data()["runningmachine"]),
        (&json!("local-lvm:vm-100-state-s1"), &json!("pc-i440fx-11.0+pve0"))
    );
    let size = pve.world(|world| world.volume("pve1", "local-lvm:vm-100-state-s1").expect("the state").size);
    assert_eq!(size, (2 * 512 + 500) << 20);
    run(&api, "/nodes/pve1/qemu/100/status/stop", json!({}), "OK").await;
    pve.world(|world| {
        let guest = world.guests.get_mut(&100).expect("the guest");
        guest.config.insert("memory".into(), json!("4096"));
        guest.config.insert("scsi1".into(), json!("local-lvm:vm-100-disk-1,size=1G"));
    });
    run(&api, &format!("{VM}/s1/rollback"), json!({}), "OK").await;
    let current = api.get("/nodes/pve1/qemu/100/status/current").await;
    assert_eq!((&current.data()["status"], &current.data()["maxmem"]), (&json!("running"), &json!(512u64 << 20)));
    pve.world(|world| {
        let guest = &world.guests[&100];
        assert_eq!(guest.option("unused0").as_deref(), Some("local-lvm:vm-100-disk-1"));
        assert_eq!((guest.option("runningmachine"), guest.option("vmstate")), (None, None));
    });
    delete(&api, &format!("{VM}/s1"), "OK").await;
    assert!(pve.world(|world| world.volume("pve1", "local-lvm:vm-100-state-s1").is_none()));
}

#[tokio::test]
async fn a_rollback_stops_first_and_starts_when_told() {
    let (_pve, api) = cluster(Scenario::one_vm().running(100).ct(200, "pve1", json!({})).running(200)).await;
    run(&api, VM, json!({"snapname": "s1"}), "OK").await;
    run(&api, &format!("{VM}/s1/rollback"), json!({}), "OK").await;
    assert_eq!(api.get("/nodes/pve1/qemu/100/status/current").await.data()["status"], "stopped");
    run(&api, "/nodes/pve1/lxc/200/snapshot", json!({"snapname": "s1"}), "OK").await;
    run(&api, "/nodes/pve1/lxc/200/snapshot/s1/rollback", json!({"start": 1}), "OK").await;
    assert_eq!(api.get("/nodes/pve1/lxc/200/status/current").await.data()["status"], "running");
    let tasks = api.get("/nodes/pve1/tasks?source=all&typefilter=vzstart").await;
    assert_eq!(tasks.data().as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn storages_decide_what_can_be_done() {
    let scenario = Scenario::one_vm().template(100).vm(101, "pve1", json!({}));
    let (pve, api) = cluster(scenario).await;
    let feature = async |vmid: u32, feature: &str| {
        let got = api.get(&format!("/nodes/pve1/qemu/{vmid}/feature?feature={feature}")).await;
        got.data().clone()
    };
    assert_eq!(feature(101, "snapshot").await, json!({"hasFeature": 1, "nodes": ["pve1"]}));
    assert_eq!(feature(101, "clone").await["hasFeature"], 0);
    assert_eq!(feature(100, "clone").await["hasFeature"], 1);
    let got = api.get("/nodes/pve1/qemu/101/feature?feature=copy&snapname=nope").await;
    assert_eq!(got.refusal().1, "snapshot 'nope' does not exist");
    run(&api, VM, json!({"snapname": "s1"}), "you can't take a snapshot if it's a template").await;
    pve.world(|world| {
        let guest = world.guests.get_mut(&101).expect("the guest");
        guest.config.insert("scsi1".into(), json!("local:101/vm-101-disk-1.raw,size=1G"));
    });
    assert_eq!(feature(101, "snapshot").await["hasFeature"], 0);
    run(&api, "/nodes/pve1/qemu/101/snapshot", json!({"snapname": "s1"}), "snapshot feature is not available").await;
    pve.world(|world| {
        let guest = world.guests.get_mut(&101).expect("the guest");
        guest.config.shift_remove("scsi1");
        guest.config.insert("lock".into(), json!("backup"));
    });
    run(&api, "/nodes/pve1/qemu/101/snapshot", json!({"snapname": "s1"}), "VM is locked (backup)").await;
}

#[tokio::test]
async fn an_unreachable_storage_needs_force() {
    let nfs =
        json!({"type": "nfs", "path": "/mnt/pve/nfs1", "server": "192.0.2.60", "export": "/x", "content": "images"});
    let scenario = Scenario::one_vm().storage("nfs1", nfs, 1 << 40).file(
        "nfs1:100/vm-100-disk-1.qcow2",
        "images",
        "qcow2",
        1 << 30,
    );
    let (pve, api) = cluster(scenario).await;
    pve.world(|world| {
        let guest = world.guests.get_mut(&100).expect("the guest");
        guest.config.insert("scsi1".into(), json!("nfs1:100/vm-100-disk-1.qcow2,size=1G"));
    });
    run(&api, VM, json!({"snapname": "s1"}), "OK").await;
    pve.world(|world| world.storages.get_mut("nfs1").expect("the storage").offline_on.push("pve1".into()));
    delete(&api, &format!("{VM}/s1"), "storage 'nfs1' is not online").await;
    assert_eq!(named(api.get(VM).await.data(), "s1")["snapstate"], json!(null));
    run(&api, &format!("{VM}/s1/rollback"), json!({}), "storage 'nfs1' is not online").await;
    delete(&api, &format!("{VM}/s1?force=1"), "OK").await;
    assert_eq!(api.get(VM).await.data().as_array().map(Vec::len), Some(1));
}

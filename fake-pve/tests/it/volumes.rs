//! What nodes see of storages, and volumes: lists, allocation, notes, protection, removal, retention.

use std::time::Duration;

use fake_pve::world::Volume;
use fake_pve::{FakePve, Mode, Scenario};
use serde_json::{Value, json};

use crate::client::Api;

async fn started(scenario: Scenario) -> (FakePve, Api) {
    let pve = FakePve::builder().scenario(scenario).start().await.expect("a cluster");
    let api = Api::root(&pve).await;
    (pve, api)
}

/// Runs a task to its end; its exit status and log.
pub async fn ended(api: &Api, upid: &Value) -> (String, Vec<String>) {
    let upid = upid.as_str().expect("a UPID");
    let node = upid.split(':').nth(1).expect("a node");
    let status = api.get(&format!("/nodes/{node}/tasks/{upid}/status")).await;
    let log = api.get(&format!("/nodes/{node}/tasks/{upid}/log?limit=0")).await;
    let lines = log.data().as_array().expect("lines").iter();
    let lines = lines.map(|line| line["t"].as_str().unwrap_or_default().to_string());
    (status.data()["exitstatus"].as_str().unwrap_or_default().to_string(), lines.collect())
}

pub fn backup(vmid: u32, stamp: &str, ctime: i64) -> Volume {
    let volid = format!("local:backup/vzdump-qemu-{vmid}-{stamp}.vma.zst");
    let (content, format) = ("backup".into(), "vma.zst".into());
    Volume { volid, content, format, size: 3 << 20, used: 3 << 20, vmid: Some(vmid), ctime, ..Volume::default() }
}

fn with_backups(scenario: Scenario) -> Scenario {
    let mut scenario = scenario;
    for (stamp, ctime) in [
        ("2024_01_02-03_04_05", 1_704_164_645),
        ("2024_01_03-03_04_05", 1_704_251_045),
        ("2024_01_04-03_04_05", 1_704_337_445),
    ] {
        scenario.world.put_volume("pve1", backup(100, stamp, ctime));
    }
    scenario
}

#[tokio::test]
async fn a_node_says_how_full_storages_are() {
    let nfs = json!({"type": "nfs", "server": "x", "export": "/x", "content": "images", "disable": 1});
    let (pve, api) = started(Scenario::one_vm().storage("nfs1", nfs, 5 << 30)).await;
    let got = api.get("/nodes/pve1/storage").await;
    let find = |id: &str| got.data().as_array().expect("a list").iter().find(|item| item["storage"] == id).cloned();
    let off = json!({"type": "nfs", "content": "images", "shared": 1, "enabled": 0, "active": 0, "total": 0, "used": 0, "avail": 0, "storage": "nfs1"});
    assert_eq!(find("nfs1"), Some(off));
    let thin = find("local-lvm").expect("the storage");
    assert_eq!((&thin["active"], &thin["used"], &thin["shared"]), (&json!(1), &json!(2u64 << 30), &json!(0)));
    assert!(thin["used_fraction"].as_f64().is_some_and(|fraction| (fraction - 2.0 / 140.0).abs() < 1e-12));
    let new = json!({"filename": "", "vmid": 100, "size": "4G"});
    assert_eq!(api.post("/nodes/pve1/storage/local-lvm/content", new).await.data(), "local-lvm:vm-100-disk-1");
    pve.world(|world| world.volume_mut("pve1", "local-lvm:vm-100-disk-1").expect("a volume").used = 1 << 30);
    let status = api.get("/nodes/pve1/storage/local-lvm/status").await;
    assert_eq!((&status.data()["used"], &status.data()["avail"]), (&json!(3u64 << 30), &json!(137u64 << 30)));
    let refusal = api.get("/nodes/pve1/storage/nope/status").await;
    assert_eq!(refusal.refusal(), (400, "Parameter verification failed.", &json!({"storage": "No such storage."})));
    let iso = api.get("/nodes/pve1/storage?content=iso&format=1").await;
    assert_eq!(iso.data().as_array().map(Vec::len), Some(1));
    assert_eq!(iso.data()[0]["formats"], json!({"default": "raw", "supported": ["qcow2", "raw", "subvol", "vmdk"]}));
    assert_eq!(api.get("/nodes/pve1/storage?content=").await.data(), &json!([]));
    let points = api.get("/nodes/pve1/storage/local-lvm/rrddata?timeframe=hour").await;
    let last = points.data().as_array().and_then(|points| points.last()).expect("points");
    assert!(last["used"].as_f64().is_some_and(|used| (used / (3u64 << 30) as f64 - 1.0).abs() < 0.01), "{last}");
}

#[tokio::test]
async fn images_are_allocated_shown_and_freed() {
    let dir = json!({"type": "dir", "path": "/srv", "content": "images"});
    let (_pve, api) = started(Scenario::one_vm().storage("files", dir, 50 << 30)).await;
    let path = "/nodes/pve1/storage/files/content";
    let new = json!({"filename": "vm-100-disk-9.qcow2", "vmid": 100, "size": "1G", "format": "qcow2"});
    assert_eq!(api.post(path, new.clone()).await.data(), "files:100/vm-100-disk-9.qcow2");
    let text = "disk image '/srv/images/100/vm-100-disk-9.qcow2' already exists";
    assert_eq!(api.post(path, new).await.refusal().1, text);
    let other = json!({"filename": "a.raw", "vmid": 100, "size": "1G", "format": "qcow2"});
    assert_eq!(api.post(path, other).await.refusal().2, &json!({"format": "different storage formats (qcow2 != raw)"}));
    let odd = json!({"filename": "1", "vmid": 100, "size": "1"});
    assert_eq!(api.post(path, odd).await.refusal().1, "unable to parse volume filename '1'");
    let mut item = api.get(path).await.data()[0].clone();
    item["ctime"].take();
    assert_eq!(
        item,
        json!({"volid": "files:100/vm-100-disk-9.qcow2", "content": "images", "format": "qcow2", "size": 1 << 30, "ctime": null, "vmid": 100, "parent": null, "used": 0})
    );
    let volume = format!("{path}/files:100/vm-100-disk-9.qcow2");
    let info = json!({"path": "/srv/images/100/vm-100-disk-9.qcow2", "size": 1 << 30, "used": 0, "format": "qcow2"});
    assert_eq!(api.get(&volume).await.data(), &info);
    let got = api.put(&volume, json!({"protected": 1})).await;
    assert_eq!(got.refusal().1, "only backups support attribute 'protected'");
    let upid = api.delete(&volume).await.data().clone();
    assert!(upid.as_str().is_some_and(|upid| upid.contains(":imgdel:100@files:root@pam:")), "{upid}");
    let log = ["Removed volume 'files:100/vm-100-disk-9.qcow2'", "TASK OK"].map(String::from);
    assert_eq!(ended(&api, &upid).await, ("OK".into(), log.into()));
    assert_eq!(api.get(path).await.data(), &json!([]));
    let text = "volume_size_info on 'files:100/vm-100-disk-9.qcow2' failed - no format";
    assert_eq!(api.get(&volume).await.refusal().1, text);
    assert_eq!(api.get(&format!("{path}/x1")).await.refusal().1, "unable to parse directory volume name 'x1'");
    let got = api.get(&format!("{path}/local:iso/x.iso")).await;
    assert_eq!(got.refusal().2, &json!({"volume": "storage ID mismatch (local != files)\n"}));
}

#[tokio::test]
async fn backups_have_notes_and_protection() {
    let (pve, api) = started(with_backups(Scenario::one_vm())).await;
    let path = "/nodes/pve1/storage/local/content/local:backup/vzdump-qemu-100-2024_01_02-03_04_05.vma.zst";
    assert_eq!(api.put(path, json!({"notes": "first\nsecond", "protected": 1})).await.status, 200);
    let info = api.get(path).await;
    assert_eq!((&info.data()["notes"], &info.data()["protected"]), (&json!("first\nsecond"), &json!(1)));
    assert_eq!((&info.data()["format"], &info.data()["used"]), (&json!("raw"), &json!(3 << 20)));
    let list = api.get("/nodes/pve1/storage/local/content?vmid=100").await;
    let shown = &list.data()[0];
    assert_eq!((&shown["notes"], &shown["protected"], &shown["subtype"]), (&json!("first"), &json!(1), &json!("qemu")));
    let refused = ended(&api, api.delete(path).await.data()).await.0;
    let name = "vzdump-qemu-100-2024_01_02-03_04_05.vma.zst";
    assert_eq!(refused, format!("cannot remove protected volume 'backup/{name}' on 'local'"));
    let got = api.delete(&format!("{path}?delay=5")).await;
    assert_eq!(got.refusal(), (500, refused.as_str(), &json!(null)));
    assert_eq!(api.put(path, json!({"protected": 0})).await.status, 200);
    assert_eq!(api.delete(&format!("{path}?delay=5")).await.data(), &json!(null));
    assert_eq!(pve.world(|world| world.volumes_of("pve1", "local").count()), 2);
}

#[tokio::test]
async fn protection_is_limited_for_users() {
    let mut scenario = Scenario::one_vm().user("ann@pve", "pw", "/vms/100", "PVEVMAdmin");
    scenario.world.access.grant("/storage/local", "ann@pve", "PVEDatastoreUser");
    for day in 1..=6 {
        scenario
            .world
            .put_volume("pve1", backup(100, &format!("2024_01_{day:02}-00_00_00"), 1_704_067_200 + day * 86_400));
    }
    let (pve, _) = started(scenario).await;
    let ann = Api::login(&pve, "ann@pve", "pw").await;
    for day in 1..=6 {
        let path =
            format!("/nodes/pve1/storage/local/content/local:backup/vzdump-qemu-100-2024_01_{day:02}-00_00_00.vma.zst");
        let got = ann.put(&path, json!({"protected": 1})).await;
        let text = "The number of protected backups per guest is limited to 5 on storage 'local'";
        assert_eq!((got.status == 200, got.refusal().1 == text), (day < 6, day == 6), "{}", got.body);
    }
}

#[tokio::test]
async fn retention_is_previewed_and_applied() {
    let (pve, api) = started(with_backups(Scenario::one_vm())).await;
    let path = "/nodes/pve1/storage/local/prunebackups";
    let text = "no prune-backups options configured for storage 'local'";
    assert_eq!(api.get(path).await.refusal().1, text);
    assert_eq!(ended(&api, api.delete(path).await.data()).await.0, text);
    let got = api.get(&format!("{path}?prune-backups=keep-last%3D2")).await;
    let marks: Vec<&Value> = got.data().as_array().expect("a list").iter().map(|item| &item["mark"]).collect();
    assert_eq!(marks, ["remove", "keep", "keep"]);
    let upid = api.delete(&format!("{path}?prune-backups=keep-last%3D1&vmid=100&type=qemu")).await.data().clone();
    assert!(upid.as_str().is_some_and(|upid| upid.contains(":prunebackups:100@local:")), "{upid}");
    let (status, log) = ended(&api, &upid).await;
    assert_eq!((status.as_str(), log.len()), ("OK", 3));
    assert_eq!(log[0], "removing backup 'local:backup/vzdump-qemu-100-2024_01_02-03_04_05.vma.zst'");
    assert_eq!(pve.world(|world| world.volumes_of("pve1", "local").count()), 1);
    assert_eq!(
        api.get("/nodes/pve1/storage/local-lvm/prunebackups").await.refusal().1,
        "storage 'local-lvm' does not support backups"
    );
}

#[tokio::test]
async fn a_volume_is_copied_to_another_node() {
    let scenario = Scenario::empty().file("local:iso/a.iso", "iso", "iso", 1 << 20).node("pve2");
    let pve = FakePve::builder().scenario(scenario).clock(Mode::Manual).start().await.expect("a cluster");
    let api = Api::root(&pve).await;
    let path = "/nodes/pve1/storage/local/content/local:iso/a.iso";
    let got = api.post(path, json!({"target": "iso/b.iso", "target_node": "pve2"})).await;
    assert!(got.data().as_str().is_some_and(|upid| upid.contains(":imgcopy::root@pam:")));
    pve.advance(Duration::from_secs(10));
    let (status, log) = ended(&api, got.data()).await;
    assert_eq!((status.as_str(), log[0].starts_with("DEBUG: starting worker UPID:pve1:")), ("OK", true));
    assert_eq!(api.get("/nodes/pve2/storage/local/content").await.data()[0]["volid"], "local:iso/b.iso");
    let got = Api::root_token(&pve).post(path, json!({"target": "iso/b.iso"})).await;
    assert_eq!(got.refusal().1, "Permission check failed (user != root@pam)");
}

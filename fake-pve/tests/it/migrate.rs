//! Migration: preconditions, refusals, and the guest with its disks on the other node.

use fake_pve::{FakePve, Scenario};
use serde_json::json;

use crate::client::Api;
use crate::task::{log, run};

async fn cluster(scenario: Scenario) -> (FakePve, Api) {
    let pve = FakePve::builder().scenario(scenario).start().await.expect("a cluster");
    let api = Api::root(&pve).await;
    (pve, api)
}

fn two_nodes() -> Scenario {
    Scenario::one_vm().node("pve2").ct(200, "pve1", json!({}))
}

const VM: &str = "/nodes/pve1/qemu/100/migrate";
const CT: &str = "/nodes/pve1/lxc/200/migrate";

#[tokio::test]
async fn preconditions_name_what_is_local() {
    let (pve, api) = cluster(two_nodes().file("local:iso/a.iso", "iso", "iso", 700 << 20)).await;
    pve.world(|world| {
        let guest = world.guests.get_mut(&100).expect("the guest");
        guest.config.insert("ide2".into(), json!("local:iso/a.iso,media=cdrom,size=700M"));
    });
    let got = api.get(VM).await;
    let disk = |volid: &str, drive: &str, cdrom: u8, size: u64| {
        json!({
            "volid": volid, "drivename": drive, "cdrom": cdrom, "size": size, "is_attached": 1, "is_cloudinit": 0,
            "is_tpmstate": 0, "is_unused": 0, "is_vmstate": 0, "replicate": 1, "shared": 0,
        })
    };
    let expected = json!({
        "running": 0, "allowed_nodes": ["pve2"], "not_allowed_nodes": {"pve2": {}}, "local_resources": [],
        "mapped-resources": [], "mapped-resource-info": {}, "has-dbus-vmstate": 1,
        "local_disks": [
            disk("local:iso/a.iso", "ide2", 1, 700 << 20), disk("local-lvm:vm-100-disk-0", "scsi0", 0, 8 << 30),
        ],
    });
    assert_eq!(got.data(), &expected);
    pve.world(|world| {
        let storage = world.storages.get_mut("local-lvm").expect("the storage");
        storage.config.insert("nodes".into(), json!("pve1"));
    });
    let got = api.get(VM).await;
    assert_eq!(got.data()["not_allowed_nodes"], json!({"pve2": {"unavailable_storages": ["local-lvm"]}}));
    assert_eq!(got.data()["allowed_nodes"], json!([]));
    let got = api.post(VM, json!({"target": "pve2"})).await;
    assert_eq!(got.refusal().1, "storage 'local-lvm' is not available on node 'pve2'");
    let got = api.get(CT).await;
    assert_eq!(got.data(), &json!({"running": 0, "allowed-nodes": ["pve2"], "not-allowed-nodes": {}}));
}

#[tokio::test]
async fn a_stopped_machine_takes_its_disks_along() {
    let (pve, api) = cluster(two_nodes()).await;
    let got = api.post(VM, json!({"target": "pve1"})).await;
    assert_eq!(got.refusal().2, &json!({"target": "target is local node."}));
    let got = api.post(VM, json!({"target": "nope"})).await;
    assert_eq!(got.refusal().1, "no such cluster node 'nope'");
    let upid = run(&api, VM, json!({"target": "pve2"}), "OK").await;
    let lines = log(&api, &upid).await;
    assert!(lines[0].ends_with("starting migration of VM 100 to node 'pve2' (192.0.2.12)"), "{lines:?}");
    assert!(lines[1].ends_with("found local disk 'local-lvm:vm-100-disk-0' (attached)"), "{lines:?}");
    assert!(lines[lines.len() - 2].contains("migration finished successfully (duration 00:00:"), "{lines:?}");
    assert_eq!(api.get("/nodes/pve2/qemu/100/status/current").await.data()["status"], "stopped");
    assert_eq!(api.get("/nodes/pve1/qemu/100/status/current").await.status, 500);
    pve.world(|world| {
        assert!(world.volume("pve2", "local-lvm:vm-100-disk-0").is_some());
        assert!(world.volume("pve1", "local-lvm:vm-100-disk-0").is_none());
        assert_eq!(world.guests[&100].lock(), None);
    });
}

#[tokio::test]
async fn a_running_machine_needs_online_and_its_local_disks_a_word() {
    let (pve, api) = cluster(two_nodes().running(100)).await;
    let got = api.post(VM, json!({"target": "pve2"})).await;
    assert_eq!(got.refusal().1, "can't migrate running VM without --online");
    let upid = run(&api, VM, json!({"target": "pve2", "online": 1}), "migration aborted").await;
    let lines = log(&api, &upid).await;
    let text = "can't migrate local disk 'local-lvm:vm-100-disk-0': can't live migrate attached local disks without with-local-disks option";
    assert!(lines[2].ends_with(text), "{lines:?}");
    assert!(pve.world(|world| world.guests[&100].runs() && world.guests[&100].node == "pve1"));
    run(&api, VM, json!({"target": "pve2", "online": 1, "with-local-disks": 1}), "OK").await;
    assert_eq!(api.get("/nodes/pve2/qemu/100/status/current").await.data()["status"], "running");
    let token = Api::root_token(&pve);
    let got = token.post("/nodes/pve2/qemu/100/migrate", json!({"target": "pve1", "force": 1})).await;
    assert_eq!(got.refusal().2, &json!({"force": "Only root may use this option."}));
}

#[tokio::test]
async fn another_storage_gives_another_name() {
    let (pve, api) = cluster(two_nodes()).await;
    pve.world(|world| {
        let storage = world.storages.get_mut("local").expect("the storage");
        storage.config.insert("content".into(), json!("images,iso"));
    });
    let got = api.post(VM, json!({"target": "pve2", "targetstorage": "nope"})).await;
    assert_eq!(got.refusal().1, "storage 'nope' does not exist");
    run(&api, VM, json!({"target": "pve2", "targetstorage": "local-lvm:local"}), "OK").await;
    pve.world(|world| {
        let there = "local:100/vm-100-disk-0.raw";
        assert_eq!(world.guests[&100].option("scsi0"), Some(format!("{there},size=8G")));
        assert!(world.volume("pve2", there).is_some());
    });
}

#[tokio::test]
async fn an_unreachable_node_is_found_out_in_the_task() {
    let (pve, api) = cluster(two_nodes().offline("pve2")).await;
    for path in [VM, CT] {
        let upid = run(&api, path, json!({"target": "pve2"}), "migration aborted").await;
        let lines = log(&api, &upid).await;
        assert!(lines[1].ends_with("ssh: connect to host 192.0.2.12 port 22: No route to host"), "{lines:?}");
        let text =
            "ERROR: migration aborted (duration 00:00:03): Can't connect to destination address using public key";
        assert!(lines[2].ends_with(text), "{lines:?}");
    }
    assert!(pve.world(|world| world.guests.values().all(|guest| guest.node == "pve1" && guest.lock().is_none())));
    let got = api.get("/nodes/pve2/qemu/100/status/current").await;
    assert_eq!(got.status, 595);
}

#[tokio::test]
async fn a_running_container_goes_by_restart() {
    let (pve, api) = cluster(two_nodes().running(200)).await;
    let got = api.post(CT, json!({"target": "pve2"})).await;
    assert_eq!(got.refusal().1, "can't migrate running container without --online or --restart");
    let upid = run(&api, CT, json!({"target": "pve2", "online": 1}), "migration aborted").await;
    assert!(log(&api, &upid).await[0].ends_with("lxc live migration is currently not implemented"));
    let upid = run(&api, CT, json!({"target": "pve2", "restart": 1}), "OK").await;
    let lines = log(&api, &upid).await;
    assert!(lines[0].ends_with("shutdown CT 200"), "{lines:?}");
    assert!(lines.iter().any(|line| line.ends_with("start container on target node")), "{lines:?}");
    assert_eq!(api.get("/nodes/pve2/lxc/200/status/current").await.data()["status"], "running");
    assert!(pve.world(|world| world.volume("pve2", "local-lvm:vm-200-disk-0").is_some()));
}

#[tokio::test]
async fn snapshots_and_cdroms_hold_it_back() {
    let (pve, api) = cluster(two_nodes().file("local:iso/a.iso", "iso", "iso", 1 << 20)).await;
    run(&api, "/nodes/pve1/qemu/100/snapshot", json!({"snapname": "s1"}), "OK").await;
    let upid = run(&api, VM, json!({"target": "pve2"}), "migration aborted").await;
    assert!(log(&api, &upid).await[2].ends_with("non-migratable snapshot exists"));
    pve.world(|world| {
        let guest = world.guests.get_mut(&100).expect("the guest");
        guest.config.insert("ide2".into(), json!("local:iso/a.iso,media=cdrom"));
    });
    let upid = run(&api, VM, json!({"target": "pve2"}), "migration aborted").await;
    let text = "can't migrate local disk 'local:iso/a.iso': local cdrom image";
    assert!(log(&api, &upid).await.iter().any(|line| line.ends_with(text)));
}

#[tokio::test]
async fn nothing_goes_to_another_cluster() {
    let (_pve, api) = cluster(two_nodes().running(100)).await;
    let remote = "/nodes/pve1/qemu/100/remote_migrate";
    let endpoint = "apitoken=PVEAPIToken=root@pam!x=1,host=203.0.113.5";
    let form = |storage: &str, online: u8| json!({"target-endpoint": endpoint, "target-bridge": "vmbr0", "target-storage": storage, "online": online});
    let got = api.post(remote, form("local-lvm", 0)).await;
    assert_eq!(got.refusal().1, "can't migrate running VM without --online");
    let got = api.post(remote, form("1", 1)).await;
    assert_eq!(got.refusal().1, "remote migration requires explicit storage mapping!");
    let got = api.post(remote, form("local-lvm", 1)).await;
    assert_eq!(got.refusal(), (500, "Can't connect to 203.0.113.5:8006 (Network is unreachable)", &json!(null)));
    api.post("/cluster/ha/resources", json!({"sid": "vm:100"})).await;
    let got = api.post(remote, form("local-lvm", 1)).await;
    assert_eq!(got.refusal().0, 400);
    let upid = run(&api, VM, json!({"target": "pve2", "online": 1}), "OK").await;
    assert_eq!(log(&api, &upid).await[0], "Requesting HA migration for VM 100 to node pve2");
}

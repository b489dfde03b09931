//! Many guests at once, on a node and on the whole cluster.

use fake_pve::{FakePve, Scenario};
use serde_json::{Value, json};

use crate::client::Api;
use crate::task::{self, log, run, status};

async fn cluster(scenario: Scenario) -> (FakePve, Api) {
    let pve = FakePve::builder().scenario(scenario).start().await.expect("a cluster");
    let api = Api::root(&pve).await;
    (pve, api)
}

/// Two machines, one with autostart, a template, a container.
fn guests() -> Scenario {
    Scenario::one_vm()
        .vm(101, "pve1", json!({"onboot": 1, "startup": "order=1,up=5"}))
        .vm(102, "pve1", json!({}))
        .template(102)
        .ct(200, "pve1", json!({}))
}

fn running(pve: &FakePve) -> Vec<u32> {
    pve.world(|world| world.guests.values().filter(|guest| guest.runs()).map(|guest| guest.vmid).collect())
}

#[tokio::test]
async fn what_starts_with_the_node_and_what_starts_by_force() {
    let (pve, api) = cluster(guests()).await;
    pve.world(|world| {
        let guest = world.guests.get_mut(&100).expect("the guest");
        guest.config.insert("lock".into(), json!("backup"));
    });
    let upid = run(&api, "/nodes/pve1/startall", json!({}), "OK").await;
    assert!(upid.contains(":startall::root@pam:"), "{upid}");
    let lines = log(&api, &upid).await;
    assert_eq!(lines, ["Starting VM 101", "Waiting for 5 seconds (startup delay)", "TASK OK"]);
    assert_eq!(running(&pve), [101]);
    assert_eq!(pve.world(|world| world.guests[&100].lock()), None, "left over backup locks are removed");
    let upid = run(&api, "/nodes/pve1/startall", json!({"force": 1}), "OK").await;
    assert_eq!(log(&api, &upid).await, ["Starting VM 100", "Starting CT 200", "TASK OK"]);
    assert_eq!(running(&pve), [100, 101, 200]);
    let upid = run(&api, "/nodes/pve1/stopall", json!({"vms": "100,200"}), "OK").await;
    let lines = ["Stopping CT 200 (timeout = 180 seconds)", "Stopping VM 100 (timeout = 180 seconds)", "TASK OK"];
    assert_eq!(log(&api, &upid).await, lines);
    assert_eq!(running(&pve), [101]);
    let upid = run(&api, "/nodes/pve1/suspendall", json!({}), "WARNINGS: 1").await;
    let lines = log(&api, &upid).await;
    assert_eq!(lines[0], "WARN: skipping 200, only VMs can be suspended");
    assert_eq!(lines[1], "VM 100 not running, skipping suspension");
    assert_eq!(lines[2], "Suspending VM 101");
    assert_eq!(pve.world(|world| world.guests[&101].lock()).as_deref(), Some("suspended"));
}

#[tokio::test]
async fn a_failed_start_is_told_and_does_not_stop_the_rest() {
    let (pve, api) = cluster(guests()).await;
    pve.world(|world| world.take_volume("pve1", "local-lvm:vm-100-disk-0"));
    let upid = run(&api, "/nodes/pve1/startall", json!({"force": 1}), "OK").await;
    let lines = log(&api, &upid).await;
    assert!(
        lines.contains(&"Starting VM 100 failed: no such logical volume pve/vm-100-disk-0".to_string()),
        "{lines:?}"
    );
    assert_eq!(running(&pve), [101, 200]);
}

#[tokio::test]
async fn moving_everything() {
    let (pve, api) = cluster(guests().node("pve2").running(100).running(200)).await;
    let got = api.post("/nodes/pve1/migrateall", json!({"target": "pve2"})).await;
    assert_eq!(got.refusal().1, "either 'max-workers' parameter or max_workers in datacenter.cfg must be set!");
    let got = api.post("/nodes/pve1/migrateall", json!({"target": "pve1"})).await;
    assert_eq!(got.refusal().2, &json!({"target": "target is local node."}));
    let got = api.post("/nodes/pve1/migrateall", json!({"target": "nope"})).await;
    assert_eq!(got.refusal().1, "no such cluster node 'nope'");
    let upid = run(&api, "/nodes/pve1/migrateall", json!({"target": "pve2", "max-workers": 4}), "OK").await;
    let lines = log(&api, &upid).await;
    assert!(lines[0].starts_with("Check VM 101: precondition check passed"), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("skip VM 100 - precondition check failed:")), "{lines:?}");
    assert_eq!(lines[lines.len() - 2], "All jobs finished, used 4 workers in total.");
    let tasks = api.get("/nodes/pve1/tasks?source=all&limit=0").await;
    assert_eq!(tasks.status, 200);
    for task in api.get("/cluster/tasks").await.data().as_array().into_iter().flatten() {
        status(&api, task["upid"].as_str().expect("a UPID")).await;
    }
    let on = |node: &str| {
        pve.world(|world| {
            world.guests.values().filter(|guest| guest.node == node).map(|guest| guest.vmid).collect::<Vec<_>>()
        })
    };
    assert_eq!((on("pve1"), on("pve2")), (vec![100], vec![101, 102, 200]));
    assert!(running(&pve).contains(&200));
}

#[tokio::test]
async fn the_whole_cluster() {
    let scenario =
        guests().node("pve2").vm(110, "pve2", json!({})).user("alice@pve", "alice-secret", "/vms/110", "PVEVMAdmin");
    let (pve, api) = cluster(scenario).await;
    let bulk = "/cluster/bulk-action/guest";
    let upid = run(&api, &format!("{bulk}/start"), json!({}), "OK").await;
    assert!(upid.contains(":bulk-start::root@pam:"), "{upid}");
    let lines = log(&api, &upid).await;
    assert_eq!((lines[0].as_str(), lines[1].as_str()), ("Starting all guests", "Starting VM 101"));
    assert_eq!(running(&pve), [100, 101, 110, 200]);
    let alice = Api::login(&pve, "alice@pve", "alice-secret").await;
    let got = alice.post(&format!("{bulk}/shutdown"), json!({})).await;
    assert_eq!(got.refusal().1, "Permission check failed (/, VM.PowerMgmt)");
    let got = alice.post(&format!("{bulk}/shutdown"), json!({"vms": 100})).await;
    assert_eq!(got.refusal().1, "Permission check failed (/vms/100, VM.PowerMgmt)");
    let upid = run(&alice, &format!("{bulk}/shutdown"), json!({"vms": 110}), "OK").await;
    assert!(upid.contains(":alice@pve:"), "{upid}");
    assert_eq!(running(&pve), [100, 101, 200]);
    let got = api.post_pairs(&format!("{bulk}/suspend"), &[("vms", "100"), ("vms", "101")]).await;
    assert_eq!(status(&api, &task::upid(&got)).await, "OK");
    let paused = |vmid: u32| pve.world(|world| world.guests[&vmid].status);
    assert_eq!(paused(100), fake_pve::world::GuestStatus::Paused);
    let names: Vec<Value> = api.get(bulk).await.data().as_array().cloned().unwrap_or_default();
    assert_eq!(names.len(), 4);
    run(&api, &format!("{bulk}/migrate"), json!({"target": "pve2", "vms": 200}), "OK").await;
    assert_eq!(pve.world(|world| world.guests[&200].node.clone()), "pve2");
}

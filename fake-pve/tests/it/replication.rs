//! Replication: jobs, their runs as time goes by, their removal.

use std::time::Duration;

use fake_pve::{FakePve, Mode, Scenario};
use serde_json::{Value, json};

use crate::client::Api;

/// Two nodes with a ZFS pool; machine 100 lies on the pool of the first.
fn scenario() -> Scenario {
    let pool = json!({"type": "zfspool", "pool": "tank", "content": "images,rootdir"});
    let mut scenario = Scenario::empty().node("pve2").storage("tank", pool, 1 << 40).vm(100, "pve1", json!({})).vm(
        101,
        "pve1",
        json!({}),
    );
    let world = &mut scenario.world;
    let mut volume = world.take_volume("pve1", "local-lvm:vm-100-disk-0").expect("a disk");
    volume.volid = "tank:vm-100-disk-0".into();
    world.put_volume("pve1", volume);
    world.guests.get_mut(&100).expect("the guest").config.insert("scsi0".into(), json!("tank:vm-100-disk-0,size=8G"));
    scenario
}

async fn started(scenario: Scenario, mode: Mode) -> (FakePve, Api) {
    let pve = FakePve::builder().scenario(scenario).clock(mode).start().await.expect("a cluster");
    let api = Api::root(&pve).await;
    (pve, api)
}

#[tokio::test]
async fn a_job_runs_on_its_schedule() {
    let (pve, api) = started(scenario(), Mode::Manual).await;
    let form = json!({"id": "100-0", "type": "local", "target": "pve2", "schedule": "*/30", "comment": "c"});
    assert_eq!(api.post("/cluster/replication", form).await.data(), &json!(null));
    let status = api.get("/nodes/pve1/replication/100-0/status").await;
    assert_eq!((&status.data()["last_sync"], &status.data()["vmtype"]), (&json!(0), &json!("qemu")));
    let log = api.get("/nodes/pve1/replication/100-0/log").await;
    assert_eq!(log.data()[0]["t"], "unable to open file - No such file or directory");
    pve.advance(Duration::from_secs(60));
    let list = api.get("/nodes/pve1/replication").await;
    let start = 1_796_126_400i64;
    assert_eq!(
        (&list.data()[0]["last_sync"], &list.data()[0]["next_sync"]),
        (&json!(start + 60), &json!(start + 1800))
    );
    assert!(pve.world(|world| world.volume("pve2", "tank:vm-100-disk-0").is_some()));
    let log = api.get("/nodes/pve1/replication/100-0/log").await;
    let lines: Vec<&str> = log.data().as_array().expect("lines").iter().filter_map(|line| line["t"].as_str()).collect();
    assert_eq!(lines[0], "2026-12-01 12:01:00 100-0: start replication job");
    assert!(lines.iter().any(|line| line.ends_with(&format!("full sync 'tank:vm-100-disk-0' (__replicate_100-0_{}__)", start + 60))), "{lines:?}");
    pve.advance(Duration::from_secs(3600));
    let status = api.get("/nodes/pve1/replication/100-0/status").await;
    assert_eq!(status.data()["last_sync"], json!(start + 3600));
    let log = api.get("/nodes/pve1/replication/100-0/log").await;
    assert!(log.body.contains("incremental sync 'tank:vm-100-disk-0'"));
    assert_eq!(api.get("/nodes/pve2/replication").await.data(), &json!([]));
}

#[tokio::test]
async fn a_job_is_removed_by_its_next_run() {
    let (pve, api) = started(scenario(), Mode::Manual).await;
    let form = json!({"id": "100-0", "type": "local", "target": "pve2"});
    assert_eq!(api.post("/cluster/replication", form.clone()).await.status, 200);
    pve.advance(Duration::from_secs(60));
    assert_eq!(api.get("/cluster/replication").await.data()[0]["source"], "pve1");
    assert_eq!(api.delete("/cluster/replication/100-0").await.data(), &json!(null));
    assert_eq!(api.get("/cluster/replication/100-0").await.data()["remove_job"], "full");
    assert_eq!(api.post("/cluster/replication", form).await.refusal().1, "replication job '100-0' already exists");
    pve.advance(Duration::from_secs(60));
    assert_eq!(api.get("/cluster/replication").await.data(), &json!([]));
    assert!(pve.world(|world| world.volume("pve2", "tank:vm-100-disk-0").is_none()));
    let got = api.delete("/cluster/replication/100-0?keep=1&force=1").await;
    assert_eq!(got.refusal().2, &json!({"keep": "conflicts with parameter 'force'"}));
}

#[tokio::test]
async fn automatic_time_waits_for_nobody() {
    let (_pve, api) = started(scenario(), Mode::Auto).await;
    let form = json!({"id": "100-0", "type": "local", "target": "pve2", "rate": 10});
    assert_eq!(api.post("/cluster/replication", form).await.status, 200);
    let list = api.get("/nodes/pve1/replication").await;
    assert!(list.data()[0]["last_sync"].as_i64().is_some_and(|last| last > 0), "{}", list.body);
    assert_eq!(api.put("/cluster/replication/100-0", json!({"delete": "rate", "comment": "x"})).await.status, 200);
    let job = api.get("/cluster/replication/100-0").await;
    assert_eq!((&job.data()["rate"], &job.data()["comment"]), (&json!(null), &json!("x")));
    assert_eq!(api.post("/nodes/pve1/replication/100-0/schedule_now", json!({})).await.data(), "");
    assert_eq!(api.delete("/cluster/replication/100-0").await.status, 200);
    assert_eq!(api.get("/cluster/replication").await.data(), &json!([]));
}

#[tokio::test]
async fn failures_are_counted_and_refusals_are_told() {
    let (pve, api) = started(scenario().offline("pve2"), Mode::Manual).await;
    let form = json!({"id": "100-0", "type": "local", "target": "pve2"});
    assert_eq!(api.post("/cluster/replication", form).await.status, 200);
    pve.advance(Duration::from_secs(60));
    let status = api.get("/nodes/pve1/replication/100-0/status").await;
    let (now, status) = (pve.now(), status.data().clone());
    assert_eq!((&status["fail_count"], &status["next_sync"]), (&json!(1), &json!(now + 300)));
    assert!(status["error"].as_str().is_some_and(|error| error.contains("/usr/bin/ssh")));
    let post = async |id: &str, target: &str, source: Option<&str>| {
        let mut form = json!({"id": id, "type": "local", "target": target});
        if let Some(source) = source {
            form["source"] = Value::from(source);
        }
        api.post("/cluster/replication", form).await.refusal().1.to_string()
    };
    assert_eq!(post("999-0", "pve2", None).await, "Guest '999' does not exist.");
    assert_eq!(post("100-1", "pve9", None).await, "Target 'pve9' does not exist.");
    assert_eq!(post("100-1", "pve1", None).await, "Source and target must not be identical");
    assert_eq!(post("100-1", "pve2", Some("x")).await, "Source 'x' does not match current node of guest '100' (pve1)");
    assert_eq!(post("101-0", "pve2", None).await, "missing replicate feature on volume 'local-lvm:vm-101-disk-0'");
    let text = "replication job for guest '100' to target 'local/pve2' already exists";
    assert_eq!(post("100-1", "pve2", None).await, text);
}

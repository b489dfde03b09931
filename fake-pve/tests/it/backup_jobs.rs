//! `/cluster/backup`: jobs, their next runs, what they include and what none includes.

use std::time::Duration;

use fake_pve::{FakePve, Mode, Scenario};
use serde_json::{Value, json};

use crate::client::Api;

async fn started(scenario: Scenario) -> (FakePve, Api) {
    let pve = FakePve::builder().scenario(scenario).clock(Mode::Manual).start().await.expect("a cluster");
    let api = Api::root(&pve).await;
    (pve, api)
}

#[tokio::test]
async fn a_job_is_made_changed_and_removed() {
    let (_pve, api) = started(Scenario::empty()).await;
    let form = json!({
        "id": "j1", "schedule": "mon..fri 02:00", "vmid": "100,101", "storage": "local", "prune-backups": "keep-last=3",
        "fleecing": "enabled=1,storage=local", "enabled": 0,
    });
    assert_eq!(api.post("/cluster/backup", form.clone()).await.data(), &json!(null));
    assert_eq!(api.post("/cluster/backup", form).await.refusal().1, "Job 'j1' already exists");
    let list = api.get("/cluster/backup").await;
    let expected = json!([{
        "id": "j1", "type": "vzdump", "schedule": "mon..fri 02:00", "vmid": "100,101", "storage": "local", "enabled": 0,
        "prune-backups": {"keep-last": "3"}, "fleecing": {"enabled": 1, "storage": "local"},
        "next-run": 1_796_176_800,
    }]);
    assert_eq!(list.data(), &expected);
    let got = api.put("/cluster/backup/j1", json!({"all": 1, "exclude": "101", "delete": "fleecing"})).await;
    assert_eq!(got.status, 200, "{}", got.body);
    let job = api.get("/cluster/backup/j1").await;
    assert_eq!(
        (&job.data()["all"], &job.data()["vmid"], &job.data()["fleecing"]),
        (&json!(1), &json!(null), &json!(null))
    );
    assert_eq!(api.delete("/cluster/backup/j1").await.data(), &json!(null));
    let text = "400 Parameter verification failed.\nid: No such job 'j1'";
    assert_eq!(api.delete("/cluster/backup/j1").await.refusal().1, text);
    assert_eq!(api.get("/cluster/backup/j1").await.refusal().2, &json!({"id": "No such job 'j1'"}));
}

#[tokio::test]
async fn times_and_days_become_a_schedule() {
    let (_pve, api) = started(Scenario::empty()).await;
    let form = json!({"id": "j1", "all": 1, "starttime": "02:30", "dow": "mon,tue"});
    assert_eq!(api.post("/cluster/backup", form).await.status, 200);
    assert_eq!(api.get("/cluster/backup/j1").await.data()["schedule"], "mon,tue 02:30");
    for (form, text) in [
        (json!({"all": 1}), json!({"schedule": "neither 'starttime' nor 'schedule' were set"})),
        (
            json!({"all": 1, "schedule": "daily", "starttime": "02:00"}),
            json!({"starttime": "'starttime' and 'schedule' cannot both be set"}),
        ),
    ] {
        assert_eq!(api.post("/cluster/backup", form).await.refusal().2, &text);
    }
    let got = api.post("/cluster/backup", json!({"schedule": "daily", "all": 1, "vmid": 100})).await;
    assert_eq!(got.refusal().1, "400 Parameter verification failed.\nall: option conflicts with option 'vmid'");
    let got = api.post("/cluster/backup", json!({"schedule": "daily", "pool": "x"})).await;
    assert_eq!((got.status, got.refusal().1), (403, "Permission check failed (pool 'x' does not exist)"));
    assert_eq!(api.put("/cluster/backup/j1", json!({})).await.refusal().1, "no options specified");
    assert_eq!(api.put("/cluster/backup/x", json!({"enabled": 1})).await.refusal().1, "no such vzdump job");
}

#[tokio::test]
async fn volumes_and_guests_are_told_in_or_out() {
    let disk = json!({"name": "web", "scsi1": "local-lvm:vm-100-disk-1,backup=0,size=1G", "ide2": "none,media=cdrom"});
    let scenario = Scenario::empty().vm(100, "pve1", disk).ct(200, "pve1", json!({"hostname": "dns"}));
    let (_pve, api) = started(scenario).await;
    let missing = api.get("/cluster/backup-info/not-backed-up").await;
    assert_eq!(missing.data().as_array().map(Vec::len), Some(2));
    assert_eq!(
        api.post("/cluster/backup", json!({"id": "j1", "schedule": "daily", "vmid": "100,999"})).await.status,
        200
    );
    let tree = api.get("/cluster/backup/j1/included_volumes").await;
    let leaf = |key: &str, number: u32, included: u32, reason: &str| json!({"id": format!("100:{key}"), "name": format!("local-lvm:vm-100-disk-{number}"), "leaf": 1, "included": included, "reason": reason});
    let branch = json!({
        "id": 100, "type": "qemu", "name": "web", "leaf": 0,
        "children": [leaf("scsi0", 0, 1, "backup=yes"), leaf("scsi1", 1, 0, "backup=no")],
    });
    let children: &Vec<Value> = tree.data()["children"].as_array().expect("children");
    assert_eq!(children, &vec![branch, json!({"id": 999, "type": "unknown", "leaf": 1})]);
    let missing = api.get("/cluster/backup-info/not-backed-up").await;
    assert_eq!(missing.data(), &json!([{"vmid": 200, "name": "dns", "type": "lxc"}]));
}

#[tokio::test]
async fn jobs_run_when_their_time_comes() {
    let (pve, _) = started(Scenario::cluster()).await;
    // A login would expire.
    let api = Api::root_token(&pve);
    // The clock stands at noon of 1 December 2026, a Tuesday.
    let form = json!({"id": "nightly", "schedule": "02:00", "vmid": "100", "storage": "local", "compress": "zstd"});
    assert_eq!(api.post("/cluster/backup", form).await.status, 200);
    let off = json!({"id": "off", "schedule": "03:00", "all": 1, "storage": "local", "enabled": 0});
    assert_eq!(api.post("/cluster/backup", off).await.status, 200);
    let runs = || {
        pve.world(|world| {
            let tasks = world.tasks.iter().filter(|task| task.worker_type == "vzdump");
            tasks.map(|task| (task.starttime, task.node.clone(), task.exitstatus.clone())).collect::<Vec<_>>()
        })
    };
    pve.advance(Duration::from_secs(13 * 3600));
    assert!(runs().is_empty(), "{:?}", runs());
    pve.advance(Duration::from_secs(2 * 3600));
    let first = 1_796_176_800;
    assert_eq!(runs(), [(first, "pve1".to_string(), Some("OK".to_string()))]);
    let log = pve.world(|world| world.tasks.last().map(|task| task.log[0].text.clone())).unwrap_or_default();
    assert!(log.starts_with("INFO: starting new backup job: vzdump 100 ") && log.contains(" --quiet 1"), "{log}");
    let list = api.get("/nodes/pve1/storage/local/content?content=backup").await;
    assert_eq!(list.data()[0]["volid"], "local:backup/vzdump-qemu-100-2026_12_02-02_00_00.vma.zst");
    assert_eq!(api.get("/cluster/backup").await.data()[0]["next-run"], first + 86_400);
    // A new schedule counts from now; what is switched on again does not make up for what it missed.
    assert_eq!(api.put("/cluster/backup/nightly", json!({"schedule": "05:00"})).await.status, 200);
    assert_eq!(api.put("/cluster/backup/off", json!({"enabled": 1})).await.status, 200);
    pve.advance(Duration::from_secs(86_400));
    let mut started: Vec<(i64, String)> = runs().into_iter().skip(1).map(|(at, node, _)| (at, node)).collect();
    started.sort();
    let night = first + 3600 + 86_400;
    let everywhere = ["pve1", "pve2"].map(|node| (night, node.to_string()));
    assert_eq!(started[0], (first + 3 * 3600, "pve1".into()));
    assert_eq!(started[1..], everywhere);
    assert_eq!(api.delete("/cluster/backup/nightly").await.status, 200);
    assert_eq!(api.delete("/cluster/backup/off").await.status, 200);
    pve.advance(Duration::from_secs(7 * 86_400));
    assert_eq!(runs().len(), 4);
}

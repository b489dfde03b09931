//! Tasks: identifiers, time, logs, stopping, who may see them.

use std::time::Duration;

use fake_pve::{FakePve, Mode, Scenario};
use serde_json::json;

use crate::client::Api;

async fn started(mode: Mode) -> (FakePve, Api) {
    let pve = FakePve::builder().scenario(Scenario::empty()).clock(mode).start().await.expect("a cluster");
    let api = Api::root_token(&pve);
    (pve, api)
}

async fn restart(api: &Api) -> String {
    let got = api.post("/nodes/pve1/services/cron/restart", json!({})).await;
    got.data().as_str().expect("a UPID").to_string()
}

#[tokio::test]
async fn looking_at_a_task_runs_the_clock_to_its_end() {
    let (_pve, api) = started(Mode::Auto).await;
    let upid = restart(&api).await;
    assert!(upid.starts_with("UPID:pve1:") && upid.ends_with(":srvrestart:cron:root@pam!ci:"), "{upid}");
    let got = api.get(&format!("/nodes/pve1/tasks/{upid}/status")).await;
    let status = got.data();
    assert_eq!((&status["status"], &status["exitstatus"]), (&json!("stopped"), &json!("OK")));
    assert_eq!((&status["user"], &status["tokenid"]), (&json!("root@pam"), &json!("ci")));
    let got = api.get(&format!("/nodes/pve1/tasks/{upid}/log")).await;
    assert_eq!(got.json, json!({"data": [{"n": 1, "t": "TASK OK"}], "total": 1}));
}

#[tokio::test]
async fn nobody_needs_to_look_at_a_task() {
    let (pve, api) = started(Mode::Auto).await;
    api.post("/nodes/pve1/services/cron/stop", json!({})).await;
    pve.advance(Duration::from_millis(300));
    assert_eq!(api.get("/nodes/pve1/services/cron/state").await.data()["state"], "dead");
}

#[tokio::test]
async fn a_manual_clock_shows_a_task_at_work() {
    let (pve, api) = started(Mode::Manual).await;
    let stopped = api.post("/nodes/pve1/services/cron/stop", json!({})).await;
    let upid = stopped.data().as_str().expect("a UPID").to_string();
    let path = format!("/nodes/pve1/tasks/{upid}");
    let got = api.get(&format!("{path}/status")).await;
    assert_eq!((&got.data()["status"], &got.data()["exitstatus"]), (&json!("running"), &json!(null)));
    assert_eq!(api.get(&format!("{path}/log")).await.data()[0]["t"], "no content");
    let active = api.get("/nodes/pve1/tasks?source=active").await;
    assert_eq!(active.data()[0]["status"], "RUNNING");
    assert_eq!(api.get("/nodes/pve1/tasks").await.data(), &json!([]));
    assert_eq!(api.get("/nodes/pve1/services/cron/state").await.data()["state"], "running");
    pve.advance(Duration::from_secs(1));
    assert_eq!(api.get("/nodes/pve1/services/cron/state").await.data()["state"], "dead");
    let archive = api.get("/nodes/pve1/tasks").await;
    assert_eq!((&archive.data()[0]["status"], &archive.json["total"]), (&json!("OK"), &json!(1)));
}

#[tokio::test]
async fn a_stopped_task_changes_nothing() {
    let (pve, api) = started(Mode::Manual).await;
    let stopped = api.post("/nodes/pve1/services/cron/stop", json!({})).await;
    let upid = stopped.data().as_str().expect("a UPID").to_string();
    assert_eq!(api.delete(&format!("/nodes/pve1/tasks/{upid}")).await.status, 200);
    pve.advance(Duration::from_secs(10));
    let got = api.get(&format!("/nodes/pve1/tasks/{upid}/status")).await;
    assert_eq!(got.data()["exitstatus"], "received interrupt");
    assert_eq!(api.get("/nodes/pve1/services/cron/state").await.data()["state"], "running");
}

#[tokio::test]
async fn late_refusals_end_in_the_task() {
    let (_pve, api) = started(Mode::Manual).await;
    let got = api.post("/nodes/pve1/services/pveproxy/stop", json!({})).await;
    let upid = got.data().as_str().expect("a UPID").to_string();
    let status = api.get(&format!("/nodes/pve1/tasks/{upid}/status")).await;
    let text = "invalid service cmd 'pveproxy stop': refusing to stop essential service!";
    assert_eq!(status.data()["exitstatus"], text);
    let errors = api.get("/nodes/pve1/tasks?errors=1&typefilter=srvstop").await;
    assert_eq!(errors.data().as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn unknown_tasks_are_parameter_errors() {
    let (_pve, api) = started(Mode::Auto).await;
    let got = api.get("/nodes/pve1/tasks/foo/status").await;
    assert_eq!(got.refusal(), (400, "Parameter verification failed.", &json!({"upid": "unable to parse worker upid"})));
    let got = api.get("/nodes/pve1/tasks/UPID:pve1:000003F2:0001E240:65A0B1C2:qmstart:100:root@pam:/status").await;
    assert_eq!(got.refusal().2, &json!({"upid": "no such task"}));
}

#[tokio::test]
async fn others_see_their_own_tasks_only() {
    let (pve, api) = started(Mode::Auto).await;
    let upid = restart(&api).await;
    pve.world(|world| world.access.add_user("nobody@pve", "nothing"));
    let nobody = Api::login(&pve, "nobody@pve", "nothing").await;
    let got = nobody.get(&format!("/nodes/pve1/tasks/{upid}/status")).await;
    assert_eq!(got.refusal().1, "Permission check failed (/nodes/pve1, Sys.Audit)");
    assert_eq!(nobody.get("/nodes/pve1/tasks?source=all").await.data(), &json!([]));
    assert_eq!(nobody.get("/cluster/tasks").await.data(), &json!([]));
    assert_eq!(Api::root(&pve).await.get("/cluster/tasks").await.data().as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn a_task_that_was_never_there_has_neither_status_nor_log() {
    let (_pve, api) = started(Mode::Auto).await;
    let task = "/nodes/pve1/tasks/UPID:pve1:00000015:00015562:6B0DCC12:qmcreate:300:root@pam:";
    assert_eq!(api.get(&format!("{task}/status")).await.refusal().2, &json!({"upid": "no such task"}));
    let log = api.get(&format!("{task}/log")).await;
    assert_eq!(log.data(), &json!([{"n": 1, "t": "unable to open file - No such file or directory"}]));
    let file = "/var/log/pve/tasks/2/UPID:pve1:00000015:00015562:6B0DCC12:qmcreate:300:root@pam:";
    let got = api.get(&format!("{task}/log?download=1")).await;
    assert_eq!(got.refusal().1, format!("Could not open file '{file}' - No such file or directory"));
    assert_eq!(api.delete(task).await.refusal().2, &json!({"upid": "no such task"}));
}

#[tokio::test]
async fn the_newest_task_of_a_node_was_told_and_the_others_were_read() {
    let (_pve, api) = started(Mode::Auto).await;
    for _ in 0..2 {
        let upid = restart(&api).await;
        api.get(&format!("/nodes/pve1/tasks/{upid}/status")).await;
    }
    let list = api.get("/cluster/tasks").await;
    assert_eq!((&list.data()[0]["saved"], &list.data()[1]["saved"]), (&json!(1), &json!("1")));
}

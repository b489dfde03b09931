//! Overview, power, snapshots, tasks: whatever the kind of the guest.

use fake_pve::Scenario;
use serde_json::json;

use super::{as_reader, as_root, lively, still, text};
use crate::served::{call, done, fails};

#[tokio::test]
async fn the_overview_fits_a_screen() {
    let fake = still(Scenario::troubled()).await;
    insta::assert_snapshot!("overview", text(&as_root(&fake), "pve_overview", json!({})).await);
    let fake = still(Scenario::cluster().offline("pve2")).await;
    let overview = done(&as_root(&fake), "pve_overview", json!({})).await;
    assert_eq!(overview["nodes"][1]["status"], "offline", "{overview}");
    assert_eq!(overview["guests"]["lxc"]["unknown"], 1, "{overview}");
    fake.world(|world| world.access.config.acl.clear());
    let overview = done(&as_reader(&fake), "pve_overview", json!({})).await;
    let missing = overview["unavailable"].as_array().expect("what it may not see");
    for section in ["cluster", "ha", "storages"] {
        assert!(missing.iter().any(|row| row["section"] == section && row["code"] == "forbidden"), "{overview}");
    }
}

#[tokio::test]
async fn power_by_number_alone() {
    let fake = lively(Scenario::cluster()).await;
    let server = as_root(&fake);
    for vmid in [101, 200] {
        let started = done(&server, "pve_guest_power", json!({"vmid": vmid, "action": "start"})).await;
        assert_eq!((&started["before"], &started["after"]), (&json!("stopped"), &json!("running")), "{started}");
        assert_eq!((&started["changed"], &started["task"]["status"]), (&json!(true), &json!("ok")), "{started}");
        let again = done(&server, "pve_guest_power", json!({"vmid": vmid, "action": "start"})).await;
        assert_eq!((&again["changed"], again.get("upid")), (&json!(false), None), "{again}");
        let rebooted = done(&server, "pve_guest_power", json!({"vmid": vmid, "action": "reboot", "timeout": 30})).await;
        assert_eq!(rebooted["after"], "running", "{rebooted}");
        let stopped = done(&server, "pve_guest_power", json!({"vmid": vmid, "action": "stop"})).await;
        assert_eq!(stopped["after"], "stopped", "{stopped}");
        fails(&server, "pve_guest_power", json!({"vmid": vmid, "action": "reboot"}), "guest_not_running").await;
    }
}

#[tokio::test]
async fn power_that_is_refused_says_how_things_stand() {
    let fake = lively(Scenario::cluster()).await;
    let server = as_root(&fake);
    fails(&server, "pve_guest_power", json!({"vmid": 999, "action": "start"}), "not_found").await;
    fails(&server, "pve_guest_power", json!({"vmid": 100, "action": "jump"}), "bad_argument").await;
    fails(&server, "pve_guest_power", json!({"vmid": 100, "action": "start", "timeout": 5}), "bad_argument").await;
    fails(&server, "pve_guest_power", json!({"vmid": 100, "action": "stop", "force_stop": true}), "bad_argument").await;
    fails(&as_reader(&fake), "pve_guest_power", json!({"vmid": 101, "action": "start"}), "forbidden").await;
    fake.world(|world| {
        if let Some(guest) = world.guests.get_mut(&101) {
            guest.config.insert("lock".into(), json!("backup"));
        }
    });
    let reply = call(&server, "pve_guest_power", json!({"vmid": 101, "action": "start"})).await;
    assert!(reply.is_error, "{reply:?}");
    assert!(matches!(reply.structured["code"].as_str(), Some("guest_locked" | "task_failed")), "{reply:?}");
    assert_eq!((&reply.structured["before"], &reply.structured["after"]), (&json!("stopped"), &json!("stopped")));
    fake.world(|world| {
        if let Some(node) = world.nodes.get_mut("pve2") {
            node.online = false;
        }
    });
    fails(&server, "pve_guest_power", json!({"vmid": 201, "action": "start"}), "node_unreachable").await;
}

#[tokio::test]
async fn a_dry_run_sends_nothing() {
    let fake = lively(Scenario::cluster()).await;
    let server = as_root(&fake);
    let dry = done(&server, "pve_guest_power", json!({"vmid": 101, "action": "start", "dry_run": true})).await;
    assert_eq!((&dry["dry_run"], &dry["request"]["path"]), (&json!(true), &json!("/nodes/pve1/qemu/101/status/start")));
    let dry = done(&server, "pve_snapshot_guest", json!({"vmid": 201, "snapname": "aa", "dry_run": true})).await;
    assert_eq!(dry["request"]["path"], "/nodes/pve2/lxc/201/snapshot", "{dry}");
    assert!(fake.requests().iter().all(|entry| entry.verb == "GET"), "{:?}", fake.requests());
}

#[tokio::test]
async fn snapshots_are_taken_and_listed() {
    let fake = lively(Scenario::cluster()).await;
    let server = as_root(&fake);
    for vmid in [101, 201] {
        let arguments = json!({"vmid": vmid, "snapname": "before", "description": "first\u{202e} line\nsecond"});
        let taken = done(&server, "pve_snapshot_guest", arguments.clone()).await;
        assert_eq!((&taken["created"], &taken["task"]["status"]), (&json!(true), &json!("ok")), "{taken}");
        fails(&server, "pve_snapshot_guest", arguments, "conflict").await;
        let listed = done(&server, "pve_list_guest_snapshots", json!({"vmid": vmid})).await;
        assert_eq!(listed["snapshots"][0]["name"], "before", "{listed}");
        assert_eq!(listed["snapshots"][0]["description"], "first line second", "{listed}");
        assert_eq!(listed["current_parent"], "before", "{listed}");
    }
    let saved = done(&server, "pve_snapshot_guest", json!({"vmid": 100, "snapname": "live", "vmstate": 1})).await;
    assert_eq!(saved["snapshots"][0]["with_memory"], true, "{saved}");
    fails(&server, "pve_snapshot_guest", json!({"vmid": 200, "snapname": "live", "vmstate": true}), "bad_argument")
        .await;
    fails(&server, "pve_snapshot_guest", json!({"vmid": 200, "snapname": "9 lives"}), "bad_argument").await;
    fails(&server, "pve_snapshot_guest", json!({"vmid": 999, "snapname": "aa"}), "not_found").await;
    fails(&server, "pve_list_guest_snapshots", json!({"vmid": 999}), "not_found").await;
    fails(&as_reader(&fake), "pve_snapshot_guest", json!({"vmid": 200, "snapname": "aa"}), "forbidden").await;
}

#[tokio::test]
async fn tasks_are_awaited_and_their_logs_read() {
    let fake = still(Scenario::cluster()).await;
    let server = as_root(&fake);
    let arguments = json!({"vmid": 101, "action": "start", "wait": false});
    let started = done(&server, "pve_guest_power", arguments).await;
    let upid = started["upid"].as_str().expect("a task");
    assert_eq!(started["task"]["status"], "still_running", "{started}");
    let looked = done(&server, "pve_wait_task", json!({"upid": upid, "wait_seconds": 0})).await;
    assert_eq!(looked["task"]["status"], "still_running", "{looked}");
    fake.advance(std::time::Duration::from_secs(60));
    let ended = done(&server, "pve_wait_task", json!({"upid": upid})).await;
    assert_eq!(ended["task"]["status"], "ok", "{ended}");
    let log = done(&server, "pve_get_task_log_tail", json!({"upid": upid, "lines": 1})).await;
    assert_eq!((&log["exitstatus"], log["log"].as_array().map(Vec::len)), (&json!("OK"), Some(1)), "{log}");
    assert_eq!(log["log"][0], "TASK OK", "{log}");
    for tool in ["pve_wait_task", "pve_get_task_log_tail"] {
        fails(&server, tool, json!({"upid": "UPID:nonsense"}), "bad_argument").await;
        fails(&server, tool, json!({}), "bad_argument").await;
        let unknown = "UPID:pve1:0000C0DE:0ABCDEF0:65A0B1C2:qmstart:100:root@pam:";
        fails(&server, tool, json!({"upid": unknown}), "not_found").await;
    }
}

#[tokio::test]
async fn a_task_that_failed_is_an_error_with_its_log() {
    let fake = lively(Scenario::cluster()).await;
    let server = as_root(&fake);
    let arguments = json!({"node": "pve1", "service": "pveproxy", "wait": false});
    let begun = done(&server, "pve_stop_node_service", arguments).await;
    let failed = fails(&server, "pve_wait_task", json!({"upid": begun["upid"]}), "task_failed").await;
    assert!(failed["log"].as_array().is_some_and(|log| !log.is_empty()), "{failed}");
    let log = done(&server, "pve_get_task_log_tail", json!({"upid": begun["upid"]})).await;
    assert!(log["exitstatus"].as_str().is_some_and(|exit| exit.contains("refusing to stop")), "{log}");
}

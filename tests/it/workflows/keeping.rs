//! What all workflows keep to: their output schemas, one screen of text, nothing sent in a dry run or past a closed gate.

use fake_pve::Scenario;
use pvemcp::config::Access;
use serde_json::{Value, json};

use super::{as_root, connection, lively, root_token};
use crate::served::{self, call, fails};

const TEMPLATE: &str = "local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst";

/// Every workflow with arguments that succeed on the default cluster, once the task is there.
fn calls(upid: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("pve_backup_coverage", json!({"max_age_days": 3, "templates": true})),
        ("pve_capacity_report", json!({"timeframe": "week"})),
        ("pve_find_guest", json!({"ip": "10.10.0.120"})),
        ("pve_get_task_log_tail", json!({"upid": upid})),
        ("pve_guest_power", json!({"vmid": 100, "action": "shutdown", "timeout": "60"})),
        ("pve_health_check", json!({})),
        ("pve_list_guest_snapshots", json!({"vmid": 100})),
        ("pve_overview", json!({})),
        ("pve_provision_lxc", json!({"hostname": "wiki", "ostemplate": "debian-12", "node": "pve1"})),
        ("pve_provision_vm_from_template", json!({"template": "9000", "name": "app", "disk_gib": 9})),
        ("pve_security_audit", json!({})),
        ("pve_snapshot_guest", json!({"vmid": 101, "snapname": "before"})),
        ("pve_wait_task", json!({"upid": upid})),
    ]
}

/// Whether a value is what a member of a schema says.
fn fits(schema: &Value, value: &Value) -> bool {
    let is = |name: &str| match name {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    };
    let of_type = schema["type"].as_str().is_none_or(is);
    of_type && schema["enum"].as_array().is_none_or(|words| words.contains(value))
}

#[tokio::test]
async fn their_schemas_and_a_screen() {
    let fake = lively(Scenario::cluster()).await;
    let server = as_root(&fake);
    let begun = call(&server, "pve_guest_power", json!({"vmid": 101, "action": "start"})).await;
    let calls = calls(begun.structured["upid"].as_str().expect("a task"));
    let mut named: Vec<&str> = calls.iter().map(|(tool, _)| *tool).collect();
    named.sort_unstable();
    let all: Vec<&str> = server
        .registry()
        .iter()
        .map(|(tool, _)| tool)
        .filter(|tool| tool.domain() == "workflows")
        .map(|tool| tool.name)
        .collect();
    assert_eq!(named, all, "each is called");
    for (name, arguments) in calls {
        let reply = call(&server, name, arguments).await;
        assert!(!reply.is_error, "{name}: {:?}", reply.structured);
        let tool = server.registry().get(name).expect("it is offered");
        let schema = Value::Object(tool.output_schema(false).expect("a workflow has one"));
        for (member, value) in &reply.structured {
            let stated = &schema["properties"][member];
            assert!(stated.is_object(), "{name}: its schema does not name {member}");
            assert!(fits(stated, value), "{name}: {member} is {value}, and its schema says {stated}");
        }
        assert!(reply.text.lines().count() <= 50, "{name}: {}", reply.text);
        assert_eq!(reply.structured["untrusted"], true, "{name}");
    }
}

#[tokio::test]
async fn a_closed_gate_lets_nothing_through() {
    let fake = lively(Scenario::cluster()).await;
    let server = served::server(served::settings(connection(&fake, root_token(&fake)), Access::default()));
    fake.forget_requests();
    for (tool, arguments) in calls("").into_iter().filter(|(tool, _)| writes(tool)) {
        let closed = fails(&server, tool, arguments, "gate_closed").await;
        assert!(closed["hint"].as_str().is_some_and(|hint| hint.contains("PROXMOX_ALLOW_WRITES=true")), "{closed}");
    }
    assert!(fake.requests().is_empty(), "{:?}", fake.requests());
}

fn writes(tool: &str) -> bool {
    tool.contains("provision") || matches!(tool, "pve_guest_power" | "pve_snapshot_guest")
}

#[tokio::test]
async fn the_servers_dry_run_is_theirs() {
    let fake = lively(Scenario::cluster()).await;
    let access = Access { writes: true, dry_run: true, ..Access::default() };
    let server = served::server(served::settings(connection(&fake, root_token(&fake)), access));
    for (tool, arguments) in calls("").into_iter().filter(|(tool, _)| writes(tool)) {
        let dry = served::done(&server, tool, arguments).await;
        assert_eq!(dry["dry_run"], true, "{tool}: {dry}");
    }
    assert!(fake.requests().iter().all(|entry| entry.verb == "GET"), "{:?}", fake.requests());
}

#[tokio::test]
async fn a_protected_guest_is_left_alone() {
    let fake = lively(Scenario::cluster()).await;
    let access = Access { writes: true, protected_vmids: vec![100, 150], ..Access::default() };
    let server = served::server(served::settings(connection(&fake, root_token(&fake)), access));
    for (tool, arguments) in [
        ("pve_guest_power", json!({"vmid": 100, "action": "stop"})),
        ("pve_snapshot_guest", json!({"vmid": 100, "snapname": "before"})),
        ("pve_provision_lxc", json!({"hostname": "x", "ostemplate": TEMPLATE, "node": "pve1", "vmid": 150})),
        ("pve_provision_vm_from_template", json!({"template": 9000, "name": "x", "vmid": 150})),
    ] {
        fails(&server, tool, arguments, "protected_guest").await;
    }
    assert!(fake.requests().iter().all(|entry| entry.verb == "GET"), "{:?}", fake.requests());
}

#[tokio::test]
async fn several_tasks_of_one_call_make_one_progress() {
    let fake = lively(Scenario::cluster()).await;
    let server = as_root(&fake);
    let (progress, mut steps) = tokio::sync::mpsc::unbounded_channel();
    let caller = pvemcp::tools::context::Caller { progress: Some(progress), ..Default::default() };
    let arguments = json!({"hostname": "wiki", "ostemplate": TEMPLATE, "node": "pve1"});
    let reply = server.call("pve_provision_lxc", arguments.as_object().cloned().expect("an object"), caller).await;
    assert!(!reply.is_error, "{reply:?}");
    let mut told = Vec::new();
    while let Ok(step) = steps.try_recv() {
        told.push(step.done);
    }
    assert!(told.len() > 1 && told.is_sorted_by(|one, other| one < other), "{told:?}");
}

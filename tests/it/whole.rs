//! The whole way: the program as a child process, MCP or the shell on one side, the fake cluster over TLS on the other.

use std::process::Output;

use assert_cmd::Command;
use fake_pve::FakePve;
use serde_json::{Value, json};

const OPEN: [(&str, &str); 2] = [("PROXMOX_ALLOW_WRITES", "true"), ("PROXMOX_ALLOW_ELEVATED", "true")];

async fn fake() -> FakePve {
    FakePve::builder().start().await.expect("a cluster")
}

/// `pvemcp call`, pointed at the fake.
async fn call(fake: &FakePve, settings: &[(&str, &str)], tool: &str, arguments: Value) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pvemcp"));
    command
        .env_clear()
        .env("PROXMOX_URL", fake.url())
        .env("PROXMOX_TOKEN", fake.token())
        .env("PROXMOX_FINGERPRINT", fake.fingerprint())
        .envs(settings.iter().copied())
        .args(["call", tool, &arguments.to_string()]);
    tokio::task::spawn_blocking(move || command.output().expect("it runs")).await.expect("no panic")
}

fn answer(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

#[tokio::test]
async fn a_read_finds_the_nodes() {
    let fake = fake().await;
    let output = call(&fake, &[], "pve_list_nodes", json!({})).await;
    assert_eq!(output.status.code(), Some(0), "{}", answer(&output));
    assert_eq!(answer(&output)["data"].as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn info_knows_the_cluster() {
    let fake = fake().await;
    let info = answer(&call(&fake, &[], "pve_mcp_info", json!({})).await);
    assert_eq!(info["cluster"]["reachable"], true, "{info}");
    assert!(info["cluster"]["version"].as_str().is_some_and(|version| version.starts_with("9.")), "{info}");
}

#[tokio::test]
async fn a_task_is_awaited_where_it_runs() {
    let fake = fake().await;
    let arguments = json!({"node": "pve2", "service": "cron"});
    let output = call(&fake, &OPEN, "pve_restart_node_service", arguments).await;
    let done = answer(&output);
    assert_eq!(output.status.code(), Some(0), "{done}");
    assert_eq!(done["task"]["status"], "ok", "{done}");
    assert!(done["upid"].as_str().is_some_and(|upid| upid.starts_with("UPID:pve2:")), "{done}");
}

#[tokio::test]
async fn a_task_that_fails_is_an_error_with_its_log() {
    let fake = fake().await;
    let arguments = json!({"node": "pve1", "service": "pveproxy"});
    let output = call(&fake, &OPEN, "pve_stop_node_service", arguments).await;
    let failed = answer(&output);
    assert_eq!(output.status.code(), Some(1), "{failed}");
    assert_eq!(failed["code"], "task_failed", "{failed}");
    assert!(failed["log"].as_array().is_some_and(|log| !log.is_empty()), "{failed}");
}

#[tokio::test]
async fn nothing_arrives_that_was_refused_or_only_shown() {
    let fake = fake().await;
    fake.forget_requests();
    let refused = call(&fake, &[], "pve_restart_node_service", json!({"node": "pve1", "service": "cron"})).await;
    assert_eq!(answer(&refused)["code"], "gate_closed");
    let dry = [("PROXMOX_DRY_RUN", "true"), ("PROXMOX_ALLOW_ELEVATED", "true")];
    let shown = call(&fake, &dry, "pve_restart_node_service", json!({"node": "pve1", "service": "cron"})).await;
    assert_eq!(answer(&shown)["dry_run"], true, "{}", answer(&shown));
    let wrong = call(&fake, &OPEN, "pve_restart_node_service", json!({"node": "pve1", "service": "crn", "x": 1})).await;
    assert_eq!(answer(&wrong)["code"], "bad_argument");
    assert!(fake.requests().is_empty(), "{:?}", fake.requests());
}

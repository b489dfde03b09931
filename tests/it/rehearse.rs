//! A rehearsal reaches its own cluster and no other, and says at the end what it did.

use std::path::Path;
use std::process::Output;
use std::time::Duration;

use assert_cmd::Command;
use fake_pve::FakePve;
use pve_catalog::import::{self, Wanted};
use pve_catalog::imported::version_line;
use serde_json::{Value, json};

/// `pvemcp rehearse …`, fed some lines, with the variables of another cluster set.
async fn rehearse(other: &FakePve, arguments: &[&str], lines: &[Value]) -> Output {
    rehearse_with(other, arguments, lines, &[]).await
}

async fn rehearse_with(other: &FakePve, arguments: &[&str], lines: &[Value], more: &[(&str, &Path)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pvemcp"));
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    command
        .env_clear()
        .env("PROXMOX_URL", other.url())
        .env("PROXMOX_TOKEN", other.token())
        .env("PROXMOX_FINGERPRINT", other.fingerprint())
        .env("PROXMOX_ALLOW_WRITES", "false")
        .envs(more.iter().copied())
        .args(arguments)
        .write_stdin(input)
        .timeout(Duration::from_secs(60));
    tokio::task::spawn_blocking(move || command.output().expect("it runs")).await.expect("no panic")
}

fn conversation(calls: &[(&str, Value)]) -> Vec<Value> {
    let client = json!({"name": "test", "version": "1"});
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let mut lines = vec![
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ];
    lines.extend(calls.iter().enumerate().map(|(at, (tool, arguments))| {
        let params = json!({"name": tool, "arguments": arguments});
        json!({"jsonrpc": "2.0", "id": at + 1, "method": "tools/call", "params": params})
    }));
    lines
}

#[tokio::test]
async fn it_changes_its_own_cluster_and_tells() {
    let other = FakePve::builder().start().await.expect("a cluster");
    let calls = [
        ("pve_update_cluster_options", json!({"keyboard": "de"})),
        ("pve_list_nodes", json!({})),
        ("pve_restart_node_service", json!({"node": "pve1", "service": "cron"})),
    ];
    let output = rehearse(&other, &["rehearse"], &conversation(&calls)).await;
    let (told, said) = (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{told}");
    assert!(other.requests().is_empty(), "the other cluster saw {:?}", other.requests());
    assert!(!said.contains("isError"), "{said}");
    assert!(
        told.contains("does not take PROXMOX_ALLOW_WRITES, PROXMOX_FINGERPRINT, PROXMOX_TOKEN, PROXMOX_URL"),
        "{told}"
    );
    assert!(told.contains("PUT /cluster/options -> 200"), "{told}");
    assert!(told.contains("/cluster/options\n"), "{told}");
    for line in said.lines() {
        serde_json::from_str::<Value>(line).expect("stdout carries only the protocol");
    }
}

#[tokio::test]
async fn read_only_opens_nothing() {
    let other = FakePve::builder().start().await.expect("a cluster");
    let calls = [("pve_update_cluster_options", json!({"keyboard": "de"}))];
    let output = rehearse(&other, &["rehearse", "--read-only"], &conversation(&calls)).await;
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(String::from_utf8_lossy(&output.stdout).contains("gate_closed"));
    assert!(told.contains("nothing changed in the cluster"), "{told}");
}

#[tokio::test]
async fn the_journal_holds_requests_and_no_secret() {
    let other = FakePve::builder().start().await.expect("a cluster");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("journal.jsonl");
    let calls = [("pve_create_user", json!({"userid": "eva@pve", "password": "canary-password"}))];
    rehearse(&other, &["rehearse", "--journal", &file.to_string_lossy()], &conversation(&calls)).await;
    let journal = std::fs::read_to_string(&file).expect("the journal is written");
    assert!(journal.contains("/access/users"), "{journal}");
    assert!(!journal.contains("canary-password"), "{journal}");
}

#[tokio::test]
async fn variables_can_be_printed_for_a_shell() {
    let other = FakePve::builder().start().await.expect("a cluster");
    let output = rehearse(&other, &["rehearse", "--print-env"], &[]).await;
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.lines().filter(|line| !line.is_empty()).all(|line| line.starts_with("export ")), "{said}");
    for name in ["PROXMOX_URL", "PROXMOX_HOST", "PROXMOX_TOKEN_SECRET", "PROXMOX_FINGERPRINT", "REQUESTS_CA_BUNDLE"] {
        assert!(said.contains(&format!("export {name}='")), "{name} is missing: {said}");
    }
}

#[tokio::test]
async fn one_call_needs_no_settings() {
    let other = FakePve::builder().start().await.expect("a cluster");
    let output = rehearse(&other, &["call", "pve_list_nodes", "--rehearse"], &[]).await;
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(answer["data"].as_array().map(Vec::len), Some(2), "{answer}");
    assert!(other.requests().is_empty());
}

#[tokio::test]
async fn an_unknown_scenario_is_an_error() {
    let other = FakePve::builder().start().await.expect("a cluster");
    let output = rehearse(&other, &["rehearse", "--scenario", "no-such"], &[]).await;
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("there is no scenario 'no-such'"));
}

#[tokio::test]
async fn it_can_be_held_with_the_tools_of_another_version() {
    let other = FakePve::builder().start().await.expect("a cluster");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("facts.jsonl");
    let facts = import::read(include_str!("data/apidoc.js"), Wanted::Facts).expect("a document");
    std::fs::write(&file, version_line("9.9").expect("a version") + &import::to_jsonl(&facts)).expect("written");
    let lines = conversation(&[("pve_mcp_info", json!({}))]);
    let output = rehearse_with(&other, &["rehearse"], &lines, &[("PROXMOX_CATALOG", &file)]).await;
    let (told, said) = (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{told}");
    assert!(said.contains("9.9"), "{said}");
    assert!(!told.contains("does not take PROXMOX_CATALOG"), "{told}");
}

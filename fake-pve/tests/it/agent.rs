//! The guest agent: three ways to be away, what it tells, programs, files, freezing.

use fake_pve::{FakePve, Mode, Scenario};
use serde_json::{Value, json};

use crate::client::Api;

const AGENT: &str = "/nodes/pve1/qemu/100/agent";

async fn machine(config: Value) -> (FakePve, Api) {
    let scenario = Scenario::empty().vm(100, "pve1", config).running(100);
    let pve = FakePve::builder().scenario(scenario).start().await.expect("a cluster");
    let api = Api::root(&pve).await;
    (pve, api)
}

#[tokio::test]
async fn away_in_different_ways() {
    let (pve, api) = machine(json!({"name": "one"})).await;
    let ping = async || {
        let got = api.post(&format!("{AGENT}/ping"), json!({})).await;
        (got.status, got.refusal().1.to_string())
    };
    assert_eq!(ping().await, (500, "No QEMU guest agent configured".into()));
    let set = |key: &'static str, value: Value| {
        pve.world(|world| world.guests.get_mut(&100).expect("the guest").config.insert(key.into(), value));
    };
    set("agent", json!("enabled=0"));
    assert_eq!(ping().await, (500, "QEMU guest agent is not running".into()));
    set("agent", json!("1"));
    let got = api.post(&format!("{AGENT}/ping"), json!({})).await;
    assert_eq!(got.data(), &json!({"result": {}}));
    pve.world(|world| world.guests.get_mut(&100).expect("the guest").agent.hangs.insert("get-fsinfo".into()));
    let got = api.get(&format!("{AGENT}/get-fsinfo")).await;
    assert_eq!(got.refusal().1, "VM 100 qga command 'guest-get-fsinfo' failed - got timeout");
    assert!(got.json["message"].as_str().is_some_and(|text| text.ends_with('\n')));
    pve.world(|world| world.guests.get_mut(&100).expect("the guest").agent.running = false);
    assert_eq!(ping().await, (500, "QEMU guest agent is not running".into()));
    pve.world(|world| world.guests.get_mut(&100).expect("the guest").power_off());
    assert_eq!(ping().await, (500, "VM 100 is not running".into()));
    let got = api.get("/nodes/pve1/qemu/999/agent/get-osinfo").await;
    assert_eq!(got.refusal().1, "Configuration file 'nodes/pve1/qemu-server/999.conf' does not exist");
}

#[tokio::test]
async fn what_it_tells() {
    let (_pve, api) = machine(json!({"name": "one", "agent": "enabled=1,fstrim_cloned_disks=1", "ipconfig0": "ip=192.0.2.50/24,gw=192.0.2.1"})).await;
    let get = async |command: &str| api.get(&format!("{AGENT}/{command}")).await.data()["result"].clone();
    assert_eq!(get("get-host-name").await, json!({"host-name": "one"}));
    assert_eq!(get("get-osinfo").await["id"], "debian");
    assert_eq!(get("get-timezone").await, json!({"zone": "UTC", "offset": 0}));
    assert_eq!(get("get-vcpus").await[0]["logical-id"], 0);
    assert_eq!(get("get-users").await[0]["user"], "root");
    assert_eq!(get("get-memory-blocks").await.as_array().map(Vec::len), Some(4));
    assert!(get("get-memory-block-info").await["size"].is_u64());
    assert!(get("get-time").await.as_i64() > Some(1_000_000_000_000_000_000));
    assert!(get("info").await["supported_commands"].as_array().map(Vec::len) > Some(20));
    let root = &get("get-fsinfo").await[0];
    assert_eq!((&root["mountpoint"], &root["total-bytes"]), (&json!("/"), &json!(8u64 << 30)));
    let eth0 = &get("network-get-interfaces").await[1];
    let address = json!({"ip-address": "192.0.2.50", "ip-address-type": "ipv4", "prefix": 24});
    assert_eq!((&eth0["name"], &eth0["ip-addresses"][0]), (&json!("eth0"), &address));
    let got = api.post(AGENT, json!({"command": "get-host-name"})).await;
    assert_eq!(got.data()["result"]["host-name"], "one");
    let got = api.post(&format!("{AGENT}/fstrim"), json!({})).await;
    assert_eq!(got.data()["result"]["paths"][0]["path"], "/");
}

#[tokio::test]
async fn a_frozen_guest_answers_little() {
    let (_pve, api) = machine(json!({"agent": "1"})).await;
    let post = async |command: &str| api.post(&format!("{AGENT}/{command}"), json!({})).await.data()["result"].clone();
    assert_eq!(post("fsfreeze-status").await, json!("thawed"));
    assert_eq!(post("fsfreeze-freeze").await, json!(2));
    assert_eq!(post("fsfreeze-status").await, json!("frozen"));
    let text = "Command guest-get-osinfo has been disabled: the agent is in frozen state";
    let got = api.get(&format!("{AGENT}/get-osinfo")).await;
    assert_eq!(got.data()["result"]["error"]["desc"], text);
    let got = api.post_pairs(&format!("{AGENT}/exec"), &[("command", "true")]).await;
    assert_eq!(got.refusal().1, "Agent error: Command guest-exec has been disabled: the agent is in frozen state");
    assert_eq!(post("fsfreeze-thaw").await, json!(2));
    assert_eq!(post("ping").await, json!({}));
}

#[tokio::test]
async fn a_program_is_polled_to_its_end() {
    let (_pve, api) = machine(json!({"agent": "1"})).await;
    let line = "echo out; echo 1 > /tmp/x; cat /nope; exit 3";
    let words = [("command", "sh"), ("command", "-c"), ("command", line)];
    let got = api.post_pairs(&format!("{AGENT}/exec"), &words).await;
    let pid = got.data()["pid"].as_u64().expect("a pid");
    let status = format!("{AGENT}/exec-status?pid={pid}");
    assert_eq!(api.get(&status).await.data(), &json!({"exited": 0}));
    let done = json!({
        "exited": 1, "exitcode": 3, "out-data": "out\n", "err-data": "cat: /nope: No such file or directory\n",
    });
    assert_eq!(api.get(&status).await.data(), &done);
    let got = api.get(&status).await;
    assert_eq!(got.refusal().1, format!("Agent error: PID {pid} does not exist"));
    let read = api.get(&format!("{AGENT}/file-read?file=/tmp/x")).await;
    assert_eq!(read.data(), &json!({"content": "1\n", "bytes-read": 2}));
    let got = api.post_pairs(&format!("{AGENT}/exec"), &[("command", "ls -la")]).await;
    let why = "Failed to execute child process “ls -la” (No such file or directory)";
    assert_eq!(got.refusal().1, format!("Agent error: Guest agent command failed, error was '{why}'"));
    let got = api.post_pairs(&format!("{AGENT}/exec"), &[("command", "cat"), ("input-data", "ä☃")]).await;
    assert_eq!(
        got.refusal().1,
        "Wide character in subroutine entry at /usr/share/perl5/PVE/QemuServer/Agent.pm line 135."
    );
}

#[tokio::test]
async fn a_program_takes_its_time() {
    let scenario = Scenario::empty().vm(100, "pve1", json!({"agent": "1"})).running(100);
    let pve = FakePve::builder().scenario(scenario).clock(Mode::Manual).start().await.expect("a cluster");
    let api = Api::root(&pve).await;
    let got = api.post_pairs(&format!("{AGENT}/exec"), &[("command", "sleep"), ("command", "5")]).await;
    let status = format!("{AGENT}/exec-status?pid={}", got.data()["pid"]);
    for _ in 0..3 {
        assert_eq!(api.get(&status).await.data()["exited"], 0);
        pve.advance(std::time::Duration::from_secs(1));
    }
    pve.advance(std::time::Duration::from_secs(3));
    assert_eq!(api.get(&status).await.data(), &json!({"exited": 1, "exitcode": 0}));
}

#[tokio::test]
async fn files_are_written_as_they_are_or_decoded() {
    let (_pve, api) = machine(json!({"agent": "1"})).await;
    let write = format!("{AGENT}/file-write");
    let read = async |query: &str| api.get(&format!("{AGENT}/file-read?file=/root/f{query}")).await;
    assert_eq!(api.post(&write, json!({"file": "/root/f", "content": "aGVsbG8="})).await.data(), &json!(null));
    assert_eq!(read("").await.data()["content"], "aGVsbG8=");
    assert_eq!(api.post(&write, json!({"file": "/root/f", "content": "aGVsbG8=", "encode": 0})).await.status, 200);
    assert_eq!(read("").await.data(), &json!({"content": "hello", "bytes-read": 5}));
    assert_eq!(read("&offset=1&count=2").await.data(), &json!({"content": "el", "bytes-read": 2, "truncated": 1}));
    assert_eq!(read("&decode=0").await.data()["content"], "aGVsbG8=");
    let got = api.get(&format!("{AGENT}/file-read?file=/nope")).await;
    assert_eq!(got.refusal().1, "Agent error: failed to open file '/nope' (mode: 'r'): No such file or directory");
    let got = api.post(&write, json!({"file": "/nope/x", "content": "x"})).await;
    assert_eq!(got.refusal().1, "Agent error: failed to open file '/nope/x' (mode: 'wb'): No such file or directory");
}

#[tokio::test]
async fn passwords_sleep_and_shutdown() {
    let (pve, api) = machine(json!({"agent": "1"})).await;
    let set = format!("{AGENT}/set-user-password");
    let got = api.post(&set, json!({"username": "root", "password": "secret1"})).await;
    assert_eq!(got.data(), &json!({"result": {}}));
    let got = api.post(&set, json!({"username": "nobody-here", "password": "secret1"})).await;
    assert_eq!(got.refusal().1, "Agent error: child process has failed to set user password");
    let current = async || api.get("/nodes/pve1/qemu/100/status/current").await.data()["qmpstatus"].clone();
    api.post(&format!("{AGENT}/suspend-ram"), json!({})).await;
    assert_eq!(current().await, "suspended");
    crate::task::run(&api, "/nodes/pve1/qemu/100/status/resume", json!({}), "OK").await;
    assert_eq!(current().await, "running");
    api.post(&format!("{AGENT}/shutdown"), json!({})).await;
    assert_eq!(current().await, "stopped");
    assert_eq!(pve.world(|world| world.guests[&100].agent.passwords["root"].clone()), "secret1");
}

//! Resources with change notices, prompts and completions, in both eras of the protocol.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use pvemcp::config::Access;
use pvemcp::mcp::prompts::{GUIDES, tools};
use pvemcp::mcp::{Handler, resources};
use pvemcp::server::Server;
use serde_json::{Value, json};

use crate::confirm::{HandClock, Session, modern_meta};
use crate::scripted::{Received, Scripted, ok};
use crate::served::{alone, cluster, settings};

const UPID: &str = "UPID:pve1:0000AAAA:00000001:65000000:qmstart:100:root@pam:";

/// A cluster whose VM 100 has a state that tests change; CPU is never the same.
async fn world() -> (Scripted, Arc<AtomicU64>) {
    let (state, cpu) = (Arc::new(AtomicU64::new(0)), AtomicU64::new(0));
    let seen = state.clone();
    let scripted = cluster(move |request: &Received| match request.path() {
        "/cluster/resources" => Some(ok(&json!({"data": [
            {"id": "qemu/100", "type": "qemu", "vmid": 100, "node": "pve1", "name": "we\u{202e}b",
             "status": format!("state {}", seen.load(Ordering::Relaxed)), "cpu": cpu.fetch_add(1, Ordering::Relaxed)},
            {"id": "lxc/101", "type": "lxc", "vmid": 101, "node": "pve2", "name": "db"},
            {"id": "storage/pve1/local", "type": "storage", "storage": "local", "node": "pve1", "disk": 5, "maxdisk": 100},
        ]})
        .to_string())),
        "/nodes/pve1/qemu/100/config" => Some(ok(r#"{"data":{"name":"web","cipassword":"hidden-from-all"}}"#)),
        "/nodes/pve1/qemu/100/snapshot" => {
            Some(ok(r#"{"data":[{"name":"before"},{"name":"beta"},{"name":"current"},{"name":"old"}]}"#))
        }
        "/cluster/tasks" => Some(ok(&json!({"data": [{"upid": UPID, "status": "OK"}]}).to_string())),
        path if path.ends_with("/status") && path.contains("/tasks/") => Some(ok(r#"{"data":{"status":"stopped"}}"#)),
        path if path.ends_with("/log") => Some(ok(r#"{"data":[{"n":1,"t":"TASK OK"}]}"#)),
        _ => None,
    })
    .await;
    (scripted, state)
}

fn over(scripted: &Scripted, clock: &Arc<HandClock>) -> Arc<Server> {
    Server::with_clock(settings(scripted.connection(), Access::default()), clock.clone()).expect("usable settings")
}

async fn both(server: &Arc<Server>) -> [Session; 2] {
    let modern = Session::over(server.clone(), modern_meta(json!({}))).await;
    [Session::legacy(server.clone(), json!({})).await, modern]
}

async fn content(session: &mut Session, uri: &str) -> Value {
    let answer = session.ask("resources/read", json!({"uri": uri})).await;
    let text = answer["result"]["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{uri}: {answer}"));
    serde_json::from_str(text).expect("JSON")
}

#[tokio::test]
async fn every_resource_can_be_read() {
    let (scripted, _) = world().await;
    for mut session in both(&over(&scripted, &HandClock::new())).await {
        let listed = session.ask("resources/list", json!({})).await;
        let listed = listed["result"]["resources"].as_array().expect("resources").clone();
        assert_eq!(listed.len(), 5);
        for resource in &listed {
            content(&mut session, resource["uri"].as_str().expect("an address")).await;
        }
        let templates = session.ask("resources/templates/list", json!({})).await;
        assert_eq!(templates["result"]["resourceTemplates"].as_array().map(Vec::len), Some(2));
        let guests = content(&mut session, "proxmox://default/guests").await;
        assert_eq!((&guests["untrusted"], &guests["data"][0]["name"]), (&json!(true), &json!("web")), "stripped");
        let guest = content(&mut session, "proxmox://default/guests/100").await;
        assert_eq!(guest["untrusted"], true);
        assert_eq!(guest["config"]["cipassword"], "[REDACTED]");
        let encoded = UPID.replace(':', "%3A").replace('@', "%40");
        let task = content(&mut session, &format!("proxmox://default/tasks/{encoded}")).await;
        assert_eq!((&task["status"]["status"], &task["log"][0]["t"]), (&json!("stopped"), &json!("TASK OK")));
    }
}

#[tokio::test]
async fn what_is_not_there_is_said_in_each_era() {
    let (scripted, _) = world().await;
    let server = over(&scripted, &HandClock::new());
    for (mut session, code) in both(&server).await.into_iter().zip([-32002, -32602]) {
        for uri in [
            "proxmox://default/nonsense",
            "proxmox://elsewhere/nodes",
            "proxmox://default/guests/7",
            "proxmox://default/guests/../nodes",
            "proxmox://default/tasks/UPID:no",
            "file:///etc/passwd",
        ] {
            let answer = session.ask("resources/read", json!({"uri": uri})).await;
            assert_eq!(answer["error"]["code"], code, "{uri}: {answer}");
            assert_eq!(answer["error"]["data"]["uri"], uri);
        }
    }
}

/// Waits until the poller has looked this many times and sleeps.
async fn looked(scripted: &Scripted, clock: &HandClock, times: usize) {
    let looks = || scripted.received().iter().filter(|request| request.path() == "/cluster/resources").count();
    while looks() < times || clock.sleepers() == 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn changes_are_told_to_all_from_one_poll() {
    let (scripted, state) = world().await;
    let clock = HandClock::new();
    let server = over(&scripted, &clock);
    let handler = Handler::new(server);
    let mut older = Session::serve(handler.clone(), Value::Null).await;
    older.hello(json!({})).await;
    let mut newer = Session::serve(handler.for_session(), modern_meta(json!({}))).await;
    let guest = "proxmox://default/guests/100";
    assert!(scripted.received().is_empty(), "nobody listens, nobody looks");
    for uri in [guest, "proxmox://default/storage"] {
        let answer = older.ask("resources/subscribe", json!({"uri": uri})).await;
        assert!(answer["error"].is_null(), "{answer}");
    }
    let refused = older.ask("resources/subscribe", json!({"uri": "proxmox://default/tasks"})).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let filter = json!({"resourceSubscriptions": [guest, "proxmox://default/tasks", "proxmox://default/nodes"]});
    newer.begin("subscriptions/listen", json!({"notifications": filter})).await;
    let accepted = newer.read().await;
    let accepted = &accepted["params"]["notifications"]["resourceSubscriptions"];
    assert_eq!(accepted, &json!([guest, "proxmox://default/nodes"]));
    looked(&scripted, &clock, 1).await;
    clock.advance(Duration::from_secs(10));
    looked(&scripted, &clock, 2).await;
    state.store(1, Ordering::Relaxed);
    clock.advance(Duration::from_secs(10));
    for session in [&mut older, &mut newer] {
        let notice = session.read().await;
        assert_eq!(notice["method"], "notifications/resources/updated", "{notice}");
        assert_eq!(notice["params"]["uri"], guest, "load is no news");
    }
    looked(&scripted, &clock, 3).await;
    assert_eq!(scripted.received().len(), 3, "one poll for all");
    older.ask("resources/unsubscribe", json!({"uri": guest})).await;
    // The end of a pipe would end the server, which both share here.
    let params = json!({"requestId": newer.latest()});
    newer.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})).await;
    state.store(2, Ordering::Relaxed);
    clock.advance(Duration::from_secs(10));
    looked(&scripted, &clock, 4).await;
    older.ask("resources/unsubscribe", json!({"uri": "proxmox://default/storage"})).await;
    while clock.sleepers() > 0 {
        tokio::task::yield_now().await;
    }
    clock.advance(Duration::from_secs(100));
    assert_eq!(older.ask("ping", json!({})).await["result"], json!({}), "no notice in between");
    assert_eq!(scripted.received().len(), 4, "nobody listens any more");
}

#[tokio::test]
async fn prompts_are_filled_in() {
    for mut session in both(&alone(Access::default())).await {
        let listed = session.ask("prompts/list", json!({})).await;
        let names: Vec<&str> = listed["result"]["prompts"]
            .as_array()
            .expect("prompts")
            .iter()
            .filter_map(|one| one["name"].as_str())
            .collect();
        assert_eq!(names.len(), 6);
        assert!(names.is_sorted());
        let arguments = json!({"vmid": "100", "symptom": "it\u{202e} says \"ignore\nall\""});
        let got = session.ask("prompts/get", json!({"name": "troubleshoot_guest", "arguments": arguments})).await;
        let text = got["result"]["messages"][0]["content"]["text"].as_str().expect("a text");
        assert!(text.contains("- vmid: \"100\"") && text.contains("- symptom: \"it says 'ignore all'\""), "{text}");
        let got = session
            .ask("prompts/get", json!({"name": "safe_guest_change", "arguments": {"vmid": "1", "change": "x"}}))
            .await;
        let text = got["result"]["messages"][0]["content"]["text"].as_str().expect("a text");
        assert!(text.contains("Not offered here: pve_snapshot_guest."), "{text}");
        for (name, arguments) in
            [("troubleshoot", json!({})), ("troubleshoot_guest", json!({})), ("backup_review", json!({"vmid": "100"}))]
        {
            let wrong = session.ask("prompts/get", json!({"name": name, "arguments": arguments})).await;
            assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
        }
    }
}

#[test]
fn prompts_speak_of_tools_that_exist() {
    let server = alone(Access::default());
    for guide in &GUIDES {
        let named = tools(guide);
        assert!(!named.is_empty(), "{}", guide.name);
        for tool in named {
            assert!(server.registry().find(tool).is_some(), "{}: there is no {tool}", guide.name);
        }
    }
}

#[tokio::test]
async fn arguments_are_completed() {
    let (scripted, _) = world().await;
    for mut session in both(&over(&scripted, &HandClock::new())).await {
        let prompt = json!({"type": "ref/prompt", "name": "safe_guest_change"});
        let template = json!({"type": "ref/resource", "uri": resources::TEMPLATES[0].0});
        let cases = [
            (&prompt, "node", "pve", json!(["pve1", "pve2"])),
            (&prompt, "vmid", "10", json!(["100", "101"])),
            (&template, "vmid", "101", json!(["101"])),
            (&prompt, "storage", "", json!(["local"])),
            (&prompt, "snapshot", "be", json!(["before", "beta"])),
            (&template, "instance", "d", json!(["default"])),
            (&template, "upid", "UPID:pve1", json!([UPID])),
            (&prompt, "change", "", json!([])),
        ];
        for (reference, name, typed, expected) in cases {
            let params = json!({
                "ref": reference, "argument": {"name": name, "value": typed}, "context": {"arguments": {"vmid": "100"}},
            });
            let answer = session.ask("completion/complete", params).await;
            assert_eq!(answer["result"]["completion"]["values"], expected, "{name}: {answer}");
        }
    }
}

//! The tasks extension: a call that waits for a Proxmox task becomes a task of the client that can have one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pvemcp::server::Server;
use serde_json::{Value, json};

use crate::confirm::{HandClock, Session, modern_meta};
use crate::scripted::{Scripted, ok};
use crate::served::{cluster, everything, settings};

const UPID: &str = "UPID:pve1:0000AAAA:00000001:65000000:qmstart:100:root@pam:";

struct World {
    scripted: Scripted,
    ended: Arc<AtomicBool>,
    clock: Arc<HandClock>,
    session: Session,
}

impl World {
    async fn new() -> World {
        let ended = Arc::new(AtomicBool::new(false));
        let now = ended.clone();
        let scripted = cluster(move |request| match request.path() {
            path if path.ends_with("/status/start") => Some(ok(&json!({"data": UPID}).to_string())),
            path if path.ends_with("/log") => Some(ok(r#"{"data":[{"n":1,"t":"starting"}],"total":1}"#)),
            path if path.contains("/tasks/") && now.load(Ordering::Relaxed) => {
                Some(ok(r#"{"data":{"status":"stopped","exitstatus":"OK"}}"#))
            }
            path if path.contains("/tasks/") => Some(ok(r#"{"data":{"status":"running"}}"#)),
            _ => None,
        })
        .await;
        let clock = HandClock::new();
        let server = Server::with_clock(settings(scripted.connection(), everything()), clock.clone()).expect("usable");
        let meta = modern_meta(json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}));
        let session = Session::over(server, meta).await;
        World { scripted, ended, clock, session }
    }

    /// Starts a VM; the id of the task that the client gets.
    async fn started(&mut self) -> Value {
        let params = json!({"name": "pve_start_vm", "arguments": {"vmid": 100}});
        let answer = self.session.ask("tools/call", params).await;
        assert_eq!(answer["result"]["resultType"], "task", "{answer}");
        answer["result"]["taskId"].clone()
    }

    /// Asks until it is not at work any more.
    async fn settled(&mut self, id: &Value) -> Value {
        loop {
            let got = self.session.ask("tasks/get", json!({"taskId": id})).await["result"].clone();
            if got["status"] != "working" {
                return got;
            }
        }
    }
}

#[tokio::test]
async fn what_waits_becomes_a_task_and_ends_with_the_result() {
    let mut world = World::new().await;
    let id = world.started().await;
    let got = world.session.ask("tasks/get", json!({"taskId": id})).await;
    assert_eq!(got["result"]["status"], "working", "{got}");
    while world.clock.sleepers() == 0 {
        tokio::task::yield_now().await;
    }
    world.ended.store(true, Ordering::Relaxed);
    world.clock.advance(Duration::from_secs(1));
    let got = world.settled(&id).await;
    assert_eq!(got["status"], "completed", "{got}");
    assert_eq!(got["result"]["structuredContent"]["task"]["status"], "ok", "{got}");
}

#[tokio::test]
async fn a_cancelled_one_says_that_the_task_of_proxmox_goes_on() {
    let mut world = World::new().await;
    let id = world.started().await;
    let cancelled = world.session.ask("tasks/cancel", json!({"taskId": id})).await;
    assert!(cancelled["error"].is_null(), "{cancelled}");
    let got = world.settled(&id).await;
    assert_eq!(got["status"], "cancelled", "{got}");
    assert!(got["statusMessage"].as_str().is_some_and(|said| said.contains("the task goes on")), "{got}");
    let writes = world.scripted.received().into_iter().filter(|request| request.verb != "GET").count();
    assert_eq!(writes, 1, "it was started and not stopped");
}

#[tokio::test]
async fn what_waits_for_nothing_and_what_is_no_task_stay_as_they_are() {
    let mut world = World::new().await;
    let params = json!({"name": "pve_list_nodes", "arguments": {}});
    assert_eq!(world.session.ask("tools/call", params).await["result"]["resultType"], "complete");
    let params = json!({"name": "pve_start_vm", "arguments": {"vmid": 100, "wait": false}});
    assert_eq!(world.session.ask("tools/call", params).await["result"]["resultType"], "complete");
    assert!(world.session.ask("tasks/get", json!({"taskId": "none"})).await["error"].is_object());
}

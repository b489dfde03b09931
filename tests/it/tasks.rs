//! Waiting for tasks: every end, progress, cancellation, nodes that stumble.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use pvemcp::error::{Code, Fault};
use pvemcp::pve::Client;
use pvemcp::pve::task::{Progress, TaskEnd, Wait, wait};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::scripted::{Act, Received, Scripted, StillClock, ok, open_policy, status};

const UPID: &str = "UPID:pve2:0000C0DE:0ABCDEF0:65A0B1C2:qmstart:100:mcp@pve!ci:";

/// Remembers what it heard.
#[derive(Default)]
struct Heard(Mutex<Vec<(f64, String)>>);

impl Progress for Heard {
    fn step(&self, done: f64, message: &str) {
        self.0.lock().expect("no panic inside").push((done, message.into()));
    }
}

fn is_log(request: &Received) -> bool {
    request.path().ends_with("/log")
}

fn log(lines: &[&str]) -> Act {
    let rows: Vec<_> = lines.iter().enumerate().map(|(at, line)| json!({"n": at + 1, "t": line})).collect();
    ok(&json!({"data": rows, "total": lines.len()}).to_string())
}

fn stopped(exit: &str) -> Act {
    ok(&json!({"data": {"status": "stopped", "exitstatus": exit, "upid": UPID}}).to_string())
}

fn running() -> Act {
    ok(r#"{"data":{"status":"running"}}"#)
}

async fn wait_for(server: &Scripted, limit: u64) -> (Result<TaskEnd, Fault>, Vec<(f64, String)>, Arc<StillClock>) {
    let clock = Arc::new(StillClock::default());
    let client = Client::with_clock(server.connection(), clock.clone()).expect("a client");
    let heard = Heard::default();
    let limit = Wait { limit: Duration::from_secs(limit) };
    let end = wait(&client, &open_policy(), UPID, limit, &heard, CancellationToken::new()).await;
    (end, heard.0.into_inner().expect("no panic inside"), clock)
}

#[tokio::test]
async fn ok_after_a_while_with_progress() {
    let server = Scripted::start(|before, request| match (is_log(request), before) {
        (true, 1) => log(&["starting"]),
        (true, 3) => log(&["starting"]),
        (true, _) => log(&["starting", "half-way", "TASK OK"]),
        (false, 0 | 2) => running(),
        (false, _) => stopped("OK"),
    })
    .await;
    let (end, heard, clock) = wait_for(&server, 60).await;
    assert_eq!(end, Ok(TaskEnd::Ok));
    assert_eq!(heard, [(1.0, "starting".to_string()), (3.0, "TASK OK".to_string())]);
    let pauses = clock.slept();
    assert_eq!(pauses, [Duration::from_millis(250), Duration::from_millis(375)], "ever longer");
    let upid = "UPID:pve2:0000C0DE:0ABCDEF0:65A0B1C2:qmstart:100:mcp%40pve%21ci:";
    let received = server.received();
    assert_eq!(received[0].path(), format!("/nodes/pve2/tasks/{upid}/status"), "asked where it runs");
    assert!(received[5].target.ends_with("/log?start=1&limit=500"), "{}", received[5].target);
}

#[tokio::test]
async fn warnings_are_shown() {
    let server = Scripted::start(|_, request| {
        if is_log(request) {
            log(&["a", "WARN: disk is slow", "WARN: password=hunter2222", "TASK WARNINGS: 2"])
        } else {
            stopped("WARNINGS: 2")
        }
    })
    .await;
    let (end, ..) = wait_for(&server, 60).await;
    let log = vec!["WARN: disk is slow".to_string(), "WARN: password=[REDACTED]".to_string()];
    assert_eq!(end, Ok(TaskEnd::Warnings { count: 2, log }));
}

#[tokio::test]
async fn a_failure_carries_the_end_of_its_log() {
    let server = Scripted::start(|_, request| {
        let lines: Vec<String> = (1..=30).map(|n| format!("line {n}")).collect();
        let mut lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        lines.push("TASK ERROR: VM is locked (backup)");
        if is_log(request) { log(&lines) } else { stopped("VM is locked (backup)") }
    })
    .await;
    let fault = wait_for(&server, 60).await.0.expect_err("it failed");
    assert_eq!(fault.code, Code::TaskFailed);
    assert_eq!(fault.message, "the task failed: VM is locked (backup)");
    assert!(fault.hint.expect("a hint").contains("another operation"));
    let log = fault.details["log"].as_array().expect("a log");
    assert_eq!((log.len(), &log[0], &log[19]), (20, &json!("line 12"), &json!("TASK ERROR: VM is locked (backup)")));
    assert_eq!(fault.details["upid"], UPID);
    assert_eq!(fault.details["node"], "pve2");
}

#[tokio::test]
async fn stopped_without_an_exit_status_is_no_success() {
    let server = Scripted::start(
        |_, request| if is_log(request) { log(&["x"]) } else { ok(r#"{"data":{"status":"stopped"}}"#) },
    )
    .await;
    assert_eq!(wait_for(&server, 60).await.0.expect_err("nobody knows").code, Code::TaskFailed);
}

#[tokio::test]
async fn not_ended_in_time() {
    let server = Scripted::start(|_, request| if is_log(request) { log(&["no content"]) } else { running() }).await;
    let (end, heard, clock) = wait_for(&server, 30).await;
    assert_eq!(end, Ok(TaskEnd::StillRunning));
    assert!(heard.is_empty(), "an empty log is no progress");
    let pauses = clock.slept();
    assert_eq!(pauses.iter().sum::<Duration>(), Duration::from_secs(30), "exactly the limit");
    assert_eq!(pauses.iter().max(), Some(&Duration::from_secs(5)));
    let looked = server.received().len();
    assert_eq!(wait_for(&server, 0).await.0, Ok(TaskEnd::StillRunning));
    assert_eq!(server.received().len(), looked + 2, "a limit of zero looks once");
}

#[tokio::test]
async fn a_long_log_is_read_in_pages() {
    let server = Scripted::start(|_, request| {
        if !is_log(request) {
            return stopped("OK");
        }
        let start: usize = request
            .target
            .split("start=")
            .nth(1)
            .and_then(|rest| rest.split('&').next()?.parse().ok())
            .expect("a start");
        let rows: Vec<_> = (start + 1..=(start + 500).min(1200))
            .map(|n| json!({"n": n.to_string(), "t": format!("line {n}")}))
            .collect();
        ok(&json!({"data": rows, "total": 1200}).to_string())
    })
    .await;
    let (end, heard, _) = wait_for(&server, 60).await;
    assert_eq!(end, Ok(TaskEnd::Ok));
    assert_eq!(heard.iter().map(|(done, _)| *done).collect::<Vec<_>>(), [500.0, 1000.0, 1200.0]);
}

#[tokio::test]
async fn a_node_that_stumbles_is_forgiven_and_one_that_is_gone_is_not() {
    let server = Scripted::start(|before, request| match before {
        0 | 1 => status("595 Connection refused", ""),
        _ if is_log(request) => log(&["TASK OK"]),
        _ => stopped("OK"),
    })
    .await;
    assert_eq!(wait_for(&server, 60).await.0, Ok(TaskEnd::Ok));
    let server = Scripted::start(|_, _| status("595 No route to host", "")).await;
    let fault = wait_for(&server, 60).await.0.expect_err("gone");
    assert_eq!(fault.code, Code::NodeUnreachable);
    assert_eq!(fault.details["upid"], UPID);
    assert!(fault.hint.expect("a hint").contains("how the task ended is not known"));
    assert_eq!(server.received().len(), 3);
}

#[tokio::test]
async fn cancelling_leaves_the_task_running() {
    let server = Scripted::start(|_, request| if is_log(request) { log(&["x"]) } else { running() }).await;
    let cancel = CancellationToken::new();
    struct CancelAtFirstLine(CancellationToken);
    impl Progress for CancelAtFirstLine {
        fn step(&self, _done: f64, _message: &str) {
            self.0.cancel();
        }
    }
    let limit = Wait { limit: Duration::from_secs(600) };
    let progress = CancelAtFirstLine(cancel.clone());
    let fault = wait(&server.client(), &open_policy(), UPID, limit, &progress, cancel).await.expect_err("cancelled");
    assert_eq!(fault.code, Code::Cancelled);
    assert!(fault.message.contains("the task goes on"));
    assert_eq!(fault.details["upid"], UPID);
    assert!(server.received().iter().all(|request| request.verb == "GET"), "nothing was stopped");
}

#[tokio::test]
async fn what_is_no_upid_is_not_asked_about() {
    let server = Scripted::start(|_, _| running()).await;
    for text in ["OK", "", "UPID:pve2", "UPID:../x:0000C0DE:0ABCDEF0:65A0B1C2:qmstart:100:mcp@pve:"] {
        let limit = Wait { limit: Duration::ZERO };
        let fault = wait(&server.client(), &open_policy(), text, limit, &(), CancellationToken::new()).await;
        assert_eq!(fault.expect_err("no UPID").code, Code::BadArgument, "{text}");
    }
    assert!(server.received().is_empty());
}

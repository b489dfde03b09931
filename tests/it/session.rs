//! A session in process, over a pipe: progress, cancellation, and the end of input while a task is awaited.

use std::sync::Arc;

use pvemcp::mcp;
use pvemcp::server::Server;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, split};
use tokio::task::JoinHandle;

use crate::scripted::{Act, Received, ok};
use crate::served::{cluster, over};

const UPID: &str = "UPID:pve1:0000AAAA:00000001:65000000:qmstart:100:root@pam:";

struct Session {
    input: WriteHalf<DuplexStream>,
    output: Lines<BufReader<ReadHalf<DuplexStream>>>,
    served: JoinHandle<Result<(), mcp::stdio::StdioError>>,
}

impl Session {
    async fn start(server: Arc<Server>) -> Session {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (reader, writer) = split(theirs);
        let served = tokio::spawn(mcp::stdio::serve_on(server, reader, writer));
        let (output, input) = split(ours);
        let mut session = Session { input, output: BufReader::new(output).lines(), served };
        let hello =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        session.send(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello})).await;
        session.read().await;
        session.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        session
    }

    async fn send(&mut self, message: Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.expect("the server reads");
    }

    async fn read(&mut self) -> Value {
        let line = self.output.next_line().await.expect("readable").expect("a line");
        serde_json::from_str(&line).expect("JSON")
    }

    async fn call(&mut self, id: i64, tool: &str, arguments: Value, meta: Value) {
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})).await;
    }
}

/// A VM whose start is a task; `status` and `log` of the task are scripted.
fn task(request: &Received, status: impl Fn() -> Act, log: impl Fn() -> Act) -> Option<Act> {
    let path = request.path();
    if path.ends_with("/status/start") {
        return Some(ok(&json!({"data": UPID}).to_string()));
    }
    if path.ends_with("/log") || path.contains("/log?") {
        return Some(log());
    }
    path.contains("/tasks/").then(status)
}

#[tokio::test]
async fn progress_is_told_before_the_result_when_it_is_asked_for() {
    let done = || ok(r#"{"data":{"status":"stopped","exitstatus":"OK"}}"#);
    let log = || ok(r#"{"data":[{"n":1,"t":"starting"},{"n":2,"t":"TASK OK"}],"total":2}"#);
    let scripted = cluster(move |request| task(request, done, log)).await;
    let mut session = Session::start(over(&scripted)).await;
    session.call(1, "pve_start_vm", json!({"vmid": 100}), json!({"progressToken": "p"})).await;
    let notice = session.read().await;
    assert_eq!(notice["method"], "notifications/progress", "{notice}");
    assert_eq!(notice["params"]["progressToken"], "p");
    assert_eq!(notice["params"]["message"], "TASK OK");
    let result = session.read().await;
    assert_eq!(result["id"], 1);
    assert_eq!(result["result"]["structuredContent"]["task"]["status"], "ok", "{result}");

    session.call(2, "pve_start_vm", json!({"vmid": 100}), json!({})).await;
    assert_eq!(session.read().await["id"], 2);
}

#[tokio::test]
async fn a_cancelled_call_is_not_answered_and_the_session_goes_on() {
    let scripted = cluster(move |request| task(request, || Act::Hang, || Act::Hang)).await;
    let mut session = Session::start(over(&scripted)).await;
    session.call(1, "pve_start_vm", json!({"vmid": 100}), json!({})).await;
    session.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})).await;
    session.call(2, "pve_list_nodes", json!({}), json!({})).await;
    let answer = session.read().await;
    assert_eq!(answer["id"], 2, "{answer}");
}

#[tokio::test]
async fn the_end_of_input_ends_the_waiting_and_not_the_answer() {
    let scripted = cluster(move |request| task(request, || Act::Hang, || Act::Hang)).await;
    let mut session = Session::start(over(&scripted)).await;
    session.call(1, "pve_start_vm", json!({"vmid": 100, "wait_seconds": 3600}), json!({})).await;
    while !scripted.received().iter().any(|request| request.path().contains("/tasks/")) {
        tokio::task::yield_now().await;
    }
    session.input.shutdown().await.expect("closed");
    let answer = session.read().await;
    assert_eq!(answer["id"], 1);
    assert_eq!(answer["result"]["structuredContent"]["task"]["status"], "still_running", "{answer}");
    assert_eq!(answer["result"]["structuredContent"]["upid"], UPID);
    session.served.await.expect("no panic").expect("a good end");
}

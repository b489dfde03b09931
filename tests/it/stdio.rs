//! MCP over stdio as raw lines, in both eras of the protocol.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// A server as a child process.
struct Session {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next: i64,
    meta: Option<Value>,
}

impl Session {
    fn start() -> Session {
        let mut child = Command::new(env!("CARGO_BIN_EXE_pvemcp"))
            .env_clear()
            .env("PROXMOX_URL", "https://127.0.0.1:1")
            .env("PROXMOX_TOKEN", "a@pam!b=01234567-89ab-cdef-0123-456789abcdef")
            .env("PROXMOX_TOOLSETS", "api,vm")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("stdout"));
        Session { child, input, output, next: 1, meta: None }
    }

    /// The era of `initialize`.
    fn legacy(version: &str) -> (Session, Value) {
        let mut session = Session::start();
        let answer = session.ask(
            "initialize",
            json!({
                "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
            }),
        );
        session.line(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        (session, answer)
    }

    /// The era of metadata on each request.
    fn modern() -> Session {
        let mut session = Session::start();
        session.meta = Some(json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        }));
        session
    }

    fn line(&mut self, line: &str) {
        let input = self.input.as_mut().expect("still open");
        writeln!(input, "{line}").expect("the server reads");
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the server writes");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("stdout carries only the protocol: {line:?}"))
    }

    fn ask(&mut self, method: &str, mut params: Value) -> Value {
        if let Some(meta) = &self.meta {
            params["_meta"] = meta.clone();
        }
        let id = self.next;
        self.next += 1;
        self.line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
        let answer = self.read();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    fn names(&mut self) -> Vec<String> {
        let answer = self.ask("tools/list", json!({}));
        let tools = answer["result"]["tools"].as_array().expect("tools").clone();
        tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_string()).collect()
    }

    /// Closes stdin; the exit status.
    fn end(mut self) -> Option<i32> {
        drop(self.input.take());
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[test]
fn the_older_protocol_is_spoken() {
    for (asked, answered) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2999-01-01", "2025-11-25"),
    ] {
        let (mut session, hello) = Session::legacy(asked);
        assert_eq!(hello["result"]["protocolVersion"], answered);
        assert_eq!(hello["result"]["serverInfo"]["name"], "pvemcp");
        assert_eq!(hello["result"]["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
        assert!(hello["result"]["capabilities"]["tools"].is_object());
        let mut offered: Vec<_> =
            hello["result"]["capabilities"].as_object().expect("an object").keys().cloned().collect();
        offered.sort();
        assert_eq!(offered, ["completions", "extensions", "prompts", "resources", "tools"], "only what works");
        let result = session.call("pve_api_search", json!({"query": "list vms", "limit": 1}));
        assert!(result.get("resultType").is_none(), "{result}");
        let has_structured = asked != "2024-11-05";
        assert_eq!(result.get("structuredContent").is_some(), has_structured, "{asked}: {result}");
        let text = result["content"][0]["text"].as_str().expect("a text");
        assert!(text.contains("pve_list_vms"), "{text}");
        assert_eq!(session.end(), Some(0));
    }
}

#[test]
fn the_newer_protocol_is_spoken() {
    let mut session = Session::modern();
    let discovered = session.ask("server/discover", json!({}));
    let result = &discovered["result"];
    assert!(result["supportedVersions"].as_array().expect("versions").contains(&json!("2026-07-28")), "{discovered}");
    let listed = session.ask("tools/list", json!({}));
    assert_eq!(listed["result"]["resultType"], "complete");
    assert!(listed["result"]["ttlMs"].is_u64(), "required there");
    assert!(listed["result"]["cacheScope"].is_string(), "required there");
    let result = session.call("pve_api_search", json!({"query": "list vms", "limit": 1}));
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["structuredContent"]["results"][0]["tool"], "pve_list_vms");
    assert_eq!(session.end(), Some(0));
}

#[test]
fn the_list_is_the_same_every_time_and_everywhere() {
    let (mut legacy, _) = Session::legacy("2025-11-25");
    let first = legacy.names();
    assert!(first.is_sorted());
    assert!(first.contains(&"pve_list_vms".to_string()));
    assert!(!first.contains(&"pve_start_vm".to_string()));
    assert_eq!(legacy.names(), first);
    assert_eq!(Session::modern().names(), first);
}

#[test]
fn annotations_say_only_what_differs() {
    let (mut session, _) = Session::legacy("2025-11-25");
    let answer = session.ask("tools/list", json!({}));
    for tool in answer["result"]["tools"].as_array().expect("tools") {
        assert_eq!(tool["annotations"], json!({"readOnlyHint": true}), "{tool}");
        assert!(tool.get("title").is_none(), "{tool}");
        assert!(tool["description"].as_str().is_some_and(|text| !text.is_empty()), "{tool}");
    }
}

#[test]
fn what_a_model_can_mend_is_a_result_and_not_a_protocol_error() {
    let (mut session, _) = Session::legacy("2025-11-25");
    let unknown = session.call("pve_list_vmss", json!({}));
    assert_eq!(unknown["isError"], true);
    assert_eq!(unknown["structuredContent"]["code"], "unknown_tool");
    assert!(unknown["content"][0]["text"].as_str().expect("a text").contains("pve_list_vms"), "{unknown}");
    let closed = session.call("pve_start_vm", json!({"vmid": 100}));
    assert_eq!(closed["structuredContent"]["code"], "gate_closed");
    let bad = session.call("pve_get_vm_config", json!({"vmid": 5, "curent": true, "snapshoot": "x"}));
    assert_eq!(bad["isError"], true);
    let errors = bad["structuredContent"]["errors"].as_object().expect("errors");
    assert_eq!(errors.len(), 3, "{bad}");
    let down = session.call("pve_list_vms", json!({"node": "pve1"}));
    assert_eq!(down["structuredContent"]["code"], "unreachable");
    assert_eq!(session.end(), Some(0));
}

#[test]
fn malformed_requests_are_survived() {
    let (mut session, _) = Session::legacy("2025-11-25");
    session.line("this is no JSON");
    session.line("{\"jsonrpc\": \"2.0\"");
    let answer = session.ask("tools/call", json!({"name": "pve_list_nodes", "arguments": [1]}));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert!(answer["error"]["message"].as_str().expect("a message").contains("arguments"), "{answer}");
    let answer = session.ask("tools/call", json!({"arguments": {}}));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let answer = session.ask("tools/list", json!({"cursor": "nonsense"}));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let answer = session.ask("no/such/method", json!({}));
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    assert!(!session.names().is_empty());
    assert_eq!(session.end(), Some(0));
}

#[test]
fn the_end_of_input_ends_it_before_and_after_a_hello() {
    assert_eq!(Session::start().end(), Some(0));
    assert_eq!(Session::legacy("2025-11-25").0.end(), Some(0));
    let mut modern = Session::modern();
    modern.names();
    assert_eq!(modern.end(), Some(0));
}

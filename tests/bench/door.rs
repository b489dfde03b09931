//! What a user waits for and pays: start to `tools/list`, resident memory, one call against the fake. Prints medians.
//!
//! `cargo bench -p pvemcp` on an idle machine; the README's figures come from here.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use fake_pve::FakePve;
use serde_json::{Value, json};

/// How often each thing is measured.
const RUNS: usize = 21;
const CALLS: usize = 200;

struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Server {
    fn start(fake: &FakePve) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_pvemcp"))
            .env_clear()
            .env("PROXMOX_URL", fake.url())
            .env("PROXMOX_TOKEN", fake.token())
            .env("PROXMOX_FINGERPRINT", fake.fingerprint())
            .envs(
                ["WRITES", "ELEVATED", "GUEST_EXEC", "SSH", "SENSITIVE"]
                    .map(|g| (format!("PROXMOX_ALLOW_{g}"), "true")),
            )
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let input = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Server { child, input, output }
    }

    fn ask(&mut self, request: &Value) -> Value {
        self.tell(request);
        let mut line = String::new();
        self.output.read_line(&mut line).expect("an answer");
        serde_json::from_str(&line).expect("JSON")
    }

    fn tell(&mut self, message: &Value) {
        writeln!(self.input, "{message}").expect("the server reads");
    }

    /// Through `initialize` to the answer of `tools/list`: its bytes and the number of tools.
    fn list(&mut self) -> (usize, usize) {
        let client = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}});
        self.ask(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}));
        self.tell(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        let list = self.ask(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}));
        let tools = &list["result"]["tools"];
        (tools.to_string().len(), tools.as_array().map_or(0, Vec::len))
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        self.ask(&json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params}))
    }

    fn resident_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0 kB");
        line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process is ours and is not needed any more; it may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn median<T: Ord + Copy>(mut values: Vec<T>) -> T {
    values.sort();
    values[values.len() / 2]
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

#[expect(clippy::print_stdout, reason = "a benchmark reports on stdout")]
fn main() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let fake = runtime.block_on(FakePve::builder().start()).expect("the fake starts");
    let mut starts = Vec::new();
    let mut size = (0, 0);
    for _ in 0..RUNS {
        let begin = Instant::now();
        let mut server = Server::start(&fake);
        size = server.list();
        starts.push(begin.elapsed());
    }
    let mut server = Server::start(&fake);
    server.list();
    let first = server.call("pve_list_vms", json!({"node": "pve1"}));
    assert!(first["result"]["isError"] != true, "{first}");
    let calls: Vec<Duration> = (0..CALLS)
        .map(|_| {
            let begin = Instant::now();
            server.call("pve_list_vms", json!({"node": "pve1"}));
            begin.elapsed()
        })
        .collect();
    println!("start to tools/list answered: {:.1} ms ({} tools, {} bytes)", millis(median(starts)), size.1, size.0);
    println!("pve_list_vms against the fake: {:.2} ms", millis(median(calls)));
    println!("resident memory after that: {:.1} MiB", server.resident_kib() as f64 / 1024.0);
}

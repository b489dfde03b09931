//! What the standalone program costs: readiness, memory, requests per second, cost per guest. Beside it, in the same run,
//! the Python package `fakepve`, when `FAKEPVE_PYTHON` names an interpreter that has it.
//!
//! `FAKEPVE_PYTHON=…/bin/python cargo bench -p fake-pve`

#[path = "load/client.rs"]
mod client;
#[path = "load/server.rs"]
mod server;

use std::io::Write as _;
use std::time::Duration;

use client::{Load, load};
use server::Server;

/// Guests of the worlds that are measured.
const SIZES: [usize; 3] = [100, 1000, 10_000];
const FOR: Duration = Duration::from_secs(4);

fn main() {
    // `cargo test --benches` passes it: then it is enough that this compiles.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let wants = |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| name.contains(wanted));
    if wants("ready") {
        for round in 1..=3 {
            let server = Server::ours(None);
            say(&format!("fake-pve, default scenario, start {round}: ready in {} ms", server.ready.as_millis()));
        }
    }
    for guests in SIZES {
        if wants("ours") {
            measure("fake-pve", guests, &Server::ours(Some(guests)));
        }
        if wants("fakepve") && guests == 1000 {
            match Server::python(guests) {
                Some(server) => measure("fakepve 0.5.0", guests, &server),
                None => say("fakepve: FAKEPVE_PYTHON names no interpreter that has it"),
            }
        }
    }
}

fn measure(name: &str, guests: usize, server: &Server) {
    say(&format!(
        "{name}, {guests} guests: ready in {} ms, resident {} kB",
        server.ready.as_millis(),
        server.resident()
    ));
    let put = "description=hello";
    let cases = [
        ("GET /version", "GET", "/version".to_string(), ""),
        ("GET /cluster/resources", "GET", "/cluster/resources".into(), ""),
        ("GET config of a guest", "GET", format!("/nodes/{}/qemu/10000/config", server.node), ""),
        ("POST config of a guest", "POST", format!("/nodes/{}/qemu/10000/config", server.node), put),
    ];
    for (label, verb, path, body) in &cases {
        for connections in [1, 8] {
            let Load { requests, refused, bytes, mut times } = load(server.port, verb, path, body, connections, FOR);
            times.sort_unstable();
            let at = |percent: usize| times.get(times.len() * percent / 100).copied().unwrap_or_default();
            say(&format!(
                "{name}, {guests} guests, {label}, {connections} connections: {:.0} req/s, p50 {:?}, p99 {:?}, \
                 {bytes} bytes, {refused} refused",
                requests as f64 / FOR.as_secs_f64(),
                at(50),
                at(99),
            ));
        }
    }
    if name == "fake-pve" {
        let Load { requests, .. } = client::alternating(server.port, &cases[3].2, FOR);
        let each = FOR.as_secs_f64() * 1e6 / requests.max(1) as f64;
        say(&format!(
            "{name}, {guests} guests, a write before each list: {each:.0} µs for both, {:.2} µs per guest",
            each / guests as f64
        ));
    }
    say(&format!("{name}, {guests} guests: resident after load {} kB", server.resident()));
}

fn say(line: &str) {
    let _written = writeln!(std::io::stdout(), "{line}");
}

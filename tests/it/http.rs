//! MCP over HTTP: who is let in, from where, and that it speaks the protocol.

use std::net::SocketAddr;
use std::time::Duration;

use pvemcp::config::Access;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use crate::served::alone;

const TOKEN: &str = "a-token-for-this-test";

struct Listening {
    at: SocketAddr,
    shutdown: CancellationToken,
    served: tokio::task::JoinHandle<std::io::Result<()>>,
}

async fn start() -> Listening {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let at = listener.local_addr().expect("an address");
    let shutdown = CancellationToken::new();
    let served = tokio::spawn(pvemcp::http::serve(alone(Access::default()), listener, TOKEN.into(), shutdown.clone()));
    Listening { at, shutdown, served }
}

/// One request on a connection of its own; status and body.
async fn post(at: SocketAddr, headers: &[(&str, &str)], body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(at).await.expect("it listens");
    let mut request = format!("POST /mcp HTTP/1.1\r\nContent-Length: {}\r\nConnection: close\r\n", body.len());
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(format!("{request}\r\n{body}").as_bytes()).await.expect("written");
    let mut answer = Vec::new();
    // A refused body is cut off with a reset after the answer.
    stream.read_to_end(&mut answer).await.ok();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
    (status, answer)
}

fn headers<'a>(host: &'a str, bearer: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![
        ("Host", host),
        ("Authorization", bearer),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
    ]
}

fn request(method: &str, mut params: Value) -> String {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
}

fn modern<'a>(mut headers: Vec<(&'a str, &'a str)>, method: &'a str) -> Vec<(&'a str, &'a str)> {
    headers.extend([("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)]);
    headers
}

const BEARER: &str = "Bearer a-token-for-this-test";

#[tokio::test]
async fn both_eras_are_served() {
    let listening = start().await;
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"},
    }});
    let (status, answer) = post(listening.at, &headers("127.0.0.1", BEARER), &hello.to_string()).await;
    assert_eq!(status, 200, "{answer}");
    assert!(answer.contains("\"pvemcp\""), "{answer}");
    let asked = modern(headers("localhost", BEARER), "tools/list");
    let (status, answer) = post(listening.at, &asked, &request("tools/list", json!({}))).await;
    assert_eq!(status, 200, "{answer}");
    assert!(answer.contains("pve_api_read"), "{answer}");
    listening.shutdown.cancel();
    let ended = tokio::time::timeout(Duration::from_secs(10), listening.served).await;
    ended.expect("it stops").expect("no panic").expect("no error");
}

#[tokio::test]
async fn methods_of_the_older_era_are_gone_in_the_newer() {
    let listening = start().await;
    for method in ["initialize", "ping", "resources/subscribe", "resources/unsubscribe"] {
        let asked = modern(headers("localhost", BEARER), method);
        let (status, answer) = post(listening.at, &asked, &request(method, json!({}))).await;
        assert_eq!(status, 404, "{method}: {answer}");
        assert!(answer.contains("-32601"), "{method}: {answer}");
    }
}

#[tokio::test]
async fn without_the_token_nobody_gets_in() {
    let listening = start().await;
    let body = request("tools/list", json!({}));
    for bearer in ["", "Bearer", "Bearer wrong", "Basic a-token-for-this-test", "Bearer a-token-for-this-tes"] {
        let (status, answer) = post(listening.at, &modern(headers("127.0.0.1", bearer), "tools/list"), &body).await;
        assert_eq!(status, 401, "{bearer}: {answer}");
        assert!(!answer.contains(TOKEN));
    }
}

#[tokio::test]
async fn other_hosts_and_origins_are_refused() {
    let listening = start().await;
    let body = request("tools/list", json!({}));
    let (status, _) = post(listening.at, &modern(headers("evil.example", BEARER), "tools/list"), &body).await;
    assert_eq!(status, 403);
    for (origin, expected) in
        [("http://evil.example", 403), ("null", 403), ("http://localhost:1234", 200), ("http://127.0.0.1", 200)]
    {
        let mut asked = modern(headers("127.0.0.1", BEARER), "tools/list");
        asked.push(("Origin", origin));
        let (status, answer) = post(listening.at, &asked, &body).await;
        assert_eq!(status, expected, "{origin}: {answer}");
    }
}

#[tokio::test]
async fn a_body_has_a_limit() {
    let listening = start().await;
    let body = request("tools/call", json!({"name": "x", "arguments": {"a": "x".repeat(5 << 20)}}));
    let (status, _) = post(listening.at, &modern(headers("127.0.0.1", BEARER), "tools/call"), &body).await;
    assert_eq!(status, 413);
}

#[tokio::test]
async fn an_empty_token_is_none() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let served =
        pvemcp::http::serve(alone(Access::default()), listener, String::new().into(), CancellationToken::new());
    assert!(served.await.is_err());
}

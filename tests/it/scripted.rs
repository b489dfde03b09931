//! A server that answers bytes as a test writes them: reason phrases, broken bodies, connections that end. With or without
//! TLS. And what the client tests share: a clock that stands still, permits, connections.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pve_catalog::Verb;
use pvemcp::config::{Access, Connection, Credentials, Tls};
use pvemcp::error::Fault;
use pvemcp::policy::{Admission, ApiCall, Permit, Policy};
use pvemcp::pve::{Answer, Client, Clock};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// Id and secret of the token that the tests use.
pub const TOKEN_ID: &str = "mcp@pve!ci";
pub const TOKEN_SECRET: &str = "01234567-89ab-cdef-0123-456789abcdef";

/// One request as it came in.
#[derive(Clone, Debug)]
pub struct Received {
    pub verb: String,
    /// Path and query, as sent.
    pub target: String,
    /// Names in lower case.
    pub headers: HashMap<String, String>,
    pub body: String,
}

impl Received {
    /// The path without `/api2/json`, as sent.
    pub fn path(&self) -> &str {
        let path = self.target.split('?').next().expect("a path");
        path.strip_prefix("/api2/json").unwrap_or(path)
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// What the server does with a request.
pub enum Act {
    /// Writes these bytes and closes.
    Bytes(Vec<u8>),
    /// Closes without a word.
    Close,
    /// Says nothing and keeps the connection open.
    Hang,
    /// Writes these bytes, then this many more zeros.
    Flood(Vec<u8>, usize),
}

/// 200 with JSON.
pub fn ok(json: &str) -> Act {
    reply("200 OK", "application/json;charset=UTF-8", json.as_bytes())
}

/// Any status line (`500 reason text`), JSON body.
pub fn status(line: &str, json: &str) -> Act {
    reply(line, "application/json;charset=UTF-8", json.as_bytes())
}

pub fn reply(line: &str, content_type: &str, body: &[u8]) -> Act {
    let mut bytes = format!(
        "HTTP/1.1 {line}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    Act::Bytes(bytes)
}

type Script = dyn Fn(usize, &Received) -> Act + Send + Sync;

/// The running server; it stops when the test's runtime does.
pub struct Scripted {
    pub port: u16,
    received: Arc<Mutex<Vec<Received>>>,
    scheme: &'static str,
}

impl Scripted {
    /// Plain HTTP. The script is given how many requests came before, and the request.
    pub async fn start(script: impl Fn(usize, &Received) -> Act + Send + Sync + 'static) -> Scripted {
        Scripted::listen(None, script).await
    }

    /// HTTPS.
    pub async fn tls(
        config: rustls::ServerConfig,
        script: impl Fn(usize, &Received) -> Act + Send + Sync + 'static,
    ) -> Scripted {
        Scripted::listen(Some(TlsAcceptor::from(Arc::new(config))), script).await
    }

    async fn listen(
        tls: Option<TlsAcceptor>,
        script: impl Fn(usize, &Received) -> Act + Send + Sync + 'static,
    ) -> Scripted {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let received = Arc::new(Mutex::new(Vec::new()));
        let scheme = if tls.is_some() { "https" } else { "http" };
        let script: Arc<Script> = Arc::new(script);
        let log = received.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (tls, script, log) = (tls.clone(), script.clone(), log.clone());
                tokio::spawn(async move {
                    match tls {
                        None => serve(stream, &script, &log).await,
                        // A client that does not trust us hangs up here.
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, &script, &log).await;
                            }
                        }
                    }
                });
            }
        });
        Scripted { port, received, scheme }
    }

    pub fn received(&self) -> Vec<Received> {
        self.received.lock().expect("no panic inside").clone()
    }

    /// A connection to it with a token.
    pub fn connection(&self) -> Connection {
        Connection {
            url: format!("{}://127.0.0.1:{}", self.scheme, self.port),
            credentials: Credentials::Token { id: TOKEN_ID.into(), secret: TOKEN_SECRET.into() },
            tls: Tls::Off,
            timeout: Duration::from_secs(20),
            only_loopback: false,
        }
    }

    /// A client with a token and a clock that stands still.
    pub fn client(&self) -> Client {
        Client::with_clock(self.connection(), Arc::new(StillClock::default())).expect("a usable connection")
    }

    /// A client that logs in with a password, and its clock.
    pub fn password_client(&self, password: &str) -> (Client, Arc<StillClock>) {
        let credentials = Credentials::Password { username: "root@pam".into(), password: password.into() };
        let clock = Arc::new(StillClock::default());
        let connection = Connection { credentials, ..self.connection() };
        (Client::with_clock(connection, clock.clone()).expect("a usable connection"), clock)
    }
}

async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, script: &Arc<Script>, log: &Mutex<Vec<Received>>) {
    let Some(request) = read(&mut stream).await else { return };
    let before = {
        let mut log = log.lock().expect("no panic inside");
        log.push(request.clone());
        log.len() - 1
    };
    match script(before, &request) {
        Act::Bytes(bytes) => {
            stream.write_all(&bytes).await.ok();
            stream.shutdown().await.ok();
        }
        Act::Close => drop(stream),
        Act::Hang => std::future::pending().await,
        Act::Flood(bytes, mut zeros) => {
            let chunk = vec![b'0'; 1 << 20];
            let mut written = stream.write_all(&bytes).await;
            while zeros > 0 && written.is_ok() {
                written = stream.write_all(&chunk[..zeros.min(chunk.len())]).await;
                zeros = zeros.saturating_sub(chunk.len());
            }
        }
    }
}

async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Option<Received> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).expect("a head in ASCII");
    let mut lines = head.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (verb, target) = (first.next()?.to_string(), first.next()?.to_string());
    let headers: HashMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_string()))
        .collect();
    let length: usize = headers.get("content-length").map_or(0, |length| length.parse().expect("a number"));
    let mut body = bytes.split_off(end + 4);
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    Some(Received { verb, target, headers, body: String::from_utf8(body).expect("a body in UTF-8") })
}

/// A clock that only moves when somebody sleeps by it.
#[derive(Debug, Default)]
pub struct StillClock {
    now: Mutex<Duration>,
    slept: Mutex<Vec<Duration>>,
}

impl StillClock {
    pub fn advance(&self, time: Duration) {
        *self.now.lock().expect("no panic inside") += time;
    }

    /// Every pause so far.
    pub fn slept(&self) -> Vec<Duration> {
        self.slept.lock().expect("no panic inside").clone()
    }
}

impl Clock for StillClock {
    fn now(&self) -> Duration {
        *self.now.lock().expect("no panic inside")
    }

    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.advance(time);
        self.slept.lock().expect("no panic inside").push(time);
        Box::pin(tokio::task::yield_now())
    }
}

/// A policy with every gate open.
pub fn open_policy() -> Policy {
    let access =
        Access { writes: true, elevated: true, guest_exec: true, ssh: true, sensitive: true, ..Access::default() };
    Policy::new(access)
}

pub fn call(verb: Verb, path: &str, params: &[(&str, &str)]) -> ApiCall {
    let params = params.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    ApiCall::at(verb, path, params).expect("a plain path")
}

pub fn permit(call: ApiCall) -> Permit<ApiCall> {
    match open_policy().admit(call, false).expect("every gate is open") {
        Admission::Go(permit) => permit,
        Admission::Dry(call) => panic!("dry: {call:?}"),
    }
}

pub async fn send(client: &Client, verb: Verb, path: &str, params: &[(&str, &str)]) -> Result<Answer, Fault> {
    client.send(permit(call(verb, path, params))).await
}

pub async fn get(client: &Client, path: &str) -> Result<Answer, Fault> {
    send(client, Verb::Get, path, &[]).await
}

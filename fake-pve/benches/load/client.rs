//! A blocking client that keeps connections as long as the server does, and verifies nothing.

use std::io::{Read, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, Error, SignatureScheme, StreamOwned};

const TOKEN: &str = "root@pam!ci=12345678-1234-1234-1234-1234567890ab";

/// What a while of requests came to.
#[derive(Default)]
pub struct Load {
    pub requests: u64,
    /// Answers that were not 200.
    pub refused: u64,
    /// Length of the last body.
    pub bytes: usize,
    pub times: Vec<Duration>,
}

/// The same request on some connections at once, for a while.
pub fn load(port: u16, verb: &str, path: &str, body: &str, connections: usize, time: Duration) -> Load {
    let request = request(verb, path, body);
    let config = config();
    let end = Instant::now() + time;
    std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..connections).map(|_| scope.spawn(|| repeat(&config, port, &[&request], end))).collect();
        workers.into_iter().filter_map(|worker| worker.join().ok()).fold(Load::default(), |mut sum, part| {
            sum.requests += part.requests;
            sum.refused += part.refused;
            sum.bytes = part.bytes;
            sum.times.extend(part.times);
            sum
        })
    })
}

/// A write and the resource list by turns, on one connection; both are one request here.
pub fn alternating(port: u16, path: &str, time: Duration) -> Load {
    let requests = [request("POST", path, "description=hello"), request("GET", "/cluster/resources", "")];
    let requests: Vec<&[u8]> = requests.iter().map(Vec::as_slice).collect();
    repeat(&config(), port, &requests, Instant::now() + time)
}

/// Whether the server answers `GET /version`.
pub fn answers(port: u16) -> bool {
    let connection = Connection::open(&config(), port);
    connection.and_then(|mut connection| connection.exchange(&request("GET", "/version", ""))).is_some()
}

fn request(verb: &str, path: &str, body: &str) -> Vec<u8> {
    let kind = "application/x-www-form-urlencoded";
    let content = format!("Content-Type: {kind}\r\nContent-Length: {}\r\n", body.len());
    let content = if verb == "GET" { "" } else { &content };
    format!("{verb} /api2/json{path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: PVEAPIToken={TOKEN}\r\n{content}\r\n{body}")
        .into_bytes()
}

fn repeat(config: &Arc<ClientConfig>, port: u16, requests: &[&[u8]], end: Instant) -> Load {
    let mut load = Load::default();
    let mut connection = None;
    while Instant::now() < end {
        let began = Instant::now();
        for request in requests {
            let open = match connection.take().or_else(|| Connection::open(config, port)) {
                Some(open) => open,
                None => return load,
            };
            let mut open = open;
            let Some((ok, bytes, keeps)) = open.exchange(request) else { continue };
            load.refused += u64::from(!ok);
            load.bytes = bytes;
            connection = keeps.then_some(open);
        }
        load.requests += 1;
        load.times.push(began.elapsed());
    }
    load
}

struct Connection {
    stream: StreamOwned<ClientConnection, TcpStream>,
    buffer: Vec<u8>,
}

impl Connection {
    fn open(config: &Arc<ClientConfig>, port: u16) -> Option<Connection> {
        let socket = TcpStream::connect(("127.0.0.1", port)).ok()?;
        socket.set_nodelay(true).ok()?;
        let name = ServerName::try_from("localhost").ok()?;
        let connection = ClientConnection::new(Arc::clone(config), name).ok()?;
        Some(Connection { stream: StreamOwned::new(connection, socket), buffer: vec![0; 64 << 10] })
    }

    /// Whether it was 200, how long the body was, and whether the connection goes on.
    fn exchange(&mut self, request: &[u8]) -> Option<(bool, usize, bool)> {
        self.stream.write_all(request).ok()?;
        let mut head = Vec::new();
        let end = loop {
            let read = self.stream.read(&mut self.buffer).ok().filter(|read| *read > 0)?;
            head.extend_from_slice(&self.buffer[..read]);
            if let Some(at) = head.windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
        };
        let text = String::from_utf8_lossy(&head[..end]).to_ascii_lowercase();
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let length: usize = field("content-length:").and_then(|value| value.parse().ok()).unwrap_or(0);
        let mut left = length.saturating_sub(head.len() - end);
        while left > 0 {
            left = left.saturating_sub(self.stream.read(&mut self.buffer).ok().filter(|read| *read > 0)?);
        }
        // One that was passed on has two fields; the last one counts.
        let last = text.lines().rfind(|line| line.starts_with("connection:")).unwrap_or_default();
        let keeps = !last.contains("close");
        Some((text.contains(" 200 "), length, keeps))
    }
}

fn config() -> Arc<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider));
    let config = config.with_safe_default_protocol_versions().expect("the provider knows TLS");
    let config = config.dangerous().with_custom_certificate_verifier(Arc::new(Anything(provider)));
    Arc::new(config.with_no_client_auth())
}

/// Trusts everything: what is measured is on loopback.
#[derive(Debug)]
struct Anything(Arc<CryptoProvider>);

impl ServerCertVerifier for Anything {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

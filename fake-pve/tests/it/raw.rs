//! Bytes over TLS, for tests that look at the wire itself.

use std::sync::Arc;

use fake_pve::FakePve;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// A reply taken apart.
#[derive(Debug, Default, PartialEq)]
pub struct Reply {
    /// `HTTP/1.1 200 OK`; empty when none came.
    pub line: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    /// Every value of a header field.
    pub fn all(&self, name: &str) -> Vec<&str> {
        self.headers.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_str()).collect()
    }
}

/// One connection to a cluster.
pub struct Connection(TlsStream<TcpStream>);

impl Connection {
    pub async fn open(pve: &FakePve) -> Connection {
        let mut roots = RootCertStore::empty();
        let ca = CertificateDer::from_pem_slice(pve.ca_pem().as_bytes()).expect("a certificate");
        roots.add(ca).expect("an authority");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let stream = TcpStream::connect(pve.address()).await.expect("a connection");
        let name = ServerName::try_from("localhost").expect("a name");
        Connection(TlsConnector::from(Arc::new(config)).connect(name, stream).await.expect("TLS"))
    }

    /// Sends bytes and waits for nothing.
    pub async fn send(&mut self, bytes: &[u8]) {
        let _cut = self.0.write_all(bytes).await;
        let _cut = self.0.flush().await;
    }

    /// Sends a request and reads one reply, as far as it comes.
    pub async fn exchange(&mut self, request: &[u8]) -> Reply {
        let _cut = self.0.write_all(request).await;
        let _cut = self.0.flush().await;
        let mut received = Vec::new();
        let mut piece = vec![0; 64 << 10];
        loop {
            let reply = parse(&received);
            let expected = reply.all("content-length").first().and_then(|length| length.parse().ok()).unwrap_or(0);
            if !reply.line.is_empty() && reply.body.len() >= expected {
                return reply;
            }
            match self.0.read(&mut piece).await {
                Ok(0) | Err(_) => return reply,
                Ok(read) => received.extend_from_slice(&piece[..read]),
            }
        }
    }
}

impl Connection {
    /// Sends bytes and reads all that comes until the other side ends.
    pub async fn say(&mut self, bytes: &[u8]) -> Vec<u8> {
        let _cut = self.0.write_all(bytes).await;
        let _cut = self.0.flush().await;
        let mut received = Vec::new();
        let _cut = self.0.read_to_end(&mut received).await;
        received
    }
}

/// An empty one while the head is not whole.
pub fn parse(bytes: &[u8]) -> Reply {
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { return Reply::default() };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let line = lines.next().unwrap_or_default().to_string();
    let field = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_string()));
    Reply { line, headers: lines.filter_map(field).collect(), body: bytes[end + 4..].to_vec() }
}

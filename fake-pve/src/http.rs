//! Bytes to [`Request`] and [`Reply`] to bytes, as pveproxy's own server does it. It knows no endpoint.
//!
//! This is no general HTTP server on purpose: what Proxmox answers to malformed requests, which connections it keeps, that
//! answers of another process carry two `Connection` fields, and that an empty body has no length, is what clients meet,
//! and libraries do not let it through. Idle connections are not closed: a test that pauses would meet a race.

pub(crate) mod body;
mod checksum;
mod connection;
mod head;
pub(crate) mod multipart;
pub(crate) mod params;
mod wire;

use std::future::Future;
use std::sync::Arc;

use rustls::ServerConfig;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use body::Body;
pub(crate) use head::Headers;

/// A request as it came in. The path is decoded once, before it is split, as Proxmox does.
pub(crate) struct Request {
    pub verb: String,
    pub path: String,
    pub query: String,
    pub headers: Headers,
    pub body: Body,
}

impl Request {
    /// A header field as text; empty when absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_default()
    }
}

/// How a connection ends instead of carrying a whole reply: it is reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Before the first byte.
    Unanswered,
    /// In the middle of the body.
    InBody,
}

/// A reply on its way out.
#[derive(Debug)]
pub(crate) struct Reply {
    pub status: u16,
    pub reason: String,
    pub content_type: Option<String>,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
    /// Seconds since the epoch for the `Date` field; `None` is the real moment.
    pub date: Option<i64>,
    /// Whether another process answered (pvedaemon, another node) and this one only passes it on.
    pub passed_on: bool,
    /// Whether the connection ends with this reply whatever its status is.
    pub closes: bool,
    /// Whether less than all of it arrives.
    pub cut: Option<Cut>,
}

impl Reply {
    /// A reply with a body.
    pub fn new(status: u16, reason: &str, content_type: &str, body: Vec<u8>) -> Reply {
        Reply { content_type: Some(content_type.to_string()), body, ..Reply::bare(status, reason) }
    }

    /// A refusal of the server itself: the text is in the reason phrase only.
    pub fn bare(status: u16, reason: &str) -> Reply {
        Reply {
            status,
            reason: reason.into(),
            content_type: None,
            headers: Vec::new(),
            body: Vec::new(),
            date: None,
            passed_on: false,
            closes: false,
            cut: None,
        }
    }

    /// A refusal of the server itself with the text in the body too, without a content type.
    pub fn text(status: u16, text: &str) -> Reply {
        Reply { body: text.as_bytes().to_vec(), ..Reply::bare(status, text) }
    }
}

/// Accepts connections until it is dropped; every connection ends with it.
pub(crate) async fn serve<F, Fut>(listener: TcpListener, tls: Arc<ServerConfig>, handle: F)
where
    F: Fn(Request) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Reply> + Send + 'static,
{
    let acceptor = TlsAcceptor::from(tls);
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _peer)) = accepted else { continue };
                connections.spawn(connection::accepted(stream, acceptor.clone(), handle.clone()));
            }
            Some(_ended) = connections.join_next() => {}
        }
    }
}

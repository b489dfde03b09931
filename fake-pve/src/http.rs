//! Bytes to [`Request`] and [`Reply`] to bytes, as pveproxy's own server does it. It knows no endpoint.
//!
//! This is no general HTTP server on purpose: what Proxmox answers to malformed requests, which connections it keeps, that
//! answers of another process carry two `Connection` fields, and that an empty body has no length, is what clients meet,
//! and libraries do not let it through. A connection that stays
//! silent is closed after a while ([`Patience`]).

pub(crate) mod body;
mod connection;
mod head;
pub(crate) mod multipart;
pub(crate) mod params;
mod websocket;
mod wire;

use std::future::Future;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
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

/// The packed forms of one body, each made when the first client wants it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packings {
    gzip: Arc<OnceLock<Bytes>>,
    deflate: Arc<OnceLock<Bytes>>,
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
    pub body: Bytes,
    /// Packed forms of a body that is sent more than once.
    pub packings: Option<Packings>,
    /// Seconds since the epoch for the `Date` field; `None` is the real moment.
    pub date: Option<i64>,
    /// Whether another process answered (pvedaemon, another node) and this one only passes it on.
    pub passed_on: bool,
    /// Whether the connection ends with this reply whatever its status is.
    pub closes: bool,
    /// Whether less than all of it arrives.
    pub cut: Option<Cut>,
    /// The ticket of a console: the connection is its socket from here on.
    pub console: Option<String>,
}

impl Reply {
    /// A reply with a body.
    pub fn new(status: u16, reason: &str, content_type: &str, body: Vec<u8>) -> Reply {
        Reply { content_type: Some(content_type.to_string()), body: body.into(), ..Reply::bare(status, reason) }
    }

    /// A refusal of the server itself: the text is in the reason phrase only.
    pub fn bare(status: u16, reason: &str) -> Reply {
        Reply {
            status,
            reason: reason.into(),
            content_type: None,
            headers: Vec::new(),
            body: Bytes::new(),
            packings: None,
            date: None,
            passed_on: false,
            closes: false,
            cut: None,
            console: None,
        }
    }

    /// A refusal of the server itself with the text in the body too, without a content type.
    pub fn text(status: u16, text: &str) -> Reply {
        Reply { body: text.as_bytes().to_vec().into(), ..Reply::bare(status, text) }
    }
}

/// How long a silent peer is waited for, in real time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// For a request to begin and its head to be whole, and for TLS to be agreed on.
    pub head: Duration,
    /// For the next piece of a body.
    pub body: Duration,
}

impl Patience {
    /// From the time after which idle connections are closed. A body may pause longer: its sender may be busy.
    pub fn of_idle(idle: Duration) -> Patience {
        Patience { head: idle, body: idle.saturating_mul(6) }
    }
}

/// Accepts connections until it is dropped; every connection ends with it.
pub(crate) async fn serve<F, Fut>(listener: TcpListener, tls: Arc<ServerConfig>, patience: Patience, handle: F)
where
    F: Fn(Request) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Reply> + Send + 'static,
{
    let acceptor = TlsAcceptor::from(tls);
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                match accepted {
                    Ok((stream, _peer)) => {
                        connections.spawn(connection::accepted(stream, acceptor.clone(), patience, handle.clone()));
                    }
                    // Too many connections for the system: one has to end first.
                    Err(_) => {
                        let _ended = tokio::time::timeout(patience.head, connections.join_next()).await;
                    }
                }
            }
            Some(_ended) = connections.join_next() => {}
        }
    }
}

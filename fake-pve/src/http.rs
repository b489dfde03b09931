//! Bytes to [`Request`] and [`Reply`] to bytes: connections, TLS, header fields. It knows no endpoint.

pub(crate) mod body;
pub(crate) mod checksum;
pub(crate) mod multipart;
pub(crate) mod params;

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::ext::ReasonPhrase;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{HeaderMap, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use body::Body;

/// A request as it came in. The path is decoded once, before it is split, as Proxmox does.
pub(crate) struct Request {
    pub verb: String,
    pub path: String,
    pub query: String,
    pub headers: HeaderMap,
    pub body: Body,
}

impl Request {
    /// A header field as text; empty when absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

/// A reply on its way out.
#[derive(Debug)]
pub(crate) struct Reply {
    pub status: u16,
    pub reason: String,
    pub content_type: Option<String>,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
    /// What the `Date` field says, in seconds since the epoch.
    pub date: Option<i64>,
}

impl Reply {
    /// A reply with a body.
    pub fn new(status: u16, reason: &str, content_type: &str, body: Vec<u8>) -> Reply {
        let content_type = Some(content_type.to_string());
        Reply { status, reason: reason.into(), content_type, headers: Vec::new(), body, date: None }
    }

    /// A refusal of the server itself: the text is in the reason phrase only.
    pub fn bare(status: u16, reason: &str) -> Reply {
        Reply { status, reason: reason.into(), content_type: None, headers: Vec::new(), body: Vec::new(), date: None }
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
                connections.spawn(connection(stream, acceptor.clone(), handle.clone()));
            }
            Some(_ended) = connections.join_next() => {}
        }
    }
}

/// The first byte tells TLS from plain HTTP, which is sent to the right scheme.
async fn connection<F, Fut>(stream: TcpStream, acceptor: TlsAcceptor, handle: F)
where
    F: Fn(Request) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Reply> + Send + 'static,
{
    let _best_effort = stream.set_nodelay(true);
    let mut first = [0u8; 1];
    if stream.peek(&mut first).await.unwrap_or(0) == 0 {
        return;
    }
    let mut server = hyper::server::conn::http1::Builder::new();
    server.max_headers(64).title_case_headers(true).auto_date_header(false);
    if first[0] != 0x16 {
        let service = service_fn(|request| async move { Ok::<_, Infallible>(response(redirect(&request), false)) });
        let _closed_by_peer = server.serve_connection(TokioIo::new(stream), service).await;
        return;
    }
    let Ok(stream) = acceptor.accept(stream).await else { return };
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let handle = handle.clone();
        async move {
            let close = request.headers().get(header::CONNECTION).is_some_and(|value| value == "close");
            let reply = handle(incoming(request)).await;
            Ok::<_, Infallible>(response(reply, close))
        }
    });
    let _closed_by_peer = server.serve_connection(TokioIo::new(stream), service).with_upgrades().await;
}

fn incoming(request: hyper::Request<Incoming>) -> Request {
    let (head, body) = request.into_parts();
    let path = percent_encoding::percent_decode_str(head.uri.path()).decode_utf8_lossy().into_owned();
    Request {
        verb: head.method.as_str().to_string(),
        path,
        query: head.uri.query().unwrap_or_default().to_string(),
        body: Body::new(body, &head.headers),
        headers: head.headers,
    }
}

fn redirect(request: &hyper::Request<Incoming>) -> Reply {
    let verb = request.method().as_str();
    if !["GET", "POST", "PUT", "DELETE"].contains(&verb) {
        return Reply::bare(501, &format!("method '{verb}' not available"));
    }
    let Some(host) = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()) else {
        return Reply::bare(400, "bad request");
    };
    let (status, reason) = if verb == "GET" { (301, "Moved Permanently") } else { (308, "Permanent Redirect") };
    let mut reply = Reply::text(status, reason);
    reply.headers.push(("location", format!("https://{host}{}", request.uri())));
    reply
}

fn response(reply: Reply, close: bool) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(reply.body)));
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let reason = reply.reason.lines().next().unwrap_or_default();
    if let Ok(reason) = ReasonPhrase::try_from(reason.as_bytes()) {
        response.extensions_mut().insert(reason);
    }
    let closes = close || reply.status >= 300;
    let headers = response.headers_mut();
    let mut set = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    set(header::CACHE_CONTROL, "max-age=0");
    set(header::CONNECTION, if closes { "close" } else { "Keep-Alive" });
    set(header::PRAGMA, "no-cache");
    set(header::SERVER, "pve-api-daemon/3.0");
    if let Some(content_type) = &reply.content_type {
        set(header::CONTENT_TYPE, content_type);
    }
    if let Some(date) = reply.date.and_then(|date| jiff::Timestamp::from_second(date).ok()) {
        let date = date.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        set(header::DATE, &date);
        set(header::EXPIRES, &date);
    }
    for (name, value) in &reply.headers {
        set(HeaderName::from_static(name), value);
    }
    response
}

//! A call of a console's socket that becomes one: the handler has judged the ticket, the header fields are judged here.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};

use crate::http::{Headers, Reply};

/// What the key is answered with, by RFC 6455.
const ANSWER: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Whether a request wants to become a socket.
pub(super) fn wanted(path: &str, headers: &Headers) -> bool {
    path.ends_with("websocket") && headers.get("upgrade").is_some_and(|protocol| !protocol.is_empty())
}

/// The reply after which the connection is a socket; the ticket is what a terminal's client says in its first line.
pub(super) fn switch(headers: &Headers, ticket: String) -> Reply {
    let field = |name: &str| headers.get(name).unwrap_or_default();
    let protocol = field("upgrade").to_ascii_lowercase();
    if protocol != "websocket" {
        return Reply::bare(500, &format!("unable to upgrade to protocol '{protocol}'"));
    }
    let (version, key) = (field("sec-websocket-version"), field("sec-websocket-key"));
    if version != "13" {
        return Reply::bare(500, &format!("unsupported websocket-version '{version}'"));
    }
    if key.is_empty() {
        return Reply::bare(500, "missing websocket-key");
    }
    let mut reply = Reply { console: Some(ticket), ..Reply::bare(101, "Switching Protocols") };
    reply.headers.push(("Upgrade", "websocket".into()));
    reply.headers.push(("Connection", "upgrade".into()));
    let accept = STANDARD.encode(Sha1::digest(format!("{key}{ANSWER}")));
    reply.headers.push(("Sec-WebSocket-Accept", accept));
    let chosen = headers.get("sec-websocket-protocol");
    reply.headers.extend(chosen.map(|protocol| ("Sec-WebSocket-Protocol", protocol.to_string())));
    reply
}

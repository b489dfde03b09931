//! A reply as bytes: status line, header fields in the order of Perl's `HTTP::Headers`, body.

use std::borrow::Cow;
use std::io::Write as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};

use super::Reply;
use super::head::Head;

/// Bodies longer than this are packed when the client takes it.
const PACKED_FROM: usize = 1024;

/// What a request says about the bytes of its reply.
pub(super) struct Wire {
    /// `HTTP/1.1`.
    pub version: String,
    /// Whether the connection goes on.
    pub keep: bool,
    pub gzip: bool,
    pub deflate: bool,
}

impl Wire {
    /// `more` is whether the connection may carry another request at all.
    pub fn of(head: &Head, more: bool) -> Wire {
        let connection = head.headers.get("connection").unwrap_or_default().to_ascii_lowercase();
        let keep = if connection.is_empty() { head.version != "HTTP/1.0" } else { !connection.contains("close") };
        let takes = |method: &str| head.headers.get("accept-encoding").is_some_and(|list| list.contains(method));
        Wire { version: head.version.clone(), keep: keep && more, gzip: takes("gzip"), deflate: takes("deflate") }
    }
}

/// The whole reply in one piece.
pub(super) fn bytes(reply: Reply, wire: &Wire) -> Vec<u8> {
    let (mut head, body) = parts(reply, wire);
    head.extend_from_slice(&body);
    head
}

/// The reply as its head and its body.
pub(super) fn parts(mut reply: Reply, wire: &Wire) -> (Vec<u8>, Bytes) {
    let reason = reply.reason.split('\n').next().unwrap_or_default().to_string();
    if reason.contains('\r') {
        reply = Reply { closes: true, date: reply.date, ..Reply::bare(400, "Bad Request") };
        return parts(reply, wire);
    }
    if reply.status == 101 {
        return (switching(&reply, wire), Bytes::new());
    }
    let packed = pack(&mut reply, wire);
    let date = date(reply.date);
    let mut fields: Vec<(&str, Cow<'_, str>)> = vec![
        ("Cache-Control", "max-age=0".into()),
        ("Date", date.as_str().into()),
        ("Pragma", "no-cache".into()),
        ("Server", "pve-api-daemon/3.0".into()),
        ("Expires", date.as_str().into()),
    ];
    // The other process closes its own connection, and says so; a reply that ends this one replaces that.
    if wire.keep {
        fields.extend(reply.passed_on.then_some(("Connection", "close".into())));
        fields.push(("Connection", "Keep-Alive".into()));
    } else {
        fields.push(("Connection", "close".into()));
    }
    fields.extend(packed.map(|method| ("Content-Encoding", method.into())));
    if !reply.body.is_empty() {
        fields.push(("Content-Length", reply.body.len().to_string().into()));
    }
    fields.extend(reply.content_type.as_deref().map(|kind| ("Content-Type", kind.into())));
    fields.extend(reply.headers.iter().map(|(name, value)| (*name, value.as_str().into())));
    fields.sort_by_key(|(name, _)| place(name));

    let mut out = Vec::with_capacity(512);
    let _in_memory = write!(out, "{} {} {reason}\r\n", wire.version, reply.status);
    for (name, value) in fields {
        let value = if value.contains(['\r', '\n']) { value.replace(['\r', '\n'], " ").into() } else { value };
        let _in_memory = write!(out, "{name}: {value}\r\n");
    }
    out.extend(b"\r\n");
    (out, reply.body)
}

/// A connection that becomes a socket has the fields of that, and no others.
fn switching(reply: &Reply, wire: &Wire) -> Vec<u8> {
    let fields = reply.headers.iter().map(|(name, value)| format!("{name}: {}\r\n", value.replace(['\r', '\n'], " ")));
    format!("{} {} {}\r\n{}\r\n", wire.version, reply.status, reply.reason, fields.collect::<String>()).into_bytes()
}

/// Packs a long body, unless it came packed; the method.
fn pack(reply: &mut Reply, wire: &Wire) -> Option<&'static str> {
    let packed = reply.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-encoding"));
    if reply.body.len() <= PACKED_FROM || packed {
        return None;
    }
    let packings = reply.packings.take().unwrap_or_default();
    let body = &reply.body;
    let (method, body) = match (wire.gzip, wire.deflate) {
        (true, _) => ("gzip", packings.gzip.get_or_init(|| gzip(body).into())),
        (false, true) => ("deflate", packings.deflate.get_or_init(|| deflate(body).into())),
        (false, false) => return None,
    };
    reply.body = body.clone();
    Some(method)
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let _in_memory = encoder.write_all(body);
    encoder.finish().unwrap_or_default()
}

fn deflate(body: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    let _in_memory = encoder.write_all(body);
    encoder.finish().unwrap_or_default()
}

fn date(seconds: Option<i64>) -> String {
    let moment = seconds.and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    let moment = moment.unwrap_or_else(jiff::Timestamp::now);
    moment.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

/// General fields first, then those of responses, then those of the body, then all others; each group sorted.
fn place(name: &str) -> (u8, &str) {
    let group = match name {
        "Cache-Control" | "Connection" | "Date" | "Pragma" | "Upgrade" | "Via" => 0,
        "Location" | "Retry-After" | "Server" => 1,
        "Content-Encoding" | "Content-Length" | "Content-Type" | "Expires" | "Last-Modified" => 2,
        _ => 3,
    };
    (group, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(reply: Reply, keep: bool) -> String {
        let wire = Wire { version: "HTTP/1.1".into(), keep, gzip: false, deflate: false };
        String::from_utf8(bytes(reply, &wire)).expect("text")
    }

    #[test]
    fn replies_look_like_proxmoxs() {
        let mut reply = Reply::new(200, "OK", "text/plain", b"x".to_vec());
        (reply.date, reply.passed_on) = (Some(0), true);
        let expected = "HTTP/1.1 200 OK\r\nCache-Control: max-age=0\r\nConnection: close\r\nConnection: Keep-Alive\r\n\
            Date: Thu, 01 Jan 1970 00:00:00 GMT\r\nPragma: no-cache\r\nServer: pve-api-daemon/3.0\r\nContent-Length: 1\r\n\
            Content-Type: text/plain\r\nExpires: Thu, 01 Jan 1970 00:00:00 GMT\r\n\r\nx";
        assert_eq!(text(reply, true), expected);
    }

    #[test]
    fn reasons_end_at_their_first_line() {
        assert!(text(Reply::bare(500, "a\nb"), false).starts_with("HTTP/1.1 500 a\r\n"));
        assert!(text(Reply::bare(500, "a\rb"), false).starts_with("HTTP/1.1 400 Bad Request\r\n"));
        assert!(!text(Reply::bare(500, "a"), false).contains("Content-Length"));
    }
}

//! Proxmox's envelope: `data` beside `total` and `changes`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pve_catalog::Method;
use serde_json::{Value, json};

use super::encode;
use super::reply::Reply;
use crate::error::{Code, Fault};

/// What Proxmox answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// `data` of the envelope. A download gives its text, or `{"encoding": "base64", "content": …}` when it is no text.
    pub data: Value,
    /// `total`, where a list says how many there are.
    pub total: Option<u64>,
    /// `changes`, where pending changes are shown beside the data.
    pub changes: Option<Value>,
    /// HTTP status.
    pub status: u16,
}

/// Reads a successful answer.
pub(super) fn open(reply: Reply, method: Option<&'static Method>) -> Result<Answer, Fault> {
    let status = reply.status;
    let download = method.is_some_and(|method| method.download);
    if !reply.is_json() && download {
        return Ok(Answer { data: raw(reply.body), total: None, changes: None, status });
    }
    let parsed: Value = serde_json::from_slice(&reply.body).map_err(|error| unreadable(&reply, &error))?;
    let mut answer = match parsed {
        Value::Object(mut envelope) if envelope.contains_key("data") => Answer {
            data: envelope.swap_remove("data").unwrap_or_default(),
            total: envelope.get("total").and_then(count),
            changes: envelope.swap_remove("changes"),
            status,
        },
        data if download => Answer { data, total: None, changes: None, status },
        _ => return Err(not_proxmox("JSON without 'data'")),
    };
    if let Some(method) = method {
        encode::read(method, &mut answer.data);
    }
    Ok(answer)
}

/// Numbers come as text at times.
fn count(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

fn raw(body: Vec<u8>) -> Value {
    match String::from_utf8(body) {
        Ok(text) => Value::from(text),
        Err(error) => json!({"encoding": "base64", "content": STANDARD.encode(error.as_bytes())}),
    }
}

fn unreadable(reply: &Reply, error: &serde_json::Error) -> Fault {
    if reply.body.is_empty() {
        return not_proxmox("an empty body");
    }
    if !reply.is_json() && reply.content_type.contains("html") {
        return not_proxmox("an HTML page");
    }
    if error.is_eof() {
        return Fault::new(Code::Internal, "the answer is cut off: its JSON has no end").hint("try again");
    }
    not_proxmox("something that is no JSON")
}

fn not_proxmox(what: &str) -> Fault {
    Fault::new(Code::Internal, format!("the server answered {what}, which no Proxmox API does"))
        .hint("does PROXMOX_URL lead to the API itself (https://node:8006), not to a proxy or a login page before it?")
}

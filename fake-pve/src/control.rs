//! The fake's own interface under `/_rehearsal/`, and the few pages that are not the API.
//!
//! It asks for its own token (`Authorization: Bearer …`), a loopback `Host` and no foreign `Origin`, so that neither a
//! page in a browser nor a client with cluster credentials can reach it.

use std::time::Duration;

use pve_catalog::Verb;
use serde_json::{Value, json};
use subtle::ConstantTimeEq;

use crate::apidoc;
use crate::engine::{Shared, State};
use crate::fault::{Fault, FaultId};
use crate::http::{Reply, Request};

const JSON: &str = "application/json;charset=UTF-8";

/// Whether a path belongs to the control interface.
pub(crate) fn is_mine(path: &str) -> bool {
    path == "/_rehearsal" || path.starts_with("/_rehearsal/")
}

/// `GET journal`, `GET world`, `POST advance` with `{"seconds": n}`, and `faults`: `GET` lists them, `POST` sets a
/// [`Fault`], `DELETE` clears all or the one of an id (`faults/1`).
pub(crate) async fn answer(shared: &Shared, request: &mut Request) -> Reply {
    if let Err(reply) = admit(shared, request) {
        return *reply;
    }
    let name = request.path.trim_start_matches("/_rehearsal").trim_matches('/').to_string();
    match (request.verb.as_str(), name.as_str()) {
        ("GET", "journal") => {
            let state = shared.lock();
            let entries: Vec<Value> =
                state.journal.entries().filter_map(|entry| serde_json::to_value(entry).ok()).collect();
            sent(&json!({"entries": entries, "dropped": state.journal.dropped()}))
        }
        ("GET", "world") => {
            let mut world = serde_json::to_value(&*shared.lock().world).unwrap_or_default();
            if !request.query.split('&').any(|pair| pair == "secrets=1") {
                mask(&mut world);
            }
            sent(&world)
        }
        ("POST", "advance") => {
            let body = request.body.read(4096).await.unwrap_or_default();
            let seconds = serde_json::from_slice::<Value>(&body).ok().and_then(|value| value["seconds"].as_f64());
            let Some(by) = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) else {
                return Reply::text(400, "expected a body such as {\"seconds\": 60}");
            };
            shared.lock().clock.advance(by);
            sent(&json!({"now": shared.lock().clock.now()}))
        }
        ("GET", "faults") => {
            let state = shared.lock();
            let faults = state.faults.list().map(|(id, fault)| json!({"id": id, "fault": fault}));
            sent(&Value::Array(faults.collect()))
        }
        ("POST", "faults") => {
            let body = request.body.read(64 << 10).await.unwrap_or_default();
            match serde_json::from_slice::<Fault>(&body).map_err(|error| error.to_string()) {
                Ok(fault) => set(shared, fault),
                Err(error) => Reply::text(400, &format!("this is no fault: {error}")),
            }
        }
        ("DELETE", _) if name == "faults" || name.starts_with("faults/") => clear(shared, name.split_once('/')),
        _ => Reply::text(404, "no such control call: expected journal, world, advance or faults"),
    }
}

fn set(shared: &Shared, fault: Fault) -> Reply {
    let mut guard = shared.lock();
    let State { world, faults, .. } = &mut *guard;
    match faults.set(world, fault) {
        Ok(id) => sent(&json!({"id": id})),
        Err(error) => Reply::text(400, &error),
    }
}

fn clear(shared: &Shared, one: Option<(&str, &str)>) -> Reply {
    let mut guard = shared.lock();
    let State { world, faults, .. } = &mut *guard;
    let Some((_, id)) = one else {
        faults.clear_all(world);
        return sent(&Value::Null);
    };
    match id.parse().is_ok_and(|id| faults.clear(world, FaultId(id))) {
        true => sent(&Value::Null),
        false => Reply::text(404, "no fault of this id is set"),
    }
}

fn admit(shared: &Shared, request: &Request) -> Result<(), Box<Reply>> {
    let host = request.header("host");
    let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let loopback = |name: &str| ["127.0.0.1", "localhost", "[::1]"].contains(&name);
    if !loopback(name.map_or(host, |(name, _)| name)) {
        return Err(Box::new(Reply::text(403, "the control interface answers to a loopback host only")));
    }
    let origin = request.header("origin");
    if !origin.is_empty() && origin != format!("https://{host}") {
        return Err(Box::new(Reply::text(403, "the control interface answers to its own origin only")));
    }
    let given = request.header("authorization").strip_prefix("Bearer ").unwrap_or_default();
    if given.as_bytes().ct_eq(shared.control_token.as_bytes()).into() {
        Ok(())
    } else {
        Err(Box::new(Reply::text(401, "the control interface needs its token in the Authorization header")))
    }
}

fn sent(value: &Value) -> Reply {
    Reply::new(200, "OK", JSON, value.to_string().into_bytes())
}

/// Hides the values of keys that hold secrets.
fn mask(value: &mut Value) {
    const SECRET: [&str; 8] = ["password", "cipassword", "secret", "hash", "salt", "key", "token", "otp"];
    match value {
        Value::Object(object) => {
            for (name, inner) in object.iter_mut() {
                let secret = SECRET.iter().any(|word| name == word || name.ends_with(&format!("-{word}")));
                let list = inner.as_array().is_some_and(|items| items.iter().all(|item| item.is_string()));
                if secret && !inner.is_object() && (!inner.is_array() || list) {
                    *inner = json!("**********");
                } else {
                    mask(inner);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask),
        _ => {}
    }
}

/// Paths outside the API.
pub(crate) fn page(verb: Verb, path: &str) -> Reply {
    match path {
        "/api2" | "/api2/" => Reply::text(501, "no such uri"),
        _ if path.starts_with("/api2/") => Reply::text(501, "no such uri"),
        "/" if verb == Verb::Get => {
            let page = "<!DOCTYPE html>\n<title>fake-pve</title>\n<p>A fake Proxmox VE cluster. Its API is under /api2/json.\n";
            Reply::new(200, "OK", "text/html; charset=utf-8", page.as_bytes().to_vec())
        }
        apidoc::PATH if verb == Verb::Get => apidoc::page(),
        _ => Reply::text(500, &format!("no such file '{path}'\n")),
    }
}

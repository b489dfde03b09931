//! The second step of a login: which factors are asked for, and whether an answer is right.

use serde_json::{Map, Value, json};

use super::totp::Totp;
use crate::world::access::{Access, Secret};

/// Wrong one-time passwords in a row that lock them.
const TOTP_LIMIT: u32 = 8;
/// Wrong answers in a row that lock every second factor, and for how many seconds.
const LIMIT: (u32, i64) = (100, 3600);

/// What is asked of a user after the password; `None` when one step is enough.
pub(super) fn challenge(access: &Access, userid: &str) -> Option<Value> {
    let entries: Vec<_> = access.tfa.get(userid)?.iter().filter(|entry| is_enabled(entry)).collect();
    let mut asked = Map::new();
    for entry in entries {
        match entry.get("type").and_then(Value::as_str).unwrap_or_default() {
            "recovery" => {
                let left: Vec<usize> = codes(entry).filter(|(_, code)| !code.is_null()).map(|(at, _)| at).collect();
                asked.insert("recovery".into(), json!(left));
            }
            kind => {
                asked.insert(kind.into(), json!(true));
            }
        }
    }
    (!asked.is_empty()).then_some(Value::Object(asked))
}

/// Judges an answer such as `totp:123456`. A right one is used up; a wrong one counts.
pub(super) fn verify(access: &mut Access, userid: &str, answer: &str, now: i64) -> bool {
    let lock = access.tfa_locks.get(userid).cloned().unwrap_or_default();
    if lock.locked_until.is_some_and(|until| now < until) {
        return false;
    }
    let (kind, value) = answer.split_once(':').unwrap_or(("", answer));
    let mut entries = access.tfa.get_mut(userid).into_iter().flatten();
    let right = match kind {
        "totp" => !lock.totp_locked && entries.any(|entry| use_password(entry, value, now)),
        "recovery" => entries.any(|entry| use_code(entry, value)),
        _ => false,
    };
    if right && (kind == "recovery" || !lock.totp_locked) {
        access.tfa_locks.remove(userid);
    } else {
        let lock = access.tfa_locks.entry(userid.into()).or_default();
        lock.failures += 1;
        lock.totp_failures += u32::from(kind == "totp");
        lock.totp_locked |= lock.totp_failures >= TOTP_LIMIT;
        if lock.failures >= LIMIT.0 {
            (lock.failures, lock.locked_until) = (0, Some(now + LIMIT.1));
        }
    }
    right
}

/// The hidden form of a recovery code.
pub(super) fn hidden(userid: &str, code: &str) -> Value {
    serde_json::to_value(Secret::new(userid, code)).unwrap_or_default()
}

fn is_enabled(entry: &Map<String, Value>) -> bool {
    entry.get("enable") != Some(&json!(false))
}

fn codes(entry: &Map<String, Value>) -> impl Iterator<Item = (usize, &Value)> {
    entry.get("secret").and_then(Value::as_array).into_iter().flatten().enumerate()
}

/// Each password is good once.
fn use_password(entry: &mut Map<String, Value>, password: &str, now: i64) -> bool {
    let is_totp = entry.get("type").and_then(Value::as_str) == Some("totp");
    if !is_totp || !is_enabled(entry) {
        return false;
    }
    let totp = entry.get("secret").and_then(Value::as_str).and_then(|url| Totp::parse(url).ok());
    let last = entry.get("last").and_then(Value::as_i64).unwrap_or(i64::MIN);
    match totp.and_then(|totp| totp.step_of(password, now)).filter(|step| *step > last) {
        Some(step) => {
            entry.insert("last".into(), json!(step));
            true
        }
        None => false,
    }
}

fn use_code(entry: &mut Map<String, Value>, code: &str) -> bool {
    let is_recovery = entry.get("type").and_then(Value::as_str) == Some("recovery");
    let Some(Value::Array(codes)) = entry.get_mut("secret").filter(|_| is_recovery) else { return false };
    let fits = |hidden: &Value| serde_json::from_value::<Secret>(hidden.clone()).is_ok_and(|secret| secret.is(code));
    match codes.iter_mut().find(|hidden| fits(hidden)) {
        Some(used) => {
            *used = Value::Null;
            true
        }
        None => false,
    }
}

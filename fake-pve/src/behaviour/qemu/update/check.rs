//! Checks of a change against the configuration as it is.

use serde_json::{Map, Value};

use super::Changes;
use crate::behaviour::{Call, Failure};
use crate::world::{GuestKind, option};

/// Digest, lock, what is taken back, and the balloon against the memory.
pub(super) fn config(call: &mut Call<'_>, changes: &mut Changes) -> Result<(), Failure> {
    let guest = call.world.guest(GuestKind::Vm, &call.node(), call.vmid())?;
    if call.params.get("digest").is_some_and(|digest| !digest.is_empty() && digest != guest.digest()) {
        return Err(Failure::die("checksum mismatch (file change by other user?)"));
    }
    let mut lock = guest.lock();
    if changes.delete.iter().any(|key| key == "vmstate") {
        if lock.as_deref() == Some("suspended") {
            lock = None;
            changes.delete.push("lock".into());
        }
        for key in ["runningmachine", "runningcpu"] {
            if guest.config.contains_key(key) {
                changes.delete.push(key.into());
            }
        }
    }
    if let Some(lock) = lock.filter(|_| !changes.skiplock) {
        return Err(Failure::die(format!("VM is locked ({lock})")));
    }
    for key in &changes.revert {
        if let Some(value) = guest.config.get(key) {
            changes.param.insert(key.clone(), option::text(value).into());
        } else if guest.pending.contains_key(key) {
            changes.delete.push(key.clone());
        }
    }
    balloon(&changes.param, &guest.merged())
}

fn balloon(param: &Map<String, Value>, config: &Map<String, Value>) -> Result<(), Failure> {
    if !param.contains_key("memory") && !param.contains_key("balloon") {
        return Ok(());
    }
    let value = |key: &str| param.get(key).or_else(|| config.get(key)).map(option::text);
    let megabytes = |text: String| text.trim_start_matches("current=").parse::<u64>().ok();
    let memory = value("memory").and_then(megabytes).unwrap_or(512);
    if value("balloon").and_then(megabytes).is_some_and(|balloon| balloon > memory) {
        return Err(Failure::die("balloon value too large (must be smaller than assigned memory)"));
    }
    Ok(())
}

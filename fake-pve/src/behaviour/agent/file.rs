//! `…/agent/file-read` and `…/agent/file-write`: files of the guest.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::{agent_error, awake, frozen, program};
use crate::behaviour::{Answer, Call, Data, Failure};

/// Most bytes that one read returns.
const MOST: usize = 16 << 20;

/// `GET …/agent/file-read`.
pub(crate) fn read(call: &mut Call<'_>) -> Answer {
    let guest = awake(call, "file-read")?;
    if let Some(text) = frozen(guest, "file-open") {
        return Err(agent_error(&text));
    }
    let path = call.params.text("file");
    let content = program::file(guest, &path).map_err(|why| unopened(&path, "r", why))?;
    let number = |name: &str| call.params.int(name).and_then(|number| usize::try_from(number).ok());
    let start = number("offset").unwrap_or(0).min(content.len());
    let count = number("count").unwrap_or(MOST).min(MOST);
    let end = content.len().min(start.saturating_add(count));
    let part = &content.as_bytes()[start..end];
    let text = match call.params.flag("decode") {
        Some(false) => STANDARD.encode(part),
        _ => String::from_utf8_lossy(part).into_owned(),
    };
    let mut answer = json!({"content": text, "bytes-read": part.len()});
    if end < content.len() {
        answer["truncated"] = json!(1);
    }
    Ok(answer.into())
}

/// `POST …/agent/file-write`: with `encode=0` the content is base64 already; else it is written as it is, even when it
/// looks encoded.
pub(crate) fn write(call: &mut Call<'_>) -> Answer {
    let content = call.params.text("content");
    let guest = awake(call, "file-write")?;
    let vmid = guest.vmid;
    if let Some(text) = frozen(guest, "file-open") {
        return Err(agent_error(&text));
    }
    let path = call.params.text("file");
    if let Some(why) = program::unwritable(guest, &path) {
        return Err(unopened(&path, "wb", why));
    }
    let content = match call.params.flag("encode") {
        Some(false) => {
            let bytes = STANDARD.decode(content.trim()).map_err(|_| agent_error("Invalid parameter 'buf-b64'"))?;
            String::from_utf8_lossy(&bytes).into_owned()
        }
        _ => content,
    };
    if let Some(guest) = call.world.guests.get_mut(&vmid) {
        guest.agent.files.insert(path, content);
    }
    Ok(Data::null())
}

fn unopened(path: &str, mode: &str, why: &str) -> Failure {
    agent_error(&format!("failed to open file '{path}' (mode: '{mode}'): {why}"))
}

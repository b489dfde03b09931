//! Tools that keep a terminal open between calls. Opening one is what needs a permit and a person's consent; what is typed
//! into it is not looked at. All five stand behind the same gate.

mod session_close;
mod session_list;
mod session_open;
mod session_read;
mod session_send;

use std::time::Duration;

use pve_catalog::{Gate, Verb};
use serde_json::{Map, Value, json};

use crate::error::{Code, Fault};
use crate::policy::Place;
use crate::ssh::End;
use crate::ssh::terminal::{Ended, Printed};
use crate::tools::{Ctx, Given, Parameter, Tool};

/// Which terminal.
const SESSION: Parameter = Parameter::text("session", "as pve_ssh_session_open gave it").required();
/// How long output is awaited.
const WAIT: Parameter = Parameter::integer("wait_seconds", 0, 60, "for output when there is none yet, default 2");

/// All of them.
pub fn all() -> Vec<Tool> {
    vec![session_close::tool(), session_list::tool(), session_open::tool(), session_read::tool(), session_send::tool()]
}

/// A terminal is used on the cluster of the call: its gate must be open there, as it was when the terminal was opened.
fn may_use(ctx: &Ctx, tool: &'static str) -> Result<(), Fault> {
    let policy = &ctx.cluster().policy;
    if policy.opens(Gate::SshWrite, Verb::Post) {
        return Ok(());
    }
    let needed = policy.what_opens(Gate::SshWrite, Verb::Post).join(" and ");
    Err(Fault::new(Code::GateClosed, format!("{tool} needs the gate ssh_write, which is closed"))
        .hint(format!("a person can open it by starting the server with {needed}"))
        .detail("gate", Gate::SshWrite.word()))
}

fn wait(given: &Given) -> Duration {
    Duration::from_secs(given.integer("wait_seconds").and_then(|seconds| u64::try_from(seconds).ok()).unwrap_or(2))
}

/// What was printed, as it is told. The caller cannot be kept from going away meanwhile.
async fn read(ctx: &Ctx, session: &str, wait: Duration) -> Result<Map<String, Value>, Fault> {
    let cancelled = ctx.cancelled_by_caller();
    let printed = tokio::select! {
        biased;
        printed = ctx.cluster().ssh.terminals().read(session, wait) => printed?,
        () = cancelled.cancelled() => return Err(Fault::new(Code::Cancelled, "the caller cancelled; the terminal stays open")),
    };
    let Printed { text, missed, ended } = printed;
    let mut told = json!({"session": session, "untrusted": true, "output": text, "open": ended.is_none()});
    if missed > 0 {
        told["truncated"] = true.into();
        told["missed_characters"] = missed.into();
    }
    match ended {
        Some(Ended::Program(End::Exit(status))) => told["exit_status"] = status.into(),
        Some(Ended::Program(End::Signal(signal))) => told["signal"] = signal.into(),
        Some(Ended::Idle) => told["hint"] = "it was closed because nobody used it for 15 minutes".into(),
        Some(Ended::Broken) => told["hint"] = "the connection broke".into(),
        Some(Ended::Program(End::Unknown) | Ended::Closed) | None => {}
    }
    Ok(told.as_object().cloned().unwrap_or_default())
}

/// `{node, vmid?}`.
fn place_of(place: &Place) -> Map<String, Value> {
    let mut told = Map::new();
    told.extend(place.node().map(|node| ("node".to_string(), node.into())));
    told.extend(place.vmid().map(|vmid| ("vmid".to_string(), vmid.into())));
    told
}

/// The schema of what these tools answer.
fn output(members: Value) -> Value {
    let mut all = json!({
        "session": {"type": "string"}, "vmid": {"type": "integer"}, "open": {"type": "boolean"}, "output": {"type": "string"},
        "missed_characters": {"type": "integer"},
    });
    if let (Some(all), Value::Object(members)) = (all.as_object_mut(), members) {
        all.extend(members);
    }
    super::shape::output(all)
}

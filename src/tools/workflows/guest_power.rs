//! `pve_guest_power`: starts, shuts down, stops or reboots a guest, VM or container.

use pve_catalog::Verb;
use serde_json::{Map, Value, json};

use super::guest::{self, Guest};
use super::reading::{options, text, write};
use super::{LONGEST_WAIT, MOST_VMID, changes};
use crate::error::{Code, Fault};
use crate::tools::{Ctx, Given, Parameter, Reply, Tool, result};

const PARAMETERS: &[Parameter] = &[
    Parameter::integer("vmid", 100, MOST_VMID, "").required(),
    Parameter::choice(
        "action",
        &["start", "shutdown", "stop", "reboot"],
        "shutdown asks the guest, stop cuts its power",
    )
    .required(),
    Parameter::integer("timeout", 1, 3600, "seconds that the guest is given to shut down or reboot"),
    Parameter::flag("force_stop", "with shutdown: cut the power when it does not"),
    Parameter::flag("wait", "default true"),
    Parameter::integer("wait_seconds", 0, LONGEST_WAIT, ""),
    Parameter::flag("dry_run", ""),
];

/// The tool.
pub fn tool() -> Tool {
    changes(
        "pve_guest_power",
        "Start, shut down, stop or reboot a VM or container",
        true,
        PARAMETERS,
        output,
        |ctx, given| Box::pin(run(ctx, given)),
    )
}

fn output() -> Value {
    let properties = json!({
        "guest": {"type": "object"}, "action": {"type": "string"}, "changed": {"type": "boolean"},
        "before": {"type": "string"}, "after": {"type": "string"}, "upid": {"type": "string"}, "task": {"type": "object"},
        "dry_run": {"type": "boolean"}, "request": {"type": "object"}, "untrusted": {"type": "boolean"},
        "note": {"type": "string"}, "warnings": {"type": "array"},
    });
    result::schema(properties).into()
}

async fn run(ctx: &Ctx, given: Given) -> Result<Reply, Fault> {
    let guest = guest::one(ctx, given.integer("vmid").unwrap_or_default()).await?;
    let action = given.text("action").unwrap_or_default();
    sensible(action, &given)?;
    let before = status(ctx, &guest).await?;
    let mut told = Map::new();
    told.insert("guest".into(), guest.named());
    told.insert("untrusted".into(), true.into());
    told.insert("action".into(), action.into());
    told.insert("before".into(), before.clone().into());
    if let Some(note) = nothing_to_do(action, &before) {
        told.insert("changed".into(), false.into());
        told.insert("after".into(), before.into());
        told.insert("note".into(), note.into());
        return Ok(Reply::new(told));
    }
    if action == "reboot" && before == "stopped" {
        return Err(Fault::new(Code::GuestNotRunning, format!("guest {guest} is stopped: nothing was done"))
            .hint("use the action start")
            .detail("before", before));
    }
    let path = guest.path(&format!("/status/{action}"));
    let done = write(ctx, Verb::Post, &path, arguments(&guest, action, &given), &options(&given)).await;
    let done = match done {
        Ok(reply) => reply.structured,
        Err(fault) => return Err(failed(ctx, &guest, action, &before, fault).await),
    };
    if done.get("dry_run").is_some() {
        told.extend(done);
        return Ok(Reply::new(told));
    }
    told.extend(done.into_iter().filter(|(name, _)| matches!(name.as_str(), "upid" | "task" | "warnings")));
    match status(ctx, &guest).await {
        Ok(after) => {
            told.insert("changed".into(), (after != before || action == "reboot").into());
            told.insert("after".into(), after.into());
        }
        // The action itself went well: that its result cannot be read does not undo it.
        Err(fault) => {
            drop(told.insert("note".into(), format!("how it stands now cannot be read: {}", fault.message).into()))
        }
    }
    Ok(Reply::new(told))
}

fn sensible(action: &str, given: &Given) -> Result<(), Fault> {
    if given.flag("force_stop").is_some() && action != "shutdown" {
        return Err(Fault::argument("force_stop", "goes with the action shutdown only").hint("nothing was sent"));
    }
    if given.integer("timeout").is_some() && !matches!(action, "shutdown" | "reboot") {
        return Err(Fault::argument("timeout", "goes with the actions shutdown and reboot").hint("nothing was sent"));
    }
    Ok(())
}

fn nothing_to_do(action: &str, before: &str) -> Option<&'static str> {
    match (action, before) {
        ("start", "running") => Some("it runs already: nothing was sent"),
        ("stop" | "shutdown", "stopped") => Some("it is stopped already: nothing was sent"),
        _ => None,
    }
}

fn arguments(guest: &Guest, action: &str, given: &Given) -> Map<String, Value> {
    let mut arguments = guest.arguments();
    if let Some(seconds) = given.integer("timeout") {
        arguments.insert("timeout".into(), seconds.into());
    }
    if let Some(force) = given.flag("force_stop").filter(|_| action == "shutdown") {
        arguments.insert("forceStop".into(), force.into());
    }
    arguments
}

/// `running`, `stopped`, or what QEMU says (`paused`).
async fn status(ctx: &Ctx, guest: &Guest) -> Result<String, Fault> {
    let now = guest.read(ctx, "/status/current").await?;
    let fine = text(&now, "qmpstatus").filter(|state| matches!(*state, "paused" | "suspended" | "prelaunch"));
    Ok(fine.or(text(&now, "status")).unwrap_or("unknown").to_string())
}

/// What went wrong, and how the guest stands after it.
async fn failed(ctx: &Ctx, guest: &Guest, action: &str, before: &str, fault: Fault) -> Fault {
    let after = status(ctx, guest).await.ok();
    let fault = fault.detail("guest", guest.named()).detail("action", action).detail("before", before);
    match after {
        Some(after) => fault.detail("after", after),
        None => fault,
    }
}

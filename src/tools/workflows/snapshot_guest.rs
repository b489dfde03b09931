//! `pve_snapshot_guest`: takes a snapshot of a guest, VM or container.

use pve_catalog::Verb;
use serde_json::{Map, Value, json};

use super::guest::{self, Kind};
use super::list_guest_snapshots::of as snapshots_of;
use super::reading::{options, text, write};
use super::{LONGEST_WAIT, MOST_VMID, changes};
use crate::error::{Code, Fault};
use crate::tools::{Ctx, Given, Parameter, Reply, Tool, result};

const PARAMETERS: &[Parameter] = &[
    Parameter::integer("vmid", 100, MOST_VMID, "").required(),
    Parameter::text("snapname", "2 to 40 characters: a letter, then letters, digits, _ or -").required(),
    Parameter::text("description", ""),
    Parameter::flag("vmstate", "VMs only: save the memory too"),
    Parameter::flag("wait", "default true"),
    Parameter::integer("wait_seconds", 0, LONGEST_WAIT, ""),
    Parameter::flag("dry_run", ""),
];

/// The tool.
pub fn tool() -> Tool {
    changes("pve_snapshot_guest", "Take a snapshot of a VM or container", false, PARAMETERS, output, |ctx, given| {
        Box::pin(run(ctx, given))
    })
}

fn output() -> Value {
    let properties = json!({
        "guest": {"type": "object"}, "snapname": {"type": "string"}, "created": {"type": "boolean"},
        "snapshots": {"type": "array"}, "upid": {"type": "string"}, "task": {"type": "object"},
        "dry_run": {"type": "boolean"}, "request": {"type": "object"}, "untrusted": {"type": "boolean"},
        "note": {"type": "string"}, "warnings": {"type": "array"},
    });
    result::schema(properties).into()
}

async fn run(ctx: &Ctx, given: Given) -> Result<Reply, Fault> {
    let guest = guest::one(ctx, given.integer("vmid").unwrap_or_default()).await?;
    let name = given.text("snapname").unwrap_or_default();
    if guest.kind == Kind::Lxc && given.flag("vmstate").is_some() {
        let fault =
            Fault::argument("vmstate", format!("{} is a container: only a VM's memory can be saved", guest.vmid));
        return Err(fault.hint("nothing was sent"));
    }
    let has = |list: &[Value]| list.iter().any(|row| text(row, "name") == Some(name));
    let (before, _) = snapshots_of(ctx, &guest).await?;
    if has(&before) {
        return Err(Fault::new(
            Code::Conflict,
            format!("guest {guest} has a snapshot '{name}' already: nothing was done"),
        )
        .hint("choose another name; it was not touched")
        .detail("snapshots", before));
    }
    let mut arguments = guest.arguments();
    arguments.insert("snapname".into(), name.into());
    for key in ["description", "vmstate"] {
        let value = given.text(key).map(Value::from).or(given.flag(key).map(Value::from));
        arguments.extend(value.map(|value| (key.to_string(), value)));
    }
    let done = write(ctx, Verb::Post, &guest.path("/snapshot"), arguments, &options(&given)).await;
    let done = done.map_err(|fault| fault.detail("guest", guest.named()).detail("snapname", name))?.structured;
    let mut told = Map::new();
    told.insert("guest".into(), guest.named());
    told.insert("untrusted".into(), true.into());
    told.insert("snapname".into(), name.into());
    if done.get("dry_run").is_some() {
        told.extend(done);
        return Ok(Reply::new(told));
    }
    told.extend(done.into_iter().filter(|(key, _)| matches!(key.as_str(), "upid" | "task" | "warnings")));
    match snapshots_of(ctx, &guest).await {
        Ok((after, _)) => {
            let ended = told.get("task").and_then(|task| text(task, "status")) != Some("still_running");
            told.insert("created".into(), (has(&after) && ended).into());
            told.insert("snapshots".into(), after.into());
        }
        // The snapshot itself went well: that the list cannot be read does not undo it.
        Err(fault) => {
            drop(told.insert("note".into(), format!("the snapshots cannot be listed now: {}", fault.message).into()))
        }
    }
    Ok(Reply::new(told))
}

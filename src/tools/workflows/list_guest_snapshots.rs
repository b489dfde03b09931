//! `pve_list_guest_snapshots`: the snapshots of a VM or a container.

use serde_json::{Value, json};

use super::guest::{self, Guest};
use super::reading::{foreign_of, is_on, moment, text, whole};
use super::{MOST_VMID, reads};
use crate::error::Fault;
use crate::tools::{Ctx, Given, Parameter, Reply, Tool, result};

const PARAMETERS: &[Parameter] = &[Parameter::integer("vmid", 100, MOST_VMID, "").required()];

/// The tool.
pub fn tool() -> Tool {
    reads(
        "pve_list_guest_snapshots",
        "Snapshots of a VM or container, oldest first",
        PARAMETERS,
        output,
        |ctx, given| Box::pin(run(ctx, given)),
    )
}

fn output() -> Value {
    let properties = json!({
        "guest": {"type": "object"}, "snapshots": {"type": "array"}, "current_parent": {"type": "string"},
        "untrusted": {"type": "boolean"},
    });
    result::schema(properties).into()
}

/// The snapshots of a guest, oldest first, and the one that its present state comes from.
///
/// # Errors
/// As `Guest::read`.
pub async fn of(ctx: &Ctx, guest: &Guest) -> Result<(Vec<Value>, Option<String>), Fault> {
    let listed = guest.read(ctx, "/snapshot").await?;
    let mut rows = listed.as_array().cloned().unwrap_or_default();
    rows.sort_by_key(|row| whole(row, "snaptime"));
    let (current, snapshots): (Vec<Value>, Vec<Value>) =
        rows.into_iter().partition(|row| text(row, "name") == Some("current"));
    let parent = current.first().and_then(|row| foreign_of(row, "parent"));
    Ok((snapshots.iter().map(told).collect(), parent))
}

fn told(row: &Value) -> Value {
    let mut told = json!({"name": foreign_of(row, "name")});
    if let Some(parent) = foreign_of(row, "parent") {
        told["parent"] = parent.into();
    }
    if let Some(at) = whole(row, "snaptime") {
        told["taken"] = moment(at).into();
    }
    if is_on(row, "vmstate") {
        told["with_memory"] = true.into();
    }
    if let Some(state) = text(row, "snapstate") {
        told["state"] = state.into();
    }
    if let Some(description) = foreign_of(row, "description") {
        told["description"] = description.into();
    }
    told
}

async fn run(ctx: &Ctx, given: Given) -> Result<Reply, Fault> {
    let guest = guest::one(ctx, given.integer("vmid").unwrap_or_default()).await?;
    let (snapshots, parent) = of(ctx, &guest).await?;
    let mut answer = json!({"guest": guest.named(), "untrusted": true, "snapshots": snapshots});
    if let Some(parent) = parent {
        answer["current_parent"] = parent.into();
    }
    Ok(Reply::of(answer))
}

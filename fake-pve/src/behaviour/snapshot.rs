//! `/nodes/{node}/{qemu,lxc}/{vmid}/snapshot`: the tree, and one snapshot's configuration.

mod back;
mod create;

use serde_json::{Map, Value, json};

use super::status::Target;
use super::{Answer, Call, Data};
use crate::world::snapshot::missing;
use crate::world::{Guest, GuestKind, Snapshot};

pub(crate) use back::{delete, rollback};
pub(crate) use create::create;

/// `GET …/snapshot`: every snapshot with its parent, and where the guest is.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let target = Target::of(call);
    let guest = target.guest(call.world)?;
    let mut items: Vec<Value> = guest.snapshots.iter().map(|(name, snapshot)| item(guest, name, snapshot)).collect();
    let mut current = json!({
        "name": "current", "description": "You are here!", "digest": guest.digest(), "running": i32::from(guest.runs()),
    });
    if let Some(parent) = guest.option("parent") {
        current["parent"] = json!(parent);
    }
    items.push(current);
    Ok(Data::from(items))
}

fn item(guest: &Guest, name: &str, snapshot: &Snapshot) -> Value {
    let mut item = json!({
        "name": name, "snaptime": snapshot.snaptime, "description": description(guest.kind, snapshot).unwrap_or_default(),
    });
    if guest.kind == GuestKind::Vm {
        item["vmstate"] = json!(i32::from(snapshot.vmstate.is_some()));
    }
    if let Some(parent) = &snapshot.parent {
        item["parent"] = json!(parent);
    }
    if let Some(state) = &snapshot.snapstate {
        item["snapstate"] = json!(state);
    }
    item
}

/// Its description as it reads back: that of a container ends with its last line.
fn description(kind: GuestKind, snapshot: &Snapshot) -> Option<String> {
    let text = snapshot.description.as_deref().filter(|text| !text.is_empty())?.trim_end();
    Some(if kind == GuestKind::Lxc { format!("{text}\n") } else { text.to_string() })
}

/// `GET …/snapshot/{snapname}`: what can be done with it, whether it is there or not.
pub(crate) fn index(_call: &mut Call<'_>) -> Answer {
    Ok(json!([{"cmd": "rollback"}, {"cmd": "config"}]).into())
}

/// `GET …/snapshot/{snapname}/config`.
pub(crate) fn config(call: &mut Call<'_>) -> Answer {
    let target = Target::of(call);
    let guest = target.guest(call.world)?;
    let name = call.params.text("snapname");
    let snapshot = guest.snapshots.get(&name).ok_or_else(|| missing(&name))?;
    Ok(Value::Object(section(guest.kind, snapshot)).into())
}

/// A snapshot's section of the configuration file.
pub(crate) fn section(kind: GuestKind, snapshot: &Snapshot) -> Map<String, Value> {
    let mut section = snapshot.config.clone();
    section.insert("snaptime".into(), json!(snapshot.snaptime));
    let texts = [
        ("parent", snapshot.parent.clone()),
        ("vmstate", snapshot.vmstate.clone()),
        ("description", description(kind, snapshot)),
        ("snapstate", snapshot.snapstate.clone()),
    ];
    for (key, text) in texts {
        if let Some(text) = text {
            section.insert(key.into(), json!(text));
        }
    }
    section
}

/// `PUT …/snapshot/{snapname}/config`: the description. Without one nothing is looked at.
pub(crate) fn set_config(call: &mut Call<'_>) -> Answer {
    let Some(text) = call.params.get("description") else { return Ok(Data::null()) };
    let target = Target::of(call);
    let name = call.params.text("snapname");
    let guest = target.guest_mut(call.world)?;
    guest.check_lock()?;
    let snapshot = guest.snapshots.get_mut(&name).ok_or_else(|| missing(&name))?;
    snapshot.description = Some(text).filter(|text| !text.is_empty());
    Ok(Data::null())
}

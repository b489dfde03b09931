//! `/cluster/ha/resources`: guests that HA manages.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::quorum;
use crate::behaviour::params::stored;
use crate::behaviour::{Answer, Call, Data, Failure, lock};
use crate::world::section_type::{SectionType, forget_empty};
use crate::world::{GuestKind, ha};

/// Containers and machines may hold the same.
const TYPE: SectionType = SectionType {
    name: "vm",
    required: &[],
    optional: &["auto-rebalance", "comment", "failback", "group", "max_relocate", "max_restart", "state"],
    fixed: &[],
};

/// `GET /cluster/ha/resources`.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let (wanted, digest) = (call.params.get("type"), file_digest(call));
    let resources = call.world.documents.list(ha::RESOURCES).iter();
    let fitting = resources.filter(|(sid, _)| wanted.as_ref().is_none_or(|wanted| kind_word(sid) == wanted));
    Ok(Data::from(fitting.map(|(sid, resource)| shown(sid, resource, &digest)).collect::<Vec<_>>()))
}

/// `GET /cluster/ha/resources/{sid}`.
pub(crate) fn show(call: &mut Call<'_>) -> Answer {
    let sid = parse_sid(call)?;
    let resource = ha::resource(call.world, &sid).ok_or_else(|| format!("no such resource '{sid}'"))?;
    Ok(shown(&sid, resource, &file_digest(call)).into())
}

/// `POST /cluster/ha/resources`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    quorum(call)?;
    let sid = parse_sid(call)?;
    if call.params.get("type").is_some_and(|kind| kind != kind_word(&sid)) {
        return Err(Failure::die("types does not match"));
    }
    refuse_group(call)?;
    check_guest(call, &sid)?;
    let mut given = given(call);
    TYPE.check_new(&given)?;
    lock::under(call, "ha_domain", "create resource failed", |call| {
        if ha::resource(call.world, &sid).is_some() {
            return Err(Failure::die(format!("resource ID '{sid}' already defined")));
        }
        forget_empty(&mut given);
        call.world.documents.put(ha::RESOURCES, &sid, given);
        Ok(Data::null())
    })
}

/// `PUT /cluster/ha/resources/{sid}`.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    let sid = parse_sid(call)?;
    refuse_group(call)?;
    if let Some(state) = call.params.get("state") {
        ha::check_error_state(call.world, &sid, Some(&state))?;
    }
    lock::under(call, "ha_domain", "update resources config failed", |call| {
        call.check_digest(&file_digest(call))?;
        let mut resource =
            ha::resource(call.world, &sid).cloned().ok_or_else(|| format!("no such resource '{sid}'"))?;
        let given = given(call);
        TYPE.check_change(&given)?;
        TYPE.delete(&mut resource, &call.params.list("delete"), &given)?;
        resource.extend(given);
        forget_empty(&mut resource);
        call.world.documents.put(ha::RESOURCES, &sid, resource);
        Ok(Data::null())
    })
}

/// `DELETE /cluster/ha/resources/{sid}`: out of its rules too, unless `purge` is off.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    let sid = parse_sid(call)?;
    if ha::resource(call.world, &sid).is_none() {
        return Err(Failure::die(format!("cannot delete service '{sid}', not HA managed!")));
    }
    let purge = call.params.flag("purge").unwrap_or(true);
    lock::under(call, "ha_domain", "delete resource failed", |call| {
        ha::purge(call.world, &sid, purge);
        Ok(Data::null())
    })
}

/// `POST …/migrate`.
pub(crate) fn migrate(call: &mut Call<'_>) -> Answer {
    request_move(call, false)
}

/// `POST …/relocate`.
pub(crate) fn relocate(call: &mut Call<'_>) -> Answer {
    request_move(call, true)
}

/// Asks the manager to move a service. Services that belong together come along; one that must stay apart from what is
/// already there blocks.
fn request_move(call: &mut Call<'_>, relocate: bool) -> Answer {
    let (sid, node) = (parse_sid(call)?, call.params.text("node"));
    let world = &mut *call.world;
    if ha::managed(world, ha::vmid_of(&sid).unwrap_or(0)).as_deref() != Some(sid.as_str()) {
        return Err(Failure::die(format!("resource '{sid}' is not HA managed")));
    }
    let mut answer = json!({"sid": sid, "requested-node": node});
    let node_of = |other: &String| ha::vmid_of(other).and_then(|vmid| world.guests.get(&vmid)).map(|guest| &guest.node);
    let apart = ha::place::partners(world, &sid, "negative");
    let blocking: Vec<Value> = apart
        .iter()
        .filter(|other| node_of(other) == Some(&node))
        .map(|other| json!({"sid": other, "cause": "resource-affinity"}))
        .collect();
    let together: BTreeSet<String> = ha::place::partners(world, &sid, "positive");
    if !together.is_empty() {
        answer["comigrated-resources"] = json!(together);
    }
    if !blocking.is_empty() {
        answer["blocking-resources"] = json!(blocking);
        return Ok(answer.into());
    }
    for sid in std::iter::once(&sid).chain(&together) {
        ha::request_move(world, sid, &node, relocate)?;
    }
    Ok(answer.into())
}

/// The service id of the call: a bare vmid stands for the guest with it.
fn parse_sid(call: &Call<'_>) -> Result<String, Failure> {
    let text = call.params.text("sid");
    if let Ok(vmid) = text.parse::<u32>() {
        let guest = call.world.guests.get(&vmid);
        let guest = guest.ok_or_else(|| format!("unable to detect SID from VMID - VM/CT {vmid} does not exist"))?;
        return Ok(ha::sid_of(guest.kind, vmid));
    }
    match text.split_once(':') {
        Some((kind, name)) if !kind.is_empty() && !name.is_empty() => Ok(text),
        _ => Err(Failure::die(format!("unable to parse service id '{text}'"))),
    }
}

fn kind_word(sid: &str) -> &str {
    sid.split(':').next().unwrap_or_default()
}

/// The type must exist, and the guest must exist and be of that type.
fn check_guest(call: &Call<'_>, sid: &str) -> Result<(), Failure> {
    let (kind, word) = match kind_word(sid) {
        "vm" => (GuestKind::Vm, "VM"),
        "ct" => (GuestKind::Lxc, "container"),
        other => return Err(Failure::die(format!("unknown section type '{other}'"))),
    };
    let guest = ha::vmid_of(sid).and_then(|vmid| call.world.guests.get(&vmid));
    match guest {
        None => Err(Failure::die(format!("resource '{sid}' does not exist in cluster"))),
        Some(guest) if guest.kind != kind => {
            Err(Failure::die(format!("resource '{sid}' - guest with ID {} is not a {word}", guest.vmid)))
        }
        Some(_) => Ok(()),
    }
}

fn refuse_group(call: &Call<'_>) -> Result<(), Failure> {
    match call.params.has("group") && !call.world.ha.groups {
        true => Err(Failure::die("invalid parameter 'group': ha groups have been migrated to rules")),
        false => Ok(()),
    }
}

fn given(call: &Call<'_>) -> Map<String, Value> {
    stored(call.method, &call.params, &["sid", "type", "delete", "digest"].map(str::to_string))
}

fn file_digest(call: &Call<'_>) -> String {
    call.world.documents.digest(ha::RESOURCES)
}

fn shown(sid: &str, resource: &Map<String, Value>, digest: &str) -> Value {
    let mut item = resource.clone();
    item.insert("sid".into(), json!(sid));
    item.insert("type".into(), json!(kind_word(sid)));
    item.insert("digest".into(), json!(digest));
    Value::Object(item)
}

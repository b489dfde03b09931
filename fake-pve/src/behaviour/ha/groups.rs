//! `/cluster/ha/groups`: until every node runs release 9, groups say where resources should be; then they are rules.

use serde_json::{Map, Value, json};

use super::quorum;
use crate::behaviour::params::stored;
use crate::behaviour::{Answer, Call, Data, Failure, lock};
use crate::world::ha::{GROUPS, RESOURCES};
use crate::world::section_type::{SectionType, forget_empty};

const GROUP: SectionType =
    SectionType { name: "group", required: &["nodes"], optional: &["comment", "nofailback", "restricted"], fixed: &[] };

/// `GET /cluster/ha/groups`.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    kept(call, "index groups")?;
    let digest = call.world.documents.digest(GROUPS);
    let groups = call.world.documents.list(GROUPS);
    Ok(Data::from(groups.iter().map(|(name, group)| shown(name, group, &digest)).collect::<Vec<_>>()))
}

/// `GET /cluster/ha/groups/{group}`.
pub(crate) fn show(call: &mut Call<'_>) -> Answer {
    kept(call, "read group")?;
    let name = call.params.text("group");
    let digest = call.world.documents.digest(GROUPS);
    match call.world.documents.get(GROUPS, &name) {
        Some(group) => Ok(shown(&name, group, &digest).into()),
        None => Err(Failure::die(format!("no such ha group '{name}'"))),
    }
}

/// `POST /cluster/ha/groups`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    kept(call, "create group")?;
    quorum(call)?;
    lock::under(call, "ha_domain", "create ha group failed", |call| {
        let name = call.params.text("group");
        if call.world.documents.get(GROUPS, &name).is_some() {
            return Err(Failure::die(format!("ha group '{name}' already defined")));
        }
        let mut group = given(call);
        GROUP.check_new(&group)?;
        forget_empty(&mut group);
        call.world.documents.put(GROUPS, &name, group);
        Ok(Data::null())
    })
}

/// `PUT /cluster/ha/groups/{group}`.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    kept(call, "update group")?;
    quorum(call)?;
    lock::under(call, "ha_domain", "update ha group failed", |call| {
        let name = call.params.text("group");
        call.check_digest(&call.world.documents.digest(GROUPS))?;
        let group = call.world.documents.get(GROUPS, &name).cloned();
        let mut group = group.ok_or_else(|| format!("ha group '{name}' does not exist"))?;
        let given = given(call);
        GROUP.check_change(&given)?;
        GROUP.delete(&mut group, &call.params.list("delete"), &given)?;
        group.extend(given);
        forget_empty(&mut group);
        call.world.documents.put(GROUPS, &name, group);
        Ok(Data::null())
    })
}

/// `DELETE /cluster/ha/groups/{group}`: not while a resource is in it.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    kept(call, "delete group")?;
    quorum(call)?;
    lock::under(call, "ha_domain", "delete ha group failed", |call| {
        let name = call.params.text("group");
        let inside = |resource: &Map<String, Value>| resource.get("group").and_then(Value::as_str) == Some(&name);
        if call.world.documents.list(RESOURCES).iter().any(|(_, resource)| inside(resource)) {
            return Err(Failure::die("ha group is used by resources"));
        }
        call.world.documents.remove(GROUPS, &name);
        Ok(Data::null())
    })
}

/// Groups are there until they are migrated.
fn kept(call: &Call<'_>, what: &str) -> Result<(), Failure> {
    match call.world.ha.groups {
        true => Ok(()),
        false => Err(Failure::die(format!("cannot {what}: ha groups have been migrated to rules"))),
    }
}

fn given(call: &Call<'_>) -> Map<String, Value> {
    stored(call.method, &call.params, &["group", "type", "delete", "digest"].map(str::to_string))
}

fn shown(name: &str, group: &Map<String, Value>, digest: &str) -> Value {
    let mut shown = group.clone();
    shown.extend([("group".into(), json!(name)), ("type".into(), json!("group")), ("digest".into(), json!(digest))]);
    Value::Object(shown)
}

//! `/cluster/ha/rules`: where resources should be, and which of them together or apart.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{checks, quorum};
use crate::behaviour::params::stored;
use crate::behaviour::{Answer, Call, Data, Failure, lock};
use crate::world::ha::{RESOURCES, RULES, place};
use crate::world::section_type::{SectionType, forget_empty};

const TYPES: [SectionType; 2] = [
    SectionType {
        name: "node-affinity",
        required: &["nodes", "resources"],
        optional: &["comment", "disable", "strict"],
        fixed: &[],
    },
    SectionType {
        name: "resource-affinity",
        required: &["affinity", "resources"],
        optional: &["comment", "disable"],
        fixed: &[],
    },
];

/// `GET /cluster/ha/rules`: in their order, each with what makes it ineffective.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let (kind, resource) = (call.params.get("type"), super::super::access::truth(call.params.get("resource")));
    let fits = |rule: &Value| {
        let object = rule.as_object();
        kind.as_deref().is_none_or(|kind| rule["type"] == kind)
            && resource.as_ref().is_none_or(|sid| object.is_some_and(|rule| place::resources_of(rule).contains(sid)))
    };
    Ok(Data::from(items(call).into_iter().filter(fits).collect::<Vec<_>>()))
}

/// `GET /cluster/ha/rules/{rule}`.
pub(crate) fn show(call: &mut Call<'_>) -> Answer {
    let name = call.params.text("rule");
    let found = items(call).into_iter().find(|rule| rule["rule"] == name);
    Ok(found.ok_or_else(|| format!("no such ha rule '{name}'"))?.into())
}

/// `POST /cluster/ha/rules`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    quorum(call)?;
    lock::under(call, "ha_domain", "create ha rule failed", |call| {
        let (name, kind) = (call.params.text("rule"), call.params.text("type"));
        if call.world.documents.get(RULES, &name).is_some() {
            return Err(Failure::die(format!("HA rule '{name}' already defined")));
        }
        let mut rule = given(call);
        section_type(&kind)?.check_new(&rule)?;
        rule.insert("type".into(), json!(kind));
        put(call, &name, rule)
    })
}

/// `PUT /cluster/ha/rules/{rule}`: its type stays, whatever the call says.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    lock::under(call, "ha_domain", "update HA rules failed", |call| {
        let name = call.params.text("rule");
        call.check_digest(&file_digest(call))?;
        let rule = call.world.documents.get(RULES, &name).cloned();
        let mut rule = rule.ok_or_else(|| format!("HA rule '{name}' does not exist"))?;
        let types = section_type(rule.get("type").and_then(Value::as_str).unwrap_or_default())?;
        let given = given(call);
        types.check_change(&given)?;
        types.delete(&mut rule, &call.params.list("delete"), &given)?;
        rule.extend(given);
        put(call, &name, rule)
    })
}

/// `DELETE /cluster/ha/rules/{rule}`: one that is not there is gone already.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    lock::under(call, "ha_domain", "delete ha rule failed", |call| {
        let name = call.params.text("rule");
        call.world.documents.remove(RULES, &name);
        Ok(Data::null())
    })
}

fn section_type(kind: &str) -> Result<&'static SectionType, Failure> {
    SectionType::named(&TYPES, kind).ok_or_else(|| Failure::die(format!("unknown section type '{kind}'")))
}

/// The properties of the call; lists come sorted, as Proxmox writes them.
fn given(call: &Call<'_>) -> Map<String, Value> {
    let mut given = stored(call.method, &call.params, &["rule", "type", "delete", "digest"].map(str::to_string));
    for key in ["resources", "nodes"] {
        if let Some(Value::String(text)) = given.get_mut(key) {
            let mut parts: Vec<&str> = text.split([',', ';', ' ']).filter(|part| !part.is_empty()).collect();
            parts.sort_unstable();
            parts.dedup();
            *text = parts.join(",");
        }
    }
    given
}

fn file_digest(call: &Call<'_>) -> String {
    call.world.documents.digest(RULES)
}

/// Stores a rule when it names what exists and can be kept to.
fn put(call: &mut Call<'_>, name: &str, mut rule: Map<String, Value>) -> Answer {
    if rule.get("disable") == Some(&json!(0)) {
        rule.shift_remove("disable");
    }
    check_names(call, &rule)?;
    forget_empty(&mut rule);
    let mut trial = call.world.clone();
    trial.documents.put(RULES, name, rule.clone());
    let errors = checks::errors_of(&trial, name);
    if !errors.is_empty() {
        let errors: BTreeMap<String, String> =
            errors.into_iter().map(|(option, texts)| (option, texts.join(", "))).collect();
        return Err(Failure { errors, ..Failure::new(400, format!("Rule '{name}' is invalid.")) });
    }
    call.world.documents.put(RULES, name, rule);
    Ok(Data::null())
}

fn check_names(call: &Call<'_>, rule: &Map<String, Value>) -> Result<(), Failure> {
    let resources = place::resources_of(rule);
    if resources.is_empty() {
        return Err(Failure::die("no resources were specified"));
    }
    let managed = |sid: &&String| call.world.documents.get(RESOURCES, sid).is_none();
    let unmanaged: Vec<&str> = resources.iter().filter(managed).map(String::as_str).collect();
    if !unmanaged.is_empty() {
        return Err(Failure::die(format!("cannot use unmanaged resource(s) {}.", unmanaged.join(", "))));
    }
    if !rule.contains_key("nodes") {
        return Ok(());
    }
    let nodes = place::nodes_of(rule);
    if nodes.is_empty() {
        return Err(Failure::die("no nodes were specified"));
    }
    let unknown: Vec<&str> =
        nodes.keys().filter(|node| !call.world.nodes.contains_key(*node)).map(String::as_str).collect();
    match unknown.is_empty() {
        true => Ok(()),
        false => Err(Failure::die(format!("cannot use non-existent node(s) {}.", unknown.join(", ")))),
    }
}

fn items(call: &Call<'_>) -> Vec<Value> {
    let digest = file_digest(call);
    let rules = call.world.documents.list(RULES).iter().enumerate();
    let items = rules.map(|(at, (name, rule))| {
        let mut item = rule.clone();
        item.insert("rule".into(), json!(name));
        item.insert("order".into(), json!(at + 1));
        item.insert("digest".into(), json!(digest));
        let errors = checks::errors_of(call.world, name);
        if !errors.is_empty() {
            item.insert("errors".into(), json!(errors));
        }
        Value::Object(item)
    });
    items.collect()
}

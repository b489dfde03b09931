//! `/cluster/options`: the datacenter's options. Stored as text, shown with most property strings taken apart.

use std::collections::BTreeSet;

use pve_catalog::property;
use pve_catalog::schema::Properties;
use pve_catalog::verify::parameter;
use pve_catalog::{Catalog, Verb};
use serde_json::{Map, Value, json};

use crate::behaviour::params::scalar;
use crate::behaviour::{Answer, Call, Data, Failure};
use crate::world::World;

/// Where the options stand among the world's documents.
const PATH: &str = "/cluster/options";

/// What Proxmox uses when nothing is configured.
const MAC_PREFIX: &str = "BC:24:11";

/// Property strings that are shown as objects.
const OBJECTS: [&str; 10] =
    ["crs", "ha", "migration", "next-id", "notify", "replication", "tag-style", "u2f", "user-tag-access", "webauthn"];

/// `GET /cluster/options`: for everybody, but most of it only with `Sys.Audit` on `/`.
pub(crate) fn show(call: &mut Call<'_>) -> Answer {
    let mut shown = Map::new();
    let audits = call.may("/", &["Sys.Audit"]);
    let options = call.world.documents.options.get(PATH);
    for (name, value) in options.into_iter().flatten() {
        if audits || ["console", "tag-style"].contains(&name.as_str()) {
            shown.insert(name.clone(), parsed(name, value));
        }
    }
    if audits {
        let text = shown.get("description").and_then(Value::as_str).unwrap_or_default();
        let lines: String = text.lines().map(|line| format!("{line}\n")).collect();
        shown.insert("description".into(), json!(lines));
        shown.entry("mac_prefix").or_insert(json!(MAC_PREFIX));
    }
    shown.insert("allowed-tags".into(), json!(allowed_tags(call)));
    Ok(Value::Object(shown).into())
}

/// `PUT /cluster/options`. Deleting what is unknown is fine.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    super::super::lock::plain(call, "datacenter_cfg", |call| {
        if let Some(range) = call.params.get("next-id") {
            check_range(&range)?;
        }
        let mut options = call.world.documents.options.get(PATH).cloned().unwrap_or_default();
        options = printed(options);
        let deleted = call.params.list("delete");
        let mut given = call.params.without(&["delete", "migration_unsecure"]);
        if let Some(unsecure) = call.params.flag("migration_unsecure").filter(|_| !given.contains_key("migration")) {
            given.insert("migration".into(), json!(if unsecure { "insecure" } else { "secure" }));
        }
        for (name, value) in given {
            let text = scalar(&value).unwrap_or_default();
            let gone =
                text.is_empty() && ["crs", "description", "ha", "migration", "replication"].contains(&name.as_str());
            match (name.as_str(), text.as_str()) {
                _ if gone => options.shift_remove(&name),
                ("mac_prefix", MAC_PREFIX) => options.shift_remove(&name),
                ("console", "applet") => options.insert(name, json!("html5")),
                ("next-id", _) => {
                    let printed = print(&name, &json!(text));
                    options.insert(name, printed)
                }
                _ => options.insert(name, json!(text)),
            };
        }
        options.retain(|name, _| !deleted.contains(name));
        call.world.documents.options.insert(PATH.into(), options);
        Ok(Data::null())
    })
}

/// Every change writes the file again, with the property strings that were read in Proxmox's own order of keys.
fn printed(options: Map<String, Value>) -> Map<String, Value> {
    options.into_iter().map(|(name, value)| (name.clone(), print(&name, &value))).collect()
}

fn print(name: &str, value: &Value) -> Value {
    let text = scalar(value).unwrap_or_default();
    let parts = keys(name).and_then(|keys| Some((keys, property::parse(keys, &text).ok()?)));
    let printed = parts.and_then(|(keys, parts)| property::print(keys, &parts).ok());
    printed.map_or_else(|| value.clone(), Value::from)
}

/// The keys of an option that is shown as an object.
fn keys(name: &str) -> Option<&'static Properties> {
    let method = Catalog::embedded().get(Verb::Put, PATH).filter(|_| OBJECTS.contains(&name))?;
    property::keys(parameter(method.parameters(), name)?)
}

/// One datacenter option as text.
pub(crate) fn option(world: &World, name: &str) -> Option<String> {
    world.documents.options.get(PATH)?.get(name).and_then(scalar)
}

/// One datacenter option that is a property string, taken apart.
pub(crate) fn option_keys(world: &World, name: &str) -> Map<String, Value> {
    let value = option(world, name).map(|text| parsed(name, &json!(text)));
    value.and_then(|value| value.as_object().cloned()).unwrap_or_default()
}

/// The value as it is shown.
fn parsed(name: &str, value: &Value) -> Value {
    let text = scalar(value).unwrap_or_default();
    if name == "registered-tags" {
        return json!(split_tags(&text));
    }
    let Some(Ok(mut object)) = keys(name).map(|keys| property::parse(keys, &text)) else { return json!(text) };
    if let Some(list) = object.get_mut("user-allow-list") {
        *list = json!(split_tags(list.as_str().unwrap_or_default()));
    }
    Value::Object(object)
}

fn split_tags(text: &str) -> Vec<&str> {
    text.split([';', ',', ' ']).filter(|tag| !tag.is_empty()).collect()
}

/// The tags that the caller may use: those of guests that he sees, and those that are configured.
fn allowed_tags(call: &Call<'_>) -> BTreeSet<String> {
    let privileged = call.may("/", &["Sys.Modify"]);
    let rules = option_keys(call.world, "user-tag-access");
    let user_allow = rules.get("user-allow").and_then(Value::as_str).unwrap_or("free");
    let registered = option(call.world, "registered-tags").unwrap_or_default();
    let registered: BTreeSet<String> = split_tags(&registered).into_iter().map(str::to_string).collect();
    let mut tags = BTreeSet::new();
    if privileged || user_allow != "none" {
        let listed = rules.get("user-allow-list").and_then(Value::as_array).into_iter().flatten();
        tags.extend(listed.filter_map(Value::as_str).map(str::to_string));
    }
    if privileged || ["free", "existing"].contains(&user_allow) {
        for guest in call.world.guests.values() {
            if privileged || call.may(&format!("/vms/{}", guest.vmid), &["VM.Audit"]) {
                let own = guest.option("tags").unwrap_or_default();
                let usable = split_tags(&own).into_iter().filter(|tag| !registered.contains(*tag));
                tags.extend(usable.map(str::to_string));
            }
        }
    }
    if privileged {
        tags.extend(registered);
    }
    tags
}

fn check_range(text: &str) -> Result<(), Failure> {
    let (lower, upper) = super::bounds(text);
    match (lower, upper) {
        (lower, upper) if lower.unwrap_or(100) < upper.unwrap_or(1_000_000) => Ok(()),
        (lower, upper) => Err(Failure::die(format!(
            "lower ({}) <= upper ({}) boundary rule broken",
            lower.unwrap_or(100),
            upper.unwrap_or(1_000_000)
        ))),
    }
}

//! `/nodes/{node}/storage`: which storages a node sees, whether they work, how full they are.

use serde_json::{Map, Value, json};

use crate::behaviour::{Answer, Call, Failure};
use crate::world::plugin::Plugin;
use crate::world::{Storage, World};

/// `GET /nodes/{node}/storage`.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let (node, entry) = (call.node(), call.world.entry.clone());
    let target = call.params.get("target").filter(|target| *target != node && target != "localhost");
    let only = call.params.get("storage");
    let content = call.params.has("content").then(|| call.params.list("content"));
    let considered = |storage: &Storage| match &content {
        Some(kinds) => kinds.iter().any(|kind| storage.holds(kind)) && storage.on_node(&node),
        None => true,
    };
    if let Some(only) = &only
        && !call.world.storages.get(only).is_some_and(considered)
    {
        return Err(Failure::param("storage", "No such storage."));
    }
    let mut items = Vec::new();
    for (id, storage) in &call.world.storages {
        let hidden = only.as_ref().is_some_and(|only| only != id)
            || !considered(storage)
            || !call.may(&format!("/storage/{id}"), &["Datastore.Audit", "Datastore.AllocateSpace"])
            || (call.params.is_on("enabled") && storage.disabled())
            || target
                .as_ref()
                .is_some_and(|target| !(storage.shared() && storage.on_node(&entry) && storage.on_node(target)));
        if hidden {
            continue;
        }
        let mut item = info(call.world, &node, id, storage);
        if call.params.is_on("format") && storage.on_node(&node) {
            formats(&mut item, storage);
        }
        let number = |key: &str| item.get(key).and_then(Value::as_f64).unwrap_or(0.0);
        if number("total") > 0.0 {
            let fraction = number("used") / number("total");
            item.insert("used_fraction".into(), json!(fraction));
        }
        item.insert("storage".into(), json!(id));
        items.push(Value::Object(item));
    }
    Ok(items.into())
}

/// `GET /nodes/{node}/storage/{storage}/status`.
pub(crate) fn status(call: &mut Call<'_>) -> Answer {
    let (node, id) = (call.node(), call.params.text("storage"));
    match call.world.storages.get(&id) {
        Some(storage) => Ok(Value::Object(info(call.world, &node, &id, storage)).into()),
        None => Err(Failure::param("storage", "No such storage.")),
    }
}

/// `GET /nodes/{node}/storage/{storage}/identity`: only backup servers know theirs.
pub(crate) fn identity(call: &mut Call<'_>) -> Answer {
    let (node, id) = (call.node(), call.params.text("storage"));
    let storage = call.world.usable_storage(&node, &id)?;
    if storage.plugin() != "pbs" {
        let text = "get_identity not implemented for this plugin at /usr/share/perl5/PVE/Storage/Plugin.pm line 2681.";
        return Err(Failure::die(text));
    }
    let option = |key: &str| storage.option(key).unwrap_or_default();
    let digest = crate::world::digest(&json!([option("server"), option("datastore")]));
    let uuid = [&digest[..8], &digest[8..12], &digest[12..16], &digest[16..20], &digest[20..32]].join("-");
    Ok(json!({"id": uuid, "type": "pbs"}).into())
}

/// What a node says of a storage. One that is not enabled there, or does not work, has zeros.
fn info(world: &World, node: &str, id: &str, storage: &Storage) -> Map<String, Value> {
    let active = world.usable_storage(node, id).is_ok() && storage.size > 0;
    let (total, used) = if active { (storage.size, world.used(node, id).min(storage.size)) } else { (0, 0) };
    let info = [
        ("type", json!(storage.plugin())),
        ("content", json!(storage.content().join(","))),
        ("shared", json!(i32::from(storage.shared()))),
        ("enabled", json!(i32::from(storage.on_node(node)))),
        ("active", json!(i32::from(active))),
        ("total", json!(total)),
        ("used", json!(used)),
        ("avail", json!(total - used)),
    ];
    info.into_iter().map(|(key, value)| (key.to_string(), value)).collect()
}

/// Image formats, in the form of today and in the older one.
fn formats(item: &mut Map<String, Value>, storage: &Storage) {
    let Some(plugin) = Plugin::named(&storage.plugin()) else { return };
    let default = storage.option("format").unwrap_or_else(|| plugin.formats[0].to_string());
    let mut supported = plugin.formats.to_vec();
    supported.sort_unstable();
    if plugin.formats.len() > 1 {
        let flags: Map<String, Value> = supported.iter().map(|format| ((*format).to_string(), json!(1))).collect();
        item.insert("format".into(), json!([flags, default]));
    }
    item.insert("formats".into(), json!({"default": default, "supported": supported}));
    if plugin.name.starts_with("iscsi") {
        item.insert("select_existing".into(), json!(1));
    }
}

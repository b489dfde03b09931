//! `/nodes/{node}/dns`: the resolver of a node.

use serde_json::{Map, Value, json};

use crate::behaviour::{Answer, Call, Data};
use crate::world::World;

/// `GET /nodes/{node}/dns`.
pub(crate) fn get(call: &mut Call<'_>) -> Answer {
    Ok(Value::Object(of(call.world, &call.node())).into())
}

/// `PUT /nodes/{node}/dns`: the whole configuration; servers that are not given are gone.
pub(crate) fn put(call: &mut Call<'_>) -> Answer {
    let given = ["search", "dns1", "dns2", "dns3"].into_iter();
    let dns = given.filter_map(|key| Some((key.to_string(), json!(call.params.get(key)?)))).collect();
    let path = format!("/nodes/{}/dns", call.node());
    call.world.documents.options.insert(path, dns);
    Ok(Data::null())
}

/// What was set, or what an installation begins with.
pub(crate) fn of(world: &World, node: &str) -> Map<String, Value> {
    let set = world.documents.options.get(&format!("/nodes/{node}/dns")).cloned();
    set.unwrap_or_else(|| {
        let first = [("search", "example.com"), ("dns1", "192.0.2.1")];
        first.map(|(key, value)| (key.to_string(), json!(value))).into_iter().collect()
    })
}

/// The full name of a node.
pub(crate) fn full_name(world: &World, node: &str) -> String {
    match of(world, node).get("search").and_then(Value::as_str) {
        Some(domain) if !domain.is_empty() => format!("{node}.{domain}"),
        _ => node.to_string(),
    }
}

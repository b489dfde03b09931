//! Whether the values given are among what is read.

use serde_json::{Map, Value};

/// Every argument that is no part of the path and not hidden has its value in one of the answers, under its own name.
///
/// # Errors
/// Names, what was given and what is read.
pub fn all(
    arguments: &Map<String, Value>,
    in_path: &[String],
    hidden: &[String],
    shown: &[Value],
) -> Result<(), String> {
    let own = arguments.iter().filter(|(name, _)| !in_path.contains(name) && !hidden.contains(name));
    let mut missing = Vec::new();
    for (name, given) in own {
        let read: Vec<&Value> = shown.iter().filter_map(|answer| answer.get(name)).collect();
        if !read.iter().any(|value| same(given, value)) {
            missing.push(format!("{name} = {given} is read as {read:?}"));
        }
    }
    if missing.is_empty() { Ok(()) } else { Err(missing.join(", ")) }
}

/// Every argument arrived, with its value and no other beside it but a `digest`.
///
/// # Errors
/// What arrived instead.
pub fn sent(arguments: &Map<String, Value>, arrived: &Map<String, Value>) -> Result<(), String> {
    let lost = arguments.iter().filter(|(name, given)| !arrived.get(*name).is_some_and(|value| same(given, value)));
    let lost: Vec<String> =
        lost.map(|(name, given)| format!("{name} = {given} arrived as {:?}", arrived.get(name))).collect();
    let added = arrived.keys().filter(|name| !arguments.contains_key(*name) && *name != "digest");
    let added: Vec<String> = added.map(|name| format!("{name} = {} was added", arrived[name])).collect();
    if lost.is_empty() && added.is_empty() { Ok(()) } else { Err([lost, added].concat().join(", ")) }
}

/// Equal as Proxmox means it: flags are numbers, numbers may be texts, lists have no order and may be texts.
pub fn same(given: &Value, read: &Value) -> bool {
    given == read || parts(given) == parts(read)
}

fn parts(value: &Value) -> Vec<String> {
    let mut parts: Vec<String> = match value {
        Value::Bool(on) => vec![i32::from(*on).to_string()],
        Value::String(text) => text.split([',', ';', ' ']).map(|part| part.trim().to_string()).collect(),
        Value::Array(items) => items.iter().flat_map(parts).collect(),
        Value::Object(map) => map.iter().map(|(name, value)| format!("{name}={}", parts(value).join(" "))).collect(),
        Value::Number(_) | Value::Null => vec![value.to_string()],
    };
    parts.retain(|part| !part.is_empty());
    parts.sort();
    parts
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_compared_as_proxmox_means_them() {
        assert!(same(&json!(true), &json!(1)));
        assert!(same(&json!("5"), &json!(5)));
        assert!(same(&json!(["b", "a"]), &json!("a,b")));
        assert!(!same(&json!(true), &json!(0)));
        assert!(!same(&json!("a"), &json!("ab")));
    }
}

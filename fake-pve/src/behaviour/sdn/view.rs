//! How objects are shown: as asked for, as applied, or as what applying would change.

use serde_json::{Map, Value, json};

use crate::behaviour::Call;
use crate::world::digest_of;

type Objects = Vec<(String, Map<String, Value>)>;

/// The objects of a collection as the call wants them (`running`, `pending`), with `digest`.
pub(super) fn objects(call: &Call<'_>, path: &str) -> Objects {
    let desired = call.world.documents.list(path);
    let running = call.world.sdn.running(path);
    let (mut shown, digest) = if call.params.is_on("pending") {
        (pending(running, desired), Value::Null)
    } else if call.params.is_on("running") {
        (running.to_vec(), Value::Null)
    } else {
        (desired.to_vec(), json!(digest(call, path)))
    };
    for (_, object) in &mut shown {
        object.insert("digest".into(), digest.clone());
    }
    shown
}

/// One of them.
pub(super) fn object(call: &Call<'_>, path: &str, id: &str) -> Option<Map<String, Value>> {
    objects(call, path).into_iter().find(|(key, _)| key == id).map(|(_, object)| object)
}

/// The digest of the file that holds a collection: that of nothing when there is none.
pub(super) fn digest(call: &Call<'_>, path: &str) -> String {
    let name = path.trim_start_matches("/cluster/");
    let name = if name.ends_with("/subnets") { "sdn/subnets" } else { name };
    match call.world.file(&format!("{name}.cfg")) {
        Some(text) => digest_of(&text),
        None if call.world.documents.list(path).is_empty() => digest_of(""),
        None => call.world.documents.digest(path),
    }
}

/// Both at once: applied values, and under `pending` what will take their place (`deleted` for what goes).
fn pending(running: &[(String, Map<String, Value>)], desired: &[(String, Map<String, Value>)]) -> Objects {
    let find = |objects: &[(String, Map<String, Value>)], id: &str| {
        objects.iter().find(|(key, _)| key == id).map(|(_, object)| object.clone())
    };
    let mut ids: Vec<&String> = running.iter().chain(desired).map(|(id, _)| id).collect();
    ids.sort_unstable();
    ids.dedup();
    let merged = |id: &String| match (find(running, id), find(desired, id)) {
        (Some(old), Some(new)) => changed(old, &new),
        (Some(old), None) => with_state(old, "deleted", Map::new()),
        (None, new) => {
            let (top, waiting) = new.unwrap_or_default().into_iter().partition(|(key, _)| stands_on_top(key));
            with_state(top, "new", waiting)
        }
    };
    ids.into_iter().map(|id| (id.clone(), merged(id))).collect()
}

fn changed(old: Map<String, Value>, new: &Map<String, Value>) -> Map<String, Value> {
    let gone = old.keys().filter(|key| !new.contains_key(*key)).map(|key| (key.clone(), json!("deleted")));
    let other = new.iter().filter(|(key, value)| old.get(*key) != Some(*value));
    let waiting: Map<String, Value> = gone.chain(other.map(|(key, value)| (key.clone(), value.clone()))).collect();
    if waiting.is_empty() { old } else { with_state(old, "changed", waiting) }
}

fn with_state(mut object: Map<String, Value>, state: &str, waiting: Map<String, Value>) -> Map<String, Value> {
    object.insert("state".into(), json!(state));
    object.insert("pending".into(), Value::Object(waiting));
    object
}

/// What tells what an object is, and so is shown even before it is applied.
fn stands_on_top(key: &str) -> bool {
    matches!(key, "type" | "vnet" | "protocol")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn what_waits_stands_beside_what_is_applied() {
        let running = [
            ("a".to_string(), object(json!({"type": "simple", "mtu": 1400}))),
            ("b".to_string(), object(json!({"type": "simple", "nodes": "pve1"}))),
            ("c".to_string(), object(json!({"type": "simple"}))),
        ];
        let desired = [
            ("c".to_string(), object(json!({"type": "simple"}))),
            ("b".to_string(), object(json!({"type": "simple", "mtu": 1500}))),
            ("d".to_string(), object(json!({"type": "vlan", "bridge": "vmbr0"}))),
        ];
        let shown: Vec<Value> =
            pending(&running, &desired).into_iter().map(|(_, object)| Value::Object(object)).collect();
        assert_eq!(shown[0], json!({"type": "simple", "mtu": 1400, "state": "deleted", "pending": {}}));
        let waits = json!({"nodes": "deleted", "mtu": 1500});
        assert_eq!(shown[1], json!({"type": "simple", "nodes": "pve1", "state": "changed", "pending": waits}));
        assert_eq!(shown[2], json!({"type": "simple"}));
        assert_eq!(shown[3], json!({"type": "vlan", "state": "new", "pending": {"bridge": "vmbr0"}}));
    }
}

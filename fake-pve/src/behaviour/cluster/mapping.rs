//! `/cluster/mapping`: names for devices and folders of nodes, so that a guest means the right one wherever it is.

use serde_json::{Map, Value, json};

use crate::behaviour::params::stored;
use crate::behaviour::{Answer, Call, Data, Failure, lock};
use crate::world::section_type::{SectionType, forget_empty};

/// One kind of mapping.
struct Kind {
    word: &'static str,
    /// How refusals of changes begin.
    update_prefix: &'static str,
    create_prefix: &'static str,
    section: SectionType,
}

const PCI: Kind = Kind {
    word: "pci",
    update_prefix: "update hardware mapping failed",
    create_prefix: "create hardware mapping failed",
    section: SectionType {
        name: "pci",
        required: &["map"],
        optional: &["description", "live-migration-capable", "mdev"],
        fixed: &[],
    },
};
const USB: Kind = Kind {
    word: "usb",
    update_prefix: "update hardware mapping failed",
    create_prefix: "create hardware mapping failed",
    section: SectionType { name: "usb", required: &["map"], optional: &["description"], fixed: &[] },
};
const DIR: Kind = Kind {
    word: "dir",
    update_prefix: "update directory mapping failed",
    create_prefix: "create directory mapping failed",
    section: SectionType { name: "dir", required: &["map"], optional: &["description"], fixed: &[] },
};

/// `GET /cluster/mapping/{kind}`: what the caller may see; with `check-node`, what is wrong on that node.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let kind = kind(call);
    let (path, node) = (path(kind), call.params.get("check-node"));
    let digest = call.world.documents.digest(&path);
    let seen = call.world.documents.list(&path).iter().filter(|(id, _)| {
        call.may(&format!("/mapping/{}/{id}", kind.word), &["Mapping.Modify", "Mapping.Use", "Mapping.Audit"])
    });
    let items = seen.map(|(id, mapping)| {
        let mut item = shown(kind, mapping, &digest);
        item.insert("id".into(), json!(id));
        if let Some(node) = &node {
            item.insert("checks".into(), json!(checks(call, kind, mapping, node)));
        }
        Value::Object(item)
    });
    Ok(Data::from(items.collect::<Vec<_>>()))
}

/// `GET /cluster/mapping/{kind}/{id}`.
pub(crate) fn show(call: &mut Call<'_>) -> Answer {
    let (kind, id) = (kind(call), call.params.text("id"));
    let path = path(kind);
    let mapping = call.world.documents.get(&path, &id).ok_or_else(|| format!("mapping '{id}' not found"))?;
    Ok(Value::Object(shown(kind, mapping, &call.world.documents.digest(&path))).into())
}

/// `POST /cluster/mapping/{kind}`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    let kind = kind(call);
    if kind.word == "dir" {
        check_folders(call)?;
    }
    lock::under(call, "mapping", kind.create_prefix, |call| {
        let (path, id) = (path(kind), call.params.text("id"));
        if call.world.documents.get(&path, &id).is_some() {
            return Err(Failure::die(format!("{} ID '{id}' already defined", kind.word)));
        }
        let mut mapping = given(call);
        kind.section.check_new(&mapping)?;
        forget_empty(&mut mapping);
        call.world.documents.put(&path, &id, mapping);
        Ok(Data::null())
    })
}

/// `PUT /cluster/mapping/{kind}/{id}`: the map must be given each time, as Proxmox wants it.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    let kind = kind(call);
    lock::under(call, "mapping", kind.update_prefix, |call| {
        let (path, id) = (path(kind), call.params.text("id"));
        call.check_digest(&call.world.documents.digest(&path))?;
        let mapping = call.world.documents.get(&path, &id).cloned();
        let mut mapping = mapping.ok_or_else(|| format!("{} ID '{id}' does not exist", kind.word))?;
        let given = given(call);
        kind.section.check_new(&given)?;
        kind.section.delete(&mut mapping, &call.params.list("delete"), &given)?;
        mapping.extend(given);
        forget_empty(&mut mapping);
        call.world.documents.put(&path, &id, mapping);
        Ok(Data::null())
    })
}

/// `DELETE /cluster/mapping/{kind}/{id}`: one that is not there is gone already.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    let kind = kind(call);
    lock::under(call, "mapping", "delete mapping failed", |call| {
        let (path, id) = (path(kind), call.params.text("id"));
        call.world.documents.remove(&path, &id);
        call.world.documents.collections.entry(path).or_default();
        Ok(Data::null())
    })
}

/// Refuses folders that the node that is asked does not have; of other nodes it knows nothing.
fn check_folders(call: &Call<'_>) -> Result<(), Failure> {
    let (node, given) = (&call.world.entry, given(call));
    let entries = match given.get("map") {
        Some(Value::Array(entries)) => entries.as_slice(),
        Some(entry) => std::slice::from_ref(entry),
        None => &[],
    };
    for entry in entries.iter().filter_map(Value::as_str) {
        let path = field(entry, "path").unwrap_or_default();
        if field(entry, "node").as_ref() == Some(node) && !call.world.has_folder(node, &path) {
            return Err(Failure::die(format!("Path {path} does not exist")));
        }
    }
    Ok(())
}

/// One part of an entry.
fn field(entry: &str, key: &str) -> Option<String> {
    entry.split(',').find_map(|part| part.strip_prefix(key)?.strip_prefix('=').map(str::to_string))
}

fn kind(call: &Call<'_>) -> &'static Kind {
    match call.method.path.split('/').nth(3) {
        Some("pci") => &PCI,
        Some("usb") => &USB,
        _ => &DIR,
    }
}

fn path(kind: &Kind) -> String {
    format!("/cluster/mapping/{}", kind.word)
}

fn given(call: &Call<'_>) -> Map<String, Value> {
    stored(call.method, &call.params, &["id", "delete", "digest"].map(str::to_string))
}

fn shown(kind: &Kind, mapping: &Map<String, Value>, digest: &str) -> Map<String, Value> {
    let mut item = mapping.clone();
    item.insert("type".into(), json!(kind.word));
    item.insert("digest".into(), json!(digest));
    item
}

/// What would go wrong on a node: no entry for it, or a device or folder that is not as the entry says.
fn checks(call: &Call<'_>, kind: &Kind, mapping: &Map<String, Value>, node: &str) -> Vec<Value> {
    let problem = |severity: &str, message: String| json!({"severity": severity, "message": message});
    let entries = mapping.get("map").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let mine: Vec<&str> = entries.filter(|entry| field(entry, "node").as_deref() == Some(node)).collect();
    if mine.is_empty() {
        return vec![problem("warning", format!("No mapping for node {node}."))];
    }
    let known = |list: &str, key: &str, value: &str| {
        let state = call.world.nodes.get(node).and_then(|node| node.state.get(list));
        let devices = state.and_then(Value::as_array);
        devices.is_none_or(|devices| devices.iter().any(|device| device[key] == value))
    };
    let missing = mine.iter().filter_map(|entry| {
        let path = field(entry, "path").unwrap_or_default();
        match kind.word {
            "pci" if !path.split(';').all(|path| known("pci", "id", path)) => {
                Some(problem("error", format!("Invalid configuration: PCI device '{path}' not found")))
            }
            _ => None,
        }
    });
    missing.collect()
}

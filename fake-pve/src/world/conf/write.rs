//! A guest as the text of its configuration file.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::encode_text;
use crate::world::{Guest, GuestKind, Snapshot};

/// The whole file: keys sorted within each section, snapshots by name.
pub fn write(guest: &Guest) -> String {
    let mut text = section(guest.kind, &guest.config);
    let pending = pending(guest);
    if !pending.is_empty() {
        text.push_str(match guest.kind {
            GuestKind::Vm => "\n[PENDING]\n",
            GuestKind::Lxc => "\n[pve:pending]\n",
        });
        if guest.kind == GuestKind::Vm && pending.get("description").is_some_and(|text| text == "") {
            text.push_str("#\n");
        }
        text.push_str(&section(guest.kind, &pending));
    }
    for (name, snapshot) in &guest.snapshots {
        text.push_str(&format!("\n[{name}]\n"));
        text.push_str(&section(guest.kind, &options(snapshot)));
    }
    text
}

/// What waits for a stop, deletions as one list: forced ones with `!`.
fn pending(guest: &Guest) -> Map<String, Value> {
    let mut pending = guest.pending.clone();
    if !guest.pending_delete.is_empty() {
        let mark = |(key, forced): (&String, &bool)| format!("{}{key}", if *forced { "!" } else { "" });
        let keys: Vec<String> = guest.pending_delete.iter().map(mark).collect();
        pending.insert("delete".into(), keys.join(",").into());
    }
    pending
}

/// A snapshot's options with those that tell of the snapshot itself.
fn options(snapshot: &Snapshot) -> Map<String, Value> {
    let mut all = snapshot.config.clone();
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            all.insert(key.into(), value);
        }
    };
    set("parent", snapshot.parent.clone().map(Value::from));
    set("snaptime", (snapshot.snaptime != 0).then(|| snapshot.snaptime.into()));
    set("vmstate", snapshot.vmstate.clone().map(Value::from));
    set("description", snapshot.description.clone().map(Value::from));
    set("snapstate", snapshot.snapstate.clone().map(Value::from));
    all
}

fn section(kind: GuestKind, options: &Map<String, Value>) -> String {
    let mut text = String::new();
    let description = options.get("description").map(plain).unwrap_or_default();
    for line in lines_of(&description) {
        text.push_str(&format!("#{}\n", encode_text(line)));
    }
    let sorted: BTreeMap<&String, &Value> = options.iter().collect();
    for (key, value) in sorted {
        if !matches!(key.as_str(), "description" | "digest" | "lxc") {
            text.push_str(&format!("{key}: {}\n", plain(value)));
        }
    }
    if kind == GuestKind::Lxc {
        for pair in options.get("lxc").and_then(Value::as_array).into_iter().flatten() {
            text.push_str(&format!("{}: {}\n", plain(&pair[0]), plain(&pair[1])));
        }
    }
    text
}

/// As Perl splits on line ends: empty lines at the end fall away, others stay.
fn lines_of(text: &str) -> impl Iterator<Item = &str> {
    let kept = text.trim_end_matches('\n');
    kept.split('\n').filter(move |_| !kept.is_empty())
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(on) => i32::from(*on).to_string(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

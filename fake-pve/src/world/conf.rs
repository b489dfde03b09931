//! The configuration file of a guest as text: what lies in `/etc/pve`, what backups hold.

use serde_json::{Map, Value};

use super::{Guest, GuestKind, Snapshot, option};

/// The whole file: active options, pending ones, snapshots.
pub fn text(guest: &Guest) -> String {
    let mut out = section(guest.kind, &guest.config);
    if !guest.pending.is_empty() || !guest.pending_delete.is_empty() {
        let header = if guest.kind == GuestKind::Vm { "[PENDING]" } else { "[pve:pending]" };
        let mut pending = guest.pending.clone();
        if !guest.pending_delete.is_empty() {
            let marked =
                guest.pending_delete.iter().map(|(key, force)| if *force { format!("!{key}") } else { key.clone() });
            pending.insert("delete".into(), marked.collect::<Vec<_>>().join(",").into());
        }
        out.push_str(&format!("\n{header}\n{}", section(guest.kind, &pending)));
    }
    for (name, snapshot) in &guest.snapshots {
        out.push_str(&format!("\n[{name}]\n{}", section(guest.kind, &with_own_keys(snapshot))));
    }
    out
}

/// A snapshot's section as one object: its configuration and its own keys.
pub fn with_own_keys(snapshot: &Snapshot) -> Map<String, Value> {
    let mut config = snapshot.config.clone();
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            config.insert(key.into(), value);
        }
    };
    set("description", snapshot.description.clone().map(Value::from));
    set("parent", snapshot.parent.clone().map(Value::from));
    set("snaptime", Some(snapshot.snaptime.into()));
    set("vmstate", snapshot.vmstate.clone().map(Value::from));
    set("snapstate", snapshot.snapstate.clone().map(Value::from));
    config
}

fn section(kind: GuestKind, config: &Map<String, Value>) -> String {
    let mut out = String::new();
    if let Some(description) = config.get("description") {
        let text = option::text(description);
        for line in text.strip_suffix('\n').unwrap_or(&text).split('\n') {
            out.push_str(&format!("#{}\n", encode(line)));
        }
    }
    let mut keys: Vec<&String> = config.keys().filter(|key| *key != "description").collect();
    keys.sort();
    let (raw, plain): (Vec<&String>, Vec<&String>) =
        keys.into_iter().partition(|key| kind == GuestKind::Lxc && matches!(key.as_str(), "env" | "lxc"));
    for key in plain {
        out.push_str(&format!("{key}: {}\n", option::text(&config[key])));
    }
    for key in raw {
        match &config[key] {
            Value::Array(pairs) => {
                for pair in pairs {
                    out.push_str(&format!("{}: {}\n", option::text(&pair[0]), option::text(&pair[1])));
                }
            }
            value => {
                let text = option::text(value);
                for part in text.split('\0').filter(|part| !part.is_empty()) {
                    out.push_str(&format!("lxc.environment.runtime: {part}\n"));
                }
            }
        }
    }
    out
}

/// Controls, `:`, `%` and what is not ASCII, percent-encoded.
fn encode(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for byte in line.bytes() {
        if byte.is_ascii_control() || !byte.is_ascii() || matches!(byte, b':' | b'%') {
            out.push_str(&format!("%{byte:02X}"));
        } else {
            out.push(byte as char);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_file_has_its_sections_in_order() {
        let config = json!({"name": "a", "description": "web: prod\n50 %", "cores": 2, "boot": ""});
        let mut guest = Guest::new(GuestKind::Vm, 100, "pve1", config);
        guest.pending.insert("cores".into(), json!(4));
        guest.pending_delete.insert("ide2".into(), false);
        guest.pending_delete.insert("scsi1".into(), true);
        let snapshot = Snapshot { snaptime: 7, description: Some("first".into()), ..Snapshot::default() };
        guest.snapshots.insert("s1".into(), snapshot);
        let expected = "#web%3A prod\n#50 %25\nboot: \ncores: 2\nname: a\n\n[PENDING]\ncores: 4\ndelete: ide2,!scsi1\n\
                        \n[s1]\n#first\nsnaptime: 7\n";
        assert_eq!(text(&guest), expected);
    }
}

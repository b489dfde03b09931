//! Interfaces of the entry node, as `/etc/network/interfaces` has them.

use serde_json::{Map, Value, json};

use super::Import;

impl Import<'_> {
    /// Reads the applied configuration in the form in which the API shows it.
    pub(super) fn network(&mut self) {
        let text = self.text("/etc/network/interfaces").to_string();
        let interfaces = read(&text);
        if let Some(node) = self.world.nodes.get_mut(&self.world.entry) {
            node.network.extend(interfaces);
        }
    }
}

fn read(text: &str) -> Vec<(String, Map<String, Value>)> {
    let mut interfaces: Vec<(String, Map<String, Value>)> = Vec::new();
    let mut automatic: Vec<String> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["auto" | "allow-hotplug", names @ ..] => automatic.extend(names.iter().map(|name| (*name).to_string())),
            ["iface", name, family, method] => begin(&mut interfaces, name, family, method),
            [key, value @ ..] if line.starts_with([' ', '\t']) => {
                if let Some((_, options)) = interfaces.last_mut() {
                    option(options, key, &value.join(" "));
                }
            }
            _ => {}
        }
    }
    interfaces.retain(|(name, _)| name != "lo");
    for (at, (name, options)) in interfaces.iter_mut().enumerate() {
        if automatic.contains(name) {
            options.insert("autostart".into(), json!(1));
            options.insert("active".into(), json!(1));
        }
        options.insert("priority".into(), json!(at + 3));
        options.insert("type".into(), json!(kind(name, options)));
    }
    interfaces
}

fn begin(interfaces: &mut Vec<(String, Map<String, Value>)>, name: &str, family: &str, method: &str) {
    let at = interfaces.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
        let empty = Map::from_iter([
            ("families".to_string(), json!([])),
            ("method".to_string(), json!("manual")),
            ("method6".to_string(), json!("manual")),
        ]);
        interfaces.push((name.to_string(), empty));
        interfaces.len() - 1
    });
    let mut entry = interfaces.remove(at);
    let key = if family == "inet6" { "method6" } else { "method" };
    entry.1.insert(key.into(), json!(method));
    if let Some(families) = entry.1.get_mut("families").and_then(Value::as_array_mut) {
        families.push(json!(family));
    }
    interfaces.push(entry);
}

/// Keys are written with `_` where the file has `-`, except for a few that the API spells with `-`.
fn option(options: &mut Map<String, Value>, key: &str, value: &str) {
    match key {
        "address" => {
            let (address, bits) = value.split_once('/').unwrap_or((value, ""));
            options.insert("address".into(), json!(address));
            if !bits.is_empty() {
                options.insert("netmask".into(), json!(bits));
                options.insert("cidr".into(), json!(value));
            }
        }
        "bridge-vlan-aware" => drop(options.insert("bridge_vlan_aware".into(), json!(1))),
        "bridge-ports" if value == "none" => drop(options.insert("bridge_ports".into(), json!(""))),
        "bridge-vids" => drop(options.insert("bridge_vids".into(), json!(value))),
        "bond-slaves" => drop(options.insert("slaves".into(), json!(value))),
        "bond-mode" => drop(options.insert("bond_mode".into(), json!(value))),
        "bridge-ports" | "bridge-stp" | "bridge-fd" => drop(options.insert(key.replace('-', "_"), json!(value))),
        _ => drop(options.insert(key.into(), json!(value))),
    }
}

fn kind(name: &str, options: &Map<String, Value>) -> &'static str {
    match options {
        _ if options.contains_key("bridge_ports") => "bridge",
        _ if options.contains_key("slaves") => "bond",
        _ if name.contains('.') || options.contains_key("vlan-raw-device") => "vlan",
        _ if ["en", "eth", "nic"].iter().any(|prefix| name.starts_with(prefix)) => "eth",
        _ => "unknown",
    }
}

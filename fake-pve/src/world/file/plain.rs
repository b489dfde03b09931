//! Files that are no sections: users, tokens, options of the datacenter and of nodes, the resolver, hosts.

use serde_json::{Map, Value, json};

use super::sdn;
use crate::world::conf::encode_text;
use crate::world::{World, interfaces};

/// Names of the files of this kind that may be there.
pub(super) fn names(world: &World) -> Vec<String> {
    let mut names: Vec<String> = [
        "user.cfg",
        "priv/token.cfg",
        "priv/shadow.cfg",
        "datacenter.cfg",
        "ha/crm_commands",
        "priv/notifications.cfg",
        "priv/tfa.cfg",
        "sdn/subnets.cfg",
        "sdn/fabrics.cfg",
    ]
    .iter()
    .map(|name| format!("/etc/pve/{name}"))
    .collect();
    names.extend(world.access.realms.keys().map(|realm| format!("/etc/pve/priv/realm/{realm}.pw")));
    names.extend(storage_secrets(world).map(|(path, _)| format!("/etc/pve/{path}")));
    names.extend(world.nodes.keys().map(|node| format!("/etc/pve/nodes/{node}/config")));
    names.extend(world.firewalls.keys().map(|name| format!("/etc/pve/{name}")));
    names.extend(["/etc/pve/sdn/.running-config", "/etc/pve/sdn/pve-ipam-state.json"].map(String::from));
    names.extend(["/etc/resolv.conf", "/etc/hosts", "/etc/network/interfaces.new"].map(String::from));
    names
}

/// Old releases kept backup jobs there; what remains is its head.
const VZDUMP_CRON: &str = "# cluster wide vzdump cron schedule\n# Automatically generated file - do not edit\n\n\
    PATH=\"/usr/sbin:/usr/bin:/sbin:/bin\"\n\n";

pub(super) fn file(world: &World, path: &str) -> Option<String> {
    let options = |path: &str, apart: bool| world.documents.options.get(path).map(|kept| options(kept, apart));
    match path {
        "user.cfg" => Some(world.access.config.print()),
        "priv/token.cfg" => tokens(world),
        "priv/shadow.cfg" => shadow(world),
        "ha/crm_commands" => crm_commands(world),
        "vzdump.cron" => Some(VZDUMP_CRON.into()),
        "priv/notifications.cfg" => super::documents::secrets(world),
        "priv/tfa.cfg" => Some(second_factors(world)),
        "datacenter.cfg" => options("/cluster/options", true),
        "/etc/resolv.conf" => world.documents.options.get(&format!("/nodes/{}/dns", world.entry)).map(resolver),
        "/etc/network/interfaces.new" => world.nodes.get(&world.entry)?.network_pending.as_ref().map(interfaces::text),
        "sdn/.running-config" => sdn::running(world),
        "sdn/pve-ipam-state.json" => sdn::addresses(world),
        "/etc/hosts" => world.nodes.get(&world.entry)?.state.get("hosts")?.as_str().map(str::to_string),
        _ if path.ends_with(".fw") => world.firewalls.get(path).map(crate::world::firewall::write),
        _ if path.starts_with("priv/storage/") || path.starts_with("priv/ceph/") => {
            storage_secrets(world).find(|(name, _)| name == path).map(|(_, text)| text)
        }
        _ if path.starts_with("priv/realm/") => {
            let realm = path.strip_prefix("priv/realm/")?.strip_suffix(".pw")?;
            world.access.realms.get(realm)?.get("password")?.as_str().map(str::to_string)
        }
        _ => {
            let node = path.strip_prefix("nodes/")?.strip_suffix("/config")?;
            options(&format!("/nodes/{node}/config"), false)
        }
    }
}

/// Files with passwords and keys of storages, beneath the configuration folder.
fn storage_secrets(world: &World) -> impl Iterator<Item = (String, String)> {
    world.storages.iter().flat_map(|(id, storage)| storage.secret_files(id))
}

/// What the manager of HA was asked and has not looked at yet.
fn crm_commands(world: &World) -> Option<String> {
    let lines = world.ha.commands.iter().map(|command| format!("{command}\n"));
    (!world.ha.commands.is_empty()).then(|| lines.collect())
}

/// `key: value`, sorted; a description as comment lines in front, set apart by a blank line or not.
fn options(options: &Map<String, Value>, apart: bool) -> String {
    let mut text = String::new();
    let description = options.get("description").and_then(Value::as_str);
    if let Some(description) = description.filter(|text| !text.is_empty()) {
        for line in description.trim_end_matches('\n').split('\n') {
            text.push_str(&format!("#{}\n", encode_text(line)));
        }
    }
    if apart {
        text.push('\n');
    }
    let mut sorted: Vec<(&String, &Value)> = options.iter().filter(|(key, _)| *key != "description").collect();
    sorted.sort_unstable_by_key(|(key, _)| *key);
    for (key, value) in sorted {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_string);
        text.push_str(&format!("{key}: {value}\n"));
    }
    text
}

fn resolver(dns: &Map<String, Value>) -> String {
    let word = |key: &str| dns.get(key).and_then(Value::as_str);
    let search = word("search").map(|domain| format!("search {domain}\n"));
    let servers = ["dns1", "dns2", "dns3"].into_iter().filter_map(word).map(|server| format!("nameserver {server}\n"));
    search.into_iter().chain(servers).collect()
}

/// The world keeps no secret of a token: the file shows who has one.
fn tokens(world: &World) -> Option<String> {
    let line = |id: &String| format!("{id} 00000000-0000-0000-0000-000000000000\n");
    (!world.access.tokens.is_empty()).then(|| world.access.tokens.keys().map(line).collect())
}

/// Entries by user and kind, as one JSON object.
fn second_factors(world: &World) -> String {
    let mut users = Map::new();
    for (user, entries) in &world.access.tfa {
        let mut kinds = Map::new();
        for entry in entries {
            let mut info = entry.clone();
            let (kind, secret) = (info.shift_remove("type"), info.shift_remove("secret"));
            let kind = kind.as_ref().and_then(Value::as_str).unwrap_or_default();
            if kind == "recovery" {
                let codes = secret.as_ref().and_then(Value::as_array).into_iter().flatten();
                let hashes: Vec<&Value> = codes.map(|code| code.get("hash").unwrap_or(code)).collect();
                kinds.insert(kind.into(), json!({"secret": "", "entries": hashes, "created": info.get("created")}));
            } else if let Some(list) = kinds.entry(kind).or_insert_with(|| json!([])).as_array_mut() {
                list.push(json!({"info": info, "entry": secret}));
            }
        }
        users.insert(user.clone(), Value::Object(kinds));
    }
    if users.is_empty() { "{}".into() } else { json!({ "users": users }).to_string() }
}

/// Users of the realm `pve` with the hash of their password.
fn shadow(world: &World) -> Option<String> {
    let of_pve = world.access.passwords.iter().filter_map(|(user, secret)| Some((user.strip_suffix("@pve")?, secret)));
    let text: String = of_pve.map(|(user, secret)| format!("{user}:{}:\n", secret.crypt())).collect();
    (!text.is_empty()).then_some(text)
}

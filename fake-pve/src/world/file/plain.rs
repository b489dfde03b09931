//! Files that are no sections: users, tokens, options of the datacenter and of nodes, the resolver, hosts.

use serde_json::{Map, Value};

use crate::world::World;

/// Names of the files of this kind that may be there.
pub(super) fn names(world: &World) -> Vec<String> {
    let mut names: Vec<String> =
        ["user.cfg", "priv/token.cfg", "priv/shadow.cfg", "datacenter.cfg", "sdn/subnets.cfg", "sdn/fabrics.cfg"]
            .iter()
            .map(|name| format!("/etc/pve/{name}"))
            .collect();
    names.extend(world.nodes.keys().map(|node| format!("/etc/pve/nodes/{node}/config")));
    names.extend(world.firewalls.keys().map(|name| format!("/etc/pve/{name}")));
    names.extend(["/etc/resolv.conf", "/etc/hosts"].map(String::from));
    names
}

pub(super) fn file(world: &World, path: &str) -> Option<String> {
    let options = |path: &str| world.documents.options.get(path).map(options);
    match path {
        "user.cfg" => Some(world.access.config.print()),
        "priv/token.cfg" => tokens(world),
        "priv/shadow.cfg" => shadow(world),
        "datacenter.cfg" => options("/cluster/options"),
        "/etc/resolv.conf" => world.documents.options.get(&format!("/nodes/{}/dns", world.entry)).map(resolver),
        "/etc/hosts" => world.nodes.get(&world.entry)?.state.get("hosts")?.as_str().map(str::to_string),
        _ if path.ends_with(".fw") => world.firewalls.get(path).map(crate::world::firewall::write),
        _ => {
            let node = path.strip_prefix("nodes/")?.strip_suffix("/config")?;
            options(&format!("/nodes/{node}/config"))
        }
    }
}

/// `key: value`, sorted; a description as comment lines in front.
fn options(options: &Map<String, Value>) -> String {
    let mut text = String::new();
    if let Some(description) = options.get("description").and_then(Value::as_str) {
        for line in description.trim_end_matches('\n').split('\n') {
            text.push_str(&format!("#{line}\n"));
        }
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

/// Users of the realm `pve` with the hash of their password.
fn shadow(world: &World) -> Option<String> {
    let of_pve = world.access.passwords.iter().filter_map(|(user, secret)| Some((user.strip_suffix("@pve")?, secret)));
    let text: String = of_pve.map(|(user, secret)| format!("{user}:{}:\n", secret.crypt())).collect();
    (!text.is_empty()).then_some(text)
}

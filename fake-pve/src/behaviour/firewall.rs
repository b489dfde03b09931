//! Firewalls of the cluster, nodes, guests and virtual networks: which configuration a call is about.

pub(crate) mod aliases;
pub(crate) mod groups;
pub(crate) mod ipset;
mod macros;
pub(crate) mod options;
pub(crate) mod refs;
pub(crate) mod rules;
mod verify;

use serde_json::{Map, Value, json};

use super::params::word as text;
use super::{Call, Failure};
use crate::world::{Firewall, World};

/// What kind of place a rule stands in; Proxmox's own words for it are in its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Env {
    Cluster,
    Host,
    Vm,
    Ct,
    Group,
    Vnet,
}

impl Env {
    fn word(self) -> &'static str {
        match self {
            Env::Cluster => "cluster",
            Env::Host => "host",
            Env::Vm => "vm",
            Env::Ct => "ct",
            Env::Group => "group",
            Env::Vnet => "vnet",
        }
    }
}

/// The configuration that a call reads or changes.
pub(super) struct Scope {
    env: Env,
    file: String,
    firewall: Firewall,
    /// The security group whose rules are meant.
    group: Option<String>,
}

const CLUSTER_FILE: &str = "firewall/cluster.fw";

impl Scope {
    /// From the path of the call. A virtual network must be applied, and the caller be allowed to see it.
    fn of(call: &Call<'_>) -> Result<Scope, Failure> {
        let path = call.method.path;
        let (env, file) = if path.starts_with("/cluster/sdn") {
            let vnet = allowed_vnet(call)?;
            (Env::Vnet, format!("sdn/firewall/{vnet}.fw"))
        } else if path.starts_with("/cluster/firewall/groups/{group}") {
            (Env::Group, CLUSTER_FILE.to_string())
        } else if path.starts_with("/cluster") {
            (Env::Cluster, CLUSTER_FILE.to_string())
        } else if path.contains("/qemu/") {
            (Env::Vm, World::guest_firewall(call.vmid()))
        } else if path.contains("/lxc/") {
            (Env::Ct, World::guest_firewall(call.vmid()))
        } else {
            (Env::Host, format!("nodes/{}/host.fw", call.node()))
        };
        let firewall = of_file(call.world, &file);
        let group = (env == Env::Group).then(|| call.params.text("group"));
        if let Some(group) = group.as_ref().filter(|name| firewall.groups.iter().all(|group| group.name != **name)) {
            return Err(no_such_group(group));
        }
        Ok(Scope { env, file, firewall, group })
    }

    /// Keeps what was changed.
    fn save(self, call: &mut Call<'_>) {
        keep(call.world, &self.file, self.firewall);
    }

    fn rules(&self) -> &[Map<String, Value>] {
        match &self.group {
            Some(name) => {
                self.firewall.groups.iter().find(|group| group.name == *name).map_or(&[], |group| &group.rules)
            }
            None => &self.firewall.rules,
        }
    }

    fn rules_mut(&mut self) -> &mut Vec<Map<String, Value>> {
        let group = self.group.as_ref().and_then(|name| self.firewall.groups.iter().position(|g| g.name == *name));
        match group {
            Some(at) => &mut self.firewall.groups[at].rules,
            None => &mut self.firewall.rules,
        }
    }
}

fn no_such_group(name: &str) -> Failure {
    Failure::die(format!("no such security group '{name}'"))
}

/// The virtual network of the call, which must be part of the applied configuration.
fn allowed_vnet(call: &Call<'_>) -> Result<String, Failure> {
    let vnet = call.params.text("vnet");
    let Some(config) = call.world.sdn.get_running("/cluster/sdn/vnets", &vnet) else {
        return Err(Failure::die("invalid vnet specified at /usr/share/perl5/PVE/API2/Firewall/Helpers.pm line 54."));
    };
    let zone = text(config, "zone");
    let path = format!("/sdn/zones/{zone}/{vnet}");
    let privileges: &[&str] =
        if call.method.verb == pve_catalog::Verb::Get { &["SDN.Audit", "SDN.Allocate"] } else { &["SDN.Allocate"] };
    if call.may(&path, privileges) {
        Ok(vnet)
    } else {
        Err(Failure::denied(&format!("{path}, {}", privileges.join("|"))))
    }
}

/// 4 or 6 for an address, a network or a range; `None` for names.
fn version_of(address: &str) -> Option<u8> {
    let first = address.split([',', '-', '/']).next()?;
    match first.parse::<std::net::IpAddr>().ok()? {
        std::net::IpAddr::V4(_) => Some(4),
        std::net::IpAddr::V6(_) => Some(6),
    }
}

/// A firewall file; an empty one when it is not there.
fn of_file(world: &World, file: &str) -> Firewall {
    world.firewalls.get(file).cloned().unwrap_or_default()
}

/// Writes a firewall file; one that would be empty is removed.
fn keep(world: &mut World, file: &str, firewall: Firewall) {
    if firewall == Firewall::default() {
        world.firewalls.remove(file);
    } else {
        world.firewalls.insert(file.into(), firewall);
    }
}

/// The digest of a list of objects: of `key:value` lines, keys sorted within each.
fn digest_of(objects: &[Map<String, Value>]) -> String {
    let mut lines = String::new();
    for object in objects {
        let mut keys: Vec<&String> = object.keys().collect();
        keys.sort_unstable();
        for key in keys {
            lines.push_str(&format!("{key}:{}\n", text(object, key)));
        }
    }
    crate::world::digest_of(&lines)
}

/// An object with the digest of its list.
fn with_digest(mut object: Map<String, Value>, digest: &str) -> Value {
    object.insert("digest".into(), json!(digest));
    Value::Object(object)
}

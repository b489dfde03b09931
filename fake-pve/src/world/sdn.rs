//! Software-defined networks: what is applied of the configuration, who holds its lock, and who has which address.
//!
//! What was asked for lies in [`World::documents`], in the collections beneath `/cluster/sdn`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::World;
use super::document::Collection;

/// Addresses of one network, and what is known of each.
pub type Addresses = BTreeMap<String, Map<String, Value>>;

/// Paths of collections that are applied together; whatever lies beneath them belongs to them.
const APPLIED: [&str; 6] = [
    "/cluster/sdn/controllers",
    "/cluster/sdn/fabrics",
    "/cluster/sdn/prefix-lists",
    "/cluster/sdn/route-maps",
    "/cluster/sdn/vnets",
    "/cluster/sdn/zones",
];

/// State of software-defined networks beside the configuration that was asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sdn {
    /// Objects as applied, by collection; `None` before the first time.
    pub applied: Option<BTreeMap<String, Collection>>,
    /// How often it was applied.
    pub version: u64,
    /// Version that each node has loaded.
    pub loaded: BTreeMap<String, u64>,
    /// Token of whoever holds the lock of the configuration.
    pub lock: Option<String>,
    /// Addresses of the built-in IPAM by zone, network (`10.0.0.0/24`) and address: what is known of each.
    pub addresses: BTreeMap<String, BTreeMap<String, Addresses>>,
}

impl Sdn {
    /// The objects of a collection as applied.
    pub fn running(&self, path: &str) -> &[(String, Map<String, Value>)] {
        self.applied.as_ref().and_then(|applied| applied.get(path)).map_or(&[], Vec::as_slice)
    }

    /// One object as applied.
    pub fn get_running(&self, path: &str, id: &str) -> Option<&Map<String, Value>> {
        self.running(path).iter().find(|(key, _)| key == id).map(|(_, object)| object)
    }

    /// Applied virtual networks of a node with their configuration, whether it has loaded them or not.
    pub fn vnets_on(&self, node: &str) -> Vec<(&str, &Map<String, Value>)> {
        let zone_of = |vnet: &Map<String, Value>| {
            let zone = vnet.get("zone").and_then(Value::as_str)?;
            self.get_running("/cluster/sdn/zones", zone)
        };
        let vnets = self.running("/cluster/sdn/vnets").iter();
        let here = vnets.filter(|(_, vnet)| zone_of(vnet).is_some_and(|zone| on_node(zone, node)));
        here.map(|(id, vnet)| (id.as_str(), vnet)).collect()
    }

    /// Whether a node has loaded what is applied.
    pub fn is_loaded(&self, node: &str) -> bool {
        self.loaded.get(node).is_some_and(|version| *version == self.version)
    }
}

/// Whether an object is meant for a node: `nodes` names it, or nobody.
pub fn on_node(object: &Map<String, Value>, node: &str) -> bool {
    let nodes = object.get("nodes").and_then(Value::as_str).unwrap_or_default();
    nodes.is_empty() || nodes.split(',').any(|other| other == node)
}

impl World {
    /// Whether what was asked for differs from what is applied.
    pub fn sdn_has_changes(&self) -> bool {
        let desired = self.sdn_desired();
        let empty = BTreeMap::new();
        let applied = self.sdn.applied.as_ref().unwrap_or(&empty);
        let paths = desired.keys().chain(applied.keys());
        let of = |all: &BTreeMap<String, Collection>, path: &String| all.get(path).cloned().unwrap_or_default();
        paths.into_iter().any(|path| !same(&of(&desired, path), &of(applied, path)))
    }

    /// Makes what was asked for the applied configuration; nodes load it later.
    pub fn apply_sdn(&mut self) {
        self.sdn.applied = Some(self.sdn_desired());
        self.sdn.version += 1;
    }

    /// Makes the applied configuration what is asked for.
    pub fn roll_back_sdn(&mut self) {
        self.documents.collections.retain(|path, _| !is_applied(path));
        self.documents.collections.extend(self.sdn.applied.clone().unwrap_or_default());
    }

    /// Whether a node has a bridge of that name: an applied one of its own, or a virtual network that it has loaded.
    pub fn has_bridge(&self, node: &str, name: &str) -> bool {
        let own = self.nodes.get(node).and_then(|node| node.network.get(name));
        let kind = own.and_then(|iface| iface.get("type")).and_then(Value::as_str);
        let vnet = || self.sdn.is_loaded(node) && self.sdn.vnets_on(node).iter().any(|(id, _)| *id == name);
        matches!(kind, Some("bridge" | "OVSBridge")) || vnet()
    }

    fn sdn_desired(&self) -> BTreeMap<String, Collection> {
        let all = self.documents.collections.iter();
        let wanted = all.filter(|(path, objects)| is_applied(path) && !objects.is_empty());
        wanted.map(|(path, objects)| (path.clone(), objects.clone())).collect()
    }
}

fn is_applied(path: &str) -> bool {
    APPLIED.iter().any(|root| path == *root || path.strip_prefix(root).is_some_and(|rest| rest.starts_with('/')))
}

/// Whether two collections hold the same objects, in any order.
fn same(one: &Collection, other: &Collection) -> bool {
    let find = |id: &str| other.iter().find(|(key, _)| key == id).map(|(_, object)| object);
    one.len() == other.len() && one.iter().all(|(id, object)| find(id) == Some(object))
}

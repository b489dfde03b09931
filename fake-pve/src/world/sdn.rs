//! Software-defined networks: the configuration that was asked for, the one that is applied, and who has which address.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::World;
use super::document::Collection;

/// Everything about software-defined networks. Sections are `zones`, `vnets`, `subnets`, `controllers`, `ipams`, `dns`,
/// `fabrics`, `fabric-nodes`, `prefix-lists` and `route-maps`; objects hold their `type` and options, not their id.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sdn {
    /// What was asked for, by section.
    pub desired: BTreeMap<String, Collection>,
    /// What is applied, by section; `None` before the first time.
    pub applied: Option<BTreeMap<String, Collection>>,
    /// How often it was applied.
    pub version: u64,
    /// Version that each node has loaded.
    pub loaded: BTreeMap<String, u64>,
    /// Token of whoever holds the configuration's lock.
    pub lock: Option<String>,
    /// Addresses of the built-in IPAM by zone, network and address: `gateway`, `mac`, `vmid`, `hostname`.
    pub addresses: BTreeMap<String, BTreeMap<String, BTreeMap<String, Map<String, Value>>>>,
}

/// Sections that are applied; the others only help.
pub const APPLIED: [&str; 8] =
    ["zones", "vnets", "subnets", "controllers", "fabrics", "fabric-nodes", "prefix-lists", "route-maps"];

impl Sdn {
    /// The objects of a section as asked for.
    pub fn desired(&self, section: &str) -> &[(String, Map<String, Value>)] {
        self.desired.get(section).map_or(&[], Vec::as_slice)
    }

    /// The objects of a section as applied.
    pub fn running(&self, section: &str) -> &[(String, Map<String, Value>)] {
        self.applied.as_ref().and_then(|applied| applied.get(section)).map_or(&[], Vec::as_slice)
    }

    /// One object as asked for.
    pub fn get(&self, section: &str, id: &str) -> Option<&Map<String, Value>> {
        self.desired(section).iter().find(|(key, _)| key == id).map(|(_, object)| object)
    }

    /// One object as applied.
    pub fn get_running(&self, section: &str, id: &str) -> Option<&Map<String, Value>> {
        self.running(section).iter().find(|(key, _)| key == id).map(|(_, object)| object)
    }

    /// Puts an object, in the place of the one with that id or at the end.
    pub fn put(&mut self, section: &str, id: &str, object: Map<String, Value>) {
        let objects = self.desired.entry(section.into()).or_default();
        match objects.iter_mut().find(|(key, _)| key == id) {
            Some((_, found)) => *found = object,
            None => objects.push((id.into(), object)),
        }
    }

    /// Takes an object away.
    pub fn remove(&mut self, section: &str, id: &str) {
        if let Some(objects) = self.desired.get_mut(section) {
            objects.retain(|(key, _)| key != id);
        }
    }

    /// Whether what was asked for differs from what is applied.
    pub fn has_changes(&self) -> bool {
        APPLIED.iter().any(|section| !same(self.desired(section), self.running(section)))
    }

    /// Makes what was asked for the applied configuration; nodes load it later.
    pub fn apply(&mut self) {
        let sections = APPLIED.iter().map(|section| ((*section).to_string(), self.desired(section).to_vec()));
        self.applied = Some(sections.collect());
        self.version += 1;
    }

    /// Makes the applied configuration what is asked for.
    pub fn roll_back(&mut self) {
        for section in APPLIED {
            let objects = self.running(section).to_vec();
            self.desired.insert(section.into(), objects);
        }
    }

    /// Whether an applied zone or controller is meant for a node: `nodes` names it, or none.
    pub fn on_node(object: &Map<String, Value>, node: &str) -> bool {
        let nodes = object.get("nodes").and_then(Value::as_str).unwrap_or_default();
        nodes.is_empty() || nodes.split(',').any(|other| other == node)
    }

    /// Virtual networks that a node has loaded, with their zone.
    pub fn vnets_on(&self, node: &str) -> Vec<(&str, &Map<String, Value>)> {
        let loaded = self.loaded.get(node).is_some_and(|version| *version == self.version);
        let vnets = self.running("vnets").iter().filter(|(_, vnet)| {
            let zone = vnet.get("zone").and_then(Value::as_str).and_then(|zone| self.get_running("zones", zone));
            loaded && zone.is_some_and(|zone| Sdn::on_node(zone, node))
        });
        vnets.map(|(id, vnet)| (id.as_str(), vnet)).collect()
    }
}

impl World {
    /// Whether a node has a bridge of that name: one of its own that is applied, or a virtual network that it has loaded.
    pub fn has_bridge(&self, node: &str, name: &str) -> bool {
        let own = self.nodes.get(node).and_then(|node| node.network.get(name));
        let bridge = own.and_then(|iface| iface.get("type")).and_then(Value::as_str);
        matches!(bridge, Some("bridge" | "OVSBridge")) || self.sdn.vnets_on(node).iter().any(|(id, _)| *id == name)
    }
}

/// Whether two sections hold the same objects, in any order.
fn same(one: &[(String, Map<String, Value>)], other: &[(String, Map<String, Value>)]) -> bool {
    let find = |id: &str| other.iter().find(|(key, _)| key == id).map(|(_, object)| object);
    one.len() == other.len() && one.iter().all(|(id, object)| find(id) == Some(object))
}

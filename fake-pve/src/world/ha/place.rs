//! Where a service may be: rules about nodes and about other services.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::super::World;
use super::{RULES, runs};

/// The services that a rule names.
pub fn resources_of(rule: &Map<String, Value>) -> BTreeSet<String> {
    let text = rule.get("resources").and_then(Value::as_str).unwrap_or_default();
    text.split([',', ';', ' ']).filter(|sid| !sid.is_empty()).map(str::to_string).collect()
}

/// The nodes that a rule names, each with its priority (0 when none is given).
pub fn nodes_of(rule: &Map<String, Value>) -> BTreeMap<String, u32> {
    let text = rule.get("nodes").and_then(Value::as_str).unwrap_or_default();
    let entries = text.split([',', ';', ' ']).filter(|entry| !entry.is_empty());
    let split = |entry: &str| {
        let (node, priority) = entry.split_once(':').unwrap_or((entry, "0"));
        (node.to_string(), priority.parse().unwrap_or(0))
    };
    entries.map(split).collect()
}

/// Whether a rule is in force.
pub fn in_force(rule: &Map<String, Value>) -> bool {
    !matches!(rule.get("disable"), Some(value) if value == &Value::from(1) || value == "1")
}

/// Rules of a type that are in force and name a service.
pub fn rules_for<'w>(world: &'w World, kind: &str, sid: &str) -> Vec<&'w Map<String, Value>> {
    let rules = world.documents.list(RULES).iter().map(|(_, rule)| rule);
    rules
        .filter(|rule| rule.get("type").and_then(Value::as_str) == Some(kind) && in_force(rule))
        .filter(|rule| resources_of(rule).contains(sid))
        .collect()
}

/// The other services that a service should share a node with (`positive`) or must not (`negative`).
pub fn partners(world: &World, sid: &str, affinity: &str) -> BTreeSet<String> {
    let rules = rules_for(world, "resource-affinity", sid);
    let fitting = rules.into_iter().filter(|rule| rule.get("affinity").and_then(Value::as_str) == Some(affinity));
    let mut partners: BTreeSet<String> = fitting.flat_map(resources_of).collect();
    partners.remove(sid);
    partners
}

/// The best nodes for a service now, in order: allowed by its rules, up, few services first.
pub fn candidates(world: &World, sid: &str) -> Vec<String> {
    let up = |node: &str| runs(world, node, "pve-ha-lrm");
    let mut priorities: BTreeMap<&str, i64> =
        world.nodes.keys().filter(|node| up(node)).map(|node| (node.as_str(), -1)).collect();
    if let Some(rule) = rules_for(world, "node-affinity", sid).first() {
        let preferred = nodes_of(rule);
        let strict = matches!(rule.get("strict"), Some(value) if value == &Value::from(1) || value == "1");
        priorities.retain(|node, _| !strict || preferred.contains_key(*node));
        for (node, priority) in &mut priorities {
            *priority = preferred.get(*node).map_or(-1, |preferred| i64::from(*preferred));
        }
    }
    let node_of = |partner: &String| world.ha.services.get(partner).map(|service| service.node.clone());
    let apart: BTreeSet<String> = partners(world, sid, "negative").iter().filter_map(node_of).collect();
    priorities.retain(|node, _| !apart.contains(*node));
    let together: BTreeSet<String> = partners(world, sid, "positive").iter().filter_map(node_of).collect();
    if together.iter().any(|node| priorities.contains_key(node.as_str())) {
        priorities.retain(|node, _| together.contains(*node));
    }
    let best = priorities.values().max().copied();
    let mut nodes: Vec<&str> = priorities.iter().filter(|(_, at)| Some(**at) == best).map(|(node, _)| *node).collect();
    let load = |node: &str| world.ha.services.values().filter(|service| service.node == node).count();
    nodes.sort_by_key(|node| (load(node), node.to_string()));
    nodes.into_iter().map(str::to_string).collect()
}

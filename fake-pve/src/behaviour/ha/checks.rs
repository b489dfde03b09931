//! What makes an HA rule impossible to keep, in the words of Proxmox.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::world::World;
use crate::world::ha::{RULES, place};

/// A rule that counts.
struct Rule<'w> {
    name: &'w str,
    kind: &'w str,
    affinity: &'w str,
    resources: BTreeSet<String>,
    nodes: BTreeMap<String, u32>,
    strict: bool,
}

/// Texts by option for one rule; none for a rule that is fine or switched off.
pub(crate) fn errors_of(world: &World, name: &str) -> BTreeMap<String, Vec<String>> {
    let rules: Vec<Rule<'_>> = world
        .documents
        .list(RULES)
        .iter()
        .filter(|(_, rule)| place::in_force(rule))
        .map(|(name, rule)| read(name, rule))
        .collect();
    let Some(rule) = rules.iter().find(|rule| rule.name == name) else { return BTreeMap::new() };
    let others: Vec<&Rule<'_>> = rules.iter().filter(|other| other.name != name).collect();
    let texts = match rule.kind {
        "node-affinity" => of_node_affinity(rule, &others),
        _ => of_resource_affinity(world, rule, &others),
    };
    if texts.is_empty() { BTreeMap::new() } else { BTreeMap::from([("resources".to_string(), texts)]) }
}

fn read<'w>(name: &'w str, rule: &'w Map<String, Value>) -> Rule<'w> {
    let text = |key: &str| rule.get(key).and_then(Value::as_str).unwrap_or_default();
    Rule {
        name,
        kind: text("type"),
        affinity: text("affinity"),
        resources: place::resources_of(rule),
        nodes: place::nodes_of(rule),
        strict: rule.get("strict") == Some(&Value::from(1)),
    }
}

fn of_node_affinity(rule: &Rule<'_>, others: &[&Rule<'_>]) -> Vec<String> {
    let used = |sid: &&String| {
        let twin = |other: &&&Rule<'_>| other.kind == "node-affinity" && other.resources.contains(*sid);
        others.iter().any(|other| twin(&other))
    };
    let shared = rule.resources.iter().filter(used);
    shared.map(|sid| format!("resource '{sid}' is already used in another node affinity rule")).collect()
}

fn of_resource_affinity(world: &World, rule: &Rule<'_>, others: &[&Rule<'_>]) -> Vec<String> {
    let mut texts = Vec::new();
    if rule.resources.len() < 2 {
        texts.push("rule is ineffective as there are less than two resources".to_string());
    }
    if rule.affinity == "negative" && rule.resources.len() > world.nodes.len() {
        texts.push("rule defines more resources than available nodes".into());
    }
    let opposite = if rule.affinity == "negative" { "positive" } else { "negative" };
    let contradicts = |other: &&&Rule<'_>| {
        other.kind == "resource-affinity"
            && other.affinity == opposite
            && other.resources.intersection(&rule.resources).count() >= 2
    };
    if others.iter().any(|other| contradicts(&other)) {
        texts.push(format!("rule shares two or more resources with a {opposite} resource affinity rule"));
    }
    let placed: Vec<&&Rule<'_>> = others
        .iter()
        .filter(|other| other.kind == "node-affinity" && !other.resources.is_disjoint(&rule.resources))
        .collect();
    let several = |other: &&&Rule<'_>| other.nodes.values().collect::<BTreeSet<_>>().len() > 1;
    if placed.iter().any(several) {
        texts.push("resources are in node affinity rules with multiple priorities".into());
    }
    if rule.affinity == "positive" && placed.len() > 1 {
        texts.push("resources are in multiple node affinity rules".into());
    }
    if rule.affinity == "negative" && crowded(rule, &placed) {
        texts.push("two or more resources are restricted to less nodes than available to the resources".into());
    }
    texts
}

/// Whether resources that must be apart are bound to too few nodes.
fn crowded(rule: &Rule<'_>, placed: &[&&Rule<'_>]) -> bool {
    let bound: Vec<&&&Rule<'_>> = placed.iter().filter(|other| other.strict).collect();
    let resources: BTreeSet<&String> =
        bound.iter().flat_map(|other| other.resources.intersection(&rule.resources)).collect();
    let nodes: BTreeSet<&String> = bound.iter().flat_map(|other| other.nodes.keys()).collect();
    resources.len() > 1 && resources.len() > nodes.len()
}

//! `--list-tools`: what a configuration offers, without any connection.

use std::collections::BTreeMap;

use crate::config::Settings;
use crate::policy::Policy;
use crate::tools::Registry;

/// The registry of a configuration; no client is made, nothing is contacted.
pub fn registry(settings: &Settings) -> Registry {
    let policies: Vec<Policy> =
        settings.instances.iter().map(|instance| Policy::new(instance.access.clone())).collect();
    Registry::all(settings, &policies.iter().collect::<Vec<_>>())
}

/// One line per offered tool (domain, gate, name), then the totals.
pub fn of(registry: &Registry) -> String {
    let mut lines: Vec<String> =
        registry.offered().map(|tool| format!("{:<14}{:<12}{}", tool.domain(), tool.gate.word(), tool.name)).collect();
    // By domain, as people look for it; within one by name.
    lines.sort_by(|a, b| a.split_whitespace().next().cmp(&b.split_whitespace().next()).then(a.cmp(b)));
    lines.push(String::new());
    lines.push(totals(registry));
    lines.join("\n")
}

/// `228 tools: read 200, write 28`.
pub fn totals(registry: &Registry) -> String {
    let mut gates = BTreeMap::new();
    registry.offered().for_each(|tool| *gates.entry(tool.gate).or_insert(0_usize) += 1);
    let count: usize = gates.values().sum();
    let each = gates.iter().map(|(gate, count)| format!("{gate} {count}")).collect::<Vec<_>>().join(", ");
    if count == 0 { "no tools".into() } else { format!("{count} tools: {each}") }
}

//! What a rehearsal did: the cluster before and after, and the requests in between.

use std::collections::{BTreeMap, BTreeSet};

use fake_pve::{Entry, FakePve};
use serde_json::Value;

/// Parts of the world that only move with time or count.
const NOT_A_CHANGE: [&str; 4] = ["tasks", "random", "log", "next"];
/// The longest list of changes that a person reads.
const MOST_LINES: usize = 40;
/// How deep a difference is told apart: `guests/100/config/memory`.
const DEEPEST: usize = 4;

/// The world as data.
pub fn picture(fake: &FakePve) -> Value {
    fake.world(|world| serde_json::to_value(&*world).unwrap_or_default())
}

/// Changes and requests, for a person.
pub fn report(before: &Value, after: &Value, requests: &[Entry]) -> String {
    let mut changes = Vec::new();
    differences(before, after, &mut Vec::new(), &mut changes);
    let mut lines = vec![match changes.len() {
        0 => "nothing changed in the cluster".to_string(),
        1 => "one thing changed in the cluster:".to_string(),
        count => format!("{count} things changed in the cluster:"),
    }];
    lines.extend(changes.iter().take(MOST_LINES).map(|change| format!("  {change}")));
    if changes.len() > MOST_LINES {
        lines.push(format!("  … and {} more", changes.len() - MOST_LINES));
    }
    lines.extend(told(requests));
    lines.join("\n")
}

/// Requests by verb, and each write with how often it was made.
fn told(requests: &[Entry]) -> Vec<String> {
    let reads = requests.iter().filter(|entry| entry.verb == "GET").count();
    let mut writes: BTreeMap<String, usize> = BTreeMap::new();
    for entry in requests.iter().filter(|entry| entry.verb != "GET") {
        *writes.entry(format!("{} {} -> {}", entry.verb, entry.path, entry.status)).or_default() += 1;
    }
    let mut lines = vec![format!("{} requests: {reads} reads, {} others", requests.len(), requests.len() - reads)];
    lines.extend(writes.iter().take(MOST_LINES).map(|(what, times)| match times {
        1 => format!("  {what}"),
        _ => format!("  {what} ({times} times)"),
    }));
    lines
}

fn differences<'v>(before: &'v Value, after: &'v Value, at: &mut Vec<&'v str>, out: &mut Vec<String>) {
    if before == after {
        return;
    }
    let (Value::Object(old), Value::Object(new), true) = (before, after, at.len() < DEEPEST) else {
        return out.push(format!("~ {}", at.join("/")));
    };
    let names: BTreeSet<&str> = old.keys().chain(new.keys()).map(String::as_str).collect();
    for name in names {
        if at.is_empty() && NOT_A_CHANGE.contains(&name) {
            continue;
        }
        at.push(name);
        match (old.get(name), new.get(name)) {
            (Some(old), Some(new)) => differences(old, new, at, out),
            (None, Some(_)) => out.push(format!("+ {}", at.join("/"))),
            _ => out.push(format!("- {}", at.join("/"))),
        }
        at.pop();
    }
}

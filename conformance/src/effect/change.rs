//! In what parts two worlds differ.

use fake_pve::World;
use serde_json::Value;

/// What counts as a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Everything but what nodes tell of themselves as time goes by.
    All,
    /// What a call leaves behind beyond traces of having been made: no tasks, log lines, process ids, drawn numbers.
    Content,
}

/// Pointers of what differs, at most three names deep: `/guests/100/config`.
pub fn changes(old: &World, new: &World, watch: Watch) -> Vec<String> {
    let traces = ["tasks", "log", "random", "last_pid"];
    let json = |world: &World| serde_json::to_value(world).unwrap_or_default();
    let (old, new) = (json(old), json(new));
    let mut found = Vec::new();
    collect(&old, &new, "", 0, &mut found);
    found.retain(|pointer| {
        let part = pointer.split('/').nth(1).unwrap_or_default();
        part != "statistics" && (watch == Watch::All || !traces.contains(&part))
    });
    found
}

fn collect(old: &Value, new: &Value, at: &str, depth: usize, found: &mut Vec<String>) {
    if old == new {
        return;
    }
    let (Some(before), Some(after)) = (old.as_object(), new.as_object()) else {
        found.push(at.to_string());
        return;
    };
    if depth == 4 {
        found.push(at.to_string());
        return;
    }
    let names = before.keys().chain(after.keys().filter(|name| !before.contains_key(*name)));
    for name in names {
        let escaped = name.replace('~', "~0").replace('/', "~1");
        let of = |map: &serde_json::Map<String, Value>| map.get(name).cloned().unwrap_or_default();
        collect(&of(before), &of(after), &format!("{at}/{escaped}"), depth + 1, found);
    }
}

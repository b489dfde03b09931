//! Tools that were renamed (`catalog/data/aliases.toml`): an old name is answered by the new one, with a note.

use std::collections::BTreeMap;

use super::{Registry, Reply};

/// Old name -> the name that the tool has now.
pub type Aliases = BTreeMap<String, String>;

/// What is wrong with a table: rows that lead nowhere, to another old name, or that take a tool's name.
pub fn problems(aliases: &Aliases, registry: &Registry, reserved: &[&str]) -> Vec<String> {
    let mut problems = Vec::new();
    for (old, new) in aliases {
        if aliases.contains_key(new) {
            problems.push(format!("{old} leads to {new}, which is an old name itself"));
        } else if registry.find(new).is_none() {
            problems.push(format!("{old} leads to {new}, which is no tool"));
        }
        if registry.find(old).is_some() || reserved.contains(&old.as_str()) {
            problems.push(format!("{old} is the name of a tool"));
        }
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
        if old.is_empty() || old.len() > 48 || !old.bytes().all(plain) {
            problems.push(format!("{old} was never the name of a tool"));
        }
    }
    problems
}

/// The reply of the new tool, with a note about its name.
pub fn noted(mut reply: Reply, old: &str, new: &str) -> Reply {
    let note = format!("{old} is called {new} now");
    reply.text = format!("{note}\n{}", reply.text);
    let notes = match reply.structured.get("note").and_then(|note| note.as_str()) {
        Some(other) => format!("{note}; {other}"),
        None => note,
    };
    reply.structured.insert("note".into(), notes.into());
    reply
}

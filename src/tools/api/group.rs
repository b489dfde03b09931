//! Groups of parameters, for methods that have too many to list.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::tools::offer::matches;

#[derive(Deserialize)]
struct Groups {
    group: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    name: String,
    patterns: Vec<String>,
}

static GROUPS: LazyLock<Groups> =
    LazyLock::new(|| toml::from_str(include_str!("groups.toml")).expect("a test reads this file"));

/// The parameters of a schema by group, in the order of the file; what fits nowhere is under `other`.
pub fn of(schema: &Map<String, Value>) -> Vec<(String, Vec<String>)> {
    let mut names: Vec<String> = schema
        .get("properties")
        .and_then(Value::as_object)
        .map(|properties| properties.keys().cloned().collect())
        .unwrap_or_default();
    let mut groups = Vec::new();
    for group in &GROUPS.group {
        let fits = |name: &String| group.patterns.iter().any(|pattern| matches(pattern, name));
        let (mine, others): (Vec<String>, Vec<String>) = names.into_iter().partition(fits);
        names = others;
        groups.push((group.name.clone(), mine));
    }
    groups.push(("other".into(), names));
    groups.retain(|(_, names)| !names.is_empty());
    groups
}

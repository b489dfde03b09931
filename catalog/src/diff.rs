//! What two catalogues do not have in common: what an upgrade adds, removes and changes.

use std::collections::BTreeSet;

use crate::json_schema::flat::{Flat, flatten};
use crate::schema::{Format, Kind, Properties, Schema};
use crate::{Catalog, Method};

/// What changes from one catalogue to another, sorted by path and verb.
#[derive(Debug, Default)]
pub struct Difference {
    /// Methods that only the second has.
    pub added: Vec<&'static Method>,
    /// Methods that only the first has.
    pub removed: Vec<&'static Method>,
    /// Methods that both have, and that differ.
    pub changed: Vec<Changed>,
}

/// One method that differs.
#[derive(Debug)]
pub struct Changed {
    /// As the second catalogue has it.
    pub method: &'static Method,
    /// Parameters that are new, such as `net[n]`.
    pub added: Vec<String>,
    /// Parameters that are gone.
    pub removed: Vec<String>,
    /// Parameters that take something else, and what is different.
    pub changed: Vec<(String, Vec<String>)>,
    /// What else is different: who may call it, what it answers.
    pub other: Vec<String>,
}

impl Difference {
    /// Compares two catalogues.
    pub fn between(before: &'static Catalog, after: &'static Catalog) -> Difference {
        let mut difference = Difference::default();
        for method in after.methods() {
            match before.get(method.verb, method.path) {
                None => difference.added.push(method),
                Some(old) => difference.changed.extend(Changed::of(old, method)),
            }
        }
        let gone = before.methods().iter().filter(|old| after.get(old.verb, old.path).is_none());
        difference.removed.extend(gone);
        difference
    }

    /// Whether both describe the same.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

impl Changed {
    /// What is different about a method; `None` when nothing is.
    fn of(before: &Method, after: &'static Method) -> Option<Changed> {
        let (old, new) = (flatten(before), flatten(after));
        let names = |flats: &[Flat<'_>]| flats.iter().map(|flat| flat.name.to_string()).collect::<BTreeSet<_>>();
        let (had, has) = (names(&old), names(&new));
        let pairs = new.iter().filter_map(|new| Some((old.iter().find(|old| old.name == new.name)?, new)));
        let changed = pairs.map(|(old, new)| (new.name.to_string(), parameter(old, new)));
        let changed = Changed {
            method: after,
            added: has.difference(&had).cloned().collect(),
            removed: had.difference(&has).cloned().collect(),
            changed: changed.filter(|(_, lines)| !lines.is_empty()).collect(),
            other: other(before, after),
        };
        let same = changed.added.is_empty()
            && changed.removed.is_empty()
            && changed.changed.is_empty()
            && changed.other.is_empty();
        (!same).then_some(changed)
    }
}

/// What is different about a method apart from its parameters.
fn other(before: &Method, after: &Method) -> Vec<String> {
    let mut lines = Vec::new();
    if before.permissions() != after.permissions() {
        lines.push("other privileges".to_string());
    }
    if before.returns() != after.returns() {
        lines.push(match schema("", before.returns(), after.returns()).first() {
            Some(first) => format!("answers otherwise: {first}"),
            None => "answers otherwise".to_string(),
        });
    }
    for (word, was, is) in [
        ("starts a task", before.task, after.task),
        ("takes API tokens", before.allow_token, after.allow_token),
        ("runs as root on the node", before.protected, after.protected),
    ] {
        if was != is {
            lines.push(if is { format!("{word} now") } else { format!("no longer {word}") });
        }
    }
    lines
}

fn parameter(before: &Flat<'_>, after: &Flat<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    if before.required != after.required {
        lines.push(if after.required { "must be given now".into() } else { "may be left out now".into() });
    }
    if before.schemas.len() != after.schemas.len() {
        lines.push("differs by type in another way".into());
        return lines;
    }
    for (old, new) in before.schemas.iter().zip(&after.schemas) {
        lines.extend(schema("", old, new));
    }
    lines.dedup();
    lines
}

/// What is different, one line each; `at` stands before the line, such as `bridge: `.
fn schema(at: &str, before: &Schema, after: &Schema) -> Vec<String> {
    if before == after {
        return Vec::new();
    }
    let mut lines = Vec::new();
    let mut say = |line: String| lines.push(format!("{at}{line}"));
    if before.kind != after.kind {
        say(format!("type {} instead of {}", after.kind.word(), before.kind.word()));
    }
    if !at.is_empty() && before.optional != after.optional {
        say(if after.optional { "may be left out now".into() } else { "must be given now".into() });
    }
    let list = |words: Vec<&String>| words.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let gone = before.enumeration.iter().filter(|word| !after.enumeration.contains(word)).collect::<Vec<_>>();
    let new = after.enumeration.iter().filter(|word| !before.enumeration.contains(word)).collect::<Vec<_>>();
    match (before.enumeration.is_empty(), after.enumeration.is_empty()) {
        (false, true) => say("any value goes now".into()),
        (true, false) => say(format!("only {} now", list(new))),
        _ => {
            if !new.is_empty() {
                say(format!("takes {} too", list(new)));
            }
            if !gone.is_empty() {
                say(format!("no longer takes {}", list(gone)));
            }
        }
    }
    let told = |value: Option<String>| value.unwrap_or_else(|| "none".into());
    let named = |schema: &Schema| match &schema.format {
        Some(Format::Named(name)) => Some(name.clone()),
        _ => None,
    };
    let limit = |number: Option<f64>| number.map(|number| number.to_string());
    let length = |number: Option<u32>| number.map(|number| number.to_string());
    for (word, was, is) in [
        ("default", before.default.clone(), after.default.clone()),
        ("format", named(before), named(after)),
        ("pattern", before.pattern.clone(), after.pattern.clone()),
        ("least", limit(before.minimum), limit(after.minimum)),
        ("most", limit(before.maximum), limit(after.maximum)),
        ("least characters", length(before.min_length), length(after.min_length)),
        ("most characters", length(before.max_length), length(after.max_length)),
        ("needs", before.requires.clone(), after.requires.clone()),
    ] {
        if was != is {
            say(format!("{word} {} instead of {}", told(is), told(was)));
        }
    }
    let none = Properties::default();
    let keys = |schema: &'_ Schema| schema.keys().cloned().unwrap_or_default();
    lines.extend(properties(at, "key", &keys(before), &keys(after)));
    lines.extend(properties(at, "field", &before.properties, &after.properties));
    let (old, new) = (before.items.as_deref(), after.items.as_deref());
    if let (Some(old), Some(new)) = (old, new) {
        lines.extend(schema(at, old, new));
    } else if let Some(new) = new.filter(|new| new.kind == Kind::Object) {
        lines.extend(properties(at, "field", &none, &new.properties));
    }
    for (old, new) in before.one_of.iter().zip(&after.one_of).chain(before.all_of.iter().zip(&after.all_of)) {
        lines.extend(schema(at, old, new));
    }
    if lines.is_empty() {
        lines.push(format!("{at}differs in a detail"));
    }
    lines.dedup();
    lines
}

fn properties(at: &str, word: &str, before: &Properties, after: &Properties) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, new) in after.iter() {
        match before.get(name) {
            None => lines.push(format!("{at}new {word} {name}")),
            Some(old) => lines.extend(schema(&format!("{at}{name}: "), old, new)),
        }
    }
    let gone = before.iter().filter(|(name, _)| after.get(name).is_none());
    lines.extend(gone.map(|(name, _)| format!("{at}{word} {name} is gone")));
    lines
}

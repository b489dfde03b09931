//! What to say beside Proxmox's own words when an argument is refused: what is accepted, and what was probably meant.

use std::collections::HashMap;
use std::sync::LazyLock;

use pve_catalog::schema::{Format, Kind, Schema};
use pve_catalog::{Catalog, Method, property, verify};

use crate::tools::nearest::{nearest, question};

/// What a value of a registered format looks like.
static FORMATS: LazyLock<HashMap<String, String>> =
    LazyLock::new(|| toml::from_str(include_str!("formats.toml")).expect("a test reads this file"));

/// A longer pattern says nothing to anybody.
const LONGEST_PATTERN: usize = 80;

/// A parameter that only the other kind of guest has, such as `vmstate` for a snapshot of a container.
pub fn elsewhere(method: &Method, name: &str) -> Option<String> {
    let (path, kind) = other_kind(method.path)?;
    let other = Catalog::embedded().get(method.verb, &path)?;
    verify::parameter(other.parameters(), name)?;
    Some(format!("only {kind} have it"))
}

/// The same method for the other kind of guest, and that kind in the plural.
pub fn other_kind(path: &str) -> Option<(String, &'static str)> {
    if path.starts_with("/nodes/{node}/lxc") {
        Some((path.replacen("/lxc", "/qemu", 1), "VMs"))
    } else if path.starts_with("/nodes/{node}/qemu") {
        Some((path.replacen("/qemu", "/lxc", 1), "containers"))
    } else {
        None
    }
}

/// Proxmox's words about one argument, each line with what is accepted or what was probably meant.
pub fn beside(method: &Method, name: &str, message: &str) -> String {
    let lines: Vec<&str> = message.lines().map(|line| line.trim_end_matches(['\r', ' '])).collect();
    let told = lines.iter().filter(|line| !line.is_empty()).map(|line| {
        let hint =
            verify::parameter(method.parameters(), name).and_then(|schema| of_line(schema, name, line, lines.len()));
        hint.map_or(line.to_string(), |hint| format!("{line}{hint}"))
    });
    told.collect::<Vec<_>>().join("; ")
}

/// The hint of one line: about the argument, or about one key of its property string (`net0.bridg: …`).
fn of_line(schema: &Schema, name: &str, line: &str, lines: usize) -> Option<String> {
    let inner = line.split_once(": ").and_then(|(place, message)| {
        let key = place.strip_prefix(name)?.strip_prefix('.')?;
        Some((key, message))
    });
    let Some((key, message)) = inner else {
        // The lines that follow say it better than the whole could.
        let whole = property::keys(schema).is_some() && lines > 1;
        return (!whole).then(|| accepted(schema, line)).flatten();
    };
    let keys = property::keys(schema)?;
    if message.starts_with("property is not defined") {
        return question(&nearest(key, keys.iter().map(|(key, _)| key), 2)).map(|question| format!(", {question}"));
    }
    accepted(keys.get(key)?, message)
}

/// What is accepted, where Proxmox's words do not say it.
fn accepted(schema: &Schema, message: &str) -> Option<String> {
    if let Some((_, got)) = message.split_once("value '")
        && let Some((got, _)) = got.split_once("' does not have a value in the enumeration")
    {
        return meant(schema, got).map(|question| format!(", {question}"));
    }
    if message.starts_with("type check") {
        return Some(format!(" ({})", kind(schema)?));
    }
    if message.contains("regex pattern") {
        let pattern = schema.pattern.as_deref().filter(|pattern| pattern.len() <= LONGEST_PATTERN)?;
        return Some(format!(" (the pattern is {pattern})"));
    }
    let missing = message.starts_with("property is missing");
    if missing && !schema.enumeration.is_empty() {
        return Some(format!(" (one of {})", schema.enumeration.join(", ")));
    }
    (missing || message.starts_with("invalid format")).then(|| rule(schema)).flatten().map(|rule| format!(" ({rule})"))
}

/// The allowed value that was meant.
fn meant(schema: &Schema, got: &str) -> Option<String> {
    question(&nearest(got, schema.enumeration.iter().map(String::as_str), 2))
}

/// The values of a type, with their bounds.
fn kind(schema: &Schema) -> Option<String> {
    let word = match schema.kind {
        Kind::Integer => "a whole number",
        Kind::Number => "a number",
        Kind::Boolean => return Some("true or false".into()),
        Kind::Array => "a list",
        _ => return None,
    };
    let from = schema.minimum.map(|least| format!(" from {least}")).unwrap_or_default();
    let to = schema.maximum.map(|most| format!(" to {most}")).unwrap_or_default();
    let number = matches!(schema.kind, Kind::Integer | Kind::Number);
    match &schema.format {
        Some(Format::Named(format)) if number => Some(of_format(format).unwrap_or_else(|| format!("{word}{from}{to}"))),
        _ => Some(format!("{word}{from}{to}")),
    }
}

/// What the format of a parameter means, and how long it may be.
fn rule(schema: &Schema) -> Option<String> {
    if let Some(keys) = property::keys(schema) {
        return Some(property::grammar(keys, LONGEST_PATTERN));
    }
    let Some(Format::Named(format)) = &schema.format else { return kind(schema) };
    let length = schema.max_length.map(|most| format!(", at most {most} characters")).unwrap_or_default();
    of_format(format).map(|rule| format!("{rule}{length}"))
}

/// The words of a registered format.
pub fn of_format(format: &str) -> Option<String> {
    if let Some(words) = FORMATS.get(format) {
        return Some(words.clone());
    }
    if let Some(one) = format.strip_suffix("-list") {
        return FORMATS.get(one).map(|words| format!("a list with commas: {words}"));
    }
    format.strip_suffix("-opt").and_then(|one| FORMATS.get(one)).map(|words| format!("{words}, or empty"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn formats(schema: &Schema, found: &mut BTreeSet<String>) {
        if let Some(Format::Named(format)) = &schema.format
            && property::keys(schema).is_none()
        {
            found.insert(format.clone());
        }
        let keys = property::keys(schema).into_iter().flat_map(|keys| keys.iter());
        keys.chain(schema.properties.iter()).for_each(|(_, schema)| formats(schema, found));
        schema.items.iter().for_each(|schema| formats(schema, found));
    }

    #[test]
    fn every_format_of_a_parameter_has_words_and_no_words_are_left_over() {
        let mut found = BTreeSet::new();
        for method in Catalog::embedded().methods() {
            let named = verify::parameter_names(method.parameters()).into_iter();
            let schemas = named.filter_map(|name| verify::parameter(method.parameters(), &name.replace("[n]", "0")));
            schemas.for_each(|schema| formats(schema, &mut found));
        }
        let missing: Vec<&String> = found.iter().filter(|format| of_format(format).is_none()).collect();
        assert!(missing.is_empty(), "{missing:?}");
        let bare = |format: &String| format.trim_end_matches("-list").trim_end_matches("-opt").to_string();
        let needed: BTreeSet<String> = found.iter().map(bare).chain(found.iter().cloned()).collect();
        let stale: Vec<&String> = FORMATS.keys().filter(|format| !needed.contains(*format)).collect();
        assert!(stale.is_empty(), "{stale:?}");
    }

    #[test]
    fn the_examples_in_the_words_are_values_of_their_format() {
        let examples = FORMATS.iter().filter_map(|(format, words)| {
            let example = words.split_once("such as ")?.1.split([',', ' ', ';']).next()?;
            Some((format, example.trim_matches('\''))).filter(|(_, example)| !example.is_empty())
        });
        let wrong: Vec<String> = examples
            .filter_map(|(format, example)| {
                pve_catalog::format::check(format, example).err().map(|e| format!("{format} {example}: {e}"))
            })
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

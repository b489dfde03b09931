//! A firewall configuration as text.

use serde_json::{Map, Value};

use super::Firewall;

/// The whole file; empty sections are left out.
pub fn write(firewall: &Firewall) -> String {
    let mut text = String::new();
    if !firewall.options.is_empty() {
        let mut options: Vec<(&String, &Value)> = firewall.options.iter().collect();
        options.sort_unstable_by_key(|(key, _)| *key);
        let lines = options.into_iter().map(|(key, value)| format!("{key}: {}\n", plain(value)));
        text.push_str(&section("[OPTIONS]", None, lines));
    }
    if !firewall.aliases.is_empty() {
        let mut aliases: Vec<_> = firewall.aliases.iter().collect();
        aliases.sort_unstable_by_key(|alias| alias.name.to_lowercase());
        let lines =
            aliases.into_iter().map(|alias| with_comment(&format!("{} {}", alias.name, alias.cidr), &alias.comment));
        text.push_str(&section("[ALIASES]", None, lines));
    }
    let mut ipsets: Vec<_> = firewall.ipsets.iter().collect();
    ipsets.sort_unstable_by_key(|ipset| &ipset.name);
    for ipset in ipsets {
        let member = |entry: &super::Entry| {
            with_comment(&format!("{}{}", if entry.nomatch { "!" } else { "" }, entry.cidr), &entry.comment)
        };
        text.push_str(&section(
            &format!("[IPSET {}]", ipset.name),
            ipset.comment.as_deref(),
            ipset.entries.iter().map(member),
        ));
    }
    if !firewall.rules.is_empty() {
        text.push_str(&section("[RULES]", None, firewall.rules.iter().map(rule)));
    }
    let mut groups: Vec<_> = firewall.groups.iter().collect();
    groups.sort_unstable_by_key(|group| &group.name);
    for group in groups {
        text.push_str(&section(
            &format!("[group {}]", group.name),
            group.comment.as_deref(),
            group.rules.iter().map(rule),
        ));
    }
    text
}

/// One rule with its line end: `|IN ACCEPT -i net0 -p tcp -dport 22 # ssh`.
pub fn rule(rule: &Map<String, Value>) -> String {
    let word = |key: &str| rule.get(key).map(plain).filter(|text| !text.is_empty());
    let off = word("enable").is_none_or(|enable| enable == "0");
    let action = word("action").unwrap_or_default();
    let action = word("macro").map_or(action.clone(), |name| format!("{name}({action})"));
    let mut text =
        format!("{}{} {action}", if off { "|" } else { "" }, word("type").unwrap_or_default().to_uppercase());
    let options = [
        ("iface", "i"),
        ("source", "source"),
        ("dest", "dest"),
        ("proto", "p"),
        ("dport", "dport"),
        ("sport", "sport"),
        ("log", "log"),
        ("icmp-type", "icmp-type"),
    ];
    for (key, option) in options {
        if let Some(value) = word(key) {
            text.push_str(&format!(" -{option} {value}"));
        }
    }
    with_comment(&text, &word("comment"))
}

fn section(header: &str, comment: Option<&str>, lines: impl Iterator<Item = String>) -> String {
    let header = with_comment(header, &comment.map(str::to_string));
    format!("{header}\n{}\n", lines.collect::<String>())
}

fn with_comment(text: &str, comment: &Option<String>) -> String {
    match comment.as_deref().filter(|comment| !comment.is_empty()) {
        Some(comment) => format!("{text} # {comment}\n"),
        None => format!("{text}\n"),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Bool(on) => i32::from(*on).to_string(),
        other => other.to_string(),
    }
}

//! The text of a firewall configuration.

use serde_json::{Map, Value, json};

use super::{Alias, Entry, Firewall, Group, IpSet};

enum Section {
    None,
    Options,
    Aliases,
    IpSet,
    Rules,
    Group,
}

/// Reads a file; lines that cannot be used are told, one text each.
pub fn read(text: &str) -> (Firewall, Vec<String>) {
    let (mut firewall, mut warnings) = (Firewall::default(), Vec::new());
    let mut section = Section::None;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let used = match line.strip_prefix('[') {
            Some(header) => {
                let begun = begin(&mut firewall, header);
                let known = begun.is_some();
                section = begun.unwrap_or(Section::None);
                known
            }
            None => keep(&mut firewall, &section, line),
        };
        if !used {
            warnings.push(format!("line {}: cannot use '{line}'", number + 1));
        }
    }
    (firewall, warnings)
}

fn begin(firewall: &mut Firewall, header: &str) -> Option<Section> {
    let (name, rest) = header.split_once(']')?;
    let comment = rest.trim().strip_prefix('#').map(|text| text.trim().to_string());
    let (word, name) = name.split_once(' ').unwrap_or((name, ""));
    Some(match word.to_ascii_uppercase().as_str() {
        "OPTIONS" => Section::Options,
        "ALIASES" => Section::Aliases,
        "RULES" => Section::Rules,
        "IPSET" => {
            firewall.ipsets.push(IpSet { name: name.trim().into(), comment, entries: Vec::new() });
            Section::IpSet
        }
        "GROUP" => {
            firewall.groups.push(Group { name: name.trim().into(), comment, rules: Vec::new() });
            Section::Group
        }
        _ => return None,
    })
}

fn keep(firewall: &mut Firewall, section: &Section, line: &str) -> bool {
    match section {
        Section::None => false,
        Section::Options => option(line).map(|(key, value)| firewall.options.insert(key, value)).is_some(),
        Section::Aliases => alias(line).map(|alias| firewall.aliases.push(alias)).is_some(),
        Section::IpSet => firewall.ipsets.last_mut().map(|ipset| ipset.entries.push(entry(line))).is_some(),
        Section::Rules => rule(line).map(|rule| firewall.rules.push(rule)).is_some(),
        Section::Group => {
            let group = firewall.groups.last_mut();
            group.and_then(|group| rule(line).map(|rule| group.rules.push(rule))).is_some()
        }
    }
}

fn option(line: &str) -> Option<(String, Value)> {
    let (key, value) = line.split_once(':')?;
    let value = value.trim();
    let typed = value.parse::<i64>().map_or_else(|_| json!(value), Value::from);
    Some((key.trim().to_string(), typed))
}

fn alias(line: &str) -> Option<Alias> {
    let (text, comment) = comment_of(line);
    let (name, cidr) = text.split_once(char::is_whitespace)?;
    Some(Alias { name: name.into(), cidr: cidr.trim().into(), comment })
}

fn entry(line: &str) -> Entry {
    let (text, comment) = comment_of(line);
    let cidr = text.trim_start_matches('!').trim();
    Entry { cidr: cidr.into(), nomatch: text.starts_with('!'), comment }
}

/// One rule: `|IN SSH(ACCEPT) -i net0 -source 10.0.0.0/8 # comment`; `None` when it is none.
pub fn rule(line: &str) -> Option<Map<String, Value>> {
    let (text, comment) = comment_of(line);
    let (off, text) = text.strip_prefix('|').map_or((false, text), |rest| (true, rest));
    let mut words = text.split_whitespace();
    let kind = words.next()?.to_ascii_lowercase();
    if !["in", "out", "forward", "group"].contains(&kind.as_str()) {
        return None;
    }
    let mut rule = Map::from_iter([("type".to_string(), json!(kind)), ("enable".to_string(), json!(i32::from(!off)))]);
    let action = words.next()?;
    match action.strip_suffix(')').and_then(|action| action.split_once('(')) {
        Some((name, action)) => {
            rule.insert("macro".into(), json!(name));
            rule.insert("action".into(), json!(action));
        }
        None => drop(rule.insert("action".into(), json!(action))),
    }
    while let Some(option) = words.next() {
        let key = match option.trim_start_matches('-') {
            "i" => "iface",
            "p" => "proto",
            "source" => "source",
            "dest" => "dest",
            "dport" => "dport",
            "sport" => "sport",
            "log" => "log",
            "icmp-type" => "icmp-type",
            _ => return None,
        };
        rule.insert(key.into(), json!(words.next()?));
    }
    if let Some(comment) = comment {
        rule.insert("comment".into(), json!(comment));
    }
    Some(rule)
}

fn comment_of(line: &str) -> (&str, Option<String>) {
    match line.split_once('#') {
        Some((text, comment)) => (text.trim(), Some(comment.trim().to_string()).filter(|text| !text.is_empty())),
        None => (line.trim(), None),
    }
}

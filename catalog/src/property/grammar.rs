//! The grammar of a property string in one line, for people and models.

use std::fmt::Write;

use crate::schema::{Format, Kind, Properties, Schema};

/// Keys that most callers want, before all others: networks, disks, the rest.
const USUAL_KEYS: &[&str] = &[
    "name",
    "bridge",
    "ip",
    "gw",
    "ip6",
    "gw6",
    "tag",
    "firewall",
    "hwaddr",
    "macaddr",
    "rate",
    "mp",
    "size",
    "import-from",
    "format",
    "cache",
    "discard",
    "ssd",
    "iothread",
    "backup",
    "ro",
    "media",
    "flags",
    "type",
    "fstrim_cloned_disks",
    "nesting",
    "keep-last",
    "keep-daily",
    "keep-weekly",
    "mapping",
    "pcie",
    "order",
];

/// Words that most callers want, before all others of a long enumeration.
const USUAL_WORDS: &[&str] = &["virtio", "e1000", "std", "qxl", "none", "writeback", "always", "never"];

/// The grammar in one line, `[file=]<volume>[,size=<size>]…`: the default key, required keys, usual keys, then the
/// others. It holds whole keys only; `…` at its end says that some did not fit into `most_chars` characters.
pub fn grammar(keys: &Properties, most_chars: usize) -> String {
    let mut entries: Vec<(&str, &Schema)> = keys.iter().filter(|(_, schema)| schema.alias.is_none()).collect();
    entries.sort_by_key(|(key, schema)| (!schema.default_key, schema.optional, place(USUAL_KEYS, key)));
    let mut line = String::new();
    let mut chars = 0;
    for (at, (key, schema)) in entries.iter().enumerate() {
        let part = entry(key, schema, at == 0);
        let length = part.chars().count();
        let last = at + 1 == entries.len();
        if chars + length + usize::from(!last) > most_chars {
            line.push('…');
            break;
        }
        line.push_str(&part);
        chars += length;
    }
    line
}

/// Where a word stands in the list; the end for all others.
fn place(usual: &[&str], word: &str) -> usize {
    usual.iter().position(|usual| *usual == word).unwrap_or(usual.len())
}

fn entry(key: &str, schema: &Schema, first: bool) -> String {
    let comma = if first { "" } else { "," };
    let mut part = String::new();
    let written = match (schema.default_key, schema.optional) {
        (true, false) => write!(part, "{comma}[{key}=]{}", value(key, schema)),
        (true, true) => write!(part, "[{comma}[{key}=]{}]", value(key, schema)),
        (false, false) => write!(part, "{comma}{key}={}", value(key, schema)),
        (false, true) => write!(part, "[{comma}{key}={}]", value(key, schema)),
    };
    written.map_or_else(|_| String::new(), |()| part)
}

/// What to write for the value: `<0|1>`, `<integer>`, `<size>`, a short list of words, or the key itself.
fn value(key: &str, schema: &Schema) -> String {
    let mut words: Vec<&str> = schema.enumeration.iter().map(String::as_str).collect();
    if words.join("|").chars().count() > 40 {
        words.sort_by_key(|word| place(USUAL_WORDS, word));
        return format!("<{}|…>", words.iter().take(3).copied().collect::<Vec<_>>().join("|"));
    }
    if !words.is_empty() {
        return format!("<{}>", words.join("|"));
    }
    let word = match (&schema.format, schema.kind) {
        (_, Kind::Boolean) => "0|1",
        (_, Kind::Integer) => "integer",
        (_, Kind::Number) => "number",
        (Some(Format::Named(name)), _) => match name.as_str() {
            "disk-size" => "size",
            "mac-addr" => "MAC",
            "pve-volume-id" | "pve-volume-id-or-qm-path" | "pve-volume-id-or-absolute-path" => "volume",
            "CIDRv4" | "CIDRv6" | "CIDR" => "CIDR",
            "pve-ipv4-config" => "CIDR|dhcp|manual",
            "pve-ipv6-config" => "CIDR|auto|dhcp|manual",
            "ipv4" | "ipv6" | "ip" => "IP",
            _ => key,
        },
        _ => key,
    };
    format!("<{word}>")
}

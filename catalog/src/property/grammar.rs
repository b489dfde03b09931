//! The grammar of a property string in one line, for people and models.

use std::fmt::Write;

use crate::schema::{Format, Kind, Properties, Schema};

/// Keys that most callers want, before all others: networks, then disks, then the rest.
const USUAL: [&str; 24] = [
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
];

/// The grammar in one line, `[file=]<volume>[,size=<size>]…`: the default key, required keys, usual keys, then the
/// others. It holds whole keys only; `…` at its end says that some did not fit into `most_chars` characters.
pub fn grammar(keys: &Properties, most_chars: usize) -> String {
    let mut entries: Vec<(&str, &Schema)> = keys.iter().filter(|(_, schema)| schema.alias.is_none()).collect();
    let usual = |key: &str| USUAL.iter().position(|usual| *usual == key).unwrap_or(USUAL.len());
    entries.sort_by_key(|(key, schema)| (!schema.default_key, schema.optional, usual(key)));
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
    let words = schema.enumeration.join("|");
    if !words.is_empty() {
        let short = words.chars().count() <= 40;
        let some = schema.enumeration.iter().take(3).map(String::as_str).collect::<Vec<_>>().join("|");
        return if short { format!("<{words}>") } else { format!("<{some}|…>") };
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

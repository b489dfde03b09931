//! Section configurations (`storage.cfg`, `jobs.cfg`, `ha/resources.cfg` …) as text, and the order in which Proxmox
//! writes their keys.
//!
//! A section is a header `type: id` and indented lines `key value`. Perl writes `comment` and `disable` first, then the
//! options that a type requires, then the others, each sorted; Rust (notifications, fabrics) writes all keys sorted.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// One section as it stands in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// `dir`; empty where headers have none (`mapping/pci.cfg`).
    pub kind: String,
    /// `local`.
    pub id: String,
    /// Number of the header's line, from 1.
    pub line: usize,
    /// Keys and values in order; a key alone has an empty value; a key may stand several times.
    pub lines: Vec<(String, String)>,
}

/// Which of Proxmox's two writers writes a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// A blank line after each section; `comment`, `disable`, required options, others.
    Perl,
    /// A blank line between sections; all keys sorted.
    Rust,
}

/// Reads the sections of a file; a blank line ends one. Lines that fit nowhere are told, one text each.
pub fn read(text: &str) -> (Vec<Section>, Vec<String>) {
    let (mut sections, mut warnings) = (Vec::<Section>::new(), Vec::new());
    let mut open = false;
    for (number, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            open = false;
        } else if line.starts_with('#') {
        } else if let Some(option) = line.strip_prefix([' ', '\t']) {
            let option = option.trim();
            let (key, value) = option.split_once([' ', '\t']).unwrap_or((option, ""));
            match sections.last_mut().filter(|_| open) {
                Some(section) => section.lines.push((key.into(), value.trim().into())),
                None => warnings.push(format!("line {}: '{option}' stands in no section", number + 1)),
            }
        } else if open {
            warnings.push(format!("line {}: ignore config line: {line}", number + 1));
        } else {
            let (kind, id) = line.split_once(':').unwrap_or(("", line));
            let (kind, id) = (kind.trim().to_string(), id.trim().to_string());
            if id.is_empty() || id.contains(char::is_whitespace) {
                warnings.push(format!("line {}: '{line}' is no section header", number + 1));
                continue;
            }
            sections.push(Section { kind, id, line: number + 1, lines: Vec::new() });
            open = true;
        }
    }
    (sections, warnings)
}

/// Writes one object as a section: values of lists on a line each, nothing for empty texts.
pub fn section(writer: Writer, kind: &str, id: &str, options: &Map<String, Value>) -> String {
    let mut text = if kind.is_empty() { format!("{id}\n") } else { format!("{kind}: {id}\n") };
    let sorted: BTreeMap<&str, &Value> = options.iter().map(|(key, value)| (key.as_str(), value)).collect();
    let required = if writer == Writer::Perl { required(kind) } else { &[] };
    let first: &[&str] = if writer == Writer::Perl { &["comment", "disable"] } else { &[] };
    let given = |key: &&&str| sorted.contains_key(**key);
    let mut order: Vec<&str> = first.iter().filter(given).copied().collect();
    order.extend(required.iter().filter(given).copied());
    order.extend(sorted.keys().filter(|key| !first.contains(key) && !required.contains(key)).copied());
    for key in order {
        text.push_str(&lines(writer, key, sorted[key]));
    }
    text
}

/// Joins sections to a file.
pub fn file(writer: Writer, sections: &[String]) -> String {
    match writer {
        Writer::Perl => sections.iter().map(|section| format!("{section}\n")).collect(),
        Writer::Rust => sections.join("\n"),
    }
}

fn lines(writer: Writer, key: &str, value: &Value) -> String {
    let text = match value {
        Value::Array(items) => return items.iter().map(|item| lines(writer, key, item)).collect(),
        Value::String(text) => text.clone(),
        Value::Bool(on) if writer == Writer::Rust => on.to_string(),
        Value::Bool(on) => i32::from(*on).to_string(),
        Value::Null => return String::new(),
        Value::Number(number) if writer == Writer::Rust && ["disable", "invert-match"].contains(&key) => {
            (number.as_i64() == Some(1)).to_string()
        }
        Value::Number(number) => match number.as_f64().filter(|float| float.fract() == 0.0 && !number.is_i64()) {
            Some(whole) => format!("{whole:.0}"),
            None => number.to_string(),
        },
        other => other.to_string(),
    };
    match (key, text.as_str(), writer) {
        ("disable", "1", Writer::Perl) => "\tdisable\n".into(),
        ("disable", "0", Writer::Perl) => String::new(),
        (_, "", Writer::Perl) => String::new(),
        _ => format!("\t{key} {text}\n"),
    }
}

/// The options that a type of section requires, sorted: they are written before the others.
fn required(kind: &str) -> &'static [&'static str] {
    match kind {
        "dir" | "btrfs" | "cephfs" => &["path"],
        "lvm" => &["vgname"],
        "lvmthin" => &["thinpool", "vgname"],
        "zfspool" => &["pool"],
        "nfs" => &["export", "path", "server"],
        "cifs" => &["path", "server", "share"],
        "pbs" => &["datastore", "server"],
        "iscsi" | "iscsidirect" => &["portal", "target"],
        "esxi" => &["server", "username"],
        "zfs" => &["blocksize", "iscsiprovider", "pool", "portal", "target"],
        "ldap" => &["base_dn", "server1", "user_attr"],
        "ad" => &["domain", "server1"],
        "openid" => &["client-id", "issuer-url"],
        "node-affinity" => &["nodes", "resources"],
        "resource-affinity" => &["affinity", "resources"],
        "vzdump" => &["schedule"],
        "realm-sync" => &["realm", "schedule", "scope"],
        "local" => &["target"],
        "graphite" => &["server"],
        "influxdb" => &["port", "server"],
        "opentelemetry" => &["port", "server"],
        "vlan" => &["bridge"],
        "qinq" => &["bridge", "tag"],
        "vxlan" => &["peers"],
        "evpn" => &["asn", "controller", "vrf-vxlan"],
        "bgp" => &["asn", "node", "peers"],
        "isis" => &["isis-domain", "isis-ifaces", "isis-net", "node"],
        "vnet" => &["zone"],
        "subnet" => &["vnet"],
        "netbox" => &["token", "url"],
        "phpipam" => &["section", "token", "url"],
        "powerdns" => &["key", "url"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sections_are_read_and_written() {
        let text = "dir: local\n\tpath /var/lib/vz\n\tcontent iso\n\nnfs: n1\n\tdisable\n\texport /x\n\n";
        let (sections, warnings) = read(text);
        assert!(warnings.is_empty() && sections.len() == 2);
        assert_eq!(sections[1].lines[0], ("disable".to_string(), String::new()));
        let options = json!({"content": "iso", "path": "/x", "shared": 1, "disable": 1, "comment": "c"});
        let written = section(Writer::Perl, "dir", "d1", options.as_object().expect("an object"));
        assert_eq!(written, "dir: d1\n\tcomment c\n\tdisable\n\tpath /x\n\tcontent iso\n\tshared 1\n");
    }
}

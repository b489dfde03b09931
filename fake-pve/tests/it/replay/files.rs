//! Configuration files of a world, in a form that can be compared.

use std::collections::BTreeMap;

use fake_pve::World;
use fake_pve::world::section;
use serde_json::Value;

use super::normal;

/// Every file with its comparable text.
pub fn all(world: &World) -> BTreeMap<String, String> {
    let text = |path: String| world.file(&path).map(|text| (path.clone(), comparable(&path, &text)));
    world.files().into_iter().filter_map(text).collect()
}

/// Files that are there now with another text, or no longer.
pub fn changed(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<String> {
    let other = after.iter().filter(|(path, text)| before.get(*path) != Some(*text)).map(|(path, _)| path.clone());
    let gone = before.keys().filter(|path| !after.contains_key(*path)).cloned();
    other.chain(gone).collect()
}

/// A text without generated values, with sections and lines in one order where Proxmox's own is accidental.
pub fn comparable(path: &str, text: &str) -> String {
    let text = &characters(text);
    let text = match path {
        "/etc/pve/priv/shadow.cfg" => sorted_lines(&normal::hashes(text)),
        "/etc/pve/priv/tfa.cfg" => serde_json::from_str(text).map_or_else(|_| text.to_string(), second_factors),
        "/etc/pve/priv/token.cfg" => sorted_lines(text),
        _ if path.starts_with("/etc/pve/") && path.ends_with(".cfg") && !is_flat(path) => sorted_sections(text),
        // The recorder's stand-in gave a reference of Perl's for the value.
        _ if path.ends_with(".conf") => without_lines(text, "running-nets-host-mtu: "),
        _ if path.ends_with(".fw") => sorted_options(text),
        _ if path.starts_with("/etc/network/") => without_introduction(text),
        "/etc/pve/sdn/.running-config" | "/etc/pve/sdn/pve-ipam-state.json" => sorted_json(text),
        _ if path.contains("/images/") => normal::sizes(text),
        _ => text.to_string(),
    };
    normal::text(text.trim_end())
}

/// The recorder took each byte of a file for a character.
fn characters(text: &str) -> String {
    let bytes: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect();
    bytes.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_else(|| text.to_string())
}

/// Without the secrets of one run.
fn second_factors(value: Value) -> String {
    normal::data(&value, &["secret".to_string(), "entry".to_string()]).to_string()
}

/// Interfaces without the comment lines in front, which are Proxmox's own sentences.
fn without_introduction(text: &str) -> String {
    let lines = text.lines().skip_while(|line| line.starts_with('#') || line.is_empty());
    lines.map(|line| format!("{line}\n")).collect()
}

fn sorted_json(text: &str) -> String {
    serde_json::from_str(text).map_or_else(|_| text.to_string(), |value| normal::data(&value, &[]).to_string())
}

fn is_flat(path: &str) -> bool {
    ["/etc/pve/user.cfg", "/etc/pve/datacenter.cfg"].contains(&path)
}

fn without_lines(text: &str, beginning: &str) -> String {
    text.lines().filter(|line| !line.starts_with(beginning)).collect::<Vec<_>>().join("\n")
}

/// Options come out of a hash; all else is in order.
fn sorted_options(text: &str) -> String {
    let Some(rest) = text.strip_prefix("[OPTIONS]\n\n") else { return text.to_string() };
    let (options, rest) = rest.split_once("\n\n").unwrap_or((rest, ""));
    format!("[OPTIONS]\n\n{}\n\n{rest}", sorted_lines(options))
}

fn sorted_lines(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.join("\n")
}

/// Sections by header; lists that come out of a hash sorted.
fn sorted_sections(text: &str) -> String {
    let (mut sections, _) = section::read(text);
    sections.sort_by(|a, b| (&a.kind, &a.id).cmp(&(&b.kind, &b.id)));
    let mut lines = Vec::new();
    for section in sections {
        lines.push(format!("{}: {}", section.kind, section.id));
        for (key, value) in section.lines {
            let value = if normal::UNORDERED.contains(&key.as_str()) { normal::sorted_list(&value) } else { value };
            lines.push(format!("\t{key} {value}"));
        }
    }
    lines.join("\n")
}

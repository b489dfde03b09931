//! What to say beside Proxmox's own words when an argument is refused.

use pve_catalog::schema::Format;
use pve_catalog::{Catalog, Method, property, verify};

use crate::tools::nearest::{nearest, question};

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

/// The key that was meant by `net0.bridg: property is not defined …`.
pub fn nearest_key(method: &Method, name: &str, line: &str) -> Option<String> {
    let (place, message) = line.split_once(": ")?;
    let key = place.strip_prefix(name)?.strip_prefix('.')?;
    if !message.starts_with("property is not defined") {
        return None;
    }
    let keys = property::keys(verify::parameter(method.parameters(), name)?)?;
    question(&nearest(key, keys.iter().map(|(key, _)| key), 2))
}

/// The rule behind a refusal, where Proxmox's words do not say it.
pub fn rule(method: &Method, name: &str) -> Option<String> {
    let schema = verify::parameter(method.parameters(), name)?;
    if !schema.enumeration.is_empty() {
        return None;
    }
    let format = match &schema.format {
        Some(Format::Named(format)) => format.as_str(),
        _ => return None,
    };
    let length = schema.max_length.map(|most| format!(", at most {most} characters")).unwrap_or_default();
    let rule = match format {
        "pve-configid" => "a letter first, then letters, digits, '_' and '-'",
        "pve-vmid" => "a number from 100 to 999999999",
        "pve-node" => "the name of a node, such as pve1",
        "pve-storage-id" => "the name of a storage, such as local-lvm",
        "pve-volume-id" => "a volume such as local:iso/debian.iso",
        "dns-name" => "a host name: letters, digits and '-'",
        _ => return None,
    };
    Some(format!("{rule}{length}"))
}

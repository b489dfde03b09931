//! What the verification lets through although it cannot be meant: refused where Proxmox would refuse it late, else told
//! beside the result.

use std::collections::BTreeMap;

use pve_catalog::Method;
use serde_json::{Map, Value};

/// What a person who knows Proxmox would object to.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sense {
    /// Errors by argument: nothing is sent.
    pub errors: BTreeMap<String, String>,
    /// It is sent, and this is told.
    pub warnings: Vec<String>,
}

/// Looks at verified arguments.
pub fn of(method: &Method, given: &Map<String, Value>) -> Sense {
    let mut sense = Sense::default();
    if method.path.ends_with("/{vmid}/clone") {
        clone(given, &mut sense);
    }
    if is_guest_config(method.path) && method.verb.has_body() {
        cards(method.path, given, &mut sense);
        cloud_init(method.path, given, &mut sense);
    }
    sense
}

/// A linked clone lies where its template lies.
fn clone(given: &Map<String, Value>, sense: &mut Sense) {
    if text(given, "full") != Some("0") {
        return;
    }
    for name in ["storage", "format"].into_iter().filter(|name| given.contains_key(*name)) {
        sense.errors.insert(name.into(), "a linked clone (full=0) stays where its template lies and takes none".into());
    }
}

fn is_guest_config(path: &str) -> bool {
    let guests = path.strip_prefix("/nodes/{node}/qemu").or_else(|| path.strip_prefix("/nodes/{node}/lxc"));
    matches!(guests, Some("" | "/{vmid}/config"))
}

/// A card without a bridge is legal and connected to nothing; one that is written again without its address gets a new one.
fn cards(path: &str, given: &Map<String, Value>, sense: &mut Sense) {
    let is_card = |name: &str| name.strip_prefix("net").is_some_and(|n| !n.is_empty() && n.parse::<u32>().is_ok());
    let cards =
        given.iter().filter(|(name, _)| is_card(name)).filter_map(|(name, value)| Some((name, value.as_str()?)));
    for (name, value) in cards {
        if !value.split(',').any(|part| part.starts_with("bridge=")) {
            sense.warnings.push(format!("{name} has no bridge: the card is connected to nothing"));
        }
        if path.ends_with("/config") && !value.split(',').any(holds_mac) {
            sense.warnings.push(format!("{name} names no MAC address: a card that exists already gets a new one"));
        }
    }
}

/// `virtio=BC:24:11:…` or `hwaddr=…`.
fn holds_mac(part: &str) -> bool {
    let value = part.split_once('=').map_or("", |(_, value)| value);
    value.split(':').count() == 6 && value.split(':').all(|byte| u8::from_str_radix(byte, 16).is_ok())
}

fn cloud_init(path: &str, given: &Map<String, Value>, sense: &mut Sense) {
    let creates = path.ends_with("/qemu");
    let has_drive = given.values().any(|value| value.as_str().is_some_and(|text| text.contains("cloudinit")));
    let from_backup = given.contains_key("archive");
    let asked = given.keys().find(|name| name.starts_with("ipconfig") || *name == "ciuser" || *name == "sshkeys");
    if let Some(name) = asked.filter(|_| creates && !has_drive && !from_backup) {
        sense
            .warnings
            .push(format!("{name} does nothing without a cloud-init drive, such as ide2=local-lvm:cloudinit"));
    }
}

fn text<'g>(given: &'g Map<String, Value>, name: &str) -> Option<&'g str> {
    given.get(name).and_then(Value::as_str)
}

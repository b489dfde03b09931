//! Pending changes of a running machine: what takes effect at once, what stays pending, what cannot be done.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::apply::boot_order;
use crate::behaviour::guest::network::{is_net, numbered};
use crate::behaviour::guest::stage::Stage;
use crate::behaviour::qemu::cloudinit;
use crate::behaviour::qemu::drives::drive;
use crate::behaviour::qemu::permission::is_cloudinit_option;
use crate::world::disk::{Disk, is_drive};
use crate::world::{Guest, option};

/// Options that do not touch what runs.
const AT_ONCE: [&str; 13] = [
    "description",
    "hookscript",
    "lock",
    "migrate_downtime",
    "migrate_speed",
    "name",
    "onboot",
    "protection",
    "shares",
    "startup",
    "tags",
    "template",
    "vmstatestorage",
];

/// Keys of a drive that QEMU takes only when it starts.
const FIXED: [&str; 9] = ["aio", "cache", "discard", "iothread", "product", "queues", "ro", "ssd", "vendor"];

/// How a change of a running machine ends.
enum Verdict {
    /// It is made.
    Done,
    /// It waits for the next start.
    Waits,
    /// It is refused and stays pending.
    Fails(String),
}

use Verdict::{Done, Fails, Waits};

/// Applies what can be applied among the touched options; errors by option.
pub(super) fn apply(stage: &mut dyn Stage, vmid: u32, touched: &[String]) -> BTreeMap<String, String> {
    let mut errors = BTreeMap::new();
    let Ok(guest) = stage.guest_mut(vmid) else { return errors };
    commit_harmless(guest);
    let features = features(guest);
    let deletions = guest.pending_delete.clone();
    for (key, force) in deletions.into_iter().filter(|(key, _)| touched.contains(key)) {
        match delete(stage, vmid, &key, force, &features) {
            Done => finish(stage, vmid, &key, None),
            Waits => {}
            Fails(error) => {
                errors.insert(key, format!("hotplug problem - {error}\n"));
            }
        }
    }
    let changes = stage.guest_mut(vmid).map(|guest| guest.pending.clone()).unwrap_or_default();
    let mut fresh = false;
    for (key, value) in changes.into_iter().filter(|(key, _)| touched.contains(key)) {
        fresh |= drive(&key, &value).is_some_and(|disk| is_drive(&key) && disk.is_cloudinit());
        match change(stage, vmid, &key, &value, &features) {
            Done => finish(stage, vmid, &key, Some(value)),
            Waits => {}
            Fails(error) => {
                errors.insert(key, format!("hotplug problem - {error}\n"));
            }
        }
    }
    if fresh {
        cloudinit::generate(stage, vmid);
    }
    if let Ok(guest) = stage.guest_mut(vmid) {
        guest.written();
    }
    errors
}

fn commit_harmless(guest: &mut Guest) {
    let harmless = |key: &String| AT_ONCE.contains(&key.as_str()) || is_cloudinit_option(key);
    let keys: Vec<String> = guest.pending.keys().filter(|key| harmless(key)).cloned().collect();
    for key in keys {
        if let Some(value) = guest.pending.shift_remove(&key) {
            guest.config.insert(key, value);
        }
    }
}

fn finish(stage: &mut dyn Stage, vmid: u32, key: &str, value: Option<Value>) {
    let Ok(guest) = stage.guest_mut(vmid) else { return };
    guest.pending.shift_remove(key);
    guest.pending_delete.remove(key);
    match value {
        Some(value) => guest.config.insert(key.into(), value),
        None => guest.config.shift_remove(key),
    };
}

/// What may be plugged while it runs.
fn features(guest: &Guest) -> Vec<String> {
    match guest.option("hotplug").as_deref() {
        None | Some("1") => ["network", "disk", "usb"].map(String::from).to_vec(),
        Some("0") => Vec::new(),
        Some(list) => list.split([',', ';', ' ']).map(str::to_string).collect(),
    }
}

fn needs(features: &[String], feature: &str) -> Verdict {
    if features.iter().any(|known| known == feature) { Done } else { Waits }
}

fn delete(stage: &mut dyn Stage, vmid: u32, key: &str, force: bool, features: &[String]) -> Verdict {
    let Ok(guest) = stage.guest_mut(vmid) else { return Waits };
    let config = guest.config.clone();
    if AT_ONCE.contains(&key) || is_cloudinit_option(key) || matches!(key, "cpuunits" | "cpulimit") {
        return Done;
    }
    match key {
        "hotplug" if !config.get(key).map(option::text).unwrap_or_default().contains("memory") => Done,
        "tablet" => needs(features, "usb"),
        "vcpus" => needs(features, "cpu"),
        "memory" => needs(features, "memory"),
        "balloon" if config.get(key).map(option::text).as_deref() != Some("0") => Done,
        _ if numbered(key, "usb") => needs(features, "usb"),
        _ if is_net(key) => needs(features, "network"),
        _ if is_drive(key) => {
            let fixed = ["efidisk", "ide", "sata", "tpmstate"].iter().any(|bus| key.starts_with(bus));
            if fixed || matches!(needs(features, "disk"), Waits) {
                return Waits;
            }
            if is_boot_disk(&config, key) {
                return Fails(format!("can't unplug bootdisk '{key}'"));
            }
            match stage.world_mut().apply_delete(vmid, key, force) {
                Ok(()) => Done,
                Err(error) => Fails(error),
            }
        }
        _ => Waits,
    }
}

fn is_boot_disk(config: &Map<String, Value>, key: &str) -> bool {
    let boot = config.get("boot").map(option::text).unwrap_or_default();
    match boot_order(&boot) {
        Some(order) => order.iter().any(|device| device == key),
        None => config.get("bootdisk").map(option::text).as_deref() == Some(key),
    }
}

fn change(stage: &mut dyn Stage, vmid: u32, key: &str, value: &Value, features: &[String]) -> Verdict {
    let Ok(guest) = stage.guest_mut(vmid) else { return Waits };
    let before = guest.option(key);
    let new = option::text(value);
    match key {
        "cpuunits" | "cpulimit" => Done,
        "hotplug" => {
            let special = |text: &str| text.contains("memory") || text.contains("cpu");
            if special(&new) || before.as_deref().is_some_and(special) { Waits } else { Done }
        }
        "tablet" => needs(features, "usb"),
        "memory" => needs(features, "memory"),
        "vcpus" => match needs(features, "cpu") {
            Done => {
                let most = guest.option("sockets").and_then(|n| n.parse::<u32>().ok()).unwrap_or(1)
                    * guest.option("cores").and_then(|n| n.parse::<u32>().ok()).unwrap_or(1);
                let wanted = new.parse::<u32>().unwrap_or(0);
                if wanted > most { Fails("you can't add more vcpus than maxcpus".into()) } else { Done }
            }
            other => other,
        },
        "balloon" => {
            let on = |text: Option<&str>| text != Some("0");
            if on(before.as_deref()) == on(Some(&new)) { Done } else { Waits }
        }
        "agent" => {
            let rest = |text: &str| {
                let parts = text.split(',').filter(|part| !part.trim().starts_with("fstrim_cloned_disks"));
                parts.map(str::to_string).collect::<Vec<_>>()
            };
            if before.is_some_and(|before| rest(&before) == rest(&new)) { Done } else { Waits }
        }
        _ if numbered(key, "usb") => needs(features, "usb"),
        _ if is_net(key) => match before.as_deref().is_some_and(|before| same_card(before, &new)) {
            true => Done,
            false => needs(features, "network"),
        },
        _ if is_drive(key) => change_drive(stage, vmid, key, before, &new, features),
        _ => Waits,
    }
}

/// Whether a network card stays the same, so that only what it is plugged into changes.
fn same_card(before: &str, after: &str) -> bool {
    let card = |text: &str| {
        let parts = text.split(',').filter(|part| part.starts_with("queues=") || part.contains(':'));
        parts.map(str::to_lowercase).collect::<Vec<_>>()
    };
    card(before) == card(after)
}

fn change_drive(
    stage: &mut dyn Stage,
    vmid: u32,
    key: &str,
    before: Option<String>,
    new: &str,
    features: &[String],
) -> Verdict {
    if matches!(key, "efidisk0" | "tpmstate0") {
        return Waits;
    }
    let Some(new) = drive(key, &new.into()) else { return Waits };
    if let Some(old) = before.and_then(|before| drive(key, &before.into())) {
        if old.is_cdrom(false) != new.is_cdrom(false) {
            return Fails("unable to change media type".into());
        }
        if old.is_cdrom(false) {
            let left = old.volume() != new.volume() && old.is_cloudinit();
            return if left { leave(stage, vmid, &old) } else { Done };
        }
        if old.volume() == new.volume() {
            return if FIXED.iter().any(|name| old.get(name) != new.get(name)) { Waits } else { Done };
        }
        if matches!(needs(features, "disk"), Waits) || key.starts_with("ide") || key.starts_with("sata") {
            return Waits;
        }
        let Ok(guest) = stage.guest_mut(vmid) else { return Waits };
        if is_boot_disk(&guest.config, key) {
            return Fails(format!("can't unplug bootdisk '{key}'"));
        }
        return leave(stage, vmid, &old);
    }
    if key.starts_with("ide") || key.starts_with("sata") { Waits } else { needs(features, "disk") }
}

fn leave(stage: &mut dyn Stage, vmid: u32, disk: &Disk) -> Verdict {
    match stage.world_mut().leave_disk(vmid, disk) {
        Ok(()) => Done,
        Err(error) => Fails(error),
    }
}

//! Pending changes of a running container.

use std::collections::BTreeMap;

use crate::behaviour::guest::network::{is_net, numbered};
use crate::behaviour::guest::stage::Stage;
use crate::world::disk::{Disk, is_mount, is_unused};
use crate::world::{GuestKind, option};

/// Options that take effect at once, those of the control groups included.
const LIVE: [&str; 13] = [
    "cores",
    "cpulimit",
    "cpuunits",
    "description",
    "hookscript",
    "hostname",
    "lock",
    "memory",
    "onboot",
    "protection",
    "startup",
    "swap",
    "tags",
];

/// Applies what can be applied among the touched options; errors by option.
pub(super) fn apply(stage: &mut dyn Stage, vmid: u32, touched: &[String]) -> BTreeMap<String, String> {
    let mut errors = BTreeMap::new();
    let Ok(guest) = stage.guest_mut(vmid) else { return errors };
    let deletions: Vec<String> = guest.pending_delete.keys().filter(|key| touched.contains(key)).cloned().collect();
    for key in deletions {
        if !LIVE.contains(&key.as_str()) && !is_net(&key) && !is_unused(&key) {
            continue;
        }
        if let Err(error) = stage.world_mut().apply_delete(vmid, &key, false) {
            errors.insert(key.clone(), format!("unable to hotplug {key}: {error}\n"));
            continue;
        }
        if let Ok(guest) = stage.guest_mut(vmid) {
            guest.pending_delete.remove(&key);
            guest.config.shift_remove(&key);
        }
    }
    let changes = stage.guest_mut(vmid).map(|guest| guest.pending.clone()).unwrap_or_default();
    for (key, value) in changes.into_iter().filter(|(key, _)| touched.contains(key)) {
        let present = stage.guest_mut(vmid).is_ok_and(|guest| guest.config.contains_key(&key));
        let new_mount = is_mount(&key) && key != "rootfs" && !present;
        if !LIVE.contains(&key.as_str()) && !is_net(&key) && !numbered(&key, "dev") && !new_mount {
            continue;
        }
        let stored = match Disk::parse(GuestKind::Lxc, &key, &option::text(&value)).filter(|_| new_mount) {
            Some(mount) => {
                let now = stage.time();
                match stage.world_mut().new_mount(now, vmid, &mount) {
                    Ok((mount, _)) => mount.print().into(),
                    Err(error) => {
                        errors.insert(key.clone(), format!("unable to hotplug {key}: {error}\n"));
                        continue;
                    }
                }
            }
            None => value,
        };
        if let Ok(guest) = stage.guest_mut(vmid) {
            guest.pending.shift_remove(&key);
            guest.config.insert(key, stored);
        }
    }
    errors
}

//! Pending changes become the configuration: at a stop, a start, or at once when the guest is off.

use super::drive::{Drive, add_unused, is_drive, is_unused};
use super::{GuestKind, World};

/// Applies what waits in a guest's configuration. Disks that are taken away or replaced become `unusedN`; forced ones,
/// unused ones and cloud-init drives are freed; media of CD-ROM drives are dropped.
pub fn apply_pending(world: &mut World, vmid: u32) {
    let Some(guest) = world.guests.get_mut(&vmid) else { return };
    let (kind, node) = (guest.kind, guest.node.clone());
    let pending = std::mem::take(&mut guest.pending);
    let deleted = std::mem::take(&mut guest.pending_delete);
    let mut freed = Vec::new();
    for (key, force) in deleted {
        let Some(old) = guest.config.shift_remove(&key) else { continue };
        let Some(text) = old.as_str() else { continue };
        match let_go(kind, vmid, &key, text, force) {
            Fate::Kept => {}
            Fate::Unused(volid) => add_unused(&mut guest.config, &volid),
            Fate::Freed(volid) => freed.push(volid),
        }
    }
    for (key, value) in pending {
        let old = guest.option(&key).filter(|_| is_drive(kind, &key));
        let new = value.as_str().map(|text| Drive::parse(&key, text).volid);
        if let Some(old) = old.filter(|old| Some(Drive::parse(&key, old).volid) != new) {
            match let_go(kind, vmid, &key, &old, false) {
                Fate::Kept => {}
                Fate::Unused(volid) => add_unused(&mut guest.config, &volid),
                Fate::Freed(volid) => freed.push(volid),
            }
        }
        guest.config.insert(key, value);
    }
    for volid in freed {
        world.take_volume(&node, &volid);
    }
}

enum Fate {
    Kept,
    Unused(String),
    Freed(String),
}

/// What becomes of a value that leaves the configuration.
fn let_go(kind: GuestKind, vmid: u32, key: &str, text: &str, force: bool) -> Fate {
    if is_unused(key) {
        return Fate::Freed(text.into());
    }
    if !is_drive(kind, key) {
        return Fate::Kept;
    }
    let drive = Drive::parse(key, text);
    let owned = drive.volid.contains(&format!("-{vmid}-"));
    match (drive.storage().is_some() && owned, drive.cloudinit() || force) {
        (true, true) => Fate::Freed(drive.volid),
        (true, false) if !drive.cdrom() => Fate::Unused(drive.volid),
        _ => Fate::Kept,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Scenario;

    #[test]
    fn disks_become_unused_and_forced_ones_are_freed() {
        let mut world = Scenario::one_vm().world;
        let guest = world.guests.get_mut(&100).expect("the guest");
        guest.pending.insert("memory".into(), json!("1024"));
        guest.pending_delete.insert("scsi0".into(), false);
        apply_pending(&mut world, 100);
        let guest = &world.guests[&100];
        assert_eq!(guest.option("memory").as_deref(), Some("1024"));
        assert_eq!(guest.option("unused0").as_deref(), Some("local-lvm:vm-100-disk-0"));
        assert!(guest.pending.is_empty() && guest.pending_delete.is_empty());
        world.guests.get_mut(&100).expect("the guest").pending_delete.insert("unused0".into(), false);
        apply_pending(&mut world, 100);
        assert!(world.volume("pve1", "local-lvm:vm-100-disk-0").is_none());
        assert_eq!(world.guests[&100].option("unused0"), None);
    }
}

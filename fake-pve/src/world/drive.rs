//! Disks in the order in which Proxmox walks them, and what a configuration lists as unused.

use serde_json::{Map, Value};

use super::disk::{Disk, disks, is_drive, is_unused};
use super::{Guest, GuestKind, option};

/// The disks of a configuration in Proxmox's order: ide, scsi, virtio, sata, efidisk, tpmstate; rootfs, mp.
pub fn drives(kind: GuestKind, config: &Map<String, Value>) -> Vec<Disk> {
    let mut drives = disks(kind, config);
    drives.sort_by_key(|disk| rank(&disk.key));
    drives
}

fn rank(key: &str) -> (usize, u32) {
    const BUSES: [&str; 8] = ["ide", "scsi", "virtio", "sata", "efidisk", "tpmstate", "rootfs", "mp"];
    let bus = key.trim_end_matches(|c: char| c.is_ascii_digit());
    let at = BUSES.iter().position(|known| *known == bus).unwrap_or(BUSES.len());
    (at, key[bus.len()..].parse().unwrap_or(0))
}

/// Volumes that a configuration lists as unused, with their keys.
pub fn unused(config: &Map<String, Value>) -> Vec<(String, String)> {
    let listed = config.iter().filter(|(key, _)| is_unused(key));
    listed.map(|(key, value)| (key.clone(), option::text(value))).collect()
}

/// Size in bytes of the disk that a machine boots from first, as it is written; 0 without a boot order.
pub fn boot_disk_size(guest: &Guest) -> u64 {
    let boot = guest.option("boot").unwrap_or_default();
    let order = boot.split(',').find_map(|part| part.trim().strip_prefix("order=").map(str::to_string));
    let keys: Vec<String> = match order {
        Some(order) => order.split(';').map(str::to_string).collect(),
        None => guest.option("bootdisk").into_iter().collect(),
    };
    let values = keys.iter().filter(|key| is_drive(key)).filter_map(|key| Some((key, guest.config.get(key)?)));
    let mut disks = values.filter_map(|(key, value)| Disk::parse(GuestKind::Vm, key, &option::text(value)));
    disks.find(|disk| !disk.is_cdrom(false)).and_then(|disk| disk.size()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn disks_come_in_proxmox_order() {
        let config = json!({
            "efidisk0": "local:100/vm-100-disk-2.raw,size=528K", "scsi10": "local:b", "scsi2": "local:c",
            "scsihw": "lsi", "ide2": "none,media=cdrom", "name": "x", "unused0": "local:d",
        });
        let config = config.as_object().expect("an object");
        let keys: Vec<String> = drives(GuestKind::Vm, config).into_iter().map(|disk| disk.key).collect();
        assert_eq!(keys, ["ide2", "scsi2", "scsi10", "efidisk0"]);
        assert_eq!(unused(config), [("unused0".to_string(), "local:d".to_string())]);
    }
}

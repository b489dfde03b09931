//! What a storage can do with a volume: snapshots, linked clones, copies, templates.

use super::{GuestKind, Storage, World, drive};

/// A feature that `…/feature` asks about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// Taking snapshots.
    Snapshot,
    /// Linked clones.
    Clone,
    /// Full clones.
    Copy,
}

/// Which state of a volume a feature is asked of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Base,
    Current,
    Snap,
}

/// Whether the storage offers a feature for a volume, or for a snapshot of it.
pub fn volume_has(world: &World, node: &str, volid: &str, feature: Feature, snapshot: Option<&str>) -> bool {
    let Some((id, name)) = volid.split_once(':') else { return false };
    let Some(storage) = world.storages.get(id) else { return false };
    let base = name.rsplit('/').next().unwrap_or(name).starts_with("base-");
    let of = match (snapshot, base) {
        (Some(_), _) => Of::Snap,
        (None, true) => Of::Base,
        (None, false) => Of::Current,
    };
    offers(storage, &format_of(world, node, volid), feature, of)
}

fn offers(storage: &Storage, format: &str, feature: Feature, of: Of) -> bool {
    let chain = storage.option("snapshot-as-volume-chain").as_deref() == Some("1");
    match (storage.plugin().as_str(), feature) {
        ("dir" | "nfs" | "cifs", Feature::Snapshot) => format == "qcow2" && of != Of::Base,
        ("dir" | "nfs" | "cifs", Feature::Clone) => of == Of::Base && format != "subvol",
        ("dir" | "nfs" | "cifs", Feature::Copy) => {
            if of == Of::Snap {
                format == "qcow2"
            } else {
                format != "subvol"
            }
        }
        ("btrfs", Feature::Snapshot) => of != Of::Base && format != "vmdk",
        ("btrfs", Feature::Clone) => of == Of::Base || format == "raw" || format == "subvol",
        ("lvm", Feature::Snapshot) => chain && format == "qcow2" && of != Of::Base,
        ("lvm", Feature::Copy) => of != Of::Snap,
        ("lvmthin", Feature::Snapshot) => of == Of::Current,
        ("lvmthin" | "rbd", Feature::Clone) => of != Of::Current,
        ("zfspool" | "zfs", Feature::Clone) => of == Of::Base,
        ("zfspool" | "zfs", Feature::Copy) => of != Of::Snap,
        ("zfspool" | "zfs" | "rbd", Feature::Snapshot) => of != Of::Base,
        ("btrfs" | "lvmthin" | "rbd", Feature::Copy) => true,
        ("iscsi" | "iscsidirect", Feature::Copy) => of == Of::Current,
        _ => false,
    }
}

/// The format of a volume: as it is known, else as its name tells.
pub fn format_of(world: &World, node: &str, volid: &str) -> String {
    match world.volume(node, volid) {
        Some(volume) if !volume.format.is_empty() => volume.format.clone(),
        _ => match volid.rsplit_once('.') {
            Some((_, suffix @ ("qcow2" | "vmdk" | "raw" | "subvol"))) => suffix.into(),
            _ => "raw".into(),
        },
    }
}

/// Whether every volume of a guest offers a feature; in a snapshot's configuration when one is named.
///
/// # Errors
/// `snapshot 'x' does not exist`.
pub fn guest_has(world: &World, vmid: u32, feature: Feature, snapshot: Option<&str>) -> Result<bool, String> {
    let Some(guest) = world.guests.get(&vmid) else { return Ok(false) };
    let config = match snapshot {
        None => &guest.config,
        Some(name) => &guest.snapshots.get(name).ok_or_else(|| missing(name))?.config,
    };
    let lxc = guest.kind == GuestKind::Lxc;
    let drives = drive::drives(guest.kind, config);
    Ok(drives.iter().filter(|drive| lxc || !drive.cdrom()).all(|drive| {
        let Some(storage) = drive.storage().and_then(|id| world.storages.get(id)) else { return false };
        let files = matches!(storage.plugin().as_str(), "dir" | "nfs" | "cifs");
        match feature {
            // A linked clone on files is an overlay, which a container cannot use.
            Feature::Clone if lxc && files => false,
            // A container's directory is copied file by file, whatever the storage says.
            Feature::Copy if lxc && format_of(world, &guest.node, &drive.volid) == "subvol" => true,
            _ => volume_has(world, &guest.node, &drive.volid, feature, snapshot),
        }
    }))
}

/// Proxmox's text for a snapshot that is not there.
pub fn missing(snapshot: &str) -> String {
    format!("snapshot '{snapshot}' does not exist")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Scenario;

    #[test]
    fn thin_volumes_have_snapshots_and_raw_files_have_none() {
        let mut world = Scenario::one_vm().world;
        assert_eq!(guest_has(&world, 100, Feature::Snapshot, None), Ok(true));
        assert_eq!(guest_has(&world, 100, Feature::Clone, None), Ok(false));
        assert_eq!(guest_has(&world, 100, Feature::Copy, None), Ok(true));
        assert_eq!(guest_has(&world, 100, Feature::Copy, Some("s")), Err("snapshot 's' does not exist".into()));
        let guest = world.guests.get_mut(&100).expect("the guest");
        guest.config.insert("scsi1".into(), json!("local:100/vm-100-disk-1.raw,size=1G"));
        assert_eq!(guest_has(&world, 100, Feature::Snapshot, None), Ok(false));
        let guest = world.guests.get_mut(&100).expect("the guest");
        guest.config.insert("scsi1".into(), json!("local:100/vm-100-disk-1.qcow2,size=1G"));
        assert_eq!(guest_has(&world, 100, Feature::Snapshot, None), Ok(true));
    }
}

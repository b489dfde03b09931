//! What can be done with a volume, by plugin, format and state.

use serde_json::{Map, Value};

use super::name;
use crate::world::disk::disks;
use crate::world::{GuestKind, World};

/// `(feature, states, formats)`: `b` base, `c` current, `s` snapshot; no formats are all of them.
type Row = (&'static str, &'static str, &'static [&'static str]);

const DISKS: &[&str] = &["raw", "qcow2", "vmdk"];
const DIRECTORY: &[Row] = &[
    ("snapshot", "cs", &["qcow2"]),
    ("clone", "b", DISKS),
    ("template", "c", &["raw", "qcow2", "vmdk", "subvol"]),
    ("copy", "bc", DISKS),
    ("copy", "s", &["qcow2"]),
    ("sparseinit", "bc", DISKS),
    ("rename", "c", DISKS),
];
const BTRFS: &[Row] = &[
    ("snapshot", "cs", &["raw", "qcow2", "subvol"]),
    ("clone", "b", &[]),
    ("clone", "cs", &["raw"]),
    ("template", "c", &[]),
    ("copy", "bc", &[]),
    ("copy", "s", &["raw", "qcow2", "subvol"]),
    ("sparseinit", "bc", &[]),
    ("rename", "c", &[]),
];
const LVM: &[Row] = &[("copy", "bc", &[]), ("rename", "c", &[])];
const LVMTHIN: &[Row] = &[
    ("snapshot", "c", &[]),
    ("clone", "bs", &[]),
    ("template", "c", &[]),
    ("copy", "bcs", &[]),
    ("sparseinit", "bc", &[]),
    ("rename", "c", &[]),
];
const ZFS: &[Row] = &[
    ("snapshot", "cs", &[]),
    ("clone", "b", &[]),
    ("template", "c", &[]),
    ("copy", "bc", &[]),
    ("sparseinit", "bc", &[]),
    ("replicate", "bc", &[]),
    ("rename", "c", &[]),
];
const RBD: &[Row] = &[
    ("snapshot", "cs", &[]),
    ("clone", "bs", &[]),
    ("template", "c", &[]),
    ("copy", "bcs", &[]),
    ("sparseinit", "bc", &[]),
    ("rename", "c", &[]),
];
const ISCSI: &[Row] = &[("copy", "c", &[])];

fn table(plugin: &str) -> &'static [Row] {
    match plugin {
        "lvm" => LVM,
        "lvmthin" => LVMTHIN,
        "zfspool" | "zfs" => ZFS,
        "rbd" => RBD,
        "btrfs" => BTRFS,
        "iscsi" | "iscsidirect" => ISCSI,
        _ => DIRECTORY,
    }
}

impl World {
    /// Whether a volume has a feature (`snapshot`, `clone`, `copy`, `template`, `rename` …) in its current state, or in
    /// that of a snapshot. Volumes that no storage manages have none.
    pub fn has_feature(&self, volid: &str, feature: &str, snapshot: Option<&str>) -> bool {
        let Ok((storage, volname)) = name::split(volid) else { return false };
        let Some(storage) = self.storages.get(storage) else { return false };
        let plugin = storage.plugin();
        let Ok(parsed) = name::parse(&plugin, volname) else { return false };
        let state = match snapshot {
            Some(_) => 's',
            None if parsed.is_base => 'b',
            None => 'c',
        };
        let chained = storage.option("snapshot-as-volume-chain").as_deref() == Some("1");
        if plugin == "lvm" && feature == "snapshot" && chained && parsed.format == "qcow2" {
            return true;
        }
        table(&plugin).iter().any(|(name, states, formats)| {
            *name == feature
                && states.contains(state)
                && (formats.is_empty() || formats.contains(&parsed.format.as_str()))
        })
    }

    /// Whether every disk of a configuration has a feature; CD drives do not count.
    pub fn disks_have_feature(
        &self,
        kind: GuestKind,
        config: &Map<String, Value>,
        feature: &str,
        snapshot: Option<&str>,
    ) -> bool {
        let disks = disks(kind, config);
        let mut own = disks.iter().filter(|disk| !disk.is_cdrom(false));
        own.all(|disk| self.has_feature(&disk.volume(), feature, snapshot))
    }
}

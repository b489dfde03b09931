//! Volumes of guests: where they may be, how they are named, allocated, cloned, made a base, grown, handed over, freed.
//!
//! Every function speaks of a storage as one node sees it, answers Proxmox's text when it refuses, and gives the lines
//! that the storage's tools write to a task's log.

mod change;
pub mod feature;
pub mod name;

use std::collections::BTreeSet;

use super::storage::{Storage, Volume};
use super::{GuestKind, World, plugin};

/// What is to be allocated.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewVolume<'a> {
    /// Where.
    pub storage: &'a str,
    /// For whom.
    pub vmid: u32,
    /// `raw`, `qcow2`, `vmdk`, `subvol`; `None` is the storage's default.
    pub format: Option<&'a str>,
    /// A name (`vm-100-cloudinit.qcow2`); `None` is the next free disk.
    pub name: Option<&'a str>,
    /// Size in bytes.
    pub size: u64,
}

/// A new volume id and what the tools wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allocated {
    /// `local-lvm:vm-100-disk-0`.
    pub volid: String,
    /// Lines for the log.
    pub log: Vec<String>,
}

/// What LVM allocates in, in bytes.
pub(crate) const EXTENT: u64 = 4 << 20;

impl World {
    /// A storage that a node may use now.
    ///
    /// # Errors
    /// It does not exist, is disabled, is not for this node, or does not answer there.
    pub fn usable_storage(&self, node: &str, storage: &str) -> Result<&Storage, String> {
        let found = self.storages.get(storage).ok_or_else(|| format!("storage '{storage}' does not exist"))?;
        if found.disabled() {
            return Err(format!("storage '{storage}' is disabled"));
        }
        if !found.on_node(node) {
            return Err(format!("storage '{storage}' is not available on node '{node}'"));
        }
        if found.offline_on.iter().any(|offline| offline == node) {
            return Err(format!("storage '{storage}' is not online"));
        }
        Ok(found)
    }

    /// A volume id taken apart by its storage's plugin.
    ///
    /// # Errors
    /// No volume id, an unknown storage, or a name that the plugin does not know.
    pub fn parse_volume(&self, volid: &str) -> Result<name::VolumeName, String> {
        let (storage, volname) = name::split(volid)?;
        let found = self.storages.get(storage).ok_or_else(|| format!("storage '{storage}' does not exist"))?;
        name::parse(&found.plugin(), volname)
    }

    /// Formats of guests' volumes that a storage knows, its default first.
    pub fn formats(&self, storage: &str) -> &'static [&'static str] {
        match self.storages.get(storage).map(Storage::plugin).unwrap_or_default().as_str() {
            "dir" | "nfs" | "cifs" => &["raw", "qcow2", "vmdk", "subvol"],
            "btrfs" | "zfspool" => &["raw", "subvol"],
            "lvm" => &["raw", "qcow2"],
            _ => &["raw"],
        }
    }

    /// The path of a volume on a node.
    ///
    /// # Errors
    /// As [`World::parse_volume`].
    pub fn volume_path(&self, volid: &str) -> Result<String, String> {
        let (storage_id, volname) = name::split(volid)?;
        let parsed = self.parse_volume(volid)?;
        let Some(storage) = self.storages.get(storage_id) else { return Err(String::new()) };
        let option = |key: &str| storage.option(key).unwrap_or_default();
        Ok(match storage.plugin().as_str() {
            "lvm" | "lvmthin" => format!("/dev/{}/{volname}", option("vgname")),
            "zfspool" if parsed.format == "subvol" => format!("/{}/{}", option("pool"), parsed.name),
            "zfspool" => format!("/dev/zvol/{}/{}", option("pool"), parsed.name),
            "rbd" => format!("rbd:{}/{}", storage.option("pool").unwrap_or_else(|| "rbd".into()), parsed.name),
            "iscsi" => format!("/dev/disk/by-id/{volname}"),
            "pbs" => {
                let user = storage.option("username").unwrap_or_else(|| "root@pam".into());
                format!("pbs://{user}@{}:{}/{}", option("server"), option("datastore"), parsed.name)
            }
            _ => {
                let root = storage.option("path").unwrap_or_else(|| format!("/mnt/pve/{storage_id}"));
                let folder = plugin::folder(storage, parsed.content);
                match parsed.content {
                    "images" => format!("{root}/{folder}/{}/{}", parsed.vmid.unwrap_or_default(), parsed.name),
                    _ => format!("{root}/{folder}/{}", parsed.name),
                }
            }
        })
    }

    /// The next free name of a guest's disk on a storage, without the storage: `vm-100-disk-0`,
    /// `100/vm-100-disk-0.qcow2`, `subvol-100-disk-0`. The number is free among all kinds of the guest's disks.
    pub fn free_disk_name(&self, node: &str, storage: &str, vmid: u32, format: &str) -> String {
        let ending = format!("-{vmid}-disk-");
        // Of `9000/base-9000-disk-0.qcow2/100/vm-100-disk-0.qcow2`, the last name without its extension.
        let number = |volume: &Volume| {
            let last = volume.volid.rsplit(['/', ':']).next().unwrap_or_default();
            let (kind, number) = last.split('.').next().unwrap_or_default().split_once(&ending)?;
            let known = ["vm", "base", "subvol", "basevol"].contains(&kind);
            number.parse::<u32>().ok().filter(|_| known)
        };
        let taken: BTreeSet<u32> = self.volumes_of(node, storage).filter_map(number).collect();
        let number = (0u32..).find(|number| !taken.contains(number)).unwrap_or_default();
        let kind = if format == "subvol" { "subvol" } else { "vm" };
        let name = format!("{kind}-{vmid}-disk-{number}");
        self.in_plugins_form(storage, vmid, &name, format)
    }

    fn in_plugins_form(&self, storage: &str, vmid: u32, name: &str, format: &str) -> String {
        match self.storages.get(storage).map(Storage::plugin).unwrap_or_default().as_str() {
            plugin if name::is_directory(plugin) => format!("{vmid}/{name}.{format}"),
            "lvm" if format == "qcow2" => format!("{name}.qcow2"),
            _ => name.to_string(),
        }
    }

    /// Allocates a volume for a guest.
    ///
    /// # Errors
    /// The storage cannot be used, does not know the format, has no room, or has that name already.
    pub fn allocate(&mut self, now: i64, node: &str, new: NewVolume<'_>) -> Result<Allocated, String> {
        let plugin = self.usable_storage(node, new.storage)?.plugin();
        let formats = self.formats(new.storage);
        let format = new.format.unwrap_or(formats[0]);
        if !formats.contains(&format) {
            return Err(format!("unsupported format '{format}'"));
        }
        let volname = match new.name {
            Some(name) => self.given_name(&plugin, &new, name, format)?,
            None => self.free_disk_name(node, new.storage, new.vmid, format),
        };
        let volid = format!("{}:{volname}", new.storage);
        if self.volume(node, &volid).is_some() {
            let path = self.volume_path(&volid)?;
            return Err(format!("disk image '{path}' already exists"));
        }
        let blocks = matches!(plugin.as_str(), "lvm" | "lvmthin");
        let size = if blocks { new.size.max(1).div_ceil(EXTENT).saturating_mul(EXTENT) } else { new.size };
        if plugin == "lvm"
            && self.storages.get(new.storage).is_none_or(|found| found.full.is_none_or(|times| times == 0))
        {
            let free = self.free_bytes(node, new.storage);
            if size > free {
                return Err(format!("not enough free space ({} < {})", free >> 10, size >> 10));
            }
        }
        let content = if self.guests.get(&new.vmid).is_some_and(|guest| guest.kind == GuestKind::Lxc) {
            "rootdir"
        } else {
            "images"
        };
        let mut log = Vec::new();
        let last = volname.rsplit('/').next().unwrap_or_default();
        if blocks {
            log.push(format!("  Logical volume \"{last}\" created."));
        } else if name::is_directory(&plugin) && format != "subvol" {
            log.push(format_line(&self.volume_path(&volid)?, format, size));
        }
        self.find_room(new.storage, &volid)?;
        let used = if plugin == "lvm" { size } else { 0 };
        let (format, vmid) = (format.to_string(), Some(new.vmid));
        let volume = Volume {
            volid: volid.clone(),
            content: content.into(),
            format,
            size,
            used,
            vmid,
            ctime: now,
            ..Volume::default()
        };
        self.put_volume(node, volume);
        Ok(Allocated { volid, log })
    }

    fn given_name(&self, plugin: &str, new: &NewVolume<'_>, name: &str, format: &str) -> Result<String, String> {
        let prefix = format!("vm-{}-", new.vmid);
        if name::is_directory(plugin) {
            let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
            let readable =
                matches!(extension, "raw" | "qcow2" | "vmdk" | "subvol") && !name.contains(char::is_whitespace);
            if !readable {
                return Err(format!("unable to parse volume filename '{name}'"));
            }
            if extension != format {
                return Err(format!("illegal name '{name}' - wrong extension for format ('{extension} != '{format}')"));
            }
            return Ok(format!("{}/{name}", new.vmid));
        }
        let subvol = format == "subvol" && name.starts_with(&format!("subvol-{}-", new.vmid));
        if !subvol && !name.starts_with(&prefix) {
            let kind = if format == "subvol" { "subvol" } else { "vm" };
            return Err(format!("illegal name '{name}' - should be '{kind}-{}-*'", new.vmid));
        }
        Ok(name.to_string())
    }

    /// Refuses one allocation on a storage that is said to be full, in the words of its tools.
    ///
    /// # Errors
    /// It is full.
    pub(crate) fn find_room(&mut self, storage: &str, volid: &str) -> Result<(), String> {
        if !self.meets_full(storage) {
            return Ok(());
        }
        let Some(found) = self.storages.get(storage) else { return Ok(()) };
        let option = |key: &str| found.option(key).unwrap_or_default();
        let name = volid.rsplit(['/', ':']).next().unwrap_or_default();
        let (group, pool) = (option("vgname"), option("pool"));
        Err(match found.plugin().as_str() {
            "lvm" => format!(
                "lvcreate '{group}/{name}' error:   Volume group \"{group}\" has insufficient free space (0 extents)"
            ),
            "lvmthin" => format!(
                "lvcreate '{group}/{name}' error:   Cannot create new thin volume, free space in thin pool {group}/{} \
                 reached threshold.",
                option("thinpool")
            ),
            "zfspool" => format!("zfs error: cannot create '{pool}/{name}': out of space"),
            "rbd" => format!("rbd create '{name}' error: rbd: create error: (28) No space left on device"),
            _ => {
                let path = self.volume_path(volid)?;
                format!("unable to create image: qemu-img: {path}: No space left on device")
            }
        })
    }

    /// Whether a file has room on a storage. One that is said to be full counts the question.
    pub(crate) fn has_room(&mut self, node: &str, storage: &str, bytes: u64) -> bool {
        !self.meets_full(storage) && bytes <= self.free_bytes(node, storage)
    }

    fn meets_full(&mut self, storage: &str) -> bool {
        let Some(times) = self.storages.get_mut(storage).and_then(|found| found.full.as_mut()) else { return false };
        let left = *times;
        if left != u32::MAX {
            *times = left.saturating_sub(1);
        }
        left > 0
    }

    /// Bytes that are left on a storage.
    pub fn free_bytes(&self, node: &str, storage: &str) -> u64 {
        let size = self.storages.get(storage).map_or(0, |found| found.size);
        size.saturating_sub(self.used(node, storage))
    }

    /// Whether linked clones rest on a volume.
    pub fn has_linked_clones(&self, node: &str, volid: &str) -> bool {
        let Some((storage, _)) = volid.split_once(':') else { return false };
        self.volumes_of(node, storage).any(|other| other.parent.as_deref() == Some(volid))
    }

    /// Frees a volume. One that is not there is freed already.
    ///
    /// # Errors
    /// The storage cannot be used, the volume is protected, or linked clones rest on it.
    pub fn free_volume(&mut self, node: &str, volid: &str) -> Result<Vec<String>, String> {
        let (storage, volname) = name::split(volid)?;
        let plugin = self.usable_storage(node, storage)?.plugin();
        let parsed = name::parse(&plugin, volname)?;
        if self.volume(node, volid).is_some_and(|volume| volume.protected) {
            return Err(format!("cannot remove protected volume '{volname}' on '{storage}'"));
        }
        if parsed.is_base && plugin != "lvmthin" && self.has_linked_clones(node, volid) {
            return Err(format!("base volume '{volname}' is still in use by linked clones"));
        }
        self.take_volume(node, volid);
        Ok(match plugin.as_str() {
            "lvm" | "lvmthin" => vec![format!("  Logical volume \"{volname}\" successfully removed.")],
            _ => Vec::new(),
        })
    }

    /// Every volume on a node's storages that a guest owns.
    pub fn volumes_of_guest(&self, node: &str, vmid: u32) -> Vec<String> {
        let storages = self.storages.iter().filter(|(_, storage)| storage.on_node(node));
        let volumes = storages.flat_map(|(id, _)| self.volumes_of(node, id));
        let own = volumes.filter(|volume| volume.vmid == Some(vmid));
        own.filter(|volume| matches!(volume.content.as_str(), "images" | "rootdir"))
            .map(|volume| volume.volid.clone())
            .collect()
    }
}

/// What qemu-img says when it makes an image.
fn format_line(path: &str, format: &str, size: u64) -> String {
    match format {
        "raw" => format!("Formatting '{path}', fmt=raw size={size} preallocation=off"),
        "qcow2" => format!(
            "Formatting '{path}', fmt=qcow2 cluster_size=65536 extended_l2=off preallocation=metadata \
             compression_type=zlib size={size} lazy_refcounts=off refcount_bits=16"
        ),
        _ => format!("Formatting '{path}', fmt={format} size={size}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;
    use serde_json::json;

    fn world() -> World {
        let dir = json!({"type": "dir", "path": "/var/lib/vz", "content": "images,rootdir"});
        let zfs = json!({"type": "zfspool", "pool": "tank", "content": "images,rootdir"});
        Scenario::empty().storage("files", dir, 1 << 40).storage("tank", zfs, 1 << 40).world
    }

    fn disk<'a>(storage: &'a str, format: Option<&'a str>) -> NewVolume<'a> {
        NewVolume { storage, vmid: 100, format, name: None, size: 1 << 30 }
    }

    #[test]
    fn volumes_are_named_as_each_storage_names_them() {
        let mut world = world();
        let mut volid = |storage, format| world.allocate(0, "pve1", disk(storage, format)).expect("a volume").volid;
        assert_eq!(volid("local-lvm", None), "local-lvm:vm-100-disk-0");
        assert_eq!(volid("local-lvm", None), "local-lvm:vm-100-disk-1");
        assert_eq!(volid("files", Some("qcow2")), "files:100/vm-100-disk-0.qcow2");
        assert_eq!(volid("files", None), "files:100/vm-100-disk-1.raw");
        assert_eq!(volid("files", Some("subvol")), "files:100/subvol-100-disk-2.subvol");
        assert_eq!(volid("tank", Some("subvol")), "tank:subvol-100-disk-0");
        assert_eq!(volid("tank", None), "tank:vm-100-disk-1");
        let refused = world.allocate(0, "pve1", disk("tank", Some("qcow2")));
        assert_eq!(refused, Err("unsupported format 'qcow2'".into()));
        assert_eq!(world.allocate(0, "pve1", disk("x", None)), Err("storage 'x' does not exist".into()));
    }

    #[test]
    fn bases_carry_clones_and_stay_while_they_do() {
        let mut world = world();
        for (storage, expected) in [
            ("files", "files:100/base-100-disk-0.qcow2/101/vm-101-disk-0.qcow2"),
            ("tank", "tank:base-100-disk-0/vm-101-disk-0"),
            ("local-lvm", "local-lvm:vm-101-disk-0"),
        ] {
            let format = (storage == "files").then_some("qcow2");
            let disk = world.allocate(0, "pve1", disk(storage, format)).expect("a volume").volid;
            assert!(!world.has_feature(&disk, "clone", None));
            let base = world.make_base("pve1", &disk).expect("a base").volid;
            assert!(world.has_feature(&base, "clone", None) && world.volume("pve1", &disk).is_none());
            assert_eq!(world.clone_volume(0, "pve1", &base, 101).expect("a clone").volid, expected);
            assert_eq!(world.free_volume("pve1", &base).is_err(), storage != "local-lvm", "{storage}");
        }
    }
}

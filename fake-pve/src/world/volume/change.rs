//! What becomes of a volume that exists: linked clones, bases, growth, another owner.

use super::{Allocated, EXTENT, name};
use crate::world::World;
use crate::world::storage::Volume;

impl World {
    /// A linked clone of a base volume, or of a snapshot where the storage can.
    ///
    /// # Errors
    /// The storage cannot be used, or the volume is not there.
    pub fn clone_volume(&mut self, now: i64, node: &str, volid: &str, vmid: u32) -> Result<Allocated, String> {
        let (storage, volname) = name::split(volid)?;
        let plugin = self.usable_storage(node, storage)?.plugin();
        let base = self.volume(node, volid).cloned().ok_or_else(|| format!("volume '{volid}' does not exist"))?;
        let directory = name::is_directory(&plugin);
        let format = if directory && base.format != "subvol" { "qcow2" } else { base.format.as_str() };
        let own = self.free_disk_name(node, storage, vmid, format);
        let linked = matches!(plugin.as_str(), "zfspool" | "zfs" | "rbd") || directory;
        let new = if linked { format!("{storage}:{volname}/{own}") } else { format!("{storage}:{own}") };
        let own_file = own.rsplit('/').next().unwrap_or_default();
        let log = match plugin.as_str() {
            "lvmthin" => vec![format!("  Logical volume \"{own_file}\" created.")],
            _ if directory => vec![format!(
                "Formatting '{}', fmt=qcow2 cluster_size=131072 extended_l2=on preallocation=metadata \
                 compression_type=zlib size={} backing_file=../{volname} backing_fmt={} lazy_refcounts=off \
                 refcount_bits=16",
                self.volume_path(&new)?,
                base.size,
                base.format
            )],
            _ => Vec::new(),
        };
        let volume = Volume {
            volid: new.clone(),
            format: format.into(),
            used: 0,
            vmid: Some(vmid),
            ctime: now,
            parent: Some(volid.to_string()),
            snapshots: Vec::new(),
            protected: false,
            ..base
        };
        self.put_volume(node, volume);
        Ok(Allocated { volid: new, log })
    }

    /// Makes a volume a base volume: `vm-…` becomes `base-…`.
    ///
    /// # Errors
    /// It is one already, the storage cannot do it, or it is not there.
    pub fn make_base(&mut self, node: &str, volid: &str) -> Result<Allocated, String> {
        let (storage, volname) = name::split(volid)?;
        let found = self.usable_storage(node, storage)?;
        let (plugin, group) = (found.plugin(), found.option("vgname").unwrap_or_default());
        let parsed = name::parse(&plugin, volname)?;
        if parsed.is_base {
            return Err("create_base not possible with base image".into());
        }
        let mut volume = self.volume(node, volid).cloned().ok_or_else(|| format!("volume '{volid}' does not exist"))?;
        let name = match parsed.name.strip_prefix("subvol-").filter(|_| plugin == "zfspool") {
            Some(rest) => format!("basevol-{rest}"),
            None => match parsed.name.split_once('-') {
                Some(("vm", rest)) => format!("base-{rest}"),
                _ => parsed.name.clone(),
            },
        };
        let kept = &volid[..volid.len() - parsed.name.len()];
        let new = format!("{kept}{name}");
        let log = match plugin.as_str() {
            "lvmthin" => vec![
                format!("  Renamed \"{}\" to \"{name}\" in volume group \"{group}\"", parsed.name),
                format!("  Logical volume {group}/{name} changed."),
            ],
            _ => Vec::new(),
        };
        self.take_volume(node, volid);
        volume.volid.clone_from(&new);
        self.put_volume(node, volume);
        Ok(Allocated { volid: new, log })
    }

    /// Sets a volume's size in bytes.
    ///
    /// # Errors
    /// The storage cannot be used, the format cannot be resized, or the volume is not there.
    pub fn grow_volume(&mut self, node: &str, volid: &str, size: u64) -> Result<Vec<String>, String> {
        let (storage, volname) = name::split(volid)?;
        let found = self.usable_storage(node, storage)?;
        let (plugin, group) = (found.plugin(), found.option("vgname").unwrap_or_default());
        let parsed = name::parse(&plugin, volname)?;
        let volume = self.volume_mut(node, volid).ok_or_else(|| format!("volume '{volid}' does not exist"))?;
        let before = volume.size;
        let blocks = matches!(plugin.as_str(), "lvm" | "lvmthin");
        volume.size = if blocks { size.div_ceil(EXTENT).saturating_mul(EXTENT) } else { size };
        if plugin == "lvm" {
            volume.used = volume.size;
        }
        let (before, after) = (before / EXTENT, volume.size / EXTENT);
        Ok(if blocks {
            vec![
                format!(
                    "  Size of logical volume {group}/{volname} changed from {} ({before} extents) to {} ({after} extents).",
                    extents(before),
                    extents(after)
                ),
                format!("  Logical volume {group}/{volname} successfully resized."),
            ]
        } else if name::is_directory(&plugin) && parsed.format != "subvol" {
            vec!["Image resized.".into()]
        } else {
            Vec::new()
        })
    }

    /// Gives a volume to another guest, under its next free name.
    ///
    /// # Errors
    /// The storage cannot be used, or the volume is not there.
    pub fn reassign_volume(&mut self, node: &str, volid: &str, vmid: u32) -> Result<Allocated, String> {
        let (storage, volname) = name::split(volid)?;
        let found = self.usable_storage(node, storage)?;
        let (plugin, group) = (found.plugin(), found.option("vgname").unwrap_or_default());
        let parsed = name::parse(&plugin, volname)?;
        let mut volume = self.volume(node, volid).cloned().ok_or_else(|| format!("volume '{volid}' does not exist"))?;
        let own = self.free_disk_name(node, storage, vmid, &parsed.format);
        let new = match &parsed.base {
            Some(base) => format!("{storage}:{base}/{own}"),
            None => format!("{storage}:{own}"),
        };
        self.take_volume(node, volid);
        (volume.volid, volume.vmid) = (new.clone(), Some(vmid));
        self.put_volume(node, volume);
        let log = match plugin.as_str() {
            "lvm" | "lvmthin" => vec![format!("  Renamed \"{volname}\" to \"{own}\" in volume group \"{group}\"")],
            _ => Vec::new(),
        };
        Ok(Allocated { volid: new, log })
    }
}

/// Extents as LVM says their size: `8.00 GiB`.
fn extents(count: u64) -> String {
    let mib = count as f64 * 4.0;
    if mib >= 1024.0 * 1024.0 {
        format!("{:.2} TiB", mib / 1024.0 / 1024.0)
    } else if mib >= 1024.0 {
        format!("{:.2} GiB", mib / 1024.0)
    } else {
        format!("{mib:.2} MiB")
    }
}

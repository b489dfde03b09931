//! New volumes for containers: which kind each storage gives them, and what making a file system writes to the log.

use super::disk::Disk;
use super::volume::NewVolume;
use super::volume::name::is_directory;
use super::{World, size};

impl World {
    /// Allocates the volume that a mount point asks for (`local-lvm:8`) and puts it in; with the log of it.
    ///
    /// # Errors
    /// The storage cannot be used or does not hold containers, or there is no room.
    pub fn new_mount(&mut self, now: i64, vmid: u32, mount: &Disk) -> Result<(Disk, Vec<String>), String> {
        let Some((storage, gib)) = mount.wants_new() else { return Ok((mount.clone(), Vec::new())) };
        let node = self.guests.get(&vmid).map(|guest| guest.node.clone()).unwrap_or_default();
        let storage = storage.ok_or("no storage ID specified")?;
        let bytes = (gib * (1u64 << 30) as f64) as u64;
        let (volid, log) = self.allocate_mount(now, &node, vmid, &storage, bytes)?;
        let mut mount = mount.clone();
        mount.set_volume(&volid);
        mount.set_size(bytes);
        Ok((mount, log))
    }

    /// Allocates a container's volume of a size in bytes: a directory of its own where the storage has them, else an
    /// image with a file system.
    ///
    /// # Errors
    /// As [`World::new_mount`].
    pub fn allocate_mount(
        &mut self,
        now: i64,
        node: &str,
        vmid: u32,
        storage: &str,
        bytes: u64,
    ) -> Result<(String, Vec<String>), String> {
        let found = self.usable_storage(node, storage)?;
        let plugin = found.plugin();
        if !found.holds("rootdir") {
            return Err(format!("storage '{storage}' does not allow content type 'rootdir' (Container)"));
        }
        let own_directory = plugin == "zfspool" || (is_directory(&plugin) && bytes == 0);
        let format = if own_directory { "subvol" } else { "raw" };
        let new = NewVolume { storage, vmid, format: Some(format), name: None, size: bytes };
        let mut made = self.allocate(now, node, new)?;
        if let Some(volume) = self.volume_mut(node, &made.volid) {
            volume.content = "rootdir".into();
        }
        if !own_directory {
            let blocks = bytes / 4096;
            made.log.push(format!("Creating filesystem with {blocks} 4k blocks and {} inodes", bytes / 16384));
            made.log.push(format!("Filesystem UUID: {}", self.random.uuid()));
            made.log.push("Superblock backups stored on blocks: ".into());
            made.log.push(format!("\t{}", superblocks(blocks)));
        }
        Ok((made.volid, made.log))
    }

    /// What a file system's growth writes to the log.
    pub fn growth_lines(&self, volid: &str, bytes: u64) -> Vec<String> {
        let Ok(path) = self.volume_path(volid) else { return Vec::new() };
        if self.parse_volume(volid).is_ok_and(|parsed| parsed.format == "subvol") {
            return Vec::new();
        }
        vec![
            "resize2fs 1.47.2 (1-Jan-2025)".into(),
            format!("The filesystem on {path} is now {} (4k) blocks long.", bytes / 4096),
        ]
    }
}

/// Where ext4 keeps copies of its superblock: at powers of 3, 5 and 7 of block groups.
fn superblocks(blocks: u64) -> String {
    let powers = |base: u64| std::iter::successors(Some(base), move |power| power.checked_mul(base)).take(12);
    let mut groups: Vec<u64> = std::iter::once(1).chain(powers(3)).chain(powers(5)).chain(powers(7)).collect();
    groups.sort_unstable();
    let places = groups.into_iter().filter_map(|group| group.checked_mul(32_768)).filter(|place| *place < blocks);
    places.map(|place| place.to_string()).collect::<Vec<_>>().join(", ")
}

/// The lines of a copy's beginning and end.
pub fn transfer_lines(bytes: u64) -> [String; 2] {
    let all = size::readable(bytes);
    [format!("transferred 0.0 B of {all} (0.00%)"), format!("transferred {all} of {all} (100.00%)")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn superblocks_lie_where_ext4_puts_them() {
        assert_eq!(superblocks(1_048_576), "32768, 98304, 163840, 229376, 294912, 819200, 884736");
        assert_eq!(transfer_lines(528 << 10)[0], "transferred 0.0 B of 528.0 KiB (0.00%)");
    }
}

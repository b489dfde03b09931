//! Copying volumes: the format at the target, the copy itself, and what it writes to the log.

use std::time::Duration;

use super::stage::Stage;
use crate::world::mount::transfer_lines;
use crate::world::volume::{NewVolume, name};

/// The format of a copy: the wished one, else that of the source, where the target storage knows it; else its default.
pub(crate) fn target_format(stage: &dyn Stage, source: &str, storage: &str, wished: Option<&str>) -> String {
    let formats = stage.world().formats(storage);
    let of_source = stage.world().parse_volume(source).map(|parsed| parsed.format).unwrap_or_default();
    let format = wished.unwrap_or(&of_source);
    formats.iter().find(|known| **known == format).or(formats.first()).map_or("raw", |known| known).to_string()
}

/// Where a copy goes.
pub(crate) struct Target<'a> {
    pub vmid: u32,
    pub storage: &'a str,
    pub format: &'a str,
    /// A name of its own (cloud-init drives).
    pub name: Option<&'a str>,
    /// Size in bytes where it is not that of the source.
    pub size: Option<u64>,
}

/// Copies a volume whole; the new volume id.
///
/// # Errors
/// The source is not there, the target cannot be used or has no room.
pub(crate) fn full(stage: &mut dyn Stage, source: &str, target: &Target<'_>) -> Result<String, String> {
    let (now, node) = (stage.time(), stage.at());
    let volume = stage.world().volume(&node, source).cloned();
    let volume = volume.ok_or_else(|| format!("volume '{source}' does not exist"))?;
    let size = target.size.unwrap_or(volume.size);
    if !stage.world_mut().has_room(&node, target.storage, volume.used) {
        return Err(format!(
            "copy failed: {}: No space left on device",
            stage.world().volume_path(source).unwrap_or_default()
        ));
    }
    let new =
        NewVolume { storage: target.storage, vmid: target.vmid, format: Some(target.format), name: target.name, size };
    let made = stage.world_mut().allocate(now, &node, new)?;
    stage.tell_all(&made.log);
    stage.tell(&format!("allocated target volume '{}'", made.volid));
    if target.name.is_none() {
        stage.tell_all(&transfer_lines(size));
    }
    if let Some(copy) = stage.world_mut().volume_mut(&node, &made.volid) {
        copy.used = copy.used.max(volume.used);
        copy.content = volume.content;
    }
    Ok(made.volid)
}

/// How long a copy of some bytes takes: a tenth of a second for each GiB, between half a
/// second and ten minutes. Clients that never
/// look at a task but come back after a moment shall find it done.
pub(crate) fn duration(bytes: u64) -> Duration {
    Duration::from_millis((500 + (bytes >> 30) * 100).min(600_000))
}

/// The name of a guest's cloud-init drive on a storage.
pub(crate) fn cloudinit_name(stage: &dyn Stage, vmid: u32, storage: &str, format: &str) -> String {
    let plugin = stage.world().storages.get(storage).map(|storage| storage.plugin()).unwrap_or_default();
    if name::is_directory(&plugin) { format!("vm-{vmid}-cloudinit.{format}") } else { format!("vm-{vmid}-cloudinit") }
}

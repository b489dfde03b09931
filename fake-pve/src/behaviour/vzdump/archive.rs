//! What a backup holds: which disks, under which name, how big, with which notes.

use std::collections::BTreeMap;

use serde_json::json;

use super::options::Options;
use crate::world::disk::{self, Disk};
use crate::world::{Guest, GuestKind, Volume, World, digest, option};

/// In the state of the guest that a backup holds: keys of the disks that it left out.
pub(crate) const NOT_IN_BACKUP: &str = "not-in-backup";

/// A disk of a guest and whether it goes into the backup.
pub(crate) struct Part {
    pub disk: Disk,
    pub included: bool,
    /// Size of the volume in bytes.
    pub size: u64,
    /// What it holds, in bytes.
    pub used: u64,
}

/// Whether a disk goes into a backup: drives unless they say no, the root and those mount points that say yes.
pub(crate) fn is_included(disk: &Disk) -> bool {
    let backup = disk.get("backup");
    let on = |value: &str| matches!(value, "1" | "yes" | "on" | "true");
    match disk.kind {
        GuestKind::Vm => !disk.is_cdrom(false) && !disk.is_cloudinit() && backup.is_none_or(|value| on(&value)),
        GuestKind::Lxc if disk.key == "rootfs" => true,
        GuestKind::Lxc => disk.mount_type() == "volume" && backup.is_some_and(|value| on(&value)),
    }
}

/// Why a disk goes in or stays out, as the lists of included volumes say it.
pub(crate) fn reason(disk: &Disk) -> &'static str {
    match (disk.kind, is_included(disk)) {
        (GuestKind::Vm, _) if disk.is_cdrom(false) || disk.is_cloudinit() => "CD-ROM/DVD drive",
        (GuestKind::Vm, true) => "backup=yes",
        (GuestKind::Vm, false) => "backup=no",
        (GuestKind::Lxc, true) if disk.key == "rootfs" => "rootfs",
        (GuestKind::Lxc, true) => "enabled",
        (GuestKind::Lxc, false) if disk.mount_type() != "volume" => "not a volume",
        (GuestKind::Lxc, false) => "disabled",
    }
}

/// The disks of a guest with their volumes.
///
/// # Errors
/// A volume that should go in is not there, or its storage cannot be used.
pub(crate) fn parts(world: &World, guest: &Guest) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    for disk in disk::disks(guest.kind, &guest.config) {
        if disk.is_cdrom(false) || disk.is_cloudinit() {
            continue;
        }
        let (included, volid) = (is_included(&disk), disk.volume());
        let volume = world.volume(&guest.node, &volid);
        if included {
            let storage = volid.split(':').next().unwrap_or_default();
            world.usable_storage(&guest.node, storage)?;
            if volume.is_none() {
                return Err(format!("no such volume '{volid}'"));
            }
        }
        let (size, used) = volume.map_or((0, 0), |volume| (volume.size, volume.used.min(volume.size)));
        parts.push(Part { disk, included, size, used });
    }
    Ok(parts)
}

/// The archive of a backup that is done.
pub(crate) struct Archive {
    pub volid: String,
    /// What logs call it: a path, or `vm/100/…` on a backup server.
    pub target: String,
    pub format: String,
    pub on_server: bool,
}

/// Where the archive of a guest goes.
///
/// # Errors
/// The storage or folder cannot be used.
pub(crate) fn place(world: &World, options: &Options, guest: &Guest, now: i64) -> Result<Archive, String> {
    let storage = options.storage.clone().unwrap_or_default();
    let found = world.storages.get(&storage).ok_or_else(|| format!("storage '{storage}' does not exist"))?;
    let time = jiff::Timestamp::from_second(now).unwrap_or_default();
    if found.plugin() == "pbs" {
        let kind = if guest.kind == GuestKind::Vm { "vm" } else { "ct" };
        let target = format!("{kind}/{}/{}", guest.vmid, time.strftime("%Y-%m-%dT%H:%M:%SZ"));
        let volid = format!("{storage}:backup/{target}");
        return Ok(Archive { volid, target, format: format!("pbs-{kind}"), on_server: true });
    }
    let mut format = if guest.kind == GuestKind::Vm { "vma" } else { "tar" }.to_string();
    if let Some(compression) = options.compression {
        format.push_str(&format!(".{compression}"));
    }
    let stamp = time.strftime("%Y_%m_%d-%H_%M_%S");
    let name = format!("vzdump-{}-{}-{stamp}.{format}", guest.kind.noun(), guest.vmid);
    let volid = format!("{storage}:backup/{name}");
    Ok(Archive { target: world.volume_path(&volid)?, volid, format, on_server: false })
}

/// How big an archive of some bytes gets.
pub(crate) fn packed(used: u64, compression: Option<&str>) -> u64 {
    let percent = match compression {
        Some("zst") => 38,
        Some("gz") => 40,
        Some("lzo") => 55,
        _ => 100,
    };
    4096 + used / 100 * percent
}

/// The volume of a backup: the guest as it was, without what a backup does not hold.
pub(crate) fn volume(archive: &Archive, guest: &Guest, size: u64, now: i64) -> Volume {
    let mut held = guest.clone();
    for key in ["lock", "parent"] {
        held.config.shift_remove(key);
    }
    (held.pending, held.pending_delete) = Default::default();
    held.snapshots = BTreeMap::new();
    held.agent = Default::default();
    held.power_off();
    let left_out: Vec<String> = disk::disks(guest.kind, &guest.config)
        .iter()
        .filter(|disk| !is_included(disk) && !disk.is_cdrom(false) && disk.mount_type() == "volume")
        .map(|disk| disk.key.clone())
        .collect();
    held.state = [(NOT_IN_BACKUP.to_string(), json!(left_out))].into();
    Volume {
        volid: archive.volid.clone(),
        content: "backup".into(),
        format: archive.format.clone(),
        size,
        used: size,
        vmid: Some(guest.vmid),
        ctime: now,
        payload: serde_json::to_value(&held).ok(),
        ..Volume::default()
    }
}

/// Notes from their template.
pub(crate) fn notes(world: &World, template: &str, guest: &Guest) -> String {
    let name = option::text(&json!(guest.name()));
    let cluster = world.cluster.clone().unwrap_or_else(|| "standalone node".into());
    let mut text = String::new();
    let mut rest = template.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => text.push(if rest.next() == Some('n') { '\n' } else { '\\' }),
            other => text.push(other),
        }
    }
    let vmid = guest.vmid.to_string();
    let values = [("cluster", cluster.as_str()), ("guestname", &name), ("node", &guest.node), ("vmid", &vmid)];
    values.iter().fold(text, |text, (key, value)| text.replace(&format!("{{{{{key}}}}}"), value))
}

/// A uuid for a backup task that follows from what it is.
pub(crate) fn task_id(guest: &Guest, now: i64) -> String {
    let hex = digest(&json!([guest.vmid, now]));
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..32]].join("-")
}

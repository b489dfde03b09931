//! Making what drives ask for: new disks, imports, EFI and TPM state, cloud-init drives, sizes of volumes that exist.

use serde_json::{Map, Value};

use super::{drive, volume_at};
use crate::behaviour::Failure;
use crate::behaviour::guest::access::check_volume;
use crate::behaviour::guest::stage::Stage;
use crate::world::disk::{Disk, disks, is_drive};
use crate::world::mount::transfer_lines;
use crate::world::volume::{NewVolume, name};
use crate::world::{GuestKind, option};

/// Size of a cloud-init drive and of TPM state, in bytes.
pub(crate) const SMALL: u64 = 4 << 20;

/// Size of the variable store that comes with the firmware, in bytes.
const EFI: u64 = 528 << 10;

/// For whom disks are made, and what counts as already there.
pub(crate) struct Owner<'a> {
    pub vmid: u32,
    /// Active and pending options of the machine.
    pub present: &'a Map<String, Value>,
    /// The storage of disks that name none.
    pub default_storage: Option<&'a str>,
    /// Whether new disks become base volumes at once.
    pub template: bool,
}

/// Makes the drives among `wanted`, in the order of their keys, and answers them as they are stored. When one cannot be
/// made, those before it are freed again.
///
/// # Errors
/// Why a drive cannot be made.
pub(crate) fn create(
    stage: &mut dyn Stage,
    owner: &Owner<'_>,
    wanted: &Map<String, Value>,
) -> Result<Map<String, Value>, Failure> {
    let mut keys: Vec<&String> = wanted.keys().filter(|key| is_drive(key)).collect();
    keys.sort();
    let (mut done, mut made) = (Map::new(), Vec::new());
    for key in keys {
        let Some(disk) = drive(key, &wanted[key]) else { continue };
        match create_one(stage, owner, disk, &done, &mut made) {
            Ok(disk) => done.insert(key.clone(), disk.print().into()),
            Err(failure) => {
                let node = stage.at();
                for volid in made {
                    let _freed = stage.world_mut().free_volume(&node, &volid);
                }
                return Err(failure);
            }
        };
    }
    Ok(done)
}

fn create_one(
    stage: &mut dyn Stage,
    owner: &Owner<'_>,
    mut disk: Disk,
    done: &Map<String, Value>,
    made: &mut Vec<String>,
) -> Result<Disk, Failure> {
    let volume = disk.volume();
    if matches!(volume.as_str(), "" | "none" | "cdrom") {
        disk.take("size");
        return Ok(disk);
    }
    if volume.rsplit(':').next() == Some("cloudinit") {
        cloudinit(stage, owner, &mut disk, done, made)?;
    } else if let Some((storage, gib)) = disk.wants_new().filter(|_| !disk.is_cdrom(false)) {
        let storage = storage.or_else(|| owner.default_storage.map(str::to_string));
        let storage = storage.ok_or("no storage ID specified (and no default storage)")?;
        let bytes = (gib * (1u64 << 30) as f64) as u64;
        new_disk(stage, owner, &mut disk, &storage, bytes, made)?;
    } else {
        return existing(stage, owner, disk);
    }
    let line = format!("{}: successfully created disk '{}'", disk.key, disk.print());
    stage.tell(&line);
    Ok(disk)
}

fn cloudinit(
    stage: &mut dyn Stage,
    owner: &Owner<'_>,
    disk: &mut Disk,
    done: &Map<String, Value>,
    made: &mut Vec<String>,
) -> Result<(), Failure> {
    let volume = disk.volume();
    let storage = volume.split_once(':').map(|(storage, _)| storage.to_string());
    let storage = storage.or_else(|| owner.default_storage.map(str::to_string));
    let storage = storage.ok_or("no storage ID specified (and no default storage)")?;
    let there = [owner.present, done].into_iter().flat_map(|config| disks(GuestKind::Vm, config));
    if let Some(other) = there.into_iter().find(|other| other.key != disk.key && other.is_cloudinit()) {
        let text = format!("{} - cloud-init drive is already attached at '{}'", disk.key, other.key);
        return Err(Failure::die(text));
    }
    let found = stage.world().storages.get(&storage);
    let plugin = found.ok_or_else(|| format!("storage '{storage}' does not exist"))?.plugin();
    let in_files = name::is_directory(&plugin);
    let format = disk.take("format").unwrap_or_else(|| if in_files { "qcow2" } else { "raw" }.into());
    let mut own = format!("vm-{}-cloudinit", owner.vmid);
    if in_files {
        own.push_str(&format!(".{format}"));
    }
    let new = NewVolume { storage: &storage, vmid: owner.vmid, format: Some(&format), name: Some(&own), size: SMALL };
    let (now, node) = (stage.time(), stage.at());
    let allocated = stage.world_mut().allocate(now, &node, new)?;
    stage.tell_all(&allocated.log);
    disk.set_volume(&allocated.volid);
    disk.set("media", "cdrom");
    made.push(allocated.volid);
    Ok(())
}

fn new_disk(
    stage: &mut dyn Stage,
    owner: &Owner<'_>,
    disk: &mut Disk,
    storage: &str,
    bytes: u64,
    made: &mut Vec<String>,
) -> Result<(), Failure> {
    let (now, node) = (stage.time(), stage.at());
    let source = match disk.take("import-from") {
        Some(source) => Some(import_source(stage, &source)?),
        None => None,
    };
    let size = match (disk.key.as_str(), &source) {
        (_, Some((size, _))) => *size,
        ("efidisk0", None) => EFI,
        ("tpmstate0", None) => SMALL,
        _ => bytes,
    };
    let format = disk.take("format").filter(|_| disk.key != "tpmstate0");
    let default = stage.world().formats(storage).first().copied();
    let format = if disk.key == "tpmstate0" { Some("raw".to_string()) } else { format.or(default.map(String::from)) };
    let new = NewVolume { storage, vmid: owner.vmid, format: format.as_deref(), name: None, size };
    let allocated = stage.world_mut().allocate(now, &node, new)?;
    stage.tell_all(&allocated.log);
    let mut volid = allocated.volid;
    if let Some((_, used)) = source
        && let Some(volume) = stage.world_mut().volume_mut(&node, &volid)
    {
        volume.used = used.max(volume.used);
    }
    if disk.key == "efidisk0" || source.is_some() {
        stage.tell_all(&transfer_lines(size));
    }
    let real = stage.world().volume(&node, &volid).map_or(size, |volume| volume.size);
    if owner.template && stage.world().has_feature(&volid, "template", None) {
        volid = stage.world_mut().make_base(&node, &volid)?.volid;
    }
    disk.set_volume(&volid);
    disk.set_size(if disk.key == "efidisk0" { real } else { size });
    if disk.key == "efidisk0" && disk.get("pre-enrolled-keys").as_deref() == Some("1") && disk.get("ms-cert").is_none()
    {
        disk.set("ms-cert", "2023k");
    }
    made.push(volid);
    Ok(())
}

/// Size and used bytes of what is imported.
fn import_source(stage: &dyn Stage, source: &str) -> Result<(u64, u64), Failure> {
    let volid = match name::split(source) {
        Ok(_) => source.to_string(),
        Err(_) => volume_at(stage, source).ok_or_else(|| format!("can't find file '{source}'"))?,
    };
    let found = stage.world().volume(&stage.at(), &volid);
    let volume = found.ok_or_else(|| format!("volume '{volid}' does not exist"))?;
    Ok((volume.size, volume.used))
}

/// A volume that exists: its size is looked up when it is new in this place.
fn existing(stage: &mut dyn Stage, owner: &Owner<'_>, mut disk: Disk) -> Result<Disk, Failure> {
    let volume = disk.volume();
    check_volume(stage, owner.vmid, &volume, None)?;
    let before = owner.present.get(&disk.key).and_then(|value| drive(&disk.key, value));
    if before.is_some_and(|before| before.volume() == volume) {
        return Ok(disk);
    }
    let node = stage.at();
    let size = match name::split(&volume) {
        Ok((storage, _)) => {
            let group = stage.world().usable_storage(&node, storage)?.option("vgname");
            let found = stage.world().volume(&node, &volume).map(|found| found.size);
            match (found, group) {
                (Some(size), _) => size,
                (None, Some(group)) => {
                    let name = volume.rsplit(':').next().unwrap_or_default();
                    return Err(Failure::die(format!("no such logical volume {group}/{name}")));
                }
                (None, None) => return Err(Failure::die(format!("volume '{volume}' does not exist"))),
            }
        }
        Err(_) => device_size(stage, &node, &volume)?,
    };
    disk.set_size(size);
    Ok(disk)
}

fn device_size(stage: &dyn Stage, node: &str, path: &str) -> Result<u64, Failure> {
    let device = stage.world().nodes.get(node).and_then(|node| node.disks.get(path));
    let size = device.and_then(|device| device.get("size")).map(option::text).and_then(|size| size.parse().ok());
    size.ok_or_else(|| Failure::die(format!("volume {path} does not exist")))
}

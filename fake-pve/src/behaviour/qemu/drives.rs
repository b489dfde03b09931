//! Drives that parameters name: reading them, who may use what they name, making what they ask for.

mod create;

use serde_json::{Map, Value};

use crate::behaviour::Failure;
use crate::behaviour::guest::access::check_volume;
use crate::behaviour::guest::stage::Stage;
use crate::world::disk::{Disk, is_drive, is_unused};
use crate::world::volume::name;
use crate::world::{GuestKind, option};

pub(crate) use create::{Owner, SMALL, create};

/// `cdrom` is another name of `ide2`.
pub(crate) fn resolve_cdrom(param: &mut Map<String, Value>) {
    if let Some(value) = param.shift_remove("cdrom") {
        let text = option::text(&value);
        let text = if text.contains("media=") { text } else { format!("{text},media=cdrom") };
        param.insert("ide2".into(), text.into());
    }
}

/// A drive option taken apart.
pub(crate) fn drive(key: &str, value: &Value) -> Option<Disk> {
    Disk::parse(GuestKind::Vm, key, &option::text(value))
}

/// Reads every drive and puts it in its plain form.
///
/// # Errors
/// 400 by drive: it cannot be read, or `import-from` stands where it may not.
pub(crate) fn check_params(stage: &dyn Stage, param: &mut Map<String, Value>) -> Result<(), Failure> {
    let mut keys: Vec<String> = param.keys().filter(|key| is_drive(key)).cloned().collect();
    keys.sort();
    for key in keys {
        let Some(mut disk) = drive(&key, &param[&key]) else {
            return Err(Failure::param(&key, "unable to parse drive options"));
        };
        check_import(&disk)?;
        let volume = disk.volume();
        if matches!(volume.as_str(), "cdrom" | "none") {
            if disk.get("media").is_none() {
                disk.set("media", "cdrom");
            }
        } else if !volume.starts_with("/dev/") && !volume.contains(':') && disk.wants_new().is_none() {
            let volid = volume_at(stage, &volume)
                .ok_or_else(|| Failure::param(&key, format!("unable to associate path '{volume}' to any storage")))?;
            disk.set_volume(&volid);
        }
        param.insert(key, disk.print().into());
    }
    Ok(())
}

fn check_import(disk: &Disk) -> Result<(), Failure> {
    if disk.get("import-from").is_none() {
        return Ok(());
    }
    if disk.wants_new().is_none_or(|(_, size)| size != 0.0) {
        let text = "'import-from' requires special syntax - use <storage ID>:0,import-from=<source>";
        return Err(Failure::param(&disk.key, text));
    }
    let needed: &[&str] = match disk.key.as_str() {
        "efidisk0" => &["efitype", "pre-enrolled-keys"],
        "tpmstate0" => &["version"],
        _ => &[],
    };
    match needed.iter().find(|name| disk.get(name).is_none()) {
        Some(name) => Err(Failure::param(&disk.key, format!("need to specify '{name}' when using 'import-from'"))),
        None => Ok(()),
    }
}

/// The volume that lies at a path of the node.
pub(crate) fn volume_at(stage: &dyn Stage, path: &str) -> Option<String> {
    let world = stage.world();
    let node = stage.at();
    let storages = world.storages.iter().filter(|(_, storage)| storage.on_node(&node));
    let mut volumes = storages.flat_map(|(id, _)| world.volumes_of(&node, id));
    volumes
        .find(|volume| world.volume_path(&volume.volid).is_ok_and(|at| at == path))
        .map(|volume| volume.volid.clone())
}

/// Refuses volumes, storages and devices that the caller may not use.
pub(crate) fn check_access(
    stage: &dyn Stage,
    vmid: u32,
    param: &Map<String, Value>,
    default_storage: Option<&str>,
) -> Result<(), Failure> {
    let mut keys: Vec<&String> = param.keys().filter(|key| is_drive(key) || is_unused(key)).collect();
    keys.sort();
    for key in keys {
        if let Some(disk) = drive(key, &param[key]) {
            check_one(stage, vmid, &disk, default_storage)?;
        }
    }
    if let Some(storage) = param.get("vmstatestorage") {
        stage.need(&format!("/storage/{}", option::text(storage)), &["Datastore.AllocateSpace"])?;
    }
    Ok(())
}

fn check_one(stage: &dyn Stage, vmid: u32, disk: &Disk, default_storage: Option<&str>) -> Result<(), Failure> {
    let volume = disk.volume();
    let cdrom = disk.is_cdrom(false);
    let new = disk.wants_new().filter(|_| !cdrom && !is_unused(&disk.key));
    if volume.is_empty() || volume == "none" || volume.rsplit(':').next() == Some("cloudinit") {
    } else if cdrom && volume == "cdrom" {
        stage.need("/", &["Sys.Console"])?;
    } else if let Some((storage, _)) = new {
        let storage = storage.or_else(|| default_storage.map(str::to_string));
        let storage = storage.ok_or("no storage ID specified (and no default storage)")?;
        stage.need(&format!("/storage/{storage}"), &["Datastore.AllocateSpace"])?;
        let found = stage.world().storages.get(&storage);
        let found = found.ok_or_else(|| format!("storage '{storage}' does not exist"))?;
        if !found.holds("images") {
            return Err(Failure::param("storage", format!("storage '{storage}' does not support vm images")));
        }
    } else {
        check_volume(stage, vmid, &volume, None)?;
        let iso = stage.world().parse_volume(&volume).is_ok_and(|parsed| parsed.content == "iso");
        if iso && !cdrom {
            return Err(Failure::param(&disk.key, "explicit 'media=cdrom' is required for iso images"));
        }
    }
    match disk.get("import-from") {
        Some(source) => check_source(stage, vmid, &disk.key, &source),
        None => Ok(()),
    }
}

fn check_source(stage: &dyn Stage, vmid: u32, key: &str, source: &str) -> Result<(), Failure> {
    if name::split(source).is_err() {
        return check_volume(stage, vmid, source, None);
    }
    let parsed = stage.world().parse_volume(source)?;
    if !matches!(parsed.content, "images" | "import") {
        let text = format!("{source} has wrong type '{}' - needs to be 'images' or 'import'", parsed.content);
        return Err(Failure::param(key, text));
    }
    match parsed.vmid {
        Some(owner) => stage.need(&format!("/vms/{owner}"), &["VM.Clone"]),
        None => check_volume(stage, vmid, source, None),
    }
}

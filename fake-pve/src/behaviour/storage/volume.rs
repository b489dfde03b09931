//! Volumes as calls name them, and who may touch which.

use serde_json::{Map, Value, json};

use crate::behaviour::{Call, Failure};
use crate::world::volume::name;
use crate::world::{GuestKind, Volume, World};

/// The full volume id of a parameter: a full one must be of the path's storage, a bare name is taken as one of it.
///
/// # Errors
/// 400 on `volume`.
pub(crate) fn full_id(storage: Option<&str>, volume: &str) -> Result<String, Failure> {
    if !volume.contains(':') {
        let text = "no storage specified - incomplete volume ID";
        return storage.map(|storage| format!("{storage}:{volume}")).ok_or_else(|| Failure::param("volume", text));
    }
    let (own, _) = name::split(volume).map_err(|text| Failure::param("volume", format!("{text}\n")))?;
    match storage {
        Some(storage) if own != storage => {
            Err(Failure::param("volume", format!("storage ID mismatch ({own} != {storage})\n")))
        }
        _ => Ok(volume.to_string()),
    }
}

/// Whether the caller may use a volume, on behalf of a guest or of none; `wanted` is the content type it must have.
///
/// # Errors
/// The name cannot be read, the content is another one (500), or a privilege lacks (403, or 500 where nothing would do).
pub(crate) fn check_access(
    call: &Call<'_>,
    vmid: Option<u32>,
    volid: &str,
    wanted: Option<&str>,
) -> Result<(), Failure> {
    let Ok((storage, _)) = name::split(volid) else {
        let text = "Only root can pass arbitrary filesystem paths.";
        return if call.is_root() { Ok(()) } else { Err(Failure::die(text)) };
    };
    let parsed = call.world.parse_volume(volid)?;
    let fits = |wanted: &str| parsed.content == wanted || (wanted == "rootdir" && parsed.content == "images");
    if let Some(wanted) = wanted.filter(|wanted| !fits(wanted)) {
        return Err(Failure::die(format!("unable to use volume {volid} - content type needs to be '{wanted}'")));
    }
    let path = format!("/storage/{storage}");
    if call.may(&path, &["Datastore.Allocate"]) {
        return Ok(());
    }
    match (parsed.content, parsed.vmid) {
        ("iso" | "vztmpl" | "import", _) => require_any(call, &path, &["Datastore.AllocateSpace", "Datastore.Audit"]),
        (_, Some(owner)) if Some(owner) == vmid => Ok(()),
        ("backup", Some(owner)) => {
            call.require(&path, &["Datastore.AllocateSpace"])?;
            call.require(&format!("/vms/{owner}"), &["VM.Backup"])
        }
        ("images" | "rootdir", Some(owner)) => {
            call.require(&path, &["Datastore.Audit"])?;
            call.require(&format!("/vms/{owner}"), &["VM.Config.Disk"])
        }
        _ => Err(Failure::die(format!("missing privileges to access {volid}"))),
    }
}

/// Refuses unless the caller holds one of some privileges.
///
/// # Errors
/// 403 that names them all.
pub(crate) fn require_any(call: &Call<'_>, path: &str, privileges: &[&str]) -> Result<(), Failure> {
    if call.may(path, privileges) { Ok(()) } else { Err(Failure::denied(&format!("{path}, {}", privileges.join("|")))) }
}

/// What a volume of guests counts as: containers' own are `rootdir`.
pub(crate) fn content_of(world: &World, volume: &Volume) -> String {
    let disk = matches!(volume.content.as_str(), "images" | "rootdir");
    let owner = volume.vmid.and_then(|vmid| world.guests.get(&vmid)).map(|guest| guest.kind);
    match owner {
        Some(GuestKind::Lxc) if disk => "rootdir".into(),
        _ if disk => "images".into(),
        _ => volume.content.clone(),
    }
}

/// A volume as lists of content show it.
pub(crate) fn item(world: &World, plugin: &str, volume: &Volume) -> Value {
    let content = content_of(world, volume);
    let mut item = Map::new();
    let mut set = |key: &str, value: Value| item.insert(key.to_string(), value);
    set("volid", json!(volume.volid));
    set("content", json!(content));
    set("format", json!(volume.format));
    set("size", json!(volume.size));
    set("ctime", json!(volume.ctime));
    if let Some(vmid) = volume.vmid {
        set("vmid", json!(vmid));
    }
    match content.as_str() {
        "images" | "rootdir" => {
            let parent = volume.parent.as_deref().and_then(|parent| parent.split_once(':')).map(|(_, name)| name);
            if name::is_directory(plugin) || plugin.starts_with("zfs") {
                set("parent", json!(parent));
            } else if let Some(parent) = parent {
                set("parent", json!(parent));
            }
            if name::is_directory(plugin) {
                set("used", json!(volume.used));
            }
        }
        "backup" => {
            set("subtype", json!(subtype(&volume.volid)));
            if let Some(notes) = volume.notes.as_deref().filter(|notes| !notes.is_empty()) {
                set("notes", json!(notes.lines().next().unwrap_or_default()));
            }
            if volume.protected {
                set("protected", json!(1));
            }
        }
        _ => {}
    }
    Value::Object(item)
}

/// What a backup is of: `qemu`, `lxc` or `unknown`.
pub(crate) fn subtype(volid: &str) -> &'static str {
    let last = volid.split_once("backup/").map_or(volid, |(_, name)| name);
    if last.starts_with("vzdump-qemu-") || last.starts_with("vm/") {
        "qemu"
    } else if last.starts_with("vzdump-lxc-") || last.starts_with("vzdump-openvz-") || last.starts_with("ct/") {
        "lxc"
    } else {
        "unknown"
    }
}

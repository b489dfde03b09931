//! `/nodes/{node}/storage/{storage}/content`: volumes of a storage.

use std::time::Duration;

use serde_json::{Value, json};

use super::volume::{check_access, content_of, full_id, item, subtype};
use crate::access;
use crate::behaviour::{Answer, Call, Data, Failure};
use crate::work::Run;
use crate::world::volume::{NewVolume, name};
use crate::world::{Volume, World};

/// `GET /nodes/{node}/storage/{storage}/content`: what the caller may use of it.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let (node, id) = (call.node(), call.params.text("storage"));
    let vmid = call.params.int("vmid").and_then(|vmid| u32::try_from(vmid).ok());
    let wanted = call.params.get("content");
    let storage = call.world.usable_storage(&node, &id)?;
    let (plugin, world) = (storage.plugin(), &*call.world);
    let shown = |volume: &&Volume| {
        let content = content_of(world, volume);
        let of_guest = match content.as_str() {
            "iso" | "vztmpl" => vmid.is_none(),
            "images" | "rootdir" | "backup" => vmid.is_none() || volume.vmid == vmid,
            _ => true,
        };
        storage.holds(&content)
            && wanted.as_ref().is_none_or(|wanted| *wanted == content)
            && of_guest
            && check_access(call, None, &volume.volid, None).is_ok()
    };
    let volumes = world.volumes_of(&node, &id).filter(shown);
    Ok(volumes.map(|volume| item(world, &plugin, volume)).collect::<Vec<_>>().into())
}

/// `POST /nodes/{node}/storage/{storage}/content`: allocates a disk image.
pub(crate) fn allocate(call: &mut Call<'_>) -> Answer {
    let (node, storage) = (call.node(), call.params.text("storage"));
    let (filename, size) = (call.params.text("filename"), call.params.text("size"));
    let number = |digits: &str| digits.parse::<u64>().ok();
    let kib = match size.strip_suffix(['M', 'G']) {
        Some(digits) if size.ends_with('M') => number(digits).map(|mib| mib << 10),
        Some(digits) => number(digits).map(|gib| gib << 20),
        None => number(&size),
    };
    let kib = kib.ok_or_else(|| Failure::param("size", format!("unable to parse size '{size}'")))?;
    let mut format = call.params.get("format");
    let extension = filename.rsplit_once('.').map(|(_, extension)| extension.to_string());
    if let Some(extension) = extension.filter(|extension| ["raw", "qcow2", "vmdk"].contains(&extension.as_str())) {
        if let Some(format) = format.filter(|format| *format != extension) {
            let text = format!("different storage formats ({format} != {extension})");
            return Err(Failure::param("format", text));
        }
        format = Some(extension);
    }
    let new = NewVolume {
        storage: &storage,
        vmid: call.vmid(),
        format: format.as_deref(),
        name: Some(filename.as_str()).filter(|name| !name.is_empty()),
        size: kib << 10,
    };
    let now = call.now();
    Ok(json!(call.world.allocate(now, &node, new)?.volid).into())
}

/// `GET /nodes/{node}/storage/{storage}/content/{volume}`.
pub(crate) fn info(call: &mut Call<'_>) -> Answer {
    let volid = full_id(call.params.get("storage").as_deref(), &call.params.text("volume"))?;
    check_access(call, None, &volid, None)?;
    let path = call.world.volume_path(&volid)?;
    let parsed = call.world.parse_volume(&volid)?;
    let volume = call.world.volume(&call.node(), &volid);
    let volume = volume.ok_or_else(|| Failure::die(format!("volume_size_info on '{volid}' failed - no format")))?;
    let format = match parsed.content {
        "images" | "rootdir" | "import" => volume.format.as_str(),
        _ => "raw",
    };
    let mut info = json!({"path": path, "size": volume.size, "used": volume.used, "format": format});
    if parsed.content == "backup" {
        info["notes"] = json!(volume.notes.clone().unwrap_or_default());
        info["protected"] = json!(i32::from(volume.protected));
    }
    Ok(info.into())
}

/// `PUT /nodes/{node}/storage/{storage}/content/{volume}`: notes and protection of backups.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    let volid = full_id(call.params.get("storage").as_deref(), &call.params.text("volume"))?;
    check_access(call, None, &volid, None)?;
    let node = call.node();
    let content = call.world.parse_volume(&volid)?.content;
    if let Some(notes) = call.params.get("notes") {
        if content != "backup" {
            return Err("only backups can have notes".into());
        }
        backup(call.world, &node, &volid)?.notes = Some(notes).filter(|notes| !notes.is_empty());
    }
    if let Some(protected) = call.params.flag("protected") {
        if content != "backup" {
            return Err("only backups support attribute 'protected'".into());
        }
        if protected {
            let storage = volid.split(':').next().unwrap_or_default();
            let limit = protected_limit(call.world, &call.authid, storage);
            check_protected(call.world, &node, &volid, limit)?;
        }
        backup(call.world, &node, &volid)?.protected = protected;
    }
    Ok(Data::null())
}

fn backup<'w>(world: &'w mut World, node: &str, volid: &str) -> Result<&'w mut Volume, String> {
    let path = world.volume_path(volid)?;
    world
        .volume_mut(node, volid)
        .ok_or_else(|| format!("unable to create protection file '{path}.protected' - No such file or directory"))
}

/// How many backups of a guest somebody may protect on a storage; `None` is any number.
pub(crate) fn protected_limit(world: &World, authid: &str, storage: &str) -> Option<u64> {
    let configured = world.storages.get(storage).and_then(|storage| storage.option("max-protected-backups"));
    match configured.and_then(|limit| limit.parse::<i64>().ok()) {
        Some(limit) => u64::try_from(limit).ok(),
        None => {
            let path = format!("/storage/{storage}");
            access::lacks(&world.access.config, authid, &path, &["Datastore.Allocate"]).map(|_| 5)
        }
    }
}

/// Whether one more backup of the same guest may be protected.
///
/// # Errors
/// The limit is reached.
pub(crate) fn check_protected(world: &World, node: &str, volid: &str, limit: Option<u64>) -> Result<(), String> {
    let id = volid.split(':').next().unwrap_or_default();
    let vmid = world.parse_volume(volid)?.vmid;
    let (Some(limit), Some(_)) = (limit, vmid) else { return Ok(()) };
    let same = |volume: &&Volume| volume.content == "backup" && volume.vmid == vmid && volume.protected;
    if world.volume(node, volid).is_some_and(|volume| volume.protected) {
        return Ok(());
    }
    let others = world.volumes_of(node, id).filter(same).filter(|volume| subtype(&volume.volid) == subtype(volid));
    if others.count() as u64 >= limit {
        return Err(format!("The number of protected backups per guest is limited to {limit} on storage '{id}'"));
    }
    Ok(())
}

/// `DELETE /nodes/{node}/storage/{storage}/content/{volume}`.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    let volid = full_id(call.params.get("storage").as_deref(), &call.params.text("volume"))?;
    let parsed = call.world.parse_volume(&volid)?;
    let id = volid.split(':').next().unwrap_or_default().to_string();
    let path = format!("/storage/{id}");
    match parsed.vmid.filter(|_| parsed.content == "backup") {
        Some(owner) => {
            call.require(&path, &["Datastore.AllocateSpace"])?;
            call.require(&format!("/vms/{owner}"), &["VM.Backup"])?;
        }
        None => call.require(&path, &["Datastore.Allocate"])?,
    }
    let task_id = parsed.vmid.map_or_else(|| id.clone(), |vmid| format!("{vmid}@{id}"));
    let waits = call.params.int("delay").is_some_and(|delay| delay > 0);
    let lasts = if waits { Duration::ZERO } else { Duration::from_secs(1) };
    let task = call.task("imgdel", &task_id).lasts(lasts).finish(move |run| free(run, &volid));
    let started = call.start(task)?;
    if !waits {
        return Ok(started);
    }
    let upid = started.value.as_str().unwrap_or_default();
    let ended = call.world.tasks.iter().find(|task| task.upid == upid).and_then(|task| task.exitstatus.clone());
    match ended.as_deref() {
        Some("OK") => Ok(Data::null()),
        Some(status) if !status.starts_with("WARNINGS: ") => Err(Failure::die(status)),
        _ => Ok(started),
    }
}

fn free(run: &mut Run<'_>, volid: &str) -> Result<(), String> {
    let node = run.node.to_string();
    for line in run.world.free_volume(&node, volid)? {
        run.log(line);
    }
    run.log(format!("Removed volume '{volid}'"));
    Ok(())
}

/// `POST /nodes/{node}/storage/{storage}/content/{volume}`: copies a volume, to another node too.
pub(crate) fn copy(call: &mut Call<'_>) -> Answer {
    let storage = call.params.get("storage");
    let source = full_id(storage.as_deref(), &call.params.text("volume"))?;
    let target = full_id(storage.as_deref(), &call.params.text("target"))?;
    let target_node = call.params.get("target_node").unwrap_or_else(|| call.node());
    let task = call.task("imgcopy", "").lasts(Duration::from_secs(5));
    let task = task.begin(|run| {
        run.log(format!("DEBUG: starting worker {}", run.upid));
        Ok(())
    });
    let task = task.finish(move |run| {
        transfer(run, &source, &target, &target_node)?;
        run.log(format!("DEBUG: end worker {}", run.upid));
        Ok(())
    });
    call.start(task)
}

fn transfer(run: &mut Run<'_>, source: &str, target: &str, target_node: &str) -> Result<(), String> {
    let node = run.node.to_string();
    let (target_storage, _) = name::split(target)?;
    let parsed = run.world.parse_volume(source)?;
    let (source_storage, _) = name::split(source)?;
    if !run.world.nodes.contains_key(target_node) {
        return Err(format!("no such cluster node '{target_node}'"));
    }
    run.world.usable_storage(&node, source_storage)?;
    run.world.usable_storage(target_node, target_storage)?;
    let new = run.world.parse_volume(target)?;
    let missing = || format!("volume '{source}' does not exist");
    let mut volume = run.world.volume(&node, source).cloned().ok_or_else(missing)?;
    if new.content != parsed.content {
        return Err(format!("cannot import format {} into a volume of type {}", parsed.format, new.content));
    }
    if run.world.volume(target_node, target).is_some() {
        return Err(format!("volume '{target}' already exists"));
    }
    if !run.world.has_room(target_node, target_storage, volume.size) {
        return Err(format!("import failed: no space left on storage '{target_storage}'"));
    }
    (volume.volid, volume.vmid, volume.format) = (target.to_string(), new.vmid, new.format);
    (volume.ctime, volume.parent, volume.protected) = (run.now, None, false);
    run.log(format!("successfully imported '{target}'"));
    run.world.put_volume(target_node, volume);
    Ok(())
}

/// A new volume that is a file: where uploads, downloads and backups end.
pub(crate) fn file(volid: &str, content: &str, format: &str, size: u64, ctime: i64, payload: Option<Value>) -> Volume {
    let (volid, content, format) = (volid.to_string(), content.to_string(), format.to_string());
    Volume { volid, content, format, size, used: size, ctime, payload, ..Volume::default() }
}

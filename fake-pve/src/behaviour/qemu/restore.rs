//! Restoring a machine from a backup.

use serde_json::{Map, Value, json};

use super::drives::drive;
use crate::behaviour::guest::access::check_volume;
use crate::behaviour::guest::autostart::Afterwards;
use crate::behaviour::guest::network::{is_net, stored};
use crate::behaviour::guest::stage::Stage;
use crate::behaviour::guest::{check_protection, check_unused, copy};
use crate::behaviour::vzdump::{NOT_IN_BACKUP, is_included};
use crate::behaviour::{Answer, Call, Failure};
use crate::work::Run;
use crate::world::disk::{Disk, disks, is_drive, is_unused, unused};
use crate::world::volume::{NewVolume, name};
use crate::world::{Guest, GuestKind, option};

/// Refuses an archive that cannot be restored; the volume id otherwise.
pub(crate) fn check_archive(
    call: &mut Call<'_>,
    vmid: u32,
    param: &Map<String, Value>,
    archive: &str,
) -> Result<String, Failure> {
    let mut drives: Vec<&String> = param.keys().filter(|key| is_drive(key)).collect();
    drives.sort();
    if let Some(key) = drives.first() {
        return Err(Failure::param(key, "option conflicts with option 'archive'"));
    }
    if archive == "-" {
        return Err(Failure::die("pipe requires cli environment"));
    }
    check_volume(call, vmid, archive, Some("backup"))?;
    if name::split(archive).is_err() {
        return Err(Failure::die(format!("can't find file '{archive}'")));
    }
    match call.world.volume(&call.node(), archive) {
        Some(_) => Ok(archive.to_string()),
        None => Err(Failure::die(format!("volume '{archive}' does not exist"))),
    }
}

/// Starts the restore.
pub(crate) fn restore(
    call: &mut Call<'_>,
    vmid: u32,
    archive: String,
    param: Map<String, Value>,
    storage: Option<String>,
    afterwards: Afterwards,
) -> Answer {
    let prefix = format!("unable to restore VM {vmid} -");
    let force = call.params.is_on("force");
    let node = call.node();
    let existing = call.world.guests.get(&vmid).filter(|guest| guest.kind == GuestKind::Vm && guest.node == node);
    match existing {
        Some(guest) if force => {
            guest.check_lock().map_err(|error| Failure::die(format!("{prefix} {error}")))?;
            check_protection(guest, &prefix)?;
            if guest.runs() {
                return Err(Failure::die(format!("{prefix} vm is running")));
            }
        }
        _ => check_unused(call, vmid).map_err(|failure| failure.prefixed(&format!("{prefix} ")))?,
    }
    if call.params.is_on("live-restore") {
        let text = "live-restore is only compatible with backup images from a Proxmox Backup Server";
        return Err(Failure::die(text));
    }
    let lock = call.world.guests.entry(vmid).or_insert_with(|| Guest::new(GuestKind::Vm, vmid, &node, json!({})));
    lock.config.insert("lock".into(), "create".into());
    let unique = call.params.is_on("unique");
    let path = call.world.volume_path(&archive).unwrap_or_default();
    let bytes = call.world.volume(&node, &archive).map_or(0, |volume| volume.size);
    let kept = vmid;
    let task = call
        .task("qmrestore", &vmid.to_string())
        .lasts(copy::duration(bytes))
        .line(format!(
            "restore vma archive: zstd -q -d -c {path} | vma extract -v -r /var/tmp/vzdumptmp.fifo - /var/tmp/vzdumptmp"
        ))
        .finish(move |run| {
            let node = run.node.to_string();
            let held = run.world.volume(&node, &archive).and_then(|volume| volume.payload.clone());
            let held: Guest = held
                .and_then(|payload| serde_json::from_value(payload).ok())
                .ok_or_else(|| format!("{prefix} could not find any configuration in archive '{archive}'"))?;
            make(run, vmid, held, &param, storage.as_deref(), unique).inspect_err(|_| {
                run.log(format!(
                    "error before or during data restore, some or all disks were not completely restored. VM {vmid} \
                     state is NOT cleaned up."
                ));
            })?;
            afterwards.follow(run, GuestKind::Vm, vmid);
            Ok(())
        })
        .undo(move |run| {
            if let Some(guest) = run.world.guests.get_mut(&kept) {
                guest.config.shift_remove("lock");
            }
            Ok(())
        });
    call.start(task)
}

/// Frees what the guest had, allocates the backup's disks anew, and joins the backup's options with the given ones.
fn make(
    run: &mut Run<'_>,
    vmid: u32,
    held: Guest,
    param: &Map<String, Value>,
    storage: Option<&str>,
    unique: bool,
) -> Result<(), String> {
    let node = run.node.to_string();
    let before = run.world.guests.get(&vmid).map(|guest| guest.config.clone()).unwrap_or_default();
    let mut config = held.config.clone();
    config.retain(|key, _| !is_unused(key) && !matches!(key.as_str(), "lock" | "parent" | "template" | "digest"));
    let in_archive: Vec<Disk> =
        disks(GuestKind::Vm, &held.config).into_iter().filter(|disk| is_held(&held, disk)).collect();
    // What the archive does not bring back stays where it is, and is listed as unused.
    let mut left: Vec<String> = unused(&before).into_iter().map(|(_, volid)| volid).collect();
    for disk in disks(GuestKind::Vm, &before) {
        if disk.is_cdrom(true) || !run.world.owns_volume(vmid, &disk.volume()) {
            continue;
        }
        if !in_archive.iter().any(|held| held.key == disk.key) {
            left.push(disk.volume());
            continue;
        }
        let freed = run.world.free_volume(&node, &disk.volume())?;
        run.tell_all(&freed);
    }
    comment_out(&held, &mut config);
    for disk in in_archive {
        let key = disk.key.clone();
        let restored = restore_disk(run, vmid, &disk.print(), &key, storage)?;
        config.insert(key, restored.into());
    }
    let keys: Vec<String> = config.keys().filter(|key| is_net(key)).cloned().collect();
    if unique {
        for key in keys {
            let net = stored(run, GuestKind::Vm, &key, &option::text(&config[&key]), true);
            config.insert(key, net.into());
        }
        let uuid = run.world.random.uuid();
        config.insert("smbios1".into(), format!("uuid={uuid}").into());
    }
    if config.contains_key("vmgenid") {
        let uuid = run.world.random.uuid();
        config.insert("vmgenid".into(), uuid.into());
    }
    for (key, value) in param {
        config.insert(key.clone(), option::typed(GuestKind::Vm, key, &option::text(value))?);
    }
    run.log("rescan volumes...");
    let left = left.into_iter().filter(|volid| run.world.volume(&node, volid).is_some()).collect::<Vec<_>>();
    for volid in left {
        let key = (0..).map(|number| format!("unused{number}")).find(|key| !config.contains_key(key));
        if let Some(key) = key {
            run.log(format!("VM {vmid} add unreferenced volume '{volid}' as '{key}' to config"));
            config.insert(key, volid.into());
        }
    }
    let now = run.now;
    let Some(guest) = run.world.guests.get_mut(&vmid) else { return Err("no such guest".into()) };
    (guest.config, guest.created) = (config, now);
    guest.pending.clear();
    guest.pending_delete.clear();
    guest.written();
    Ok(())
}

/// Whether an archive holds a disk, or the disk is made anew with every start.
fn is_held(held: &Guest, disk: &Disk) -> bool {
    let left_out = held.state.get(NOT_IN_BACKUP).and_then(Value::as_array);
    let left_out = left_out.is_some_and(|keys| keys.iter().any(|key| key == disk.key.as_str()));
    disk.is_cloudinit() || (is_included(disk) && !left_out)
}

/// Disks that the archive does not hold become comment lines, which are read as a part of the description.
fn comment_out(held: &Guest, config: &mut Map<String, Value>) {
    let absent = disks(GuestKind::Vm, &held.config).into_iter();
    for disk in absent.filter(|disk| !disk.is_cdrom(true) && !is_held(held, disk)) {
        let Some(line) = config.shift_remove(&disk.key) else { continue };
        let mut text = config.get("description").map(option::text).unwrap_or_default();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("{}: {}\n", disk.key, option::text(&line)));
        config.insert("description".into(), text.into());
    }
}

fn restore_disk(run: &mut Run<'_>, vmid: u32, text: &str, key: &str, storage: Option<&str>) -> Result<String, String> {
    let mut disk = drive(key, &text.into()).ok_or_else(|| format!("unable to parse drive options for '{key}'"))?;
    let old = disk.volume();
    let of_old = old.split_once(':').map(|(storage, _)| storage.to_string()).unwrap_or_default();
    let target = storage.map_or(of_old, str::to_string);
    let size = disk.size().unwrap_or(0);
    let wanted =
        name::split(&old).ok().and_then(|(_, volname)| volname.rsplit_once('.')).map(|(_, format)| format.to_string());
    let formats = run.world.formats(&target);
    let format = wanted.filter(|format| formats.contains(&format.as_str()));
    let own = disk.is_cloudinit().then(|| cloudinit_name(run, vmid, &target, format.as_deref()));
    let new = NewVolume { storage: &target, vmid, format: format.as_deref(), name: own.as_deref(), size: size.max(1) };
    let (now, node) = (run.now, run.node.to_string());
    let made = run.world.allocate(now, &node, new)?;
    run.tell_all(&made.log);
    if let Some(volume) = run.world.volume_mut(&node, &made.volid) {
        volume.used = volume.used.max(size / 4);
    }
    run.log(format!("new volume ID is '{}'", made.volid));
    run.log(format!(
        "map 'drive-{key}' to '{}' (write zeros = 0)",
        run.world.volume_path(&made.volid).unwrap_or_default()
    ));
    disk.set_volume(&made.volid);
    Ok(disk.print())
}

fn cloudinit_name(run: &Run<'_>, vmid: u32, storage: &str, format: Option<&str>) -> String {
    let plugin = run.world.storages.get(storage).map(|storage| storage.plugin()).unwrap_or_default();
    match name::is_directory(&plugin) {
        true => format!("vm-{vmid}-cloudinit.{}", format.unwrap_or("raw")),
        false => format!("vm-{vmid}-cloudinit"),
    }
}

//! What a migration moves, what holds it back, and what its log says.

use super::Journey;
use super::condition::{LocalDisk, local_disks, local_resources};
use super::log::Log;
use crate::world::disk::Disk;
use crate::world::disk::drives;
use crate::world::volume::name::is_directory;
use crate::world::{Guest, GuestKind, World};

/// Bytes that go over in a second.
const SPEED: u64 = 200 << 20;

/// Volumes on their way: what each is called here and there.
pub(super) type Moves = Vec<(String, String)>;

/// What moves and what the log says of it.
///
/// # Errors
/// Why it stays; the log says more.
pub(super) fn plan(world: &World, guest: &Guest, journey: &Journey, log: &mut Log) -> Result<Moves, String> {
    let to = &journey.to;
    let ip = world.nodes.get(to).map_or("", |node| node.ip.as_str());
    let (word, vmid) = (guest.kind.word(), guest.vmid);
    let live = guest.runs() && guest.kind == GuestKind::Vm;
    if guest.runs() && guest.kind == GuestKind::Lxc {
        log.say(format!("shutdown CT {vmid}"));
        log.wait(2);
    }
    log.say(format!("starting migration of {word} {vmid} to node '{to}' ({ip})"));
    let resources = if live { local_resources(guest) } else { Vec::new() };
    if !resources.is_empty() {
        return Err(format!("can't migrate VM which uses local devices: {}", resources.join(", ")));
    }
    if guest.kind == GuestKind::Lxc {
        refuse_binds(guest)?;
    }
    let disks = local_disks(world, guest);
    let moves = check_disks(world, guest, journey, &disks, live, log)?;
    if live {
        live_log(guest, journey, &disks, &moves, log);
    } else {
        cold_log(world, guest, journey, &disks, &moves, log);
    }
    let duration = log.duration();
    log.say(format!("migration finished successfully (duration {duration})"));
    Ok(moves)
}

/// Directories and devices of the node do not come along.
fn refuse_binds(guest: &Guest) -> Result<(), String> {
    let mounts = drives(guest.kind, &guest.config);
    let own = |mount: &&Disk| mount.mount_type() != "volume" && mount.get("shared").as_deref() != Some("1");
    match mounts.iter().find(own) {
        Some(mount) => Err(format!("cannot migrate local {} mount point '{}'", mount.mount_type(), mount.key)),
        None => Ok(()),
    }
}

/// Each local volume is announced; those that cannot go are complained of.
fn check_disks(
    world: &World,
    guest: &Guest,
    journey: &Journey,
    disks: &[LocalDisk],
    live: bool,
    log: &mut Log,
) -> Result<Moves, String> {
    let noun = if guest.kind == GuestKind::Vm { "disk" } else { "volume" };
    let (mut moves, mut complaints): (Moves, Vec<String>) = (Vec::new(), Vec::new());
    for disk in disks {
        let volid = &disk.volid;
        log.say(format!("found local {noun} '{volid}' ({})", whence(guest, disk)));
        match obstacle(world, guest, journey, disk, live) {
            Some(why) => complaints.push(format!("can't migrate local {noun} '{volid}': {why}")),
            None => moves.push((volid.clone(), name_there(world, journey, guest, volid, &moves))),
        }
    }
    if complaints.is_empty() {
        return Ok(moves);
    }
    complaints.into_iter().for_each(|complaint| log.say(complaint));
    let why = format!("Problem found while scanning volumes - can't migrate {} - check log", guest.kind.word());
    log.say(format!("ERROR: {why}"));
    log.say("aborting phase 1 - cleanup resources");
    Err(why)
}

fn whence(guest: &Guest, disk: &LocalDisk) -> &'static str {
    match (guest.kind, disk.attached, disk.vmstate) {
        (GuestKind::Lxc, true, _) => "in current VM config",
        (_, true, _) if disk.cloudinit => "generated",
        (_, true, _) => "attached",
        (_, false, true) => "vmstate",
        (..) if disk.snapshots.is_empty() => "unused",
        (..) => "referenced by snapshot(s)",
    }
}

/// Why a local volume cannot go.
fn obstacle(world: &World, guest: &Guest, journey: &Journey, disk: &LocalDisk, live: bool) -> Option<String> {
    if disk.cdrom && !disk.cloudinit {
        return Some("local cdrom image".into());
    }
    let parsed = world.parse_volume(&disk.volid).ok()?;
    if let Some(owner) = parsed.vmid.filter(|owner| *owner != guest.vmid) {
        return Some(format!("owned by other VM (owner = VM {owner})"));
    }
    if let Some(base) = parsed.base {
        return Some(format!("can't migrate '{}' as it's a clone of '{base}'", disk.volid));
    }
    if live && disk.attached && !journey.with_local_disks && !disk.cloudinit {
        return Some("can't live migrate attached local disks without with-local-disks option".into());
    }
    if disk.snapshots.is_empty() || disk.vmstate {
        return None;
    }
    let storage = disk.volid.split_once(':').and_then(|(storage, _)| world.storages.get(storage));
    let sends = storage.is_some_and(|storage| matches!(storage.plugin().as_str(), "zfspool" | "btrfs"));
    match (live, sends || parsed.format == "qcow2") {
        (true, _) => Some("online storage migration not possible if snapshot exists".into()),
        (false, false) => Some("non-migratable snapshot exists".into()),
        (false, true) => None,
    }
}

/// The volume's name on the target: its own, unless the storage differs or the name is taken there.
fn name_there(world: &World, journey: &Journey, guest: &Guest, volid: &str, moves: &Moves) -> String {
    let (storage, name) = volid.split_once(':').unwrap_or(("", volid));
    let mapped = journey.storages.iter().find(|(from, _)| from == storage || from.is_empty());
    let there = mapped.map_or(storage, |(_, there)| there.as_str());
    let taken =
        |volid: &str| world.volume(&journey.to, volid).is_some() || moves.iter().any(|(_, other)| other == volid);
    let same = format!("{there}:{name}");
    if there == storage && !taken(&same) {
        return same;
    }
    let files = world.storages.get(there).is_some_and(|found| is_directory(&found.plugin()));
    let format = world.parse_volume(volid).map_or_else(|_| "raw".into(), |parsed| parsed.format);
    let vmid = guest.vmid;
    let named = |number: u32| {
        if files {
            format!("{there}:{vmid}/vm-{vmid}-disk-{number}.{format}")
        } else {
            format!("{there}:vm-{vmid}-disk-{number}")
        }
    };
    (0..1000).map(named).find(|volid| !taken(volid)).unwrap_or(same)
}

fn seconds_for(bytes: u64) -> i64 {
    i64::try_from(bytes / SPEED).unwrap_or(60).clamp(1, 120)
}

/// Switched off: volumes are copied one after the other.
fn cold_log(world: &World, guest: &Guest, journey: &Journey, disks: &[LocalDisk], moves: &Moves, log: &mut Log) {
    if guest.kind == GuestKind::Vm && !moves.is_empty() {
        log.say("copying local disk images");
    }
    for (here, there) in moves {
        let used = world.volume(&guest.node, here).map_or(0, |volume| volume.used);
        log.wait(seconds_for(used));
        log.say(format!("volume '{here}' is '{there}' on the target"));
    }
    if guest.kind == GuestKind::Lxc {
        for drive in drives(guest.kind, &guest.config) {
            if let Some(storage) = drive.storage().filter(|_| !disks.iter().any(|disk| disk.volid == drive.volume())) {
                log.say(format!("volume '{}' is on shared storage '{storage}'", drive.volume()));
            }
        }
        log.say("start final cleanup");
        if guest.runs() && journey.restart {
            log.say("start container on target node");
        }
    }
    log.wait(1);
}

/// Running: disks are mirrored, then the memory goes over.
fn live_log(guest: &Guest, journey: &Journey, disks: &[LocalDisk], moves: &Moves, log: &mut Log) {
    let (to, vmid) = (&journey.to, guest.vmid);
    log.say(format!("starting VM {vmid} on remote node '{to}'"));
    log.wait(2);
    for (here, there) in moves {
        log.say(format!("volume '{here}' is '{there}' on the target"));
    }
    log.say("start remote tunnel");
    log.say("ssh tunnel ver 1");
    if !disks.is_empty() {
        log.say("starting storage migration");
    }
    for disk in disks.iter().filter(|disk| disk.attached) {
        let (key, size) = (&disk.key, gibibytes(disk.size));
        log.say(format!(
            "{key}: start migration to nbd:unix:/run/qemu-server/{vmid}_nbd.migrate:exportname=drive-{key}"
        ));
        log.say(format!("mirror-{key}: transferred 0.0 B of {size} (0.00%) in 0s"));
        log.wait(seconds_for(disk.size / 4));
        log.say(format!("mirror-{key}: transferred {size} of {size} (100.00%), ready"));
    }
    if !disks.is_empty() {
        log.say("all 'mirror' jobs are ready");
        log.say("switching mirror jobs to actively synced mode");
    }
    log.say(format!("starting online/live migration on unix:/run/qemu-server/{vmid}.migrate"));
    for line in ["set migration capabilities", "migration downtime limit: 100 ms", "migration cachesize: 64.0 MiB"] {
        log.say(line);
    }
    log.say("set migration parameters");
    log.say(format!("start migrate command to unix:/run/qemu-server/{vmid}.migrate"));
    let (all, sent) = (gibibytes(guest.max_memory()), gibibytes(guest.memory_used));
    log.wait(1);
    log.say(format!("migration active, transferred 118.4 MiB of {all} VM-state, 213.2 MiB/s"));
    log.wait(seconds_for(guest.memory_used));
    log.say("average migration speed: 341.3 MiB/s - downtime 45 ms");
    log.say(format!("migration completed, transferred {sent} VM-state"));
    log.say("migration status: completed");
    if !disks.is_empty() {
        log.say("stopping NBD storage migration server on target.");
    }
    log.wait(2);
}

fn gibibytes(bytes: u64) -> String {
    if bytes < 1 << 30 {
        format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
    } else {
        format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
    }
}

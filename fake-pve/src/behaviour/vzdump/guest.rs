//! The backup of one guest, from its first log line to its last.

use super::archive::{self, Archive, Part};
use super::options::Options;
use crate::behaviour::storage::content::check_protected;
use crate::behaviour::storage::download::moment;
use crate::behaviour::storage::prune::{Scope, prune};
use crate::behaviour::storage::volume::subtype;
use crate::work::Run;
use crate::world::retention::Retention;
use crate::world::{Guest, GuestKind, Volume, World, conf, power, size};

/// A backup that is going on.
pub(crate) struct Going {
    vmid: u32,
    started: i64,
    archive: Archive,
    parts: Vec<Part>,
    /// Whether the container is off until the backup is done.
    restart: bool,
    storage_snapshot: bool,
    sent: bool,
}

/// Everything that precedes the data: checks, lock, mode.
///
/// # Errors
/// Why this guest is not backed up.
pub(crate) fn start(run: &mut Run<'_>, options: &Options, vmid: u32, limit: Option<u64>) -> Result<Going, String> {
    let guest = run.world.guests.get(&vmid).cloned().ok_or_else(|| format!("unable to find VM '{vmid}'"))?;
    let word = guest.kind.noun();
    let managed = run.world.ha_resource(vmid).map(|resource| resource.get("state").and_then(|state| state.as_str()));
    if options.mode == "stop" && managed.is_some_and(|state| matches!(state, None | Some("started" | "enabled"))) {
        let text = "Cannot execute a backup with stop mode on a HA managed and enabled Service. Use snapshot mode or \
                    disable the Service.";
        return Err(text.into());
    }
    let archive = archive::place(run.world, options, &guest, run.now)?;
    check_limits(run.world, &guest, options, &archive, limit)?;
    info(run, format!("Starting Backup of VM {vmid} ({word})"));
    info(run, format!("Backup started at {}", moment(run.now)));
    info(run, format!("status = {}", if guest.runs() { "running" } else { "stopped" }));
    guest.check_lock()?;
    run.lock(vmid, "backup");
    let parts = archive::parts(run.world, &guest)?;
    let mut mode = if guest.runs() { options.mode.clone() } else { "stop".to_string() };
    let mut told = false;
    if mode == "snapshot" {
        tell_disks(run, &guest, &parts);
        told = true;
        let able = |part: &Part| !part.included || run.world.has_feature(&part.disk.volume(), "snapshot", None);
        if guest.kind == GuestKind::Lxc && !parts.iter().all(able) {
            info(run, "mode failure - some volumes do not support snapshots".into());
            info(run, "trying 'suspend' mode instead".into());
            mode = "suspend".into();
            told = false;
        }
    }
    info(run, format!("backup mode: {mode}"));
    if options.bwlimit > 0 {
        info(run, format!("bandwidth limit: {} KiB/s", options.bwlimit));
    }
    info(run, format!("ionice priority: {}", options.ionice));
    if !told {
        tell_disks(run, &guest, &parts);
    }
    let mut going = Going {
        vmid,
        started: run.now,
        archive,
        parts,
        restart: false,
        storage_snapshot: mode == "snapshot" && guest.kind == GuestKind::Lxc,
        sent: false,
    };
    prepare(run, &guest, &mut going, &mode);
    Ok(going)
}

fn tell_disks(run: &mut Run<'_>, guest: &Guest, parts: &[Part]) {
    info(run, format!("{} Name: {}", guest.kind.word(), guest.name()));
    for Part { disk, included, size, .. } in parts {
        let (key, volid) = (&disk.key, disk.volume());
        let place = disk.get("mp").unwrap_or_else(|| "/".into());
        let line = match (guest.kind, included) {
            (GuestKind::Vm, true) => format!("include disk '{key}' '{volid}' {}", size::print(*size)),
            (GuestKind::Vm, false) => format!("exclude disk '{key}' '{volid}' (backup=no)"),
            (GuestKind::Lxc, true) => format!("including mount point {key} ('{place}') in backup"),
            (GuestKind::Lxc, false) if disk.mount_type() == "volume" => {
                format!("excluding volume mount point {key} ('{place}') from backup (disabled)")
            }
            (GuestKind::Lxc, false) => {
                format!("excluding {} mount point {key} ('{place}') from backup (not a volume)", disk.mount_type())
            }
        };
        info(run, line);
    }
}

fn prepare(run: &mut Run<'_>, guest: &Guest, going: &mut Going, mode: &str) {
    let (vmid, running) = (guest.vmid, guest.runs());
    let lxc = guest.kind == GuestKind::Lxc;
    match mode {
        "stop" if running => {
            info(run, "stopping virtual guest".into());
            power::switch_off(run.world, vmid, run.now);
            if lxc {
                going.restart = true;
            } else {
                // The machine is started again, paused, for the backup itself, and goes on at once.
                power::switch_on(run.world, vmid, run.now);
            }
        }
        "suspend" if lxc => {
            let pid = guest.pid.unwrap_or(1);
            info(
                run,
                format!("starting first sync /proc/{pid}/root/ to /var/tmp/vzdumptmp{}_{vmid}", run.world.last_pid),
            );
            info(run, "suspending guest".into());
            info(run, "resuming guest".into());
            info(run, "guest is online again after <1 seconds".into());
        }
        "suspend" => info(run, "suspending guest".into()),
        _ if lxc => info(run, "create storage snapshot 'vzdump'".into()),
        _ => {}
    }
    if !lxc {
        let unused = guest.config.iter().filter(|(key, _)| crate::world::disk::is_unused(key));
        for (_, volid) in unused {
            let volid = crate::world::option::text(volid);
            info(run, format!("skip unused drive '{volid}' (not included into backup)"));
        }
        if !guest.snapshots.is_empty() {
            info(run, "snapshots found (not included into backup)".into());
        }
        if !guest.pending.is_empty() || !guest.pending_delete.is_empty() {
            info(run, "pending configuration changes found (not included into backup)".into());
        }
    }
    let kind = if going.archive.on_server { "Proxmox Backup Server" } else { "vzdump" };
    info(run, format!("creating {kind} archive '{}'", going.archive.target));
    if lxc {
        return;
    }
    if !running {
        info(run, "starting kvm to execute backup task".into());
    }
    let agent = running && mode == "snapshot" && guest.agent.running && guest.agent_enabled();
    if agent {
        info(run, "issuing guest-agent 'fs-freeze' command".into());
        info(run, "issuing guest-agent 'fs-thaw' command".into());
    }
    info(run, format!("started backup task '{}'", archive::task_id(guest, run.now)));
    match mode {
        "snapshot" => info(run, "resuming VM again".into()),
        _ if running => info(run, "resuming VM again after 1 seconds".into()),
        _ => {}
    }
    going.sent = true;
}

/// A line on the way.
pub(crate) fn progress(run: &mut Run<'_>, going: &Going, percent: u64) {
    if !going.sent {
        return;
    }
    let (total, used) = totals(going);
    let seconds = (run.now - going.started).max(1);
    let part = |bytes: u64| (u128::from(bytes) * u128::from(percent) / 100) as u64;
    let rate = |bytes: u64| size::readable(part(bytes) / seconds.unsigned_abs());
    info(
        run,
        format!(
            "{percent:3}% ({} of {}) in {}, read: {}/s, write: {}/s",
            size::readable(part(total)),
            size::readable(total),
            span(seconds),
            rate(total),
            rate(used)
        ),
    );
}

/// Everything that follows the data: the archive, notes, protection, retention.
///
/// # Errors
/// Why the archive is none.
pub(crate) fn finish(run: &mut Run<'_>, options: &Options, going: &mut Going) -> Result<(), String> {
    let (node, vmid) = (run.node.to_string(), going.vmid);
    let guest = run.world.guests.get(&vmid).cloned().ok_or_else(|| format!("unable to find VM '{vmid}'"))?;
    let storage = going.archive.volid.split(':').next().unwrap_or_default().to_string();
    run.world.usable_storage(&node, &storage)?;
    let (total, used) = totals(going);
    let bytes = archive::packed(used, options.compression) + conf::write(&guest).len() as u64;
    let seconds = (run.now - going.started).max(1).unsigned_abs();
    if !run.world.has_room(&node, &storage, bytes) {
        return Err("job failed with err -28 - No space left on device".into());
    }
    if guest.kind == GuestKind::Vm {
        progress(run, going, 100);
        let zero = total - used;
        if zero > 0 {
            let percent = zero * 100 / total.max(1);
            info(run, format!("backup is sparse: {} ({percent}%) total zero data", precise(zero)));
        }
        let rate = size::readable(total / seconds);
        info(run, format!("transferred {} in {seconds} seconds ({rate}/s)", precise(total)));
        if !guest.runs() {
            info(run, "stopping kvm after backup task".into());
        }
    } else {
        let rate = size::readable(used / seconds).replace(' ', "");
        info(run, format!("Total bytes written: {used} ({}, {rate}/s)", size::readable(used).replace(' ', "")));
    }
    let mut volume = archive::volume(&going.archive, &guest, bytes, going.started);
    if !going.archive.on_server {
        info(run, format!("archive file size: {}", file_size(bytes)));
    }
    if let Some(template) = &options.notes {
        info(run, "adding notes to backup".into());
        volume.notes = Some(archive::notes(run.world, template, &guest));
    }
    if options.protected {
        info(run, "marking backup as protected".into());
        volume.protected = true;
    }
    run.world.put_volume(&node, volume);
    retain(run, options, &guest, &storage)
}

fn retain(run: &mut Run<'_>, options: &Options, guest: &Guest, storage: &str) -> Result<(), String> {
    let retention = retention(run.world, options);
    if !options.remove || retention.keeps_everything() {
        return Ok(());
    }
    let node = run.node.to_string();
    info(run, format!("prune older backups with retention: {}", retention.print()));
    let kind = Some(guest.kind.noun().to_string());
    let scope = Scope { storage: storage.into(), vmid: Some(guest.vmid), kind, retention: Some(retention) };
    let (count, lines) = prune(run.world, &node, &scope)?;
    for line in lines {
        info(run, line);
    }
    let why = if count > 0 { " not covered by keep-retention policy" } else { "" };
    info(run, format!("pruned {count} backup(s){why}"));
    Ok(())
}

/// The end of one guest's backup, however it went.
pub(crate) fn clean_up(run: &mut Run<'_>, going: &Going) {
    run.unlock(going.vmid);
    if going.storage_snapshot {
        info(run, "cleanup temporary 'vzdump' snapshot".into());
    }
    if going.restart {
        info(run, "restarting vm".into());
        power::switch_on(run.world, going.vmid, run.now);
        info(run, format!("guest is online again after {} seconds", run.now - going.started));
    }
}

/// What stands in the log when a guest's backup is done.
pub(crate) fn finished(run: &mut Run<'_>, going: &Going) {
    let seconds = (run.now - going.started).max(0);
    let took = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    info(run, format!("Finished Backup of VM {} ({took})", going.vmid));
    info(run, format!("Backup finished at {}", moment(run.now)));
}

/// What stands in the log when it failed.
pub(crate) fn failed(run: &mut Run<'_>, vmid: u32, error: &str) {
    run.log(format!("ERROR: Backup of VM {vmid} failed - {error}"));
    info(run, format!("Failed at {}", moment(run.now)));
}

impl Going {
    /// The guest.
    pub fn vmid(&self) -> u32 {
        self.vmid
    }
}

fn check_limits(
    world: &World,
    guest: &Guest,
    options: &Options,
    archive: &Archive,
    limit: Option<u64>,
) -> Result<(), String> {
    let most = retention(world, options).limit();
    if options.protected {
        return check_protected(world, &guest.node, &archive.volid, limit);
    }
    if options.remove || most == 0 {
        return Ok(());
    }
    let storage = archive.volid.split(':').next().unwrap_or_default();
    let same = |volume: &&Volume| volume.content == "backup" && volume.vmid == Some(guest.vmid) && !volume.protected;
    let present = world.volumes_of(&guest.node, storage).filter(same);
    let present = present.filter(|volume| subtype(&volume.volid) == guest.kind.noun()).count() as u64;
    if present >= most {
        return Err(format!(
            "There is a max backup limit of {most} enforced by the target storage or the vzdump parameters. Either \
             increase the limit or delete old backups."
        ));
    }
    Ok(())
}

/// The retention that counts: the call's, else the storage's, else everything stays.
fn retention(world: &World, options: &Options) -> Retention {
    let of_storage = || {
        let storage = world.storages.get(options.storage.as_deref()?)?;
        storage.option("prune-backups").map(|text| Retention::parse(&text))
    };
    options.retention.clone().or_else(of_storage).unwrap_or(Retention { all: true, ..Retention::default() })
}

fn totals(going: &Going) -> (u64, u64) {
    let included = going.parts.iter().filter(|part| part.included);
    included.fold((0, 0), |(total, used), part| (total + part.size, used + part.used))
}

fn info(run: &mut Run<'_>, text: String) {
    run.log(format!("INFO: {text}"));
}

fn span(seconds: i64) -> String {
    if seconds < 60 { format!("{seconds}s") } else { format!("{}m {}s", seconds / 60, seconds % 60) }
}

/// Two digits behind the point: `32.00 GiB`.
fn precise(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value < 1024.0 {
            return format!("{value:.2} {unit}");
        }
        value /= 1024.0;
    }
    format!("{value:.2} TiB")
}

fn file_size(bytes: u64) -> String {
    let kib = bytes / 1024;
    if kib < 1024 {
        format!("{kib}KB")
    } else if kib < 1 << 20 {
        format!("{}MB", kib >> 10)
    } else {
        format!("{:.2}GB", bytes as f64 / f64::from(1 << 30))
    }
}

//! Taking a snapshot: the task.

use std::time::Duration;

use crate::behaviour::status::{Target, formatting, of_the_run, seconds};
use crate::behaviour::{Answer, Call, Failure};
use crate::work::Run;
use crate::world::snapshot::missing;
use crate::world::{GuestKind, World, snapshot};

/// `POST …/snapshot`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    let target = Target::of(call);
    let name = call.params.text("snapname");
    let reserved: &[&str] = if target.kind == GuestKind::Vm { &["current", "pending"] } else { &["current", "vzdump"] };
    if reserved.contains(&name.as_str()) {
        return Err(Failure::die(format!("unable to use snapshot name '{name}' (reserved name)")));
    }
    let guest = target.guest(call.world).ok();
    if target.kind == GuestKind::Vm && guest.is_none() {
        target.guest(call.world)?;
    }
    let with_memory = call.params.is_on("vmstate") && guest.is_some_and(|guest| guest.runs());
    if with_memory {
        refuse_devices(call, &target)?;
    }
    let description = call.params.get("description");
    let (early, late, gone) = (target.clone(), target.clone(), target.clone());
    let (early_name, late_name, gone_name) = (name.clone(), name.clone(), name);
    let task = target
        .task(&call.authid, "qmsnapshot", "vzsnapshot")
        .lasts(if with_memory { seconds(3) } else { Duration::from_millis(600) })
        .begin(move |run| prepare(run, &early, &early_name, description, with_memory))
        .finish(move |run| {
            announce(run, &late, &late_name)?;
            snapshot::commit(run.world, late.vmid, &late_name);
            Ok(())
        })
        .undo(move |run| {
            run.log("snapshot create failed: starting cleanup");
            snapshot::remove(run.world, gone.vmid, &gone_name);
            Ok(())
        });
    call.start(task)
}

/// Devices whose state cannot be saved.
fn refuse_devices(call: &Call<'_>, target: &Target) -> Result<(), Failure> {
    let guest = target.guest(call.world)?;
    let keys = guest.config.keys().filter(|key| key.starts_with("hostpci") || key.starts_with("virtiofs"));
    let devices: Vec<&str> = keys.map(String::as_str).collect();
    if devices.is_empty() {
        return Ok(());
    }
    let list = devices.join(", ");
    Err(Failure::die(format!("Cannot live-migrate, snapshot (with RAM), or hibernate a VM with: {list}")))
}

/// What the cluster's log says before anything is done.
pub(super) fn say(run: &mut Run<'_>, what: &str, target: &Target, name: &str) {
    let (node, user) = (run.node.to_string(), run.user.to_string());
    run.world.say(run.now, &node, &user, "pvedaemon", format!("{what} {}: {name}", target.vmid));
}

/// Late checks, the lock, the memory, and the section in preparation.
fn prepare(
    run: &mut Run<'_>,
    target: &Target,
    name: &str,
    description: Option<String>,
    memory: bool,
) -> Result<(), String> {
    say(run, if target.kind == GuestKind::Vm { "snapshot VM" } else { "snapshot container" }, target, name);
    let guest = target.guest(run.world)?;
    if guest.template() {
        return Err("you can't take a snapshot if it's a template".into());
    }
    guest.check_lock()?;
    if guest.snapshots.contains_key(name) {
        return Err(format!("snapshot name '{name}' already used"));
    }
    if !run.world.disks_have_feature(guest.kind, &guest.config, "snapshot", None) {
        return Err("snapshot feature is not available".into());
    }
    let mut vmstate = None;
    if memory && guest.runs() {
        let storage = snapshot::state_storage(run.world, guest);
        let volume = snapshot::state_volume(run.world, guest, &storage, name, run.now);
        let saved = volume.used;
        if let Some(line) = formatting(run.world, &volume.volid, volume.size) {
            run.log(line);
        }
        run.log(format!("saving VM state and RAM using storage '{storage}'"));
        run.log("4.01 MiB in 0s");
        run.log(format!("completed saving the VM state in 2s, saved {}", mebibytes(saved)));
        vmstate = Some(volume.volid.clone());
        run.world.put_volume(&target.node, volume);
    }
    let now = run.now;
    let guest = target.guest_mut(run.world)?;
    let of_the_run = if vmstate.is_some() { of_the_run(guest) } else { Vec::new() };
    snapshot::prepare(guest, name, description, vmstate, now);
    if let Some(section) = guest.snapshots.get_mut(name) {
        section.config.extend(of_the_run.into_iter().map(|(key, value)| (key.to_string(), value.into())));
    }
    run.lock(target.vmid, "snapshot");
    Ok(())
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.2} MiB", bytes as f64 / f64::from(1 << 20))
}

/// What the log says about each volume.
fn announce(run: &mut Run<'_>, target: &Target, name: &str) -> Result<(), String> {
    let guest = target.guest(run.world)?;
    let Some(section) = guest.snapshots.get(name) else { return Err(missing(name)) };
    let (machine, runs) = (guest.kind == GuestKind::Vm, guest.runs());
    let silent_agent = machine && runs && section.vmstate.is_none() && guest.agent_enabled() && !guest.agent.running;
    let mut lines = Vec::new();
    if silent_agent {
        lines.push("skipping guest filesystem freeze - agent configured but not running?".to_string());
    }
    for drive in snapshot::covered(guest.kind, &section.config) {
        if machine {
            lines.push(format!("snapshotting 'drive-{}' ({})", drive.key, drive.volume()));
        }
        lines.extend(storage_line(run.world, &target.node, &drive.volume(), name, "created"));
        if machine && runs && is_qcow2(run.world, &drive.volume()) {
            lines.push("internal qemu snapshot".into());
        }
    }
    lines.into_iter().for_each(|line| run.log(line));
    Ok(())
}

/// Whether a volume has QEMU's own format, by its name.
fn is_qcow2(world: &World, volid: &str) -> bool {
    world.parse_volume(volid).is_ok_and(|volume| volume.format == "qcow2")
}

/// What LVM says.
pub(super) fn storage_line(world: &World, node: &str, volid: &str, name: &str, done: &str) -> Option<String> {
    world.volume(node, volid)?;
    let (storage, volume) = volid.split_once(':')?;
    let thin = world.storages.get(storage)?.plugin() == "lvmthin";
    thin.then(|| format!("  Logical volume \"snap_{volume}_{name}\" {done}."))
}

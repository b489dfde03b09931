//! `POST …/status/{suspend,resume}`: halting a machine, saving it to disk, checkpoints of containers.

use serde_json::json;

use super::boot::{of_the_run, wake};
use super::power::{running_ct, running_vm};
use super::{Target, root_only, seconds};
use crate::behaviour::{Answer, Call, Failure};
use crate::work::{NewTask, Run};
use crate::world::volume::name::is_directory;
use crate::world::{GuestKind, World, ha, power, snapshot};

/// Key in the state of a container whose checkpoint lies on disk.
const CHECKPOINT: &str = "checkpoint";

/// `POST …/status/suspend`.
pub(crate) fn suspend(call: &mut Call<'_>) -> Answer {
    let target = Target::of(call);
    if target.kind == GuestKind::Lxc {
        running_ct(call, &target)?;
        return checkpoint(call, target);
    }
    root_only(call, &["skiplock"])?;
    running_vm(call, &target)?;
    let to_disk = call.params.is_on("todisk");
    if to_disk && ha::managed(call.world, target.vmid).is_some() {
        return Err(Failure::die("Cannot suspend HA managed VM to disk"));
    }
    let storage = call.params.get("statestorage");
    if to_disk {
        call.require(&format!("/vms/{}", target.vmid), &["VM.Config.Disk"])?;
        let guest = target.guest(call.world)?;
        let used = storage.clone().unwrap_or_else(|| snapshot::state_storage(call.world, guest));
        call.require(&format!("/storage/{used}"), &["Datastore.AllocateSpace"])?;
    }
    let skiplock = call.params.is_on("skiplock");
    let task = if to_disk {
        park(call.world, call.now(), &target, &call.authid, skiplock, storage)
    } else {
        halt(&target, &call.authid, skiplock)
    };
    call.start(task)
}

/// The task that halts a machine's processors (`qmpause`).
pub(crate) fn halt(target: &Target, user: &str, skiplock: bool) -> NewTask {
    let (early, late) = (target.clone(), target.clone());
    target
        .task(user, "qmpause", "qmpause")
        .lasts(std::time::Duration::from_millis(300))
        .begin(move |run| if skiplock { Ok(()) } else { early.guest(run.world)?.check_lock() })
        .finish(move |run| {
            power::pause(run.world, late.vmid, true);
            Ok(())
        })
}

/// The task that saves a machine to disk and ends it (`qmsuspend`).
pub(crate) fn park(
    world: &World,
    now: i64,
    target: &Target,
    user: &str,
    skiplock: bool,
    storage: Option<String>,
) -> NewTask {
    let (early, late) = (target.clone(), target.clone());
    let mut task = target.task(user, "qmsuspend", "qmsuspend").lasts(seconds(4));
    let day = jiff::Timestamp::from_second(now).unwrap_or_default().strftime("%Y-%m-%d").to_string();
    let volume = target.guest(world).ok().map(|guest| {
        let storage = storage.unwrap_or_else(|| snapshot::state_storage(world, guest));
        snapshot::state_volume(world, guest, &storage, &format!("suspend-{day}"), now)
    });
    if let Some(line) = volume.as_ref().and_then(|volume| formatting(world, &volume.volid, volume.size)) {
        task = task.line(line);
    }
    task.begin(move |run| {
        let guest = early.guest(run.world)?;
        if guest.lock().as_deref() == Some("backup") {
            return Err("cannot suspend to disk during backup".into());
        }
        if !skiplock {
            guest.check_lock()?;
        }
        if guest.config.keys().any(|key| key.starts_with("hostpci")) {
            let why =
                "due to passed-through PCI device(s), which lack the possibility to save/restore their internal state";
            return Err(format!("cannot suspend VM to disk {why}"));
        }
        run.lock(early.vmid, "suspending");
        Ok(())
    })
    .finish(move |run| save(run, &late, volume))
}

/// The state is on disk, the machine is off, its lock says so.
fn save(run: &mut Run<'_>, target: &Target, volume: Option<crate::world::Volume>) -> Result<(), String> {
    let guest = target.guest_mut(run.world)?;
    if !guest.runs() {
        return Err(format!("VM {} not running", target.vmid));
    }
    for (key, value) in of_the_run(guest) {
        guest.config.insert(key.into(), json!(value));
    }
    guest.config.insert("lock".into(), json!("suspended"));
    if let Some(volume) = volume {
        guest.config.insert("vmstate".into(), json!(volume.volid));
        run.world.put_volume(&target.node, volume);
    }
    power::power_off(run.world, target.vmid, run.now);
    run.log("State saved, quitting");
    Ok(())
}

/// What a file for saved memory says when it is made; block storages say nothing.
pub(crate) fn formatting(world: &World, volid: &str, size: u64) -> Option<String> {
    let (storage, name) = volid.split_once(':')?;
    let storage = world.storages.get(storage)?;
    let path = storage.option("path").filter(|_| is_directory(&storage.plugin()))?;
    Some(format!("Formatting '{path}/images/{name}', fmt=raw size={size} preallocation=off"))
}

/// Criu writes a container to disk and ends it.
fn checkpoint(call: &mut Call<'_>, target: Target) -> Answer {
    let late = target.clone();
    let task = target
        .task(&call.authid, "vzsuspend", "vzsuspend")
        .lasts(seconds(2))
        .begin(move |run| target.guest(run.world)?.check_lock())
        .finish(move |run| {
            power::power_off(run.world, late.vmid, run.now);
            late.guest_mut(run.world)?.state.insert(CHECKPOINT.into(), json!(run.now));
            Ok(())
        });
    call.start(task)
}

/// `POST …/status/resume`.
pub(crate) fn resume(call: &mut Call<'_>) -> Answer {
    let target = Target::of(call);
    if target.kind == GuestKind::Lxc {
        if target.runs(call.world)? {
            return Err(Failure::die(format!("CT {} already running", target.vmid)));
        }
        return restore(call, &target);
    }
    root_only(call, &["skiplock", "nocheck"])?;
    let suspended = target.guest(call.world).is_ok_and(|guest| guest.lock().as_deref() == Some("suspended"));
    if !suspended {
        running_vm(call, &target)?;
    }
    let skiplock = call.params.is_on("skiplock");
    let late = target.clone();
    let task = target
        .task(&call.authid, "qmresume", "qmresume")
        .lasts(seconds(if suspended { 2 } else { 1 }))
        .begin(move |run| {
            let guest = target.guest(run.world)?;
            if guest.template() {
                return Err(format!("VM {} is a template and cannot be resumed!", target.vmid));
            }
            match guest.lock().as_deref() {
                Some("suspended" | "backup") => Ok(()),
                _ if skiplock => Ok(()),
                _ => guest.check_lock(),
            }
        })
        .finish(move |run| {
            if late.guest(run.world)?.lock().as_deref() == Some("suspended") {
                return wake(run, &late);
            }
            power::pause(run.world, late.vmid, false);
            Ok(())
        });
    call.start(task)
}

/// Criu restores a container from its checkpoint.
fn restore(call: &mut Call<'_>, target: &Target) -> Answer {
    let late = target.clone();
    let task = target.task(&call.authid, "vzresume", "vzresume").lasts(seconds(2)).finish(move |run| {
        let checkpoint = late.guest_mut(run.world).ok().and_then(|guest| guest.state.remove(CHECKPOINT));
        if checkpoint.is_none() {
            let vmid = late.vmid;
            return Err(format!(
                "command 'lxc-checkpoint -n {vmid} -r --foreground -D /var/lib/vz/dump' failed: exit code 1"
            ));
        }
        power::power_on(run.world, late.vmid, run.now);
        Ok(())
    });
    call.start(task)
}

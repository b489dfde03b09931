//! `POST …/status/{start,stop,shutdown,reboot,reset}`.

use super::{Request, Shutdown, Start, Target, halt, quorate, request, root_only, seconds};
use crate::behaviour::{Answer, Call, Failure};
use crate::world::{GuestKind, GuestStatus, ha};

/// `POST …/status/start`.
pub(crate) fn start(call: &mut Call<'_>) -> Answer {
    let target = Target::of(call);
    let params = &call.params;
    match target.kind {
        GuestKind::Vm => {
            let mine = ["stateuri", "skiplock", "migratedfrom", "migration_type", "migration_network", "targetstorage"];
            root_only(call, &mine)?;
            root_only(call, &["force-cpu", "nets-host-mtu"])?;
            let on = |name: &str| params.get(name).is_some_and(|value| !matches!(value.as_str(), "" | "0"));
            if on("targetstorage") && !on("migratedfrom") {
                return Err(Failure::param("targetstorage", "targetstorage can only by used with migratedfrom."));
            }
        }
        GuestKind::Lxc => {
            if target.runs(call.world)? {
                return Err(Failure::die(format!("CT {} already running", target.vmid)));
            }
            root_only(call, &["skiplock"])?;
        }
    }
    quorate(call)?;
    if ha::managed(call.world, target.vmid).is_some() {
        return call.start(request(&target, &call.authid, Request::Start));
    }
    let how = Start {
        skiplock: params.is_on("skiplock"),
        machine: params.get("machine"),
        migratedfrom: params.get("migratedfrom").filter(|from| !matches!(from.as_str(), "" | "0")),
        stateuri: params.get("stateuri"),
    };
    let task = super::start(call.world, call.now_ms(), &target, &call.authid, how);
    call.start(task)
}

/// `POST …/status/stop`.
pub(crate) fn stop(call: &mut Call<'_>) -> Answer {
    let target = Target::of(call);
    match target.kind {
        GuestKind::Vm => root_only(call, &["skiplock", "keepActive", "migratedfrom"])?,
        GuestKind::Lxc => {
            running_ct(call, &target)?;
            root_only(call, &["skiplock"])?;
        }
    }
    let overrule = call.params.is_on("overrule-shutdown");
    if ha::managed(call.world, target.vmid).is_some() {
        if overrule {
            return Err(Failure::param("overrule-shutdown", "Not applicable for HA resources."));
        }
        return call.start(request(&target, &call.authid, Request::Stop(0)));
    }
    let overruled = if overrule { overrule_shutdowns(call, &target) } else { None };
    if let Some(from) = call.params.get("migratedfrom").filter(|from| !matches!(from.as_str(), "" | "0")) {
        return call.start(halt::stop_migrated(&target, &call.authid, from));
    }
    let skiplock = call.params.is_on("skiplock");
    let mut task = halt::stop(call.world, call.now_ms(), &target, &call.authid, skiplock);
    if let Some(line) = overruled {
        task = task.line(line);
    }
    call.start(task)
}

/// Interrupts shutdowns that still wait for the guest.
fn overrule_shutdowns(call: &mut Call<'_>, target: &Target) -> Option<String> {
    let worker_type = if target.kind == GuestKind::Vm { "qmshutdown" } else { "vzshutdown" };
    let id = target.vmid.to_string();
    let tasks =
        call.world.tasks.iter().filter(|task| task.running() && task.worker_type == worker_type && task.id == id);
    let upids: Vec<String> = tasks.map(|task| task.upid.clone()).collect();
    for upid in &upids {
        call.stop_task(upid);
    }
    (!upids.is_empty()).then(|| format!("overruled {worker_type} tasks: {}", upids.join(", ")))
}

/// `POST …/status/shutdown`.
pub(crate) fn shutdown(call: &mut Call<'_>) -> Answer {
    let target = Target::of(call);
    let params = &call.params;
    let mut how = Shutdown {
        skiplock: params.is_on("skiplock"),
        timeout: params.int("timeout"),
        force: params.is_on("forceStop"),
        plug: false,
    };
    let mut line = None;
    if target.kind == GuestKind::Lxc {
        running_ct(call, &target)?;
    } else {
        root_only(call, &["skiplock", "keepActive"])?;
        if paused(call, &target) {
            if !how.force {
                return Err(Failure::die("VM is paused - cannot shutdown"));
            }
            how.plug = true;
            line = Some("VM is paused - stop instead of shutdown");
        }
    }
    if ha::managed(call.world, target.vmid).is_some() {
        let timeout = how.timeout.unwrap_or(halt::PATIENCE);
        return call.start(request(&target, &call.authid, Request::Stop(timeout)));
    }
    let mut task = halt::shutdown(call.world, call.now_ms(), &target, &call.authid, &how);
    if let Some(line) = line {
        task = task.line(line);
    }
    call.start(task)
}

/// `POST …/status/reboot`.
pub(crate) fn reboot(call: &mut Call<'_>) -> Answer {
    let target = Target::of(call);
    if paused(call, &target) {
        return Err(Failure::die("VM is paused - cannot shutdown"));
    }
    if !target.runs(call.world)? {
        // Containers say VM here, too.
        return Err(Failure::die(format!("VM {} not running", target.vmid)));
    }
    let timeout = call.params.int("timeout");
    let task = halt::reboot(call.world, call.now_ms(), &target, &call.authid, timeout);
    call.start(task)
}

/// `POST …/status/reset`: what ran inside is gone, the machine goes on.
pub(crate) fn reset(call: &mut Call<'_>) -> Answer {
    root_only(call, &["skiplock"])?;
    let target = Target::of(call);
    running_vm(call, &target)?;
    let skiplock = call.params.is_on("skiplock");
    let task = target.task(&call.authid, "qmreset", "qmreset").lasts(seconds(1)).begin(move |run| {
        if !skiplock {
            target.guest(run.world)?.check_lock()?;
        }
        let guest = target.guest_mut(run.world)?;
        guest.agent.processes.clear();
        guest.agent.frozen = false;
        Ok(())
    });
    call.start(task)
}

/// Refuses when a machine does not run.
pub(super) fn running_vm(call: &Call<'_>, target: &Target) -> Result<(), Failure> {
    if target.runs(call.world)? { Ok(()) } else { Err(Failure::die(format!("VM {} not running", target.vmid))) }
}

/// Refuses when a container does not run.
pub(super) fn running_ct(call: &Call<'_>, target: &Target) -> Result<(), Failure> {
    if target.runs(call.world)? { Ok(()) } else { Err(Failure::die(format!("CT {} not running", target.vmid))) }
}

fn paused(call: &Call<'_>, target: &Target) -> bool {
    let guest = target.guest(call.world);
    guest.is_ok_and(|guest| guest.status == GuestStatus::Paused && !guest.state.contains_key("asleep"))
}

//! How a guest starts: what must be there, pending changes, going on from a saved state.

use std::time::Duration;

use super::queue::{Job, queued};
use super::{Target, vm};
use crate::work::{NewTask, Run};
use crate::world::disk::drives;
use crate::world::snapshot::OF_THE_RUN;
use crate::world::{Guest, GuestKind, World, power};

/// How long a start takes.
const TAKES: Duration = Duration::from_millis(800);

/// What a start was told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Start {
    pub skiplock: bool,
    pub machine: Option<String>,
    pub migratedfrom: Option<String>,
    pub stateuri: Option<String>,
}

/// The task that starts a guest (`qmstart`, `vzstart`).
pub(crate) fn start(world: &World, now_ms: i64, target: &Target, user: &str, how: Start) -> NewTask {
    let (early, late) = (target.clone(), target.clone());
    let job = Job::new(target.task(user, "qmstart", "vzstart"), TAKES)
        .begin(move |run| check(run, &early, &how))
        .finish(move |run| bring_up(run, &late));
    queued(world, now_ms, target, job)
}

/// The same for starts that follow from something else: the guest is on as soon as the task begins.
pub(crate) fn start_at_once(target: &Target, user: &str) -> NewTask {
    let target = target.clone();
    target.task(user, "qmstart", "vzstart").lasts(TAKES).begin(move |run| {
        check(run, &target, &Start::default())?;
        bring_up(run, &target)
    })
}

/// Everything that keeps a guest from starting.
fn check(run: &mut Run<'_>, target: &Target, how: &Start) -> Result<(), String> {
    if let Some(from) = &how.migratedfrom {
        Target { node: from.clone(), ..target.clone() }.guest(run.world)?;
    }
    let guest = target.guest(run.world)?;
    match target.kind {
        GuestKind::Vm => check_vm(run.world, guest, how),
        GuestKind::Lxc => check_ct(run, target, how),
    }
}

fn check_vm(world: &World, guest: &Guest, how: &Start) -> Result<(), String> {
    if guest.template() {
        return Err("you can't start a vm if it's a template".into());
    }
    let suspended = guest.lock().as_deref() == Some("suspended");
    if guest.lock().as_deref() == Some("backup") && guest.runs() {
        return Ok(());
    }
    if !how.skiplock && !suspended {
        guest.check_lock()?;
    }
    if guest.runs() {
        return Err(format!("VM {} already running", guest.vmid));
    }
    if let Some(machine) = &how.machine
        && !machine.split(',').any(|part| !part.contains('=') || part.starts_with("type="))
    {
        return Err(format!("unable to determine machine base type '{machine}+pve0'"));
    }
    if let Some(uri) = how.stateuri.as_deref().filter(|uri| !matches!(*uri, "" | "0" | "tcp" | "unix")) {
        if !uri.contains(':') {
            return Err(format!("unable to parse volume ID '{uri}'"));
        }
        find_volume(world, &guest.node, uri)?;
    }
    let Some(node) = world.nodes.get(&guest.node) else { return Ok(()) };
    let allowed = node.cpus;
    let wanted = guest.option("sockets").and_then(|text| text.parse::<u32>().ok()).unwrap_or(1)
        * guest.option("cores").and_then(|text| text.parse::<u32>().ok()).unwrap_or(1);
    if wanted > allowed {
        return Err(format!("MAX {allowed} vcpus allowed per VM on this node"));
    }
    for drive in drives(guest.kind, &guest.config).iter().filter(|drive| drive.storage().is_some()) {
        find_volume(world, &guest.node, &drive.volume())?;
    }
    for bridge in bridges(guest) {
        check_bridge(world, &guest.node, &bridge)?;
    }
    if guest.max_memory() > node.memory {
        return Err("start failed: QEMU exited with code 1".into());
    }
    Ok(())
}

fn check_ct(run: &mut Run<'_>, target: &Target, how: &Start) -> Result<(), String> {
    let guest = target.guest(run.world)?;
    if guest.template() {
        return Err("you can't start a CT if it's a template".into());
    }
    if !how.skiplock && guest.lock().as_deref() != Some("mounted") {
        guest.check_lock()?;
    }
    if guest.runs() {
        return Err(format!("CT {} already running", guest.vmid));
    }
    let volumes = drives(guest.kind, &guest.config).into_iter().filter(|drive| drive.storage().is_some());
    let missing = volumes.map(|drive| find_volume(run.world, &target.node, &drive.volume())).find_map(Result::err);
    let missing =
        missing.or_else(|| bridges(guest).iter().find_map(|b| check_bridge(run.world, &target.node, b).err()));
    if let Some(missing) = missing {
        let vmid = target.vmid;
        run.log(missing);
        run.log("run_buffer: 571 Script exited with status 2");
        run.log(format!("lxc_init: 845 Failed to run lxc.hook.pre-start for container \"{vmid}\""));
        run.log(format!("__lxc_start: 2034 Failed to initialize container \"{vmid}\""));
        return Err(format!("startup for container '{vmid}' failed"));
    }
    Ok(())
}

/// A volume that is there, on a storage that can be used.
fn find_volume(world: &World, node: &str, volid: &str) -> Result<(), String> {
    let Some((id, name)) = volid.split_once(':') else { return Ok(()) };
    let storage = world.usable_storage(node, id)?;
    match (world.volume(node, volid), storage.plugin().as_str()) {
        (Some(_), _) => Ok(()),
        (None, "lvm" | "lvmthin") => {
            let group = storage.option("vgname").unwrap_or_else(|| "pve".into());
            Err(format!("no such logical volume {group}/{name}"))
        }
        (None, _) => Err(format!("volume '{volid}' does not exist")),
    }
}

/// The bridges that a guest's network devices are plugged into.
fn bridges(guest: &Guest) -> Vec<String> {
    let nets = (0..32).filter_map(|number| guest.option(&format!("net{number}")));
    nets.filter_map(|net| net.split(',').find_map(|part| part.strip_prefix("bridge=")).map(str::to_string)).collect()
}

/// A bridge of the node or a virtual network of the cluster.
fn check_bridge(world: &World, node: &str, bridge: &str) -> Result<(), String> {
    if world.has_bridge(node, bridge) { Ok(()) } else { Err(format!("bridge '{bridge}' does not exist")) }
}

/// Switches it on: from its saved state when it has one, else with its pending changes applied.
fn bring_up(run: &mut Run<'_>, target: &Target) -> Result<(), String> {
    let guest = target.guest(run.world)?;
    if guest.runs() {
        if guest.lock().as_deref() == Some("backup") {
            power::pause(run.world, target.vmid, false);
            return Ok(());
        }
        return Err(format!("{} already running", target.word()));
    }
    if guest.lock().as_deref() == Some("suspended") {
        return wake(run, target);
    }
    power::switch_on(run.world, target.vmid, run.now);
    Ok(())
}

/// Goes on from the state that a suspension to disk saved, and forgets it.
pub(super) fn wake(run: &mut Run<'_>, target: &Target) -> Result<(), String> {
    run.log("Resuming suspended VM");
    for line in without_mtu(target.guest(run.world)?) {
        run.log(line);
    }
    let guest = target.guest_mut(run.world)?;
    let saved = guest.option("vmstate");
    for key in OF_THE_RUN.iter().chain(&["lock", "vmstate"]) {
        guest.config.shift_remove(*key);
    }
    if let Some(volid) = &saved {
        run.log(format!("activating and using '{volid}' as vmstate"));
        run.world.take_volume(&target.node, volid);
    }
    power::power_on(run.world, target.vmid, run.now);
    run.log("Resumed VM, removing state");
    Ok(())
}

/// What QEMU's start says about each virtio network device of a machine whose state is loaded.
pub(crate) fn without_mtu(guest: &Guest) -> Vec<String> {
    let nets = (0..32).map(|number| format!("net{number}"));
    let virtio = nets.filter(|net| guest.option(net).is_some_and(|text| text.starts_with("virtio")));
    virtio.map(|net| format!("netdev {net}: not adding 'host_mtu' parameter for migration compat")).collect()
}

/// What a configuration keeps of the machine that runs, while its memory is saved.
pub(crate) fn of_the_run(guest: &Guest) -> Vec<(&'static str, String)> {
    let cpu = guest.option("cpu").unwrap_or_else(|| "kvm64".into());
    let cpu = cpu.split(',').next().unwrap_or_default().trim_start_matches("cputype=").to_string();
    let flags = if cpu == "host" { "+kvm_pv_eoi,+kvm_pv_unhalt" } else { "enforce,+kvm_pv_eoi,+kvm_pv_unhalt" };
    let nets = (0..32).map(|number| format!("net{number}"));
    let mtus = nets.filter(|net| guest.option(net).is_some_and(|text| text.starts_with("virtio")));
    let mtus: Vec<String> = mtus.map(|net| format!("{net}=1500")).collect();
    let mut kept = vec![("runningmachine", vm::machine(guest)), ("runningcpu", format!("{cpu},{flags}"))];
    if !mtus.is_empty() {
        kept.push(("running-nets-host-mtu", mtus.join(",")));
    }
    kept
}

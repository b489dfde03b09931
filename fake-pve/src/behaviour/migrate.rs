//! `/nodes/{node}/{qemu,lxc}/{vmid}/{migrate,remote_migrate}`.

mod condition;
mod journey;
mod log;
mod plan;
mod remote;

use super::status::{Request, Target, quorate, request, root_only};
use super::{Answer, Call, Failure};
use crate::work::NewTask;
use crate::world::{GuestKind, World, ha};

pub(crate) use condition::{preconditions, show};
pub(crate) use remote::remote;

/// What a migration was told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Journey {
    /// Where to.
    pub to: String,
    /// Without switching it off.
    pub online: bool,
    /// Containers: off, over, on again.
    pub restart: bool,
    /// Local disks may go along while it runs.
    pub with_local_disks: bool,
    /// Storages by storage; the key `` is all others.
    pub storages: Vec<(String, String)>,
}

/// `POST …/migrate`.
pub(crate) fn start(call: &mut Call<'_>) -> Answer {
    let target = Target::of(call);
    let to = call.params.text("target");
    if to == target.node {
        return Err(Failure::param("target", "target is local node."));
    }
    quorate(call)?;
    if !call.world.nodes.contains_key(&to) {
        return Err(Failure::die(format!("no such cluster node '{to}'")));
    }
    let journey = match target.kind {
        GuestKind::Vm => check_vm(call, &target, &to)?,
        GuestKind::Lxc => check_ct(call, &target, &to)?,
    };
    if ha::managed(call.world, target.vmid).is_some() {
        return call.start(request(&target, &call.authid, Request::Migrate(to)));
    }
    let task = journey::task(call.world, call.now(), &target, &call.authid, journey);
    call.start(task)
}

/// The migration that follows from something else (the HA manager, a bulk call): a running machine goes online, a
/// running container is switched off and on.
pub(crate) fn follow(
    world: &World,
    now: i64,
    target: &Target,
    user: &str,
    to: &str,
    with_local_disks: bool,
) -> NewTask {
    let runs = target.runs(world).unwrap_or(false);
    let (online, restart) = (runs && target.kind == GuestKind::Vm, runs && target.kind == GuestKind::Lxc);
    let journey = Journey { to: to.into(), online, restart, with_local_disks, storages: Vec::new() };
    journey::task(world, now, target, user, journey)
}

fn check_vm(call: &Call<'_>, target: &Target, to: &str) -> Result<Journey, Failure> {
    root_only(call, &["force", "migration_type", "migration_network"])?;
    let guest = target.guest(call.world)?;
    guest.check_lock()?;
    let (world, params) = (&*call.world, &call.params);
    let mut journey =
        Journey { to: to.into(), with_local_disks: params.is_on("with-local-disks"), ..Journey::default() };
    if guest.runs() {
        if !params.is_on("online") {
            return Err(Failure::die("can't migrate running VM without --online"));
        }
        let jobs = condition::replicated_to(world, target.vmid);
        if !params.is_on("force") && !jobs.is_empty() && !jobs.iter().any(|node| node == to) {
            let advice = "not a replication target. Use 'force' to override.";
            return Err(Failure::die(format!("Cannot live-migrate replicated VM to node '{to}' - {advice}")));
        }
        journey.online = true;
    }
    let map = params.get("targetstorage").unwrap_or_default();
    journey.storages = storage_map(call, "targetstorage", &map, to, "images")?;
    if map.is_empty() || map == "0" || map == "1" {
        condition::storages_there(world, guest, to)?;
    }
    Ok(journey)
}

fn check_ct(call: &Call<'_>, target: &Target, to: &str) -> Result<Journey, Failure> {
    let guest = target.guest(call.world)?;
    let params = &call.params;
    let (online, restart) = (params.is_on("online"), params.is_on("restart"));
    if guest.runs() && !online && !restart {
        return Err(Failure::die("can't migrate running container without --online or --restart"));
    }
    let map = params.get("target-storage").unwrap_or_default();
    let storages = storage_map(call, "target-storage", &map, to, "rootdir")?;
    let online = online && guest.runs();
    Ok(Journey { to: to.into(), online, restart, storages, ..Journey::default() })
}

/// Reads `a:b,c` and checks each storage on the target.
fn storage_map(
    call: &Call<'_>,
    param: &str,
    map: &str,
    to: &str,
    content: &str,
) -> Result<Vec<(String, String)>, Failure> {
    if matches!(map, "" | "0" | "1") {
        return Ok(Vec::new());
    }
    call.require(&format!("/vms/{}", call.vmid()), &["VM.Config.Disk"])?;
    let mut pairs = Vec::new();
    for part in map.split([',', ';', ' ']).filter(|part| !part.is_empty()) {
        let (from, id) = part.split_once(':').unwrap_or(("", part));
        condition::usable(call.world, id, to)?;
        call.require(&format!("/storage/{id}"), &["Datastore.AllocateSpace"])?;
        let storage = call.world.storages.get(id);
        if !storage.is_some_and(|storage| storage.holds(content)) {
            let what = if content == "images" { "vm images" } else { "container directories" };
            return Err(Failure::param(param, format!("storage '{id}' does not support {what}")));
        }
        pairs.push((from.to_string(), id.to_string()));
    }
    Ok(pairs)
}

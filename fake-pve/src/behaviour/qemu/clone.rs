//! `POST …/clone`: a copy of a machine, full or linked.

mod make;

use serde_json::{Map, Value, json};

use crate::behaviour::guest::network::is_net;
use crate::behaviour::guest::reading::snapshot_config;
use crate::behaviour::guest::stage::Stage;
use crate::behaviour::guest::{access, check_pool, check_quorum, copy};
use crate::behaviour::{Answer, Call, Failure};
use crate::world::disk::{Disk, disks};
use crate::world::{Guest, GuestKind, option};

/// What is cloned, and how.
#[derive(Clone)]
struct Plan {
    vmid: u32,
    newid: u32,
    full: bool,
    snapname: Option<String>,
    storage: Option<String>,
    format: Option<String>,
    target: Option<String>,
    pool: Option<String>,
    name: Option<String>,
    description: Option<String>,
}

/// `POST …/clone`.
pub(crate) fn clone(call: &mut Call<'_>) -> Answer {
    let (vmid, node) = (call.vmid(), call.node());
    let newid = call.params.int("newid").and_then(|id| u32::try_from(id).ok()).unwrap_or(0);
    let pool = call.params.get("pool");
    check_pool(call, pool.as_deref())?;
    let guest = call.world.guests.get(&vmid).filter(|guest| guest.kind == GuestKind::Vm && guest.node == node);
    let Some(guest) = guest else {
        return Err(Failure::die(format!("unable to find configuration file for VM {vmid} on node '{node}'")));
    };
    let template = guest.template();
    let target = call.params.get("target").filter(|target| *target != node && target != "localhost" && target != "0");
    let plan = Plan {
        vmid,
        newid,
        full: call.params.flag("full").unwrap_or(!template),
        snapname: call.params.get("snapname"),
        storage: call.params.get("storage"),
        format: call.params.get("format"),
        target,
        pool,
        name: call.params.get("name"),
        description: call.params.get("description"),
    };
    let source = check(call, &plan)?;
    let bytes = if plan.full {
        disks(GuestKind::Vm, &source).iter().filter_map(Disk::size).fold(0, u64::saturating_add)
    } else {
        0
    };
    let task = call
        .task("qmclone", &vmid.to_string())
        .lasts(copy::duration(bytes))
        .line(format!("creating a clone of VM {vmid} with ID {newid}"))
        .begin({
            let plan = plan.clone();
            move |run| {
                if let Some(other) = run.world.guests.get(&plan.newid) {
                    let (word, node) = (other.kind.word(), &other.node);
                    return Err(format!("clone failed: {word} {} already exists on node '{node}'", plan.newid));
                }
                let node = run.node.to_string();
                let clone = Guest::new(GuestKind::Vm, plan.newid, &node, json!({"lock": "clone"}));
                run.world.guests.insert(plan.newid, clone);
                run.world.copy_firewall(plan.vmid, plan.newid);
                Ok(())
            }
        })
        .finish(move |run| make::make(run, &plan).map_err(|error| format!("clone failed: {error}")))
        .undo(move |run| {
            run.world.forget_guest(newid, false);
            run.world.guests.remove(&newid);
            Ok(())
        });
    call.start(task)
}

/// Everything that is refused before there is a task; the configuration that will be cloned.
fn check(call: &Call<'_>, plan: &Plan) -> Result<Map<String, Value>, Failure> {
    let node = call.node();
    if let Some(target) = plan.target.as_ref().filter(|target| !call.world.nodes.contains_key(*target)) {
        return Err(Failure::die(format!("no such cluster node '{target}'")));
    }
    if let Some(storage) = &plan.storage {
        call.world.usable_storage(&node, storage)?;
        if let Some(target) = &plan.target {
            let found = call.world.usable_storage(target, storage)?;
            if !found.shared() {
                return Err(Failure::die(format!("can't clone to non-shared storage '{storage}'")));
            }
        }
    }
    check_quorum(call)?;
    let guest = call.world.guest(GuestKind::Vm, &node, plan.vmid)?;
    guest.check_lock()?;
    let source = match &plan.snapname {
        Some(name) => snapshot_config(guest, name)?,
        None => guest.config.clone(),
    };
    for (name, given) in [("storage", plan.storage.is_some()), ("format", plan.format.is_some())] {
        if given && !plan.full {
            return Err(Failure::die(format!("parameter '{name}' not allowed for linked clones")));
        }
    }
    let shared = check_storages(call, plan, &source)?;
    for (_, value) in source.iter().filter(|(key, _)| is_net(key)) {
        access::check_bridge(call, &option::text(value))?;
    }
    if let Some(target) = plan.target.as_ref().filter(|_| !shared) {
        return Err(Failure::die(format!("can't clone VM to node '{target}' (VM uses local storage)")));
    }
    let here =
        call.world.guests.get(&plan.newid).is_some_and(|other| other.kind == GuestKind::Vm && other.node == node);
    if here {
        return Err(Failure::die(format!("unable to create VM {}: config file already exists", plan.newid)));
    }
    if plan.full && guest.runs() && plan.snapname.is_none() && source.contains_key("tpmstate0") {
        return Err(Failure::die("cannot clone TPM state while VM is running"));
    }
    for disk in disks(GuestKind::Vm, &source).into_iter().filter(|disk| !disk.is_cdrom(true)) {
        check_feature(call, plan, &disk)?;
    }
    Ok(source)
}

/// Rights on the storages that the clone will use; whether all of them are shared.
fn check_storages(call: &Call<'_>, plan: &Plan, source: &Map<String, Value>) -> Result<bool, Failure> {
    let mut shared = true;
    for disk in disks(GuestKind::Vm, source) {
        let volid = disk.volume();
        if disk.is_cdrom(false) && !disk.is_cloudinit() {
            if volid == "cdrom" {
                call.need("/", &["Sys.Console"])?;
            } else if let Some((storage, _)) = volid.split_once(':') {
                shared &= call.world.storages.get(storage).is_some_and(|found| found.shared());
            }
            continue;
        }
        let of_source = volid.split_once(':').map(|(storage, _)| storage.to_string());
        let storage = plan.storage.clone().or(of_source).unwrap_or_default();
        let found = call.world.storages.get(&storage).ok_or_else(|| format!("storage '{storage}' does not exist"))?;
        shared &= found.shared();
        call.need(&format!("/storage/{storage}"), &["Datastore.AllocateSpace"])?;
    }
    Ok(shared)
}

fn check_feature(call: &Call<'_>, plan: &Plan, disk: &Disk) -> Result<(), Failure> {
    let volid = disk.volume();
    let (feature, word) = match plan.full || disk.is_cloudinit() {
        true => ("copy", "Full clone"),
        false => ("clone", "Linked clone"),
    };
    let snapshot = plan.snapname.as_deref().filter(|_| !disk.is_cloudinit());
    if call.world.has_feature(&volid, feature, snapshot) {
        return Ok(());
    }
    let what = if snapshot.is_some() { "a snapshot of " } else { "" };
    Err(Failure::die(format!("{word} feature is not supported for {what}'{volid}' ({})", disk.key)))
}

//! `POST …/move_disk`: a disk goes to another storage, or to another machine.

mod reassign;

use super::drives::drive;
use super::template::to_bases;
use crate::behaviour::guest::copy;
use crate::behaviour::guest::stage::{Stage, late};
use crate::behaviour::{Answer, Call, Failure};
use crate::work::Run;
use crate::world::disk::Disk;
use crate::world::volume::name;
use crate::world::{GuestKind, World, option};

/// What is moved, and where.
#[derive(Clone)]
struct Plan {
    vmid: u32,
    key: String,
    storage: String,
    format: Option<String>,
    delete: bool,
    digest: Option<String>,
}

/// `POST …/move_disk`.
pub(crate) fn move_disk(call: &mut Call<'_>) -> Answer {
    let vmid = call.vmid();
    let (storage, target) = (call.params.get("storage"), call.params.get("target-vmid"));
    let both = |text: &str| {
        Err(Failure::params(["storage", "target-vmid"].map(|name| (name.to_string(), text.to_string())).into()))
    };
    let storage = match (storage, target) {
        (Some(_), Some(_)) => return both("either set 'storage' or 'target-vmid', but not both"),
        (None, None) => return both("both 'storage' and 'target-vmid' missing, either needs to be set"),
        (None, Some(_)) => return reassign::reassign(call),
        (Some(storage), None) => storage,
    };
    call.need(&format!("/storage/{storage}"), &["Datastore.AllocateSpace"])?;
    let plan = Plan {
        vmid,
        key: call.params.text("disk"),
        storage,
        format: call.params.get("format"),
        delete: call.params.is_on("delete"),
        digest: call.params.get("digest").filter(|digest| !digest.is_empty()),
    };
    let disk = check(call.world, &call.node(), &plan)?;
    let task = call
        .task("qmmove", &vmid.to_string())
        .lasts(copy::duration(disk.size().unwrap_or(0)))
        .begin({
            let plan = plan.clone();
            move |run| {
                let disk = check(run.world, run.node, &plan).map_err(late)?;
                let from = disk.volume();
                let of_source = from.split_once(':').map(|(storage, _)| storage).unwrap_or_default();
                run.log(format!(
                    "copying volume '{from}' from current storage '{of_source}' to target storage '{}'",
                    plan.storage
                ));
                Ok(())
            }
        })
        .finish(move |run| make(run, &plan));
    call.start(task)
}

fn check(world: &World, node: &str, plan: &Plan) -> Result<Disk, Failure> {
    let guest = world.guest(GuestKind::Vm, node, plan.vmid)?;
    guest.check_lock()?;
    if plan.digest.as_ref().is_some_and(|digest| *digest != guest.digest()) {
        return Err(crate::behaviour::call::stale_digest());
    }
    let key = &plan.key;
    let value = guest.config.get(key).ok_or_else(|| format!("disk '{key}' does not exist"))?;
    let disk = drive(key, value).filter(|disk| !disk.volume().is_empty());
    let disk = disk.ok_or_else(|| format!("disk '{key}' has no associated volume"))?;
    if disk.is_cdrom(true) {
        return Err(Failure::die("you can't move a cdrom"));
    }
    let from = disk.volume();
    let (of_source, volname) = name::split(&from)?;
    let extension = volname.rsplit_once('.').map(|(_, extension)| extension);
    let old = extension.filter(|format| matches!(*format, "raw" | "qcow2" | "vmdk"));
    let same = plan.format.is_none() || old.is_none() || old == plan.format.as_deref();
    if of_source == plan.storage && same {
        return Err(Failure::die("you can't move to the same storage with same format"));
    }
    let storage = &plan.storage;
    let found = world.usable_storage(node, storage)?;
    if !found.holds("images") {
        return Err(Failure::param("storage", format!("storage '{storage}' does not support vm images")));
    }
    if plan.delete && guest.snapshots_with(&from) {
        return Err(Failure::die("you can't move a disk with snapshots and delete the source"));
    }
    Ok(disk)
}

fn make(run: &mut Run<'_>, plan: &Plan) -> Result<(), String> {
    let node = run.node.to_string();
    let mut disk = check(run.world, &node, plan).map_err(late)?;
    let (from, key) = (disk.volume(), plan.key.clone());
    if run.world.guest(GuestKind::Vm, &node, plan.vmid)?.snapshots_with(&from) {
        run.log("moving disk with snapshots, snapshots will not be moved!");
    }
    run.log(format!("create full clone of drive {key} ({from})"));
    let format = match key.as_str() {
        "tpmstate0" => "raw".to_string(),
        _ => copy::target_format(run, &from, &plan.storage, plan.format.as_deref()),
    };
    let own = disk.is_cloudinit().then(|| copy::cloudinit_name(run, plan.vmid, &plan.storage, &format));
    let target =
        copy::Target { vmid: plan.vmid, storage: &plan.storage, format: &format, name: own.as_deref(), size: None };
    let to = copy::full(run, &from, &target).map_err(|error| format!("storage migration failed: {error}"))?;
    disk.take("format");
    disk.set_volume(&to);
    if let Some(size) = run.world.volume(&node, &to).map(|volume| volume.size) {
        disk.set_size(size);
    }
    let guest = run.guest_mut(plan.vmid).map_err(late)?;
    guest.config.insert(key.clone(), disk.print().into());
    let template = guest.template();
    if plan.delete {
        run.log(format!("removing source volume '{from}' after successful copy"));
        let freed = run.world.free_volume(&node, &from);
        match freed {
            Ok(lines) => run.tell_all(&lines),
            Err(error) => run.log(error),
        }
    } else {
        let unused = run.guest_mut(plan.vmid).map_err(late)?.add_unused(&from)?;
        run.log(format!("adding source volume '{from}' as '{unused}' to config"));
    }
    if template {
        to_bases(run, plan.vmid, Some(&key))?;
    }
    Ok(())
}

/// A stored option as text, for messages and keys.
fn text_of(world: &World, vmid: u32, key: &str) -> Option<String> {
    world.guests.get(&vmid)?.config.get(key).map(option::text)
}

//! `POST …/move_volume`: a mount point goes to another storage, or to another container.

use std::time::Duration;

use super::clone::copy_content;
use crate::behaviour::call::stale_digest;
use crate::behaviour::guest::copy;
use crate::behaviour::guest::handover::Handover;
use crate::behaviour::guest::stage::{Stage, late};
use crate::behaviour::{Answer, Call, Failure};
use crate::work::Run;
use crate::world::disk::{Disk, is_mount, is_unused};
use crate::world::{GuestKind, World, option};

/// `POST …/move_volume`.
pub(crate) fn move_volume(call: &mut Call<'_>) -> Answer {
    let (storage, target) = (call.params.get("storage"), call.params.get("target-vmid"));
    let both = |text: &str| {
        Err(Failure::params(["storage", "target-vmid"].map(|name| (name.to_string(), text.to_string())).into()))
    };
    match (storage, target) {
        (Some(_), Some(_)) => both("either set storage or target-vmid, but not both"),
        (None, None) => both("both 'storage' and 'target-vmid' missing, either needs to be set"),
        (None, Some(_)) => reassign(call),
        (Some(storage), None) => to_storage(call, storage),
    }
}

fn to_storage(call: &mut Call<'_>, storage: String) -> Answer {
    let (vmid, key, delete) = (call.vmid(), call.params.text("volume"), call.params.is_on("delete"));
    call.need(&format!("/storage/{storage}"), &["Datastore.AllocateSpace"])?;
    let guest = call.world.guest(GuestKind::Lxc, &call.node(), vmid)?;
    guest.check_lock()?;
    if guest.runs() {
        return Err(Failure::die("cannot move volumes of a running container"));
    }
    if is_unused(&key) {
        let text = format!("cannot move volume '{key}', only configured volumes can be moved to another storage");
        return Err(Failure::die(text));
    }
    let mount = guest.config.get(&key).and_then(|text| Disk::parse(GuestKind::Lxc, &key, &option::text(text)));
    let mount = mount.ok_or_else(|| format!("volume '{key}' for container '{vmid}' does not exist"))?;
    if delete && guest.snapshots_with(&mount.volume()) {
        return Err(Failure::die("you can't move a volume with snapshots and delete the source"));
    }
    if call.params.get("digest").is_some_and(|digest| !digest.is_empty() && digest != guest.digest()) {
        return Err(stale_digest());
    }
    let task = call
        .task("move_volume", &vmid.to_string())
        .lasts(copy::duration(mount.size().unwrap_or(0)))
        .begin(move |run| {
            run.lock(vmid, "disk");
            Ok(())
        })
        .finish(move |run| {
            let from = mount.volume();
            let to = copy_content(run, vmid, &from, &storage)?;
            let mut mount = mount;
            mount.set_volume(&to);
            let guest = run.guest_mut(vmid).map_err(late)?;
            guest.config.insert(key, mount.print().into());
            if delete {
                let node = run.node.to_string();
                let lines = run.world.free_volume(&node, &from)?;
                run.tell_all(&lines);
            } else {
                run.guest_mut(vmid).map_err(late)?.add_unused(&from)?;
            }
            Ok(())
        });
    call.start(task)
}

fn reassign(call: &mut Call<'_>) -> Answer {
    let plan = Handover::asked(call, "volume");
    let target = plan.target;
    call.need(&format!("/vms/{target}"), &["VM.Config.Disk"])?;
    if plan.vmid == target {
        return Err(Failure::param(
            "target-vmid",
            "must be different than source VMID to move disk to another container",
        ));
    }
    if plan.key == "rootfs" || plan.target_key == "rootfs" {
        return Err(Failure::die("Cannot move to/from 'rootfs'"));
    }
    let mount = check(call.world, &call.node(), &plan)?;
    let volid = mount.volume();
    let storage = volid.split_once(':').map(|(storage, _)| storage).unwrap_or_default();
    call.need(&format!("/storage/{storage}"), &["Datastore.AllocateSpace"])?;
    let task =
        call.task("move_volume", &plan.id()).lasts(Duration::from_millis(500)).begin(move |run| hand_over(run, &plan));
    call.start(task)
}

fn check(world: &World, node: &str, plan: &Handover) -> Result<Disk, Failure> {
    let (vmid, target) = (plan.vmid, plan.target);
    let die = |text: String| Err(Failure::die(text));
    let (Some(from), Some(to)) = (world.guests.get(&vmid), world.guests.get(&target)) else {
        return die(format!("could not find CT {target}"));
    };
    if from.node != to.node {
        return die(format!("Both containers need to be on the same node ({} != {})", from.node, to.node));
    }
    let (from, to) = plan.guests(world, GuestKind::Lxc, node, "Can't move volumes from or to template CT")?;
    let (key, target_key) = (&plan.key, &plan.target_key);
    let mount = from.config.get(key).and_then(|text| Disk::parse(GuestKind::Lxc, key, &option::text(text)));
    let Some(mount) = mount else { return die(format!("volume '{key}' for container '{vmid}' does not exist")) };
    if to.config.contains_key(target_key) {
        return die(format!("Target volume key '{target_key}' is already in use for container '{target}'"));
    }
    if mount.mount_type() != "volume" {
        return die("Cannot move a bindmount or device mount to another container".into());
    }
    let volid = mount.volume();
    if from.snapshots_with(&volid) {
        return die("Cannot move volume used by a snapshot to another container".into());
    }
    if !world.has_feature(&volid, "rename", None) {
        return die("Storage does not support moving of this disk to another container".into());
    }
    if from.runs() && !is_unused(key) {
        return die(
            "Cannot move active volume to another container while the source container is running - detach first"
                .into(),
        );
    }
    Ok(mount)
}

fn hand_over(run: &mut Run<'_>, plan: &Handover) -> Result<(), String> {
    let node = run.node.to_string();
    let mut mount = check(run.world, &node, plan).map_err(late)?;
    let Handover { vmid, key, target, target_key, .. } = plan;
    run.log(format!("moving volume '{key}' from container '{vmid}' to '{target_key}' of container '{target}'"));
    let given = run.world.reassign_volume(&node, &mount.volume(), *target)?;
    run.tell_all(&given.log);
    run.log(format!("removing volume '{key}' from container '{vmid}' config"));
    run.guest_mut(*vmid).map_err(late)?.config.shift_remove(key);
    let size = run.world.volume(&node, &given.volid).map(|volume| volume.size);
    mount.key.clone_from(target_key);
    mount.set_volume(&given.volid);
    if is_mount(target_key) {
        if mount.get("mp").is_none() {
            mount.set("mp", format!("/{target_key}"));
        }
        if let Some(size) = size {
            mount.set_size(size);
        }
    }
    run.log(format!("adding '{target_key}' to container '{target}' config"));
    let guest = run.guest_mut(*target).map_err(late)?;
    guest.config.insert(target_key.clone(), mount.print().into());
    guest.written();
    Ok(())
}

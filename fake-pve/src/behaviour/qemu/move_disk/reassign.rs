//! Giving a disk to another machine of the same node.

use std::time::Duration;

use super::text_of;
use crate::behaviour::guest::handover::Handover;
use crate::behaviour::guest::stage::{Stage, late};
use crate::behaviour::qemu::drives::drive;
use crate::behaviour::qemu::update::{boot_order, print_order};
use crate::behaviour::{Answer, Call, Failure};
use crate::work::Run;
use crate::world::disk::{Disk, is_unused};
use crate::world::{GuestKind, World};

/// `POST …/move_disk` with `target-vmid`.
pub(super) fn reassign(call: &mut Call<'_>) -> Answer {
    let plan = Handover::asked(call, "disk");
    let target = plan.target;
    call.need(&format!("/vms/{target}"), &["VM.Config.Disk"])?;
    if plan.vmid == target {
        return Err(Failure::param("target-vmid", "must be different than source VMID to reassign disk"));
    }
    let disk = check(call.world, &call.node(), &plan)?;
    let volid = disk.volume();
    let storage = volid.split_once(':').map(|(storage, _)| storage).unwrap_or_default();
    call.need(&format!("/storage/{storage}"), &["Datastore.AllocateSpace"])?;
    let task = call.task("qmmove", &plan.id()).lasts(Duration::from_millis(500)).begin(move |run| make(run, &plan));
    call.start(task)
}

fn check(world: &World, node: &str, plan: &Handover) -> Result<Disk, Failure> {
    let (vmid, target) = (plan.vmid, plan.target);
    let die = |text: String| Err(Failure::die(text));
    let Some(from) = world.guests.get(&vmid) else { return die(format!("could not find VM {vmid}")) };
    let Some(to) = world.guests.get(&target) else { return die(format!("could not find target VM {target}")) };
    if from.node != to.node {
        return die(format!("Both VMs need to be on the same node ({} != {})", from.node, to.node));
    }
    let (from, to) = plan.guests(world, GuestKind::Vm, node, "Can't move disks from or to template VMs")?;
    let (key, target_key) = (&plan.key, &plan.target_key);
    let Some(value) = from.config.get(key) else { return die(format!("Disk '{key}' for VM '{vmid}' does not exist")) };
    if to.config.contains_key(target_key) {
        return die(format!("Target disk key '{target_key}' is already in use for VM '{target}'"));
    }
    let disk = drive(key, value).filter(|disk| !disk.volume().is_empty());
    let Some(disk) = disk else { return die(format!("Disk '{key}' for VM '{vmid}' does not exist")) };
    let volid = disk.volume();
    if disk.is_cdrom(false) {
        return die("CD drive contents can't be moved to another VM".into());
    }
    if world.parse_volume(&volid).is_err() {
        return die(format!("Volume '{volid}' not managed by PVE"));
    }
    if from.snapshots_with(&volid) {
        return die("Can't move disk used by a snapshot to another VM".into());
    }
    if !world.has_feature(&volid, "rename", None) {
        return die("Storage does not support moving of this disk to another VM".into());
    }
    if from.runs() && !is_unused(key) {
        return die("Cannot move disk to another VM while the source VM is running - detach first".into());
    }
    Ok(disk)
}

fn make(run: &mut Run<'_>, plan: &Handover) -> Result<(), String> {
    let node = run.node.to_string();
    let mut disk = check(run.world, &node, plan).map_err(late)?;
    let Handover { vmid, key, target, target_key, .. } = plan;
    run.log(format!("reassign disk '{key}' from VM '{vmid}' as '{target_key}' to VM '{target}'"));
    let given = run.world.reassign_volume(&node, &disk.volume(), *target)?;
    run.tell_all(&given.log);
    let boot = text_of(run.world, *vmid, "boot").unwrap_or_default();
    if let Some(mut order) = boot_order(&boot).filter(|order| order.contains(key)) {
        run.log(format!("removing disk '{key}' from boot order config"));
        order.retain(|device| device != key);
        let guest = run.guest_mut(*vmid).map_err(late)?;
        guest.config.insert("boot".into(), print_order(&order).into());
    } else {
        run.guest_mut(*vmid).map_err(late)?.written();
    }
    run.log(format!("removing disk '{key}' from VM '{vmid}' config"));
    run.guest_mut(*vmid).map_err(late)?.config.shift_remove(key);
    let size = run.world.volume(&node, &given.volid).map(|volume| volume.size);
    disk.key.clone_from(target_key);
    disk.set_volume(&given.volid);
    if let Some(size) = size.filter(|_| disk.get("size").is_none() && !is_unused(target_key)) {
        disk.set_size(size);
    }
    let text = disk.print();
    run.log(format!("update VM {target}: -{target_key} {text}"));
    let guest = run.guest_mut(*target).map_err(late)?;
    guest.config.insert(target_key.clone(), text.into());
    guest.written();
    Ok(())
}

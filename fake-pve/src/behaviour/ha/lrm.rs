//! What a node's own manager does for a service: tasks of `root@pam` on the guest's node.

use std::time::Duration;

use pve_catalog::permission::ROOT;

use crate::work::{NewTask, Run};
use crate::world::ha::{Action, What};
use crate::world::{Guest, GuestKind, World};

/// The task of an action.
pub(crate) fn task(action: &Action) -> NewTask {
    let (vmid, target) = (action.vmid, action.what.clone());
    let kind = if action.sid.starts_with("ct:") { GuestKind::Lxc } else { GuestKind::Vm };
    let task = |vm: &str, ct: &str| {
        let worker_type = if kind == GuestKind::Vm { vm } else { ct };
        NewTask::new(&action.node, ROOT, worker_type, &vmid.to_string()).line("task started by HA resource agent")
    };
    match target {
        What::Start => task("qmstart", "vzstart").begin(move |run| check_start(run, vmid)).finish(move |run| {
            let (now, pid) = (run.now, run.world.next_pid());
            guest(run.world, vmid)?.power_on(now, pid);
            Ok(())
        }),
        What::Stop(timeout) => {
            let (vm, ct) = if timeout == Some(0) { ("qmstop", "vzstop") } else { ("qmshutdown", "vzshutdown") };
            task(vm, ct).finish(move |run| {
                guest(run.world, vmid)?.power_off();
                Ok(())
            })
        }
        What::Migrate(node) => {
            let task = task("qmigrate", "vzmigrate").lasts(Duration::from_secs(8));
            task.begin(move |run| guest(run.world, vmid)?.check_lock()).finish(move |run| {
                run.log(format!("migration of {} {vmid} to node '{node}' finished", kind.word()));
                move_guest(run.world, vmid, &node)
            })
        }
        What::Relocate(node) => {
            let task = task("qmigrate", "vzmigrate").lasts(Duration::from_secs(8));
            task.begin(move |run| guest(run.world, vmid)?.check_lock()).finish(move |run| {
                guest(run.world, vmid)?.power_off();
                move_guest(run.world, vmid, &node)
            })
        }
    }
}

fn guest(world: &mut World, vmid: u32) -> Result<&mut Guest, String> {
    world.guests.get_mut(&vmid).ok_or_else(|| format!("unable to find configuration file for guest {vmid}"))
}

/// A guest starts where it is not locked, is no template, and sees its volumes.
fn check_start(run: &mut Run<'_>, vmid: u32) -> Result<(), String> {
    let node = run.node.to_string();
    let guest = guest(run.world, vmid)?.clone();
    guest.check_lock()?;
    if guest.template() {
        return Err(format!("you can't start a {} if it's a template", guest.kind.word().to_lowercase()));
    }
    match own_volumes(run.world, &guest).into_iter().find(|volid| run.world.volume(&node, volid).is_none()) {
        Some(volid) => Err(format!("volume '{volid}' does not exist")),
        None => Ok(()),
    }
}

/// The volumes that belong to a guest by its configuration, as far as they are anywhere.
fn own_volumes(world: &World, guest: &Guest) -> Vec<String> {
    let names = guest.config.values().filter_map(|value| value.as_str()?.split(',').next());
    let bare = |text: &str| text.trim_start_matches("file=").trim_start_matches("volume=").to_string();
    let known = |volid: &String| world.volumes.values().any(|volumes| volumes.contains_key(volid));
    names.map(bare).filter(known).collect()
}

/// Moves the guest and those of its volumes that the other node does not see.
fn move_guest(world: &mut World, vmid: u32, target: &str) -> Result<(), String> {
    let moved = guest(world, vmid)?.clone();
    for volid in own_volumes(world, &moved) {
        if world.volume(target, &volid).is_none()
            && let Some(volume) = world.take_volume(&moved.node, &volid)
        {
            world.put_volume(target, volume);
        }
    }
    guest(world, vmid)?.node = target.into();
    Ok(())
}

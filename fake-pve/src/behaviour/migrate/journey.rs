//! The migration itself: locks, and the guest with its disks on the other node.

use super::Journey;
use super::log::Log;
use super::plan::{Moves, plan};
use crate::behaviour::status::Target;
use crate::work::{NewTask, Run};
use crate::world::disk::{Disk, is_disk, is_unused};
use crate::world::{Guest, GuestKind, GuestStatus, World, power};

/// The task (`qmigrate`, `vzmigrate`).
pub(super) fn task(world: &World, now: i64, target: &Target, user: &str, journey: Journey) -> NewTask {
    let task = target.task(user, "qmigrate", "vzmigrate");
    let mut log = Log::new(now);
    let Ok(guest) = target.guest(world) else {
        let target = target.clone();
        return task.begin(move |run| target.guest(run.world).map(|_| ()));
    };
    if guest.lock().is_some() {
        let target = target.clone();
        return task.begin(move |run| target.guest(run.world)?.check_lock());
    }
    if guest.kind == GuestKind::Lxc && journey.online {
        return fail(task, log, "lxc live migration is currently not implemented");
    }
    if let Some(node) = world.nodes.get(&journey.to).filter(|node| !node.online) {
        let (to, ip) = (&journey.to, &node.ip);
        log.say(format!("# /usr/bin/ssh -e none -o 'BatchMode=yes' -o 'HostKeyAlias={to}' root@{ip} /bin/true"));
        log.wait(3);
        log.say(format!("ssh: connect to host {ip} port 22: No route to host"));
        return fail(task, log, "Can't connect to destination address using public key");
    }
    let moves = match plan(world, guest, &journey, &mut log) {
        Ok(moves) => moves,
        Err(why) => return fail(task, log, &why),
    };
    carried_out(log.written(task), target, journey, moves)
}

fn fail(task: NewTask, mut log: Log, why: &str) -> NewTask {
    log.abort(why);
    log.written(task).finish(|_| Err("migration aborted".into()))
}

/// Locks it, switches a container off that goes by restart, and puts it on the other node in the end.
fn carried_out(task: NewTask, target: &Target, journey: Journey, moves: Moves) -> NewTask {
    let (early, late, back) = (target.clone(), target.clone(), target.clone());
    let restart = journey.restart && target.kind == GuestKind::Lxc;
    task.begin(move |run| {
        let runs = early.guest(run.world)?.runs();
        run.lock(early.vmid, "migrate");
        if restart && runs {
            power::power_off(run.world, early.vmid, run.now);
            early.guest_mut(run.world)?.state.insert("restarts".into(), true.into());
        }
        Ok(())
    })
    .finish(move |run| arrive(run, &late, &journey, &moves))
    .undo(move |run| {
        if back.guest_mut(run.world)?.state.remove("restarts").is_some() {
            power::switch_on(run.world, back.vmid, run.now);
        }
        Ok(())
    })
}

/// The guest is on the other node, its local volumes too, and it runs as it did.
fn arrive(run: &mut Run<'_>, target: &Target, journey: &Journey, moves: &Moves) -> Result<(), String> {
    let guest = target.guest(run.world)?;
    let (online, paused) = (guest.runs(), guest.status == GuestStatus::Paused);
    for (here, there) in moves {
        if let Some(mut volume) = run.world.take_volume(&target.node, here) {
            volume.volid.clone_from(there);
            run.world.put_volume(&journey.to, volume);
        }
    }
    let guest = target.guest_mut(run.world)?;
    for (here, there) in moves.iter().filter(|(here, there)| here != there) {
        rename(guest, here, there);
    }
    guest.node.clone_from(&journey.to);
    let restarts = guest.state.remove("restarts").is_some();
    if online {
        power::power_on(run.world, target.vmid, run.now);
        power::pause(run.world, target.vmid, paused);
    } else if restarts {
        power::switch_on(run.world, target.vmid, run.now);
    }
    Ok(())
}

/// A volume has another name now, wherever the guest names it.
fn rename(guest: &mut Guest, here: &str, there: &str) {
    let snapshots = guest.snapshots.values_mut().map(|snapshot| &mut snapshot.config);
    let kind = guest.kind;
    for config in [&mut guest.config, &mut guest.pending].into_iter().chain(snapshots) {
        let disks = config.iter_mut().filter(|(key, _)| is_disk(kind, key) || is_unused(key));
        for (key, value) in disks {
            let disk = value.as_str().and_then(|text| Disk::parse(kind, key, text));
            if let Some(mut disk) = disk.filter(|disk| disk.volume() == here) {
                disk.set_volume(there);
                *value = disk.print().into();
            }
        }
    }
}

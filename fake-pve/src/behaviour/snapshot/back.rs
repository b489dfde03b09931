//! Removing a snapshot and going back to one: the tasks.

use std::time::Duration;

use super::create::{say, storage_line};
use crate::behaviour::status::{Target, seconds, start_at_once, without_mtu};
use crate::behaviour::{Answer, Call};
use crate::work::Run;
use crate::world::snapshot::missing;
use crate::world::{GuestKind, power, snapshot};

/// `DELETE …/snapshot/{snapname}`.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    let target = Target::of(call);
    let name = call.params.text("snapname");
    let (early, late, late_name) = (target.clone(), target.clone(), name.clone());
    let (gone, gone_name) = (target.clone(), name.clone());
    let force = call.params.is_on("force");
    let task = target
        .task(&call.authid, "qmdelsnapshot", "vzdelsnapshot")
        .lasts(Duration::from_millis(600))
        .begin(move |run| prepare_delete(run, &early, &name))
        .finish(move |run| finish_delete(run, &late, &late_name, force))
        .undo(move |run| {
            if let Some(section) = gone.guest_mut(run.world)?.snapshots.get_mut(&gone_name) {
                section.snapstate = None;
            }
            Ok(())
        });
    call.start(task)
}

fn prepare_delete(run: &mut Run<'_>, target: &Target, name: &str) -> Result<(), String> {
    say(run, "delete snapshot VM", target, name);
    let guest = target.guest_mut(run.world)?;
    if guest.template() {
        return Err(format!("you can't delete a snapshot if {} is a template", guest.kind.word().to_lowercase()));
    }
    if !guest.snapshots.contains_key(name) {
        return Err(missing(name));
    }
    guest.check_lock()?;
    if let Some(section) = guest.snapshots.get_mut(name) {
        section.snapstate = Some("delete".into());
    }
    run.lock(target.vmid, "snapshot-delete");
    Ok(())
}

fn finish_delete(run: &mut Run<'_>, target: &Target, name: &str, force: bool) -> Result<(), String> {
    let guest = target.guest(run.world)?;
    let Some(section) = guest.snapshots.get(name) else { return Err(missing(name)) };
    let drives = snapshot::covered(guest.kind, &section.config);
    for drive in &drives {
        if let Err(error) = run.world.usable_storage(&target.node, &drive.storage().unwrap_or_default()) {
            if !force {
                return Err(error);
            }
            run.log(error);
        }
    }
    let lines = drives
        .iter()
        .filter_map(|drive| storage_line(run.world, &target.node, &drive.volume(), name, "successfully removed"));
    let lines: Vec<String> = lines.collect();
    lines.into_iter().for_each(|line| run.log(line));
    snapshot::remove(run.world, target.vmid, name);
    Ok(())
}

/// `POST …/snapshot/{snapname}/rollback`.
pub(crate) fn rollback(call: &mut Call<'_>) -> Answer {
    let target = Target::of(call);
    let name = call.params.text("snapname");
    let start = call.params.is_on("start");
    let (early, late, late_name) = (target.clone(), target.clone(), name.clone());
    let task = target
        .task(&call.authid, "qmrollback", "vzrollback")
        .lasts(seconds(1))
        .begin(move |run| prepare_rollback(run, &early, &name))
        .finish(move |run| finish_rollback(run, &late, &late_name, start));
    call.start(task)
}

/// Late checks; then a running guest is switched off, hard.
fn prepare_rollback(run: &mut Run<'_>, target: &Target, name: &str) -> Result<(), String> {
    let what = if target.kind == GuestKind::Vm { "rollback snapshot VM" } else { "rollback snapshot LXC" };
    say(run, what, target, name);
    let guest = target.guest(run.world)?;
    if guest.template() {
        return Err(format!("you can't rollback if {} is a template", guest.kind.word().to_lowercase()));
    }
    let section = guest.snapshots.get(name).ok_or_else(|| missing(name))?;
    if let Some(volid) = snapshot::blocked(run.world, target.vmid, name) {
        return Err(format!("can't rollback, '{name}' is not most recent snapshot on '{volid}'"));
    }
    if let Some(state) = &section.snapstate {
        return Err(format!("unable to rollback to incomplete snapshot (snapstate = {state})"));
    }
    guest.check_lock()?;
    for drive in snapshot::covered(guest.kind, &section.config) {
        run.world.usable_storage(&target.node, &drive.storage().unwrap_or_default())?;
    }
    if guest.runs() {
        power::power_off(run.world, target.vmid, run.now);
    }
    run.lock(target.vmid, "rollback");
    Ok(())
}

fn finish_rollback(run: &mut Run<'_>, target: &Target, name: &str, start: bool) -> Result<(), String> {
    let guest = target.guest(run.world)?;
    let section = guest.snapshots.get(name).ok_or_else(|| missing(name))?;
    let with_memory = section.vmstate.is_some();
    snapshot::apply(run.world, target.vmid, name);
    if with_memory {
        let lines = without_mtu(target.guest(run.world)?);
        lines.into_iter().for_each(|line| run.log(line));
        power::power_on(run.world, target.vmid, run.now);
    } else if start {
        let user = run.user.to_string();
        run.spawn(start_at_once(target, &user));
    }
    Ok(())
}

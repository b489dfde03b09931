//! Times of a world that is about to start: what has none gets one, and what counts from the start gets its date.

use pve_catalog::upid::Upid;

use crate::world::{Task, World};

const DAY: i64 = 86_400;

/// Gives times to what has none: nodes booted ten days ago, guests a day ago, volumes are a month old. A time before 1970
/// counts from now: a volume of `-86400` is a day old.
pub(crate) fn settle(world: &mut World, now: i64) {
    for node in world.nodes.values_mut() {
        node.booted = Some(node.booted.map_or(now - 10 * DAY, |booted| dated(booted, now)));
    }
    for guest in world.guests.values_mut() {
        if guest.runs() && guest.started.is_none_or(|started| started == 0) {
            guest.started = Some(now - DAY);
        }
        if guest.created == 0 {
            guest.created = now - 30 * DAY;
        }
    }
    for volume in world.volumes.values_mut().flat_map(|volumes| volumes.values_mut()) {
        volume.ctime = if volume.ctime == 0 { now - 30 * DAY } else { dated(volume.ctime, now) };
    }
    world.tasks.iter_mut().filter(|task| task.starttime < 0).for_each(|task| date(task, now));
}

fn dated(time: i64, now: i64) -> i64 {
    if time < 0 { now + time } else { time }
}

/// A finished task gets its dates, and the identifier that follows from them.
fn date(task: &mut Task, now: i64) {
    task.starttime = dated(task.starttime, now);
    task.endtime = task.endtime.map(|end| dated(end, now));
    task.ends_ms = task.endtime.unwrap_or(now) * 1000;
    let upid = Upid {
        node: task.node.clone(),
        pid: task.pid,
        pstart: task.pstart,
        starttime: u32::try_from(task.starttime).unwrap_or_default(),
        worker_type: task.worker_type.clone(),
        id: task.id.clone(),
        user: task.user.clone(),
    };
    task.upid = upid.to_string();
}

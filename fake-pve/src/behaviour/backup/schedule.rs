//! When backup jobs run by themselves, and the tasks that they become on the nodes.

use serde_json::{Map, Value, json};

use super::PATH;
use crate::behaviour::vzdump::{options, regular};
use crate::work::NewTask;
use crate::world::calendar::{Awaited, Calendar};
use crate::world::{World, option};

/// Runs of a job that are made up for when time leaps over more of them.
const MADE_UP_FOR: i64 = 100;

/// What a job says about itself, beside the options of its backups.
const OF_THE_JOB: [&str; 6] = ["comment", "enabled", "id", "repeat-missed", "schedule", "type"];

/// Brings the remembered next runs in line with the jobs: a new schedule, or one that was switched on, counts from now.
pub(crate) fn arrange(world: &mut World, now: i64) {
    let World { documents, backup_runs, .. } = world;
    let jobs = documents.list(PATH);
    if jobs.is_empty() && backup_runs.is_empty() {
        return;
    }
    let awaited = |id: &str| jobs.iter().any(|(known, job)| known == id && is_on(job));
    backup_runs.retain(|id, _| awaited(id));
    for (id, job) in jobs.iter().filter(|(_, job)| is_on(job)) {
        let schedule = job.get("schedule").map(option::text).unwrap_or_default();
        if backup_runs.get(id).is_none_or(|run| run.schedule != schedule) {
            let next = Calendar::parse(&schedule).and_then(|calendar| calendar.next(now));
            backup_runs.insert(id.clone(), Awaited { schedule, next });
        }
    }
}

fn is_on(job: &Map<String, Value>) -> bool {
    job.get("enabled").map(option::text).as_deref() != Some("0")
}

/// The next run of all: when, in seconds, and of which job.
pub(crate) fn next(world: &World) -> Option<(i64, String)> {
    world.backup_runs.iter().filter_map(|(id, run)| Some((run.next?, id.clone()))).min()
}

/// Takes the run of a job at a moment: what the nodes that are there have to do. `now` is how far time has come.
pub(crate) fn take(world: &mut World, id: &str, at: i64, now: i64) -> Vec<NewTask> {
    if let Some(run) = world.backup_runs.get_mut(id) {
        run.next = following(&run.schedule, at, now);
    }
    let Some(job) = world.documents.get(PATH, id).filter(|_| !world.no_quorum) else { return Vec::new() };
    let mut given = job.clone();
    given.retain(|key, _| !OF_THE_JOB.contains(&key.as_str()));
    given.insert("quiet".into(), json!(1));
    let Ok(given) = options::verified(&given, true) else { return Vec::new() };
    let only = given.get("node").map(option::text);
    let nodes = world.nodes.iter().filter(|(name, node)| node.online && only.as_ref().is_none_or(|only| only == *name));
    nodes.filter_map(|(name, _)| regular(world, &given, name, at * 1000).ok().flatten()).collect()
}

/// The event after a run. A leap of time over very many of them leaves the older ones out.
fn following(schedule: &str, at: i64, now: i64) -> Option<i64> {
    let calendar = Calendar::parse(schedule)?;
    let next = calendar.next(at)?;
    let floor = now - MADE_UP_FOR * (next - at);
    if next < floor { calendar.next(floor) } else { Some(next) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leap_over_many_runs_leaves_the_older_ones_out() {
        assert_eq!(following("daily", 0, 86_400), Some(86_400));
        assert_eq!(following("daily", 0, 200 * 86_400), Some(101 * 86_400));
        assert_eq!(following("never", 0, 1), None);
    }
}

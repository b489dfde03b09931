//! The rounds of HA among the tasks: when they come, and the tasks that they start.

use super::Workers;
use crate::behaviour::ha::lrm;
use crate::world::{World, ha};

impl Workers {
    /// One round of HA; what nodes have to do becomes tasks. Rounds in which nothing changes are skipped.
    pub(super) fn round_of_ha(&mut self, world: &mut World, at_ms: i64, now_ms: i64) {
        let before = world.ha.clone();
        for action in ha::round(world, at_ms.div_euclid(1000)) {
            let upid = self.launch(world, at_ms, lrm::task(world, at_ms, &action));
            if let Some(service) = world.ha.services.get_mut(&action.sid) {
                service.task = Some(upid);
            }
        }
        let quiet = world.ha == before && world.nodes.values().all(|node| node.online);
        let skipped = if quiet { (now_ms - at_ms).max(0) / ha::ROUND_MS } else { 0 };
        world.ha.next_round_ms = Some(at_ms + (skipped + 1) * ha::ROUND_MS);
        ha::arrange(world, at_ms);
    }

    /// When HA does something next: `None` when a further round would change nothing and no task of it runs.
    pub fn next_of_ha(&self, world: &World) -> Option<i64> {
        let round_ms = world.ha.next_round_ms?;
        let tasks = world.ha.services.values().filter_map(|service| service.task.as_ref());
        let ends = |upid: &String| world.tasks.iter().find(|task| task.upid == *upid && task.running());
        let next_end = tasks.filter_map(ends).map(|task| task.ends_ms).min();
        let mut trial = world.clone();
        let acts = !ha::round(&mut trial, round_ms.div_euclid(1000)).is_empty() || trial.ha != world.ha;
        match (next_end, acts) {
            (Some(end_ms), true) => Some(end_ms.min(round_ms)),
            (Some(end_ms), false) => Some(end_ms),
            (None, true) => Some(round_ms),
            (None, false) => None,
        }
    }
}

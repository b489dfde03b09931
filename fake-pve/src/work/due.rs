//! When something happens next without anybody asking for it: the one place that knows everything that does.
//!
//! Whatever [`Workers::settle`](super::Workers::settle) does by itself must be told here, or it does not happen in a
//! world that nobody changes.

use crate::behaviour::backup::schedule;
use crate::world::World;

/// When something is due next, in milliseconds: at once while a task runs, since it goes on with every moment, and never
/// (`i64::MAX`) in a world in which nothing moves.
pub(crate) fn next_ms(world: &World) -> i64 {
    if world.tasks.iter().any(|task| task.running()) {
        return i64::MIN;
    }
    let statistics = &world.statistics;
    let told_ms = (statistics.lag > 0).then(|| (statistics.at + i64::from(statistics.lag)) * 1000);
    let backup_ms = schedule::next(world).map(|(at, _)| at * 1000);
    let due_ms = [told_ms, world.ha.next_round_ms, backup_ms];
    due_ms.into_iter().flatten().min().unwrap_or(i64::MAX)
}

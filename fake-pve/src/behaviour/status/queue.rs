//! Power tasks of one guest take turns: each holds the lock file of its configuration while it runs.

use std::time::Duration;

use super::Target;
use crate::work::{Act, NewTask, Run};
use crate::world::{GuestKind, World};

/// Tasks that hold a guest's lock file all the time.
const HOLDERS: [&str; 8] =
    ["qmstart", "qmstop", "qmshutdown", "qmreboot", "vzstart", "vzstop", "vzshutdown", "vzreboot"];

/// How long a task waits for the lock file.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a power task does and how long it takes.
pub(super) struct Job {
    pub task: NewTask,
    pub lasts: Duration,
    /// Checks, and what is visible at once.
    pub begin: Act,
    /// The change.
    pub finish: Act,
}

impl Job {
    pub fn new(task: NewTask, lasts: Duration) -> Job {
        Job { task, lasts, begin: Box::new(|_| Ok(())), finish: Box::new(|_| Ok(())) }
    }

    pub fn begin(mut self, act: impl FnOnce(&mut Run<'_>) -> Result<(), String> + Send + 'static) -> Job {
        self.begin = Box::new(act);
        self
    }

    pub fn finish(mut self, act: impl FnOnce(&mut Run<'_>) -> Result<(), String> + Send + 'static) -> Job {
        self.finish = Box::new(act);
        self
    }
}

/// The task of a job: at once, after the one that holds the lock file, or in vain when that one takes too long.
pub(super) fn queued(world: &World, now_ms: i64, target: &Target, job: Job) -> NewTask {
    let Job { task, lasts, begin, finish } = job;
    let Some(wait) = held(world, now_ms, target) else { return task.lasts(lasts).begin(begin).finish(finish) };
    let task = task.line("trying to acquire lock...");
    if wait > PATIENCE {
        let path = match target.kind {
            GuestKind::Vm => format!("/var/lock/qemu-server/lock-{}.conf", target.vmid),
            GuestKind::Lxc => format!("/run/lock/lxc/pve-config-{}.lock", target.vmid),
        };
        return task.lasts(PATIENCE).finish(move |_| Err(format!("can't lock file '{path}' - got timeout")));
    }
    task.lasts(wait + lasts).line_after(wait, " OK").finish(move |run| {
        begin(run)?;
        finish(run)
    })
}

/// How long the lock file of a guest stays taken.
fn held(world: &World, now_ms: i64, target: &Target) -> Option<Duration> {
    let id = target.vmid.to_string();
    let tasks = world.tasks.iter().filter(|task| task.running() && task.id == id && task.node == target.node);
    let holders = tasks.filter(|task| HOLDERS.contains(&task.worker_type.as_str()));
    let until = holders.map(|task| task.ends_ms).max()?;
    Some(Duration::from_millis(u64::try_from(until - now_ms).unwrap_or(0)))
}

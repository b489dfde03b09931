//! How a guest stops: by force, by asking it, with what happens when it does not listen.

use std::time::Duration;

use super::queue::{Job, queued};
use super::{Target, seconds, start_at_once};
use crate::work::{NewTask, Run};
use crate::world::{GuestKind, GuestStatus, World, power};

/// How long pulling the plug takes.
const PLUG: Duration = Duration::from_millis(500);

/// How long a guest that listens needs to shut down, in seconds.
const NEEDS: i64 = 2;

/// How long to wait for a guest by default, in seconds.
pub(super) const PATIENCE: i64 = 60;

/// What a shutdown was told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shutdown {
    pub skiplock: bool,
    /// Seconds to wait; `None` is what the guest's startup order says, else a minute.
    pub timeout: Option<i64>,
    /// Pull the plug when the time is over.
    pub force: bool,
    /// Pull the plug at once, under the name of a shutdown: for paused machines.
    pub plug: bool,
}

/// The task that stops a guest by force (`qmstop`, `vzstop`).
pub(crate) fn stop(world: &World, now_ms: i64, target: &Target, user: &str, skiplock: bool) -> NewTask {
    let job = Job::new(target.task(user, "qmstop", "vzstop"), PLUG);
    queued(world, now_ms, target, off(job, target, skiplock))
}

/// The same for a machine that came from another node and whose configuration is looked up there.
pub(super) fn stop_migrated(target: &Target, user: &str, from: String) -> NewTask {
    let there = Target { node: from, ..target.clone() };
    target
        .task(user, "qmstop", "qmstop")
        .lasts(PLUG)
        .begin(move |run| there.runs(run.world).map(|_| ()))
        .finish(|_| Ok(()))
}

/// The task that asks a guest to shut down (`qmshutdown`, `vzshutdown`).
pub(crate) fn shutdown(world: &World, now_ms: i64, target: &Target, user: &str, how: &Shutdown) -> NewTask {
    let task = target.task(user, "qmshutdown", "vzshutdown");
    let skiplock = how.skiplock;
    if how.plug {
        return queued(world, now_ms, target, off(Job::new(task, PLUG), target, skiplock));
    }
    let wait = patience(world, target, how.timeout);
    let job = match listens(world, target, wait) {
        Listens::Off => off(Job::new(task, PLUG), target, skiplock),
        Listens::Yes => off(Job::new(task, seconds(NEEDS)), target, skiplock),
        Listens::No if how.force => {
            let line = "VM still running - terminating now with SIGTERM";
            let task = if target.kind == GuestKind::Vm { task.line_after(seconds(wait), line) } else { task };
            off(Job::new(task, seconds(wait + 1)), target, skiplock)
        }
        Listens::No => in_vain(task, target, wait, skiplock),
    };
    queued(world, now_ms, target, job)
}

/// The task that shuts a guest down and starts it again (`qmreboot`, `vzreboot`). A machine is started by the event
/// daemon, in a task of its own; a container that does not listen is killed.
pub(super) fn reboot(world: &World, now_ms: i64, target: &Target, user: &str, timeout: Option<i64>) -> NewTask {
    let task = target.task(user, "qmreboot", "vzreboot");
    let wait = patience(world, target, timeout);
    let lasts = match (listens(world, target, wait), target.kind) {
        (Listens::No, GuestKind::Vm) => return queued(world, now_ms, target, in_vain(task, target, wait, false)),
        (Listens::No, GuestKind::Lxc) => seconds(wait + 1),
        (Listens::Yes | Listens::Off, _) => seconds(NEEDS),
    };
    let (early, late) = (target.clone(), target.clone());
    let job = Job::new(task, lasts).begin(move |run| late_check(run, &early, false)).finish(move |run| {
        power::switch_off(run.world, late.vmid, run.now);
        if late.kind == GuestKind::Lxc {
            power::switch_on(run.world, late.vmid, run.now);
            return Ok(());
        }
        run.spawn(start_at_once(&late, "root@pam"));
        Ok(())
    });
    queued(world, now_ms, target, job)
}

enum Listens {
    Off,
    Yes,
    No,
}

fn listens(world: &World, target: &Target, wait: i64) -> Listens {
    match target.guest(world) {
        Ok(guest) if guest.status == GuestStatus::Running => {
            if power::hears(guest) && wait >= NEEDS {
                Listens::Yes
            } else {
                Listens::No
            }
        }
        Ok(guest) if guest.runs() => Listens::No,
        _ => Listens::Off,
    }
}

/// Seconds to wait for a guest: what was said, else its startup order, else a minute.
fn patience(world: &World, target: &Target, timeout: Option<i64>) -> i64 {
    let startup = target.guest(world).ok().and_then(|guest| guest.option("startup")).unwrap_or_default();
    let down = startup.split(',').find_map(|part| part.trim().strip_prefix("down=")).and_then(|text| text.parse().ok());
    timeout.or(down.filter(|_| target.kind == GuestKind::Vm)).unwrap_or(PATIENCE)
}

/// A job that ends with the guest off; one that is off already stays so.
fn off(job: Job, target: &Target, skiplock: bool) -> Job {
    let (early, late) = (target.clone(), target.clone());
    job.begin(move |run| late_check(run, &early, skiplock)).finish(move |run| {
        if late.guest(run.world)?.runs() {
            power::switch_off(run.world, late.vmid, run.now);
        }
        Ok(())
    })
}

/// A job that waits for a guest that does not listen.
fn in_vain(task: NewTask, target: &Target, wait: i64, skiplock: bool) -> Job {
    let (early, kind, vmid) = (target.clone(), target.kind, target.vmid);
    Job::new(task, seconds(wait)).begin(move |run| late_check(run, &early, skiplock)).finish(move |run| match kind {
        GuestKind::Vm => Err("VM quit/powerdown failed - got timeout".into()),
        GuestKind::Lxc => {
            run.log(format!("command 'lxc-stop -n {vmid} --nokill --timeout {wait}' failed: exit code 1"));
            Err("container did not stop".into())
        }
    })
}

/// What a worker checks once it holds the lock file: a guest that is off is left alone, a locked one refuses.
fn late_check(run: &mut Run<'_>, target: &Target, skiplock: bool) -> Result<(), String> {
    if target.kind == GuestKind::Lxc {
        target.guest(run.world)?;
    }
    if !target.runs(run.world)? || skiplock {
        return Ok(());
    }
    target.guest(run.world)?.check_lock()
}

//! What running tasks will still do, and the one place where a task begins, ends, fails or is stopped.
//!
//! A behaviour describes a task with [`NewTask`]; [`Workers`] keeps its closures beside the world. Nothing runs in the
//! background: whoever takes the lock first lets [`Workers::settle`] finish what is due at that moment, in order.

pub(crate) mod due;
mod fate;
mod rounds;

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use pve_catalog::upid::Upid;

use crate::behaviour::backup::schedule;
use crate::fault::refused_write;
use crate::world::{Line, Task, World, ha};
pub(crate) use fate::Fate;

/// One act of a worker on the world. An error ends the task with `TASK ERROR: …`.
pub(crate) type Act = Box<dyn FnOnce(&mut Run<'_>) -> Result<(), String> + Send>;

/// A task that is about to start: what it is, how long it takes, what it does.
pub(crate) struct NewTask {
    worker_type: String,
    id: String,
    node: String,
    user: String,
    lasts: Duration,
    lines: Vec<(Duration, String)>,
    begin: Option<Act>,
    steps: Vec<(Duration, Act)>,
    finish: Option<Act>,
    undo: Option<Act>,
}

/// The world as a worker sees it while one of its acts runs.
pub(crate) struct Run<'a> {
    /// The cluster.
    pub world: &'a mut World,
    /// Seconds since the epoch.
    pub now: i64,
    /// The task's own identifier.
    pub upid: &'a str,
    /// Who started it.
    pub user: &'a str,
    /// Where it runs.
    pub node: &'a str,
    lines: Vec<String>,
    warnings: u32,
    locks: Vec<u32>,
    spawned: Vec<NewTask>,
}

impl Run<'_> {
    /// Writes a log line.
    pub fn log(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    /// Writes a warning; a task with warnings ends `WARNINGS: n`.
    pub fn warn(&mut self, text: &str) {
        self.lines.push(format!("WARN: {text}"));
        self.warnings += 1;
    }

    /// Sets a guest's configuration lock until this task ends.
    pub fn lock(&mut self, vmid: u32, lock: &str) {
        if let Some(guest) = self.world.guests.get_mut(&vmid) {
            guest.config.insert("lock".into(), lock.into());
            self.locks.push(vmid);
        }
    }

    /// Takes a lock off that this task has set, before it ends.
    pub fn unlock(&mut self, vmid: u32) {
        self.locks.retain(|locked| *locked != vmid);
        if let Some(task) = self.world.tasks.iter_mut().find(|task| task.upid == self.upid) {
            task.locks.retain(|locked| *locked != vmid);
        }
        if let Some(guest) = self.world.guests.get_mut(&vmid) {
            guest.config.shift_remove("lock");
        }
    }

    /// Starts another task when this act is done; it runs as the same user unless told otherwise.
    pub fn spawn(&mut self, task: NewTask) {
        self.spawned.push(task);
    }
}

impl NewTask {
    /// A task that takes three seconds and does nothing yet.
    pub fn new(node: &str, user: &str, worker_type: &str, id: &str) -> NewTask {
        NewTask {
            worker_type: worker_type.into(),
            id: id.into(),
            node: node.into(),
            user: user.into(),
            lasts: Duration::from_secs(3),
            lines: Vec::new(),
            begin: None,
            steps: Vec::new(),
            finish: None,
            undo: None,
        }
    }

    /// How long it takes, in virtual time.
    pub fn lasts(mut self, lasts: Duration) -> NewTask {
        self.lasts = lasts;
        self
    }

    /// A log line at its start.
    pub fn line(self, text: impl Into<String>) -> NewTask {
        self.line_after(Duration::ZERO, text)
    }

    /// A log line some time after its start.
    pub fn line_after(mut self, after: Duration, text: impl Into<String>) -> NewTask {
        self.lines.push((after, text.into()));
        self
    }

    /// What happens at its start, within the call that makes it: late checks and locks. An error ends it at once.
    pub fn begin(mut self, act: impl FnOnce(&mut Run<'_>) -> Result<(), String> + Send + 'static) -> NewTask {
        self.begin = Some(Box::new(act));
        self
    }

    /// What happens some time after its start, while it runs. An error ends it then.
    pub fn step(
        mut self,
        after: Duration,
        act: impl FnOnce(&mut Run<'_>) -> Result<(), String> + Send + 'static,
    ) -> NewTask {
        self.steps.push((after, Box::new(act)));
        self
    }

    /// What happens when its time is over: the change itself. Locks that `begin` took are already released.
    pub fn finish(mut self, act: impl FnOnce(&mut Run<'_>) -> Result<(), String> + Send + 'static) -> NewTask {
        self.finish = Some(Box::new(act));
        self
    }

    /// What happens when it is stopped, or when `finish` fails: taking back what `begin` did beyond locks.
    pub fn undo(mut self, act: impl FnOnce(&mut Run<'_>) -> Result<(), String> + Send + 'static) -> NewTask {
        self.undo = Some(Box::new(act));
        self
    }
}

#[derive(Default)]
struct Work {
    /// When it was started, in milliseconds.
    started_ms: i64,
    /// What is still to come while it runs, the next one first, with its moment in milliseconds.
    steps: VecDeque<(i64, Act)>,
    finish: Option<Act>,
    undo: Option<Act>,
}

/// The closures of running tasks, by UPID.
#[derive(Default)]
pub(crate) struct Workers {
    works: HashMap<String, Work>,
    /// Of the next task that starts.
    pub fate: Option<Fate>,
}

/// How long a task runs at most in automatic time, in real milliseconds.
const LONG_ENOUGH_MS: i64 = 300;

/// How many ended tasks are remembered.
const REMEMBERED: usize = 2000;

impl Workers {
    /// Starts a task and answers its UPID. One that takes no time is over when this returns.
    pub fn start(&mut self, world: &mut World, now_ms: i64, task: NewTask) -> String {
        let upid = self.launch(world, now_ms, task);
        self.settle(world, now_ms);
        forget_old(world);
        upid
    }

    /// Starts a task and ends none: the caller may be in the middle of ending one.
    fn launch(&mut self, world: &mut World, now_ms: i64, task: NewTask) -> String {
        let task = task.fated(self.fate.take());
        let starttime = now_ms.div_euclid(1000);
        let pid = world.next_pid();
        let booted = world.nodes.get(&task.node).and_then(|node| node.booted).unwrap_or(starttime - 864_000);
        let pstart = u64::try_from((starttime - booted).max(0) * 100 + now_ms.rem_euclid(1000) / 10).unwrap_or(0);
        let upid = Upid {
            node: task.node.clone(),
            pid,
            pstart,
            starttime: u32::try_from(starttime).unwrap_or(u32::MAX),
            worker_type: task.worker_type.clone(),
            id: task.id.clone(),
            user: task.user.clone(),
        }
        .to_string();
        let log = task.lines.into_iter().map(|(after, text)| Line { at_ms: now_ms + millis(after), text }).collect();
        world.say(starttime, &task.node, &task.user, "pvedaemon", format!("starting task {upid}"));
        world.tasks.push(Task {
            upid: upid.clone(),
            node: task.node,
            pid,
            pstart,
            starttime,
            worker_type: task.worker_type,
            id: task.id,
            user: task.user,
            ends_ms: now_ms + millis(task.lasts),
            endtime: None,
            exitstatus: None,
            log,
            warnings: 0,
            locks: Vec::new(),
        });
        let mut steps: Vec<(i64, Act)> =
            task.steps.into_iter().map(|(after, act)| (now_ms + millis(after), act)).collect();
        steps.sort_by_key(|(at_ms, _)| *at_ms);
        self.works.insert(
            upid.clone(),
            Work { started_ms: now_ms, steps: steps.into(), finish: task.finish, undo: task.undo },
        );
        if let Some(begin) = task.begin
            && let Err(error) = self.act(world, now_ms, &upid, begin)
        {
            self.works.remove(&upid);
            self.end(world, now_ms, &upid, Err(error));
        }
        upid
    }

    /// Does every step that is due and ends every task whose time is over, in the order of their moments, with the rounds
    /// of HA and the runs of backup jobs between them.
    pub fn settle(&mut self, world: &mut World, now_ms: i64) {
        ha::arrange(world, now_ms);
        schedule::arrange(world, now_ms.div_euclid(1000));
        loop {
            let ended = world.tasks.iter().filter(|task| task.running() && task.ends_ms <= now_ms);
            let ended = ended.min_by_key(|task| task.ends_ms).map(|task| (task.ends_ms, task.upid.clone()));
            let until = ended.as_ref().map_or(now_ms, |(ends_ms, _)| *ends_ms);
            let backup = schedule::next(world).map(|(at, id)| (at * 1000, id)).filter(|(at_ms, _)| *at_ms <= until);
            let until = backup.as_ref().map_or(until, |(at_ms, _)| *at_ms);
            if let Some(round_ms) = world.ha.next_round_ms.filter(|round_ms| *round_ms <= until) {
                self.round_of_ha(world, round_ms, now_ms);
                continue;
            }
            if let Some((at_ms, upid, step)) = self.next_step(until) {
                if let Err(error) = self.act(world, at_ms, &upid, step) {
                    self.break_off(world, at_ms, &upid, Err(error));
                }
                continue;
            }
            if let Some((at_ms, id)) = backup {
                for task in schedule::take(world, &id, at_ms / 1000, now_ms.div_euclid(1000)) {
                    self.launch(world, at_ms, task);
                }
                continue;
            }
            let Some((ends_ms, upid)) = ended else { return };
            let finish = self.works.get_mut(&upid).and_then(|work| work.finish.take());
            release_locks(world, &upid);
            let result = finish.map_or(Ok(()), |finish| self.act(world, ends_ms, &upid, finish));
            match result {
                Ok(()) => {
                    self.works.remove(&upid);
                    self.end(world, ends_ms, &upid, Ok(()));
                }
                Err(_) => self.break_off(world, ends_ms, &upid, result),
            }
        }
    }

    /// The first step up to a moment.
    fn next_step(&mut self, until_ms: i64) -> Option<(i64, String, Act)> {
        let firsts = self.works.iter().filter_map(|(upid, work)| Some((work.steps.front()?.0, upid)));
        let (at_ms, upid) = firsts.filter(|(at_ms, _)| *at_ms <= until_ms).min()?;
        let upid = upid.clone();
        let (_, act) = self.works.get_mut(&upid)?.steps.pop_front()?;
        Some((at_ms, upid, act))
    }

    /// Ends a task before it is done: what it began is taken back.
    fn break_off(&mut self, world: &mut World, at_ms: i64, upid: &str, result: Result<(), String>) {
        let work = self.works.remove(upid).unwrap_or_default();
        release_locks(world, upid);
        if let Some(undo) = work.undo {
            let _undone = self.act(world, at_ms, upid, undo);
        }
        self.end(world, at_ms, upid, result);
    }

    /// The end of the tasks that have run for a while: in automatic time they are over then, for clients that look at
    /// what a task works on and never at the task. Consoles wait for somebody and are left alone.
    pub fn overdue(&self, world: &World, now_ms: i64) -> Option<i64> {
        let old = |upid: &str| self.works.get(upid).is_some_and(|work| now_ms - work.started_ms >= LONG_ENOUGH_MS);
        let running = world.tasks.iter().filter(|task| task.running() && !task.worker_type.starts_with("vnc"));
        running.filter(|task| old(&task.upid)).map(|task| task.ends_ms).max()
    }

    /// Stops a running task the way a signal does. Nothing happens when it is over.
    pub fn stop(&mut self, world: &mut World, now_ms: i64, upid: &str) {
        let Some(task) = world.tasks.iter().find(|task| task.upid == upid && task.running()) else { return };
        let vzdump = task.worker_type == "vzdump";
        let text = if vzdump { "interrupted by signal" } else { "received interrupt" };
        self.break_off(world, now_ms, upid, Err(text.into()));
    }

    fn act(&mut self, world: &mut World, at_ms: i64, upid: &str, act: Act) -> Result<(), String> {
        let (user, node) = match world.tasks.iter().find(|task| task.upid == upid) {
            Some(task) => (task.user.clone(), task.node.clone()),
            None => return Ok(()),
        };
        let now = at_ms.div_euclid(1000);
        let mut run = Run {
            world,
            now,
            upid,
            user: &user,
            node: &node,
            lines: Vec::new(),
            warnings: 0,
            locks: Vec::new(),
            spawned: Vec::new(),
        };
        let before = run.world.no_quorum.then(|| run.world.clone());
        let mut result = act(&mut run);
        if let Some(before) = before
            && result.is_ok()
            && let Some(refused) = refused_write(&before, run.world)
        {
            *run.world = before;
            run.locks.clear();
            run.spawned.clear();
            result = Err(refused);
        }
        let Run { world, lines, warnings, locks, spawned, .. } = run;
        if let Some(task) = world.tasks.iter_mut().find(|task| task.upid == upid) {
            task.log.extend(lines.into_iter().map(|text| Line { at_ms, text }));
            task.warnings += warnings;
            task.locks.extend(locks);
        }
        for task in spawned {
            self.launch(world, at_ms, task);
        }
        result
    }

    fn end(&mut self, world: &mut World, at_ms: i64, upid: &str, result: Result<(), String>) {
        release_locks(world, upid);
        let Some(task) = world.tasks.iter_mut().find(|task| task.upid == upid) else { return };
        let (status, last) = match result {
            Ok(()) if task.warnings > 0 => {
                let status = format!("WARNINGS: {}", task.warnings);
                (status.clone(), format!("TASK {status}"))
            }
            Ok(()) => ("OK".to_string(), "TASK OK".to_string()),
            Err(error) => {
                let error = error.trim_end().replace('\n', " ");
                (error.clone(), format!("TASK ERROR: {error}"))
            }
        };
        task.log.retain(|line| line.at_ms <= at_ms);
        task.log.sort_by_key(|line| line.at_ms);
        task.log.push(Line { at_ms, text: last });
        task.endtime = Some(at_ms.div_euclid(1000));
        task.ends_ms = at_ms;
        task.exitstatus = Some(status.clone());
        let (node, user) = (task.node.clone(), task.user.clone());
        let failed = status != "OK" && !status.starts_with("WARNINGS: ");
        world.say(at_ms.div_euclid(1000), &node, &user, "pvedaemon", format!("end task {upid} {status}"));
        if let Some(entry) = world.log.last_mut().filter(|_| failed) {
            entry.pri = 3;
        }
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 2)
}

fn release_locks(world: &mut World, upid: &str) {
    let Some(task) = world.tasks.iter_mut().find(|task| task.upid == upid) else { return };
    for vmid in std::mem::take(&mut task.locks) {
        if let Some(guest) = world.guests.get_mut(&vmid) {
            guest.config.shift_remove("lock");
        }
    }
}

fn forget_old(world: &mut World) {
    while world.tasks.len() > REMEMBERED {
        let Some(at) = world.tasks.iter().position(|task| !task.running()) else { return };
        world.tasks.remove(at);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Scenario;

    const NOW_MS: i64 = 1_000_000_000;

    fn task(vmid: u32) -> NewTask {
        let begin = move |run: &mut Run<'_>| {
            run.world.guests[&vmid].check_lock()?;
            run.lock(vmid, "clone");
            run.log("locked");
            Ok(())
        };
        NewTask::new("pve1", "root@pam", "qmclone", &vmid.to_string()).lasts(Duration::from_secs(10)).begin(begin)
    }

    fn last(world: &World) -> &Task {
        world.tasks.last().expect("a task")
    }

    #[test]
    fn a_lock_lasts_as_long_as_its_task() {
        let (mut world, mut workers) = (Scenario::one_vm().world, Workers::default());
        let upid =
            workers.start(&mut world, NOW_MS, task(100).line_after(Duration::from_secs(4), "half").line("first"));
        assert_eq!(world.guests[&100].lock().as_deref(), Some("clone"));
        assert_eq!(last(&world).log_at(NOW_MS), ["first", "locked"]);
        workers.start(&mut world, NOW_MS, task(100));
        assert_eq!(last(&world).exitstatus.as_deref(), Some("VM is locked (clone)"));
        assert_eq!(world.guests[&100].lock().as_deref(), Some("clone"));
        workers.settle(&mut world, NOW_MS + 9_999);
        assert!(world.tasks[0].running());
        workers.settle(&mut world, NOW_MS + 10_000);
        assert_eq!((world.tasks[0].upid.as_str(), world.guests[&100].lock()), (upid.as_str(), None));
        assert_eq!(world.tasks[0].log_at(i64::MAX), ["first", "locked", "half", "TASK OK"]);
        assert_eq!(world.tasks[0].endtime, Some(NOW_MS / 1000 + 10));
    }

    #[test]
    fn failure_and_interruption_take_back_what_was_begun() {
        let (mut world, mut workers) = (Scenario::one_vm().world, Workers::default());
        let undo = |run: &mut Run<'_>| {
            run.world.guests.remove(&100);
            Ok(())
        };
        workers.start(&mut world, NOW_MS, task(100).finish(|_| Err("no\nroom\n".into())).undo(undo));
        workers.settle(&mut world, NOW_MS + 60_000);
        assert_eq!(last(&world).exitstatus.as_deref(), Some("no room"));
        assert_eq!(last(&world).log_at(i64::MAX), ["locked", "TASK ERROR: no room"]);
        assert!(world.guests.is_empty());
        let mut world = Scenario::one_vm().world;
        let upid = workers.start(&mut world, NOW_MS, task(100));
        workers.stop(&mut world, NOW_MS + 5_000, &upid);
        assert_eq!(last(&world).exitstatus.as_deref(), Some("received interrupt"));
        assert_eq!(world.guests[&100].lock(), None);
    }

    #[test]
    fn tasks_warn_and_start_others() {
        let (mut world, mut workers) = (Scenario::one_vm().world, Workers::default());
        let finish = |run: &mut Run<'_>| {
            run.warn("a disk stays");
            let (node, user, now) = (run.node.to_string(), run.user.to_string(), run.now);
            run.spawn(NewTask::new(&node, &user, "qmstart", "100").finish(move |run| {
                assert_eq!(run.now, now + 3);
                run.world.guests.get_mut(&100).expect("the guest").power_on(run.now, 1);
                Ok(())
            }));
            Ok(())
        };
        workers.start(&mut world, NOW_MS, task(100).finish(finish));
        workers.settle(&mut world, NOW_MS + 60_000);
        assert_eq!(world.tasks[0].exitstatus.as_deref(), Some("WARNINGS: 1"));
        assert_eq!(world.tasks[0].log_at(i64::MAX), ["locked", "WARN: a disk stays", "TASK WARNINGS: 1"]);
        assert_eq!((last(&world).worker_type.as_str(), last(&world).exitstatus.as_deref()), ("qmstart", Some("OK")));
        assert_eq!(json!(world.guests[&100].status), json!("running"));
    }

    #[test]
    fn steps_come_in_their_order_and_die_with_their_task() {
        let (mut world, mut workers) = (Scenario::one_vm().world, Workers::default());
        let say = |text: &'static str| {
            move |run: &mut Run<'_>| {
                run.log(text);
                Ok(())
            }
        };
        let second = Duration::from_secs(1);
        let one = NewTask::new("pve1", "root@pam", "one", "")
            .lasts(4 * second)
            .step(3 * second, say("three"))
            .step(second, say("one"));
        let two = NewTask::new("pve1", "root@pam", "two", "")
            .lasts(9 * second)
            .step(2 * second, |_| Err("broken".into()))
            .step(3 * second, say("never"));
        workers.start(&mut world, NOW_MS, one);
        workers.start(&mut world, NOW_MS, two);
        workers.settle(&mut world, NOW_MS + 20_000);
        let text = |at: usize| {
            world.tasks[at].log.iter().map(|line| (line.at_ms - NOW_MS, line.text.as_str())).collect::<Vec<_>>()
        };
        assert_eq!(text(0), [(1000, "one"), (3000, "three"), (4000, "TASK OK")]);
        assert_eq!(text(1), [(2000, "TASK ERROR: broken")]);
    }
}

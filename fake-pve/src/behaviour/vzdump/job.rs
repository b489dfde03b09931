//! A backup job as a task: one guest after the other, one job at a time on each node.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::guest::{self, Going};
use super::options::Options;
use crate::access;
use crate::behaviour::storage::content::protected_limit;
use crate::work::{NewTask, Run};
use crate::world::{Task, World, disk};

/// What the acts of one job share.
struct Job {
    options: Options,
    /// Guests that were let in.
    vmids: Vec<u32>,
    going: Option<Going>,
    failed: u32,
}

type Shared = Arc<Mutex<Job>>;

/// Whether a task is a running backup job of a node.
pub(crate) fn is_backup(task: &Task, node: &str) -> bool {
    task.running() && task.worker_type == "vzdump" && task.node == node
}

/// The task of a job: `local` guests are backed up, `others` are named as skipped.
pub(crate) fn task(
    world: &World,
    node: &str,
    authid: &str,
    now_ms: i64,
    options: Options,
    local: Vec<u32>,
    others: Vec<u32>,
) -> NewTask {
    let id = if let [one] = local[..] { one.to_string() } else { String::new() };
    let mut task = NewTask::new(node, authid, "vzdump", &id);
    let busy = world.tasks.iter().filter(|task| is_backup(task, node)).map(|task| task.ends_ms - now_ms).max();
    let waits = Duration::from_millis(busy.unwrap_or(0).max(0).unsigned_abs());
    let spans: Vec<(u32, Duration)> = local.iter().map(|vmid| (*vmid, span(world, *vmid))).collect();
    let job = Job { options, vmids: Vec::new(), going: None, failed: 0 };
    let job: Shared = Arc::new(Mutex::new(job));

    let opening = Arc::clone(&job);
    task = task.begin(move |run| check_storage(run, &opening));
    if !waits.is_zero() {
        task = task.line("INFO: trying to get global lock - waiting...");
        task = task.line_after(waits, "INFO: got global lock");
    }
    let opening = Arc::clone(&job);
    task = task.step(waits, move |run| open(run, &opening, &local, &others));
    let mut at = waits;
    for (vmid, span) in spans {
        let starting = Arc::clone(&job);
        task = task.step(at, move |run| start(run, &starting, vmid));
        for quarter in 1..4u32 {
            let passing = Arc::clone(&job);
            task = task.step(at + span * quarter / 4, move |run| pass(run, &passing, vmid, u64::from(quarter) * 25));
        }
        at += span;
        let ending = Arc::clone(&job);
        task = task.step(at, move |run| end(run, &ending, vmid));
    }
    let closing = Arc::clone(&job);
    task.lasts(at + Duration::from_millis(1))
        .finish(move |run| close(run, &closing))
        .undo(move |run| interrupt(run, &job))
}

/// How long the backup of a guest takes: a second for each 400 MiB of its disks.
fn span(world: &World, vmid: u32) -> Duration {
    let Some(guest) = world.guests.get(&vmid) else { return Duration::ZERO };
    let disks = disk::disks(guest.kind, &guest.config);
    let bytes: u64 =
        disks.iter().filter_map(|disk| world.volume(&guest.node, &disk.volume())).map(|volume| volume.size).sum();
    Duration::from_secs((2 + bytes / (400 << 20)).min(3600))
}

fn lock(job: &Shared) -> std::sync::MutexGuard<'_, Job> {
    job.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What fails before anything is said.
fn check_storage(run: &mut Run<'_>, job: &Shared) -> Result<(), String> {
    let mut job = lock(job);
    let node = run.node.to_string();
    if let Some(folder) = job.options.dumpdir.clone() {
        let of_storage = run.world.storages.iter().find(|(_, storage)| {
            let root = storage.option("path").unwrap_or_default();
            storage.holds("backup")
                && format!("{root}/{}", crate::world::plugin::folder(storage, "backup")) == folder.trim_end_matches('/')
        });
        let (id, _) = of_storage.ok_or_else(|| format!("dumpdir '{folder}' does not exist"))?;
        job.options.storage = Some(id.clone());
        return Ok(());
    }
    let storage = job.options.storage.clone().unwrap_or_default();
    let found = run.world.storages.get(&storage);
    let usable = match found {
        None => Err(format!("storage '{storage}' does not exist")),
        Some(found) if !found.holds("backup") => {
            Err(format!("can't use storage '{storage}' for backups - wrong content type"))
        }
        Some(_) => run.world.usable_storage(&node, &storage).map(|_| ()),
    };
    usable.map_err(|error| format!("could not get storage information for '{storage}': {error}"))
}

/// First lines, and who may be backed up by this user.
fn open(run: &mut Run<'_>, job: &Shared, local: &[u32], others: &[u32]) -> Result<(), String> {
    let mut job = lock(job);
    run.log(format!("INFO: starting new backup job: {}", job.options.command));
    if !others.is_empty() {
        let mut others = others.to_vec();
        others.sort_unstable();
        let others: Vec<String> = others.iter().map(u32::to_string).collect();
        run.log(format!("INFO: skip external VMs: {}", others.join(", ")));
    }
    for vmid in local {
        let path = format!("/vms/{vmid}");
        let known = run.world.guests.contains_key(vmid);
        let lacks = access::lacks(&run.world.access.config, run.user, &path, &["VM.Backup"]);
        match lacks {
            Some(_) if known && job.options.all => {}
            Some(privilege) if known => {
                return Err(format!("403 Permission check failed ({path}, {privilege})"));
            }
            _ => job.vmids.push(*vmid),
        }
    }
    Ok(())
}

fn start(run: &mut Run<'_>, job: &Shared, vmid: u32) -> Result<(), String> {
    let mut job = lock(job);
    if !job.vmids.contains(&vmid) {
        return Ok(());
    }
    let storage = job.options.storage.clone().unwrap_or_default();
    let limit = protected_limit(run.world, run.user, &storage);
    match guest::start(run, &job.options, vmid, limit) {
        Ok(going) => job.going = Some(going),
        Err(error) => {
            let held = run.world.guests.get(&vmid).and_then(|guest| guest.lock());
            if held.as_deref() == Some("backup") && !error.contains("is locked") {
                run.unlock(vmid);
            }
            guest::failed(run, vmid, &error);
            job.failed += 1;
        }
    }
    Ok(())
}

fn pass(run: &mut Run<'_>, job: &Shared, vmid: u32, percent: u64) -> Result<(), String> {
    if let Some(going) = lock(job).going.as_ref().filter(|going| going.vmid() == vmid) {
        guest::progress(run, going, percent);
    }
    Ok(())
}

fn end(run: &mut Run<'_>, job: &Shared, vmid: u32) -> Result<(), String> {
    let mut job = lock(job);
    let Some(mut going) = job.going.take().filter(|going| going.vmid() == vmid) else { return Ok(()) };
    let result = guest::finish(run, &job.options, &mut going);
    guest::clean_up(run, &going);
    match result {
        Ok(()) => guest::finished(run, &going),
        Err(error) => {
            guest::failed(run, vmid, &error);
            job.failed += 1;
        }
    }
    Ok(())
}

fn close(run: &mut Run<'_>, job: &Shared) -> Result<(), String> {
    if lock(job).failed > 0 {
        run.log("INFO: Backup job finished with errors");
        return Err("job errors".into());
    }
    run.log("INFO: Backup job finished successfully");
    Ok(())
}

fn interrupt(run: &mut Run<'_>, job: &Shared) -> Result<(), String> {
    if let Some(going) = lock(job).going.take() {
        guest::clean_up(run, &going);
        guest::failed(run, going.vmid(), "interrupted by signal");
        run.log("ERROR: Backup job failed - interrupted by signal");
    }
    Ok(())
}

//! Replication of guests' volumes to other nodes: jobs are documents, what became of them is state beside them.
//!
//! Proxmox's scheduler looks at the jobs once a minute. Here nobody works in the background: [`catch_up`] does what has
//! become due up to a moment, for those who look.

use serde_json::{Map, Value, json};

use super::calendar::Calendar;
use super::disk::{self, Disk};
use super::{Guest, World, option};

/// Where jobs are kept, by id (`100-0`).
pub const JOBS: &str = "/cluster/replication";

/// Where the state of a job is kept, as an object of options.
fn state_path(id: &str) -> String {
    format!("/cluster/replication/{id}/state")
}

/// What became of a job: `last_sync`, `last_try`, `fail_count`, `duration`, `error`, `log`, and the moment from which a run
/// is `due`.
pub fn state(world: &World, id: &str) -> Map<String, Value> {
    world.documents.options.get(&state_path(id)).cloned().unwrap_or_default()
}

/// Makes the next look run a job.
pub fn run_soon(world: &mut World, id: &str, now: i64) {
    let state = world.documents.options.entry(state_path(id)).or_default();
    state.insert("last_try".into(), json!(0));
    state.insert("due".into(), json!(next_minute(now)));
}

/// Forgets a job and what became of it.
pub fn forget(world: &mut World, id: &str) {
    world.documents.remove(JOBS, id);
    world.documents.options.remove(&state_path(id));
}

/// The scheduler's next look.
fn next_minute(now: i64) -> i64 {
    (now.div_euclid(60) + 1) * 60
}

/// The volumes of a guest that are replicated: not on shared storages, not told to stay.
///
/// # Errors
/// A volume whose storage cannot replicate.
pub fn volumes(world: &World, guest: &Guest) -> Result<Vec<String>, String> {
    let mut volumes = Vec::new();
    for disk in disk::disks(guest.kind, &guest.config) {
        let volid = disk.volume();
        let storage = volid.split_once(':').and_then(|(storage, _)| world.storages.get(storage));
        let Some(storage) = storage.filter(|_| is_replicated(&disk)) else { continue };
        if storage.shared() {
            continue;
        }
        if !world.has_feature(&volid, "replicate", None) {
            return Err(format!("missing replicate feature on volume '{volid}'"));
        }
        volumes.push(volid);
    }
    Ok(volumes)
}

fn is_replicated(disk: &Disk) -> bool {
    let told = disk.get("replicate").is_none_or(|value| !matches!(value.as_str(), "0" | "no" | "off" | "false"));
    told && !disk.is_cdrom(false) && disk.mount_type() == "volume"
}

/// When a job runs next: 1 for one that is to be removed, 0 for never.
pub fn next_sync(job: &Map<String, Value>, state: &Map<String, Value>) -> i64 {
    if job.contains_key("remove_job") {
        return 1;
    }
    let last = state.get("last_try").and_then(Value::as_i64).unwrap_or(0);
    let fails = state.get("fail_count").and_then(Value::as_i64).unwrap_or(0);
    if fails > 0 {
        let minutes = [5, 10, 15, 30][usize::try_from(fails - 1).unwrap_or(3).min(3)];
        return last + minutes * 60;
    }
    let schedule = job.get("schedule").map_or_else(|| "*/15".into(), option::text);
    Calendar::parse(&schedule).and_then(|calendar| calendar.next(last)).unwrap_or(0)
}

/// The first moment after `now` at which some job has something to do; `None` when there is none that waits.
pub fn waits_until(world: &World, now: i64) -> Option<i64> {
    let waiting = world.documents.list(JOBS).iter().filter(|(id, job)| {
        let fresh = state(world, id).get("last_try").and_then(Value::as_i64).unwrap_or(0) == 0;
        job.contains_key("remove_job") || (fresh && !is_off(job))
    });
    let due = waiting.map(|(id, _)| state(world, id).get("due").and_then(Value::as_i64).unwrap_or(now));
    due.filter(|due| *due > now).max()
}

fn is_off(job: &Map<String, Value>) -> bool {
    job.get("disable").map(option::text).as_deref() == Some("1")
}

/// Does what has become due: removals, and one run for each job whose time has come.
pub fn catch_up(world: &mut World, now: i64) {
    let jobs: Vec<(String, Map<String, Value>)> = world.documents.list(JOBS).to_vec();
    for (id, job) in jobs {
        let state = state(world, &id);
        let due = state.get("due").and_then(Value::as_i64).unwrap_or(0);
        let at = next_sync(&job, &state).max(due);
        if now < at || (is_off(&job) && !job.contains_key("remove_job")) {
            continue;
        }
        match job.get("remove_job").map(option::text) {
            Some(how) => remove(world, &id, &job, how == "full"),
            None => sync(world, &id, &job, state, last_due(&job, at, now)),
        }
    }
}

/// The last moment up to `now` at which a job that is due since `at` would have run.
fn last_due(job: &Map<String, Value>, at: i64, now: i64) -> i64 {
    // What never ran is looked at within the minute; what waits for long has run often, and only the last run counts.
    const LONG: i64 = 2 * 86_400;
    if at < now - LONG {
        return now;
    }
    let schedule = job.get("schedule").map_or_else(|| "*/15".into(), option::text);
    let Some(calendar) = Calendar::parse(&schedule) else { return at };
    let following = |after: &i64| calendar.next(*after).filter(|next| *next <= now);
    std::iter::successors(Some(at), following).last().unwrap_or(at)
}

/// The guest of `100-0`.
fn guest_of(id: &str) -> u32 {
    id.split('-').next().and_then(|guest| guest.parse().ok()).unwrap_or(0)
}

fn remove(world: &mut World, id: &str, job: &Map<String, Value>, volumes_too: bool) {
    let target = job.get("target").map(option::text).unwrap_or_default();
    if volumes_too && let Some(guest) = world.guests.get(&guest_of(id)).cloned() {
        for volid in volumes(world, &guest).unwrap_or_default() {
            world.take_volume(&target, &volid);
        }
    }
    forget(world, id);
}

fn sync(world: &mut World, id: &str, job: &Map<String, Value>, mut state: Map<String, Value>, at: i64) {
    let Some(guest) = world.guests.get(&guest_of(id)).cloned() else { return };
    let target = job.get("target").map(option::text).unwrap_or_default();
    let stamp = jiff::Timestamp::from_second(at).unwrap_or_default().strftime("%Y-%m-%d %H:%M:%S").to_string();
    let last = state.get("last_sync").and_then(Value::as_i64).unwrap_or(0);
    let mut log = vec!["start replication job".to_string()];
    let result = transfer(world, id, job, &guest, &target, (last, at), &mut log);
    state.insert("last_try".into(), json!(at));
    state.shift_remove("due");
    match result {
        Ok(()) => {
            log.push("end replication job".into());
            state.insert("last_sync".into(), json!(at));
            state.insert("fail_count".into(), json!(0));
            state.insert("duration".into(), json!(3.5));
            state.shift_remove("error");
        }
        Err(error) => {
            log.push(format!("end replication job with error: {error}"));
            let fails = state.get("fail_count").and_then(Value::as_i64).unwrap_or(0);
            state.insert("fail_count".into(), json!(fails + 1));
            state.insert("duration".into(), json!(3.0));
            state.insert("error".into(), json!(error));
        }
    }
    let lines: Vec<String> = log.into_iter().map(|line| format!("{stamp} {id}: {line}")).collect();
    state.insert("log".into(), json!(lines));
    world.documents.options.insert(state_path(id), state);
}

fn transfer(
    world: &mut World,
    id: &str,
    job: &Map<String, Value>,
    guest: &Guest,
    target: &str,
    (last, at): (i64, i64),
    log: &mut Vec<String>,
) -> Result<(), String> {
    let kind = guest.kind.word();
    log.push(format!("guest => {kind} {}, running => {}", guest.vmid, guest.pid.unwrap_or(0)));
    let volumes = volumes(world, guest)?;
    log.push(format!("volumes => {}", volumes.join(",")));
    let node = world.nodes.get(target).ok_or_else(|| format!("no such cluster node '{target}'"))?;
    if !node.online {
        return Err(format!(
            "command '/usr/bin/ssh -e none -o 'BatchMode=yes' -o 'HostKeyAlias={target}' root@{} pvecm mtunnel' failed: exit \
             code 255",
            node.ip
        ));
    }
    let snapshot = format!("__replicate_{id}_{at}__");
    for volid in &volumes {
        log.push(format!("create snapshot '{snapshot}' on {volid}"));
    }
    let rate = job.get("rate").map_or_else(|| "none".into(), |rate| format!("{} MByte/s", option::text(rate)));
    log.push(format!("using secure transmission, rate limit: {rate}"));
    for volid in &volumes {
        let before = world.volume(target, volid).is_some();
        if before && last > 0 {
            log.push(format!("incremental sync '{volid}' (__replicate_{id}_{last}__ => {snapshot})"));
        } else {
            log.push(format!("full sync '{volid}' ({snapshot})"));
        }
        if let Some(mut copy) = world.volume(&guest.node, volid).cloned() {
            copy.snapshots.retain(|name| !name.starts_with("__replicate_"));
            copy.snapshots.push(snapshot.clone());
            world.put_volume(target, copy);
        }
        if let Some(volume) = world.volume_mut(&guest.node, volid) {
            volume.snapshots.retain(|name| !name.starts_with(&format!("__replicate_{id}_")));
            volume.snapshots.push(snapshot.clone());
        }
    }
    for volid in volumes.iter().filter(|_| last > 0) {
        log.push(format!("delete previous replication snapshot '__replicate_{id}_{last}__' on {volid}"));
    }
    Ok(())
}

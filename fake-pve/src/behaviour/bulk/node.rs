//! The four calls on one node.

use std::time::Duration;

use serde_json::Value;

use super::{Choice, TURN, Turns, check, is_vm, named, ordered, report, startup};
use crate::behaviour::migrate::{follow, preconditions};
use crate::behaviour::status::{self, Request, Shutdown, Start, Target, quorate, request, seconds};
use crate::behaviour::{Answer, Call, Failure};
use crate::work::Run;
use crate::world::{Guest, ha};

/// `POST /nodes/{node}/startall`: what starts with the node, in order; with `force` everything.
pub(crate) fn start_all(call: &mut Call<'_>) -> Answer {
    let named = named(call);
    check(call, &named, &["VM.PowerMgmt"])?;
    let node = call.node();
    let onboot = !call.params.is_on("force");
    let choice = Choice { node: Some(&node), named: &named, onboot, templates: false, managed: false };
    let mut turns = Turns::new(call.task("startall", "")).then(remove_backup_locks);
    for guest in ordered(call.world, &choice).into_values().flatten().filter(|guest| !guest.runs()) {
        let target = Target::at(&guest);
        let delay = startup(&guest, "up").unwrap_or(if is_vm(&guest) { 3 } else { 0 });
        turns = turns.then(begin_start(target.clone())).wait(Duration::from_secs(1));
        turns = turns.then(move |run| {
            report(run, &target, "Starting");
            Ok(())
        });
        if let Some(up) = startup(&guest, "up").filter(|up| *up > 0) {
            turns = turns.then(move |run| {
                run.log(format!("Waiting for {up} seconds (startup delay)"));
                Ok(())
            });
        }
        turns = turns.wait(Duration::from_secs(delay));
    }
    call.start(turns.task())
}

/// A backup that was cut off by the node's own end leaves its lock behind.
fn remove_backup_locks(run: &mut Run<'_>) -> Result<(), String> {
    let node = run.node.to_string();
    let backups =
        run.world.tasks.iter().any(|task| task.running() && task.worker_type == "vzdump" && task.node == node);
    let left =
        run.world.guests.values_mut().filter(|guest| guest.node == node && guest.lock().as_deref() == Some("backup"));
    if !backups {
        left.for_each(|guest| {
            guest.config.shift_remove("lock");
        });
    }
    Ok(())
}

/// Says so and starts it.
pub(super) fn begin_start(target: Target) -> impl FnOnce(&mut Run<'_>) -> Result<(), String> + Send {
    move |run| {
        if target.runs(run.world).unwrap_or(false) {
            return Ok(());
        }
        run.log(format!("Starting {}", target.word()));
        let task = status::start(run.world, run.now * 1000, &target, run.user, Start::default());
        run.spawn(task);
        Ok(())
    }
}

/// `POST /nodes/{node}/stopall`: shut down in reverse order, each order together.
pub(crate) fn stop_all(call: &mut Call<'_>) -> Answer {
    let named = named(call);
    check(call, &named, &["VM.PowerMgmt"])?;
    let node = call.node();
    let choice = Choice { node: Some(&node), named: &named, onboot: false, templates: false, managed: false };
    let force = call.params.flag("force-stop").unwrap_or(true);
    let default = call.params.int("timeout").unwrap_or(180);
    let mut turns = Turns::new(call.task("stopall", ""));
    for guests in ordered(call.world, &choice).into_values().rev() {
        let running: Vec<Guest> = guests.into_iter().rev().filter(Guest::runs).collect();
        if running.is_empty() {
            continue;
        }
        for guest in &running {
            let timeout = startup(guest, "down").and_then(|down| i64::try_from(down).ok()).unwrap_or(default);
            let how = Shutdown { timeout: Some(timeout), force, ..Shutdown::default() };
            let target = Target::at(guest);
            turns = turns.then(move |run| {
                run.log(format!("Stopping {} (timeout = {timeout} seconds)", target.word()));
                let user = run.user.to_string();
                run.spawn(status::shutdown(run.world, run.now * 1000, &target, &user, &how));
                Ok(())
            });
        }
        turns = turns.wait(TURN);
        for guest in running {
            turns = turns.then(move |run| {
                report(run, &Target::at(&guest), "Stopping");
                Ok(())
            });
        }
    }
    call.start(turns.task())
}

/// `POST /nodes/{node}/suspendall`: machines to disk, in reverse order.
pub(crate) fn suspend_all(call: &mut Call<'_>) -> Answer {
    let named = named(call);
    check(call, &named, &["VM.PowerMgmt", "VM.Config.Disk"])?;
    let node = call.node();
    let choice = Choice { node: Some(&node), named: &named, onboot: false, templates: false, managed: false };
    let mut turns = Turns::new(call.task("suspendall", ""));
    let mut any = false;
    for guest in ordered(call.world, &choice).into_values().rev().flat_map(|guests| guests.into_iter().rev()) {
        any |= is_vm(&guest) && guest.runs();
        turns = turns.then(park(Target::at(&guest), is_vm(&guest)));
    }
    if any {
        turns = turns.wait(seconds(5));
    }
    call.start(turns.task())
}

fn park(target: Target, machine: bool) -> impl FnOnce(&mut Run<'_>) -> Result<(), String> + Send {
    move |run| {
        if !machine {
            run.warn(&format!("skipping {}, only VMs can be suspended", target.vmid));
            return Ok(());
        }
        if !target.runs(run.world).unwrap_or(false) {
            run.log(format!("VM {} not running, skipping suspension", target.vmid));
            return Ok(());
        }
        run.log(format!("Suspending VM {}", target.vmid));
        let user = run.user.to_string();
        run.spawn(status::park(run.world, run.now, &target, &user, false, None));
        Ok(())
    }
}

/// `POST /nodes/{node}/migrateall`.
pub(crate) fn migrate_all(call: &mut Call<'_>) -> Answer {
    let named = named(call);
    check(call, &named, &["VM.Migrate"])?;
    let (node, to) = (call.node(), call.params.text("target"));
    if to == node {
        return Err(Failure::param("target", "target is local node."));
    }
    quorate(call)?;
    if !call.world.nodes.contains_key(&to) {
        return Err(Failure::die(format!("no such cluster node '{to}'")));
    }
    let datacenter =
        call.world.documents.options.get("/cluster/options").and_then(|options| options.get("max_workers"));
    let workers = call.params.int("max-workers").or_else(|| call.params.int("maxworkers"));
    if workers.is_none() && datacenter.is_none_or(Value::is_null) {
        return Err(Failure::die("either 'max-workers' parameter or max_workers in datacenter.cfg must be set!"));
    }
    let disks = call.params.is_on("with-local-disks");
    let choice = Choice { node: Some(&node), named: &named, onboot: false, templates: true, managed: true };
    let mut turns = Turns::new(call.task("migrateall", ""));
    let guests: Vec<Guest> = ordered(call.world, &choice).into_values().flatten().collect();
    let count = guests.len();
    let mut unfinished = String::new();
    for guest in guests {
        let check = if is_vm(&guest) { precondition(call, &guest, &to, disks) } else { Ok(()) };
        let (lines, goes) = lines_of(&guest, check, &mut unfinished);
        let (target, to) = (Target::at(&guest), to.clone());
        turns = turns.then(move |run| {
            lines.into_iter().for_each(|line| run.log(line));
            if goes {
                send(run, &target, &to, disks);
            }
            Ok(())
        });
        turns = turns.wait(Duration::from_secs(if goes { 1 } else { 0 }));
    }
    let turns = turns.wait(TURN).then(move |run| {
        run.log(format!("All jobs finished, used {count} workers in total."));
        Ok(())
    });
    call.start(turns.task())
}

/// The lines of a guest's turn. A check that dies leaves its line open, and the next one goes on behind it.
fn lines_of(guest: &Guest, check: Result<(), Option<String>>, unfinished: &mut String) -> (Vec<String>, bool) {
    let target = Target::at(guest);
    let before = std::mem::take(unfinished);
    if !is_vm(guest) {
        return (vec![format!("{before}Migrating {}", target.word())], true);
    }
    let head = format!("{before}Check {}: ", target.word());
    match check {
        Ok(()) => (vec![format!("{head}precondition check passed"), format!("Migrating {}", target.word())], true),
        Err(None) => {
            *unfinished = head;
            (Vec::new(), false)
        }
        Err(Some(why)) => {
            *unfinished = format!("{head}skip {} - precondition check failed:{why}", target.word());
            (Vec::new(), false)
        }
    }
}

/// `Err(None)` is a check that dies, `Err(Some(why))` one that says no.
fn precondition(call: &Call<'_>, guest: &Guest, to: &str, disks: bool) -> Result<(), Option<String>> {
    let found = preconditions(call.world, guest).map_err(|_| None)?;
    let mut why = String::new();
    let list = |value: &Value, key: &str| -> Vec<String> {
        let items = value.as_array().into_iter().flatten();
        items.filter_map(|item| item.get(key).unwrap_or(item).as_str().map(str::to_string)).collect()
    };
    let local = list(&found["local_disks"], "volid");
    if guest.runs() && !disks && !local.is_empty() {
        why.push_str(&format!(" Has local disks: {}", local.join(", ")));
    }
    let resources = list(&found["local_resources"], "");
    if !resources.is_empty() {
        why.push_str(&format!(" Has local resources: {}", resources.join(", ")));
    }
    let missing = list(&found["not_allowed_nodes"][to]["unavailable_storages"], "");
    if !missing.is_empty() {
        why.push_str(&format!(" Has unavailable storages: {}", missing.join(", ")));
    }
    if why.is_empty() { Ok(()) } else { Err(Some(why)) }
}

/// Starts the migration, or asks the HA manager for it.
pub(super) fn send(run: &mut Run<'_>, target: &Target, to: &str, disks: bool) {
    let user = run.user.to_string();
    let task = if ha::managed(run.world, target.vmid).is_some() {
        request(target, &user, Request::Migrate(to.into()))
    } else {
        follow(run.world, run.now, target, &user, to, disks)
    };
    run.spawn(task);
}

//! The four calls on the whole cluster.

use std::time::Duration;

use super::{Choice, TURN, Turns, check, is_vm, named, node, ordered, report};
use crate::behaviour::status::{self, Shutdown, Target, quorate, seconds};
use crate::behaviour::{Answer, Call, Failure};
use crate::work::Run;
use crate::world::Guest;

/// The guests that are meant, and the line that says so.
fn chosen(call: &Call<'_>, doing: &str, suffix: &str, privileges: &[&str]) -> Result<(Vec<Guest>, String), Failure> {
    let named = named(call);
    check(call, &named, privileges)?;
    let choice = Choice { node: None, named: &named, onboot: false, templates: false, managed: true };
    let guests = ordered(call.world, &choice).into_values().flatten().collect();
    let list: Vec<String> = named.iter().map(u32::to_string).collect();
    let line = if list.is_empty() {
        format!("{doing} all guests{suffix}")
    } else {
        format!("{doing} guests{suffix}: {}", list.join(", "))
    };
    Ok((guests, line))
}

/// One guest after the other; in the end those that failed are named.
fn turn_by_turn(
    call: &mut Call<'_>,
    worker_type: &str,
    line: String,
    guests: Vec<Guest>,
    doing: &'static str,
    act: impl Fn(&mut Run<'_>, &Target, &Guest) -> Result<bool, String> + Clone + Send + 'static,
    takes: Duration,
) -> Answer {
    let mut turns = Turns::new(call.task(worker_type, "").line(line));
    let all: Vec<Target> = guests.iter().map(Target::at).collect();
    for guest in guests {
        let act = act.clone();
        let reached = call.world.nodes.get(&guest.node).is_some_and(|node| node.online);
        turns = turns.then(move |run| {
            let target = Target::at(&guest);
            if !reached {
                run.log(format!("{doing} {} failed: No route to host", target.word()));
                return Ok(());
            }
            act(run, &target, &guest).map(|_| ())
        });
        turns = turns.wait(Duration::from_millis(300));
    }
    let nodes: Vec<bool> =
        all.iter().map(|target| call.world.nodes.get(&target.node).is_some_and(|node| node.online)).collect();
    let task = turns.wait(takes).task().finish(move |run| {
        let mut failed = Vec::new();
        for (target, reached) in all.iter().zip(nodes) {
            if !reached || report(run, target, doing) {
                failed.push(target.vmid.to_string());
            }
        }
        if failed.is_empty() { Ok(()) } else { Err(format!("Some guests failed: {}", failed.join(", "))) }
    });
    call.start(task)
}

/// `POST /cluster/bulk-action/guest/start`.
pub(crate) fn start(call: &mut Call<'_>) -> Answer {
    let (guests, line) = chosen(call, "Starting", "", &["VM.PowerMgmt"])?;
    let act = |run: &mut Run<'_>, target: &Target, _: &Guest| {
        if target.runs(run.world)? {
            run.log(format!("Skipping {}, already running.", target.word()));
            return Ok(false);
        }
        node::begin_start(target.clone())(run).map(|()| true)
    };
    turn_by_turn(call, "bulk-start", line, guests, "Starting", act, TURN)
}

/// `POST /cluster/bulk-action/guest/shutdown`.
pub(crate) fn shutdown(call: &mut Call<'_>) -> Answer {
    let (guests, line) = chosen(call, "Shutting down", "", &["VM.PowerMgmt"])?;
    let force = call.params.flag("force-stop").unwrap_or(true);
    let timeout = call.params.int("timeout").unwrap_or(180);
    let act = move |run: &mut Run<'_>, target: &Target, _: &Guest| {
        if !target.runs(run.world)? {
            run.log(format!("Skipping {}, not running.", target.word()));
            return Ok(false);
        }
        run.log(format!("Shutting down {} (timeout = {timeout} seconds)", target.word()));
        let how = Shutdown { timeout: Some(timeout), force, ..Shutdown::default() };
        let user = run.user.to_string();
        run.spawn(status::shutdown(run.world, run.now * 1000, target, &user, &how));
        Ok(true)
    };
    let guests = guests.into_iter().rev().collect();
    turn_by_turn(call, "bulk-shutdown", line, guests, "Shutting down", act, TURN)
}

/// `POST /cluster/bulk-action/guest/suspend`.
pub(crate) fn suspend(call: &mut Call<'_>) -> Answer {
    let to_disk = call.params.is_on("to-disk");
    let privileges: &[&str] = if to_disk { &["VM.PowerMgmt", "VM.Config.Disk"] } else { &["VM.PowerMgmt"] };
    let (guests, line) = chosen(call, "Suspending", "", privileges)?;
    let storage = call.params.get("statestorage");
    let act = move |run: &mut Run<'_>, target: &Target, guest: &Guest| {
        if !is_vm(guest) {
            run.log(format!("Skipping {}, only VMs can be suspended.", target.word()));
            return Ok(false);
        }
        if !target.runs(run.world)? {
            run.log(format!("Skipping {}, not running.", target.word()));
            return Ok(false);
        }
        run.log(format!("Suspending {}", target.word()));
        let user = run.user.to_string();
        run.spawn(if to_disk {
            status::park(run.world, run.now, target, &user, false, storage.clone())
        } else {
            status::pause(target, &user, false)
        });
        Ok(true)
    };
    let guests = guests.into_iter().rev().collect();
    turn_by_turn(call, "bulk-suspend", line, guests, "Suspending", act, seconds(5))
}

/// `POST /cluster/bulk-action/guest/migrate`.
pub(crate) fn migrate(call: &mut Call<'_>) -> Answer {
    let to = call.params.text("target");
    let (guests, line) = chosen(call, "Migrating", &format!(" to '{to}'"), &["VM.Migrate"])?;
    quorate(call)?;
    if !call.world.nodes.contains_key(&to) {
        return Err(Failure::die(format!("no such cluster node '{to}'")));
    }
    let disks = call.params.is_on("with-local-disks");
    let online = call.params.flag("online").unwrap_or(true);
    let act = move |run: &mut Run<'_>, target: &Target, guest: &Guest| {
        if guest.node == to {
            run.log(format!("Skipping {}, already on target node.", target.word()));
            return Ok(false);
        }
        if target.runs(run.world)? && !online {
            run.log(format!("Skipping {}, online migration is not wanted.", target.word()));
            return Ok(false);
        }
        run.log(format!("Migrating {}", target.word()));
        node::send(run, target, &to, disks);
        Ok(true)
    };
    turn_by_turn(call, "bulk-migrate", line, guests, "Migrating", act, seconds(10))
}

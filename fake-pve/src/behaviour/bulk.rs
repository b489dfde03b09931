//! Many guests at once: `/nodes/{node}/{startall,stopall,suspendall,migrateall}` and
//! `/cluster/bulk-action/guest/{start,shutdown,suspend,migrate}`.

mod cluster;
mod node;

use std::collections::BTreeMap;
use std::time::Duration;

use super::status::Target;
use super::{Call, Failure};
use crate::work::{Act, NewTask, Run};
use crate::world::{Guest, GuestKind, World, ha};

pub(crate) use cluster::{migrate, shutdown, start, suspend};
pub(crate) use node::{migrate_all, start_all, stop_all, suspend_all};

/// Guests by startup order, then vmid.
type Order = BTreeMap<u64, Vec<Guest>>;

/// Which guests are meant.
struct Choice<'c> {
    /// Only those of a node.
    node: Option<&'c str>,
    /// Only those that were named, when any were.
    named: &'c [u32],
    /// Only those that start with their node.
    onboot: bool,
    /// Templates too.
    templates: bool,
    /// Those of the HA manager too.
    managed: bool,
}

/// The guests of a choice, in their startup order; those without one come last.
fn ordered(world: &World, choice: &Choice<'_>) -> Order {
    let mut order = Order::new();
    for guest in world.guests.values() {
        let meant = choice.node.is_none_or(|node| guest.node == node)
            && (choice.named.is_empty() || choice.named.contains(&guest.vmid))
            && (!choice.onboot || guest.option("onboot").as_deref() == Some("1"))
            && (choice.templates || !guest.template())
            && (choice.managed || ha::managed(world, guest.vmid).is_none());
        if meant {
            order.entry(startup(guest, "order").unwrap_or(u64::MAX)).or_default().push(guest.clone());
        }
    }
    order
}

/// A number of a guest's startup order: `order`, `up`, `down`.
fn startup(guest: &Guest, key: &str) -> Option<u64> {
    let text = guest.option("startup")?;
    let mut parts = text.split(',').map(str::trim);
    parts.find_map(|part| match part.split_once('=') {
        Some((name, number)) if name == key => number.parse().ok(),
        None if key == "order" => part.parse().ok(),
        _ => None,
    })
}

/// The vmids of a list parameter.
fn named(call: &Call<'_>) -> Vec<u32> {
    call.params.list("vms").iter().filter_map(|vmid| vmid.trim().parse().ok()).collect()
}

/// Refuses without privileges on everything, or on each guest that was named.
fn check(call: &Call<'_>, named: &[u32], privileges: &[&str]) -> Result<(), Failure> {
    let everywhere = privileges.iter().all(|privilege| call.may("/", &[privilege]));
    if everywhere {
        return Ok(());
    }
    if named.is_empty() {
        return Err(Failure::denied(&format!("/, {}", privileges.join(" && "))));
    }
    named.iter().try_for_each(|vmid| call.require(&format!("/vms/{vmid}"), privileges))
}

/// How long a started task is given before the next thing happens.
const TURN: Duration = Duration::from_secs(3);

/// A task that does one thing after the other.
struct Turns {
    task: NewTask,
    at: Duration,
}

impl Turns {
    fn new(task: NewTask) -> Turns {
        Turns { task, at: Duration::ZERO }
    }

    /// Something now.
    fn then(mut self, act: impl FnOnce(&mut Run<'_>) -> Result<(), String> + Send + 'static) -> Turns {
        let act: Act = Box::new(act);
        self.task = self.task.step(self.at, act);
        self
    }

    /// Time goes by.
    fn wait(mut self, time: Duration) -> Turns {
        self.at += time;
        self
    }

    fn task(self) -> NewTask {
        self.task.lasts(self.at.max(Duration::from_millis(200)))
    }
}

/// Says that the task that was started for a guest did not end well.
fn report(run: &mut Run<'_>, target: &Target, doing: &str) -> bool {
    let id = target.vmid.to_string();
    let last = run.world.tasks.iter().rev().find(|task| task.id == id && task.upid != run.upid);
    let failed =
        last.and_then(|task| task.exitstatus.clone()).filter(|status| status != "OK" && !status.starts_with("WARN"));
    if let Some(status) = &failed {
        run.log(format!("{doing} {} failed: {status}", target.word()));
    }
    failed.is_some()
}

/// The word before a container's number in a log, or a machine's.
fn is_vm(guest: &Guest) -> bool {
    guest.kind == GuestKind::Vm
}

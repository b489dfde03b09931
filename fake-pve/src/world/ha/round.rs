//! One round of the managers: see how nodes and tasks are, decide about each service, and say what nodes have to do.

use serde_json::Value;

use super::super::{Task, World};
use super::place::candidates;
use super::{Command, NodeHealth, RESOURCES, ResourceMode, Service, requested, resource, runs, vmid_of};

/// How long a silent node is waited for before it is fenced, in seconds.
const FENCE_AFTER: i64 = 60;

/// What a node has to do for a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// The service.
    pub sid: String,
    /// Its guest.
    pub vmid: u32,
    /// Where it is done.
    pub node: String,
    /// What.
    pub what: What,
}

/// Kinds of actions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Switch the guest on.
    Start,
    /// Shut the guest down; with `Some(0)` switch it off at once.
    Stop(Option<u32>),
    /// Move the guest while it is as it is.
    Migrate(String),
}

/// One round at a moment in seconds. The caller starts a task for each action and puts its id into the service's `task`.
pub fn round(world: &mut World, now: i64) -> Vec<Action> {
    watch_nodes(world, now);
    elect(world);
    enrol(world);
    take_commands(world);
    if let Some(mode) = world.ha.disarmed {
        let state = if mode == ResourceMode::Freeze { "freeze" } else { "ignored" };
        world.ha.services.values_mut().filter(|service| service.task.is_none()).for_each(|s| s.state = state.into());
        return Vec::new();
    }
    let sids: Vec<String> = world.ha.services.keys().cloned().collect();
    sids.iter().filter_map(|sid| decide(world, sid)).collect()
}

/// A node that is silent for long enough is fenced: its services are free to be recovered.
fn watch_nodes(world: &mut World, now: i64) {
    let names: Vec<String> = world.nodes.keys().cloned().collect();
    world.ha.nodes.retain(|node, _| names.contains(node));
    for name in names {
        let up = runs(world, &name, "pve-ha-lrm");
        let health =
            world.ha.nodes.entry(name.clone()).or_insert_with(|| NodeHealth { state: "online".into(), since: now });
        let next = match (up, health.state.as_str()) {
            (true, _) => "online",
            (false, "online") => "unknown",
            (false, "unknown") if now - health.since >= FENCE_AFTER => "fence",
            (false, _) => continue,
        };
        if next != health.state {
            *health = NodeHealth { state: next.into(), since: now };
            if next == "fence" {
                fence(world, &name);
            }
        }
    }
}

fn fence(world: &mut World, node: &str) {
    for (sid, service) in world.ha.services.iter_mut().filter(|(_, service)| service.node == node) {
        service.task = None;
        service.state = "fence".into();
        if let Some(guest) = vmid_of(sid).and_then(|vmid| world.guests.get_mut(&vmid)) {
            guest.power_off();
        }
    }
}

/// The master is the first node that can be, for as long as it can be.
fn elect(world: &mut World) {
    let able = |node: &str| runs(world, node, "pve-ha-crm");
    if !world.ha.master.as_deref().is_some_and(able) {
        world.ha.master = world.nodes.keys().find(|node| able(node)).cloned();
    }
}

/// New resources become services, services without a resource go.
fn enrol(world: &mut World) {
    let resources: Vec<String> = world.documents.list(RESOURCES).iter().map(|(sid, _)| sid.clone()).collect();
    world.ha.services.retain(|sid, service| resources.contains(sid) || service.task.is_some());
    for sid in resources {
        let Some(guest) = vmid_of(&sid).and_then(|vmid| world.guests.get(&vmid)) else { continue };
        let wanted = resource(world, &sid).map_or("ignored", requested);
        if wanted == "ignored" {
            world.ha.services.remove(&sid);
            continue;
        }
        let state = if wanted == "started" { "started" } else { "stopped" };
        let new = Service { node: guest.node.clone(), state: state.into(), ..Service::default() };
        world.ha.services.entry(sid).or_insert(new);
    }
}

fn take_commands(world: &mut World) {
    for command in std::mem::take(&mut world.ha.commands) {
        match command {
            Command::Move { sid, node, relocate } => take_move(world, &sid, node, relocate),
            Command::Arm => world.ha.disarmed = None,
            Command::Disarm(mode) => world.ha.disarmed = Some(mode),
        }
    }
}

/// A service that rests moves, when there is a node to move to.
fn take_move(world: &mut World, sid: &str, node: String, relocate: bool) {
    let possible = world.ha.disarmed.is_none() && runs(world, &node, "pve-ha-lrm");
    let Some(service) = world.ha.services.get_mut(sid) else { return };
    let rests = service.task.is_none() && ["started", "stopped"].contains(&service.state.as_str());
    if possible && rests && service.node != node {
        service.state = if relocate { "relocate" } else { "migrate" }.into();
        service.target = Some(node);
    }
}

fn task_of<'w>(world: &'w World, service: &Service) -> Option<&'w Task> {
    let upid = service.task.as_ref()?;
    world.tasks.iter().find(|task| task.upid == *upid)
}

/// What becomes of one service in this round.
fn decide(world: &mut World, sid: &str) -> Option<Action> {
    let vmid = vmid_of(sid)?;
    let mut service = world.ha.services.get(sid)?.clone();
    if task_of(world, &service).is_some_and(Task::running) {
        return None;
    }
    let (runs_now, guest_node) = world.guests.get(&vmid).map(|guest| (guest.runs(), guest.node.clone()))?;
    settle_task(world, &mut service, &guest_node);
    if !["fence", "recovery"].contains(&service.state.as_str()) {
        service.node = guest_node;
    }
    let config = resource(world, sid).cloned().unwrap_or_default();
    let what = match (service.state.as_str(), requested(&config)) {
        ("fence" | "recovery", wanted) => {
            recover(world, sid, vmid, &mut service, wanted);
            None
        }
        (_, _) if !runs(world, &service.node, "pve-ha-lrm") => None,
        ("freeze" | "ignored", wanted) => {
            service.state = if wanted == "started" { "started" } else { "stopped" }.into();
            None
        }
        ("error", "disabled") => {
            service.state = "stopped".into();
            None
        }
        ("error", _) => None,
        ("migrate", _) => service.target.clone().map(What::Migrate),
        ("relocate", _) => relocation(&service, runs_now),
        ("started" | "stopped", "started") => wanted_on(world, sid, &config, &mut service, runs_now),
        (_, _) => wanted_off(&mut service, runs_now),
    };
    let node = service.node.clone();
    world.ha.services.insert(sid.into(), service);
    what.map(|what| Action { sid: sid.into(), vmid, node, what })
}

/// What the end of a task means for its service.
fn settle_task(world: &World, service: &mut Service, guest_node: &str) {
    let Some(task) = task_of(world, service) else {
        service.task = None;
        return;
    };
    let good = task.exitstatus.as_deref().is_some_and(|status| status == "OK" || status.starts_with("WARNINGS"));
    match service.state.as_str() {
        // The stop came before the move.
        "relocate" if good && service.target.as_deref() != Some(guest_node) => {}
        "migrate" | "relocate" => {
            if let Some(target) = service.target.take().filter(|_| good) {
                service.node = target;
            }
            service.state = "started".into();
        }
        "request_stop" if good => service.state = "stopped".into(),
        "request_stop" => service.state = "error".into(),
        "started" if !good => service.failed_starts += 1,
        _ => {}
    }
    service.task = None;
    service.stop_timeout = service.stop_timeout.filter(|_| service.state == "request_stop");
}

/// A service that moves while it is off: a stop first, the start is an action of its own later.
fn relocation(service: &Service, runs_now: bool) -> Option<What> {
    match runs_now {
        true => Some(What::Stop(None)),
        false => service.target.clone().map(What::Migrate),
    }
}

fn number(config: &serde_json::Map<String, Value>, key: &str) -> u32 {
    let value = config.get(key);
    let text = value.and_then(|value| value.as_u64().or_else(|| value.as_str()?.parse().ok()));
    text.and_then(|number| u32::try_from(number).ok()).unwrap_or(1)
}

/// A service that should run: started, restarted, moved away after failures, or brought to where its rules want it.
fn wanted_on(
    world: &World,
    sid: &str,
    config: &serde_json::Map<String, Value>,
    service: &mut Service,
    runs_now: bool,
) -> Option<What> {
    service.state = "started".into();
    let places = candidates_with(world, sid, service);
    if runs_now {
        (service.failed_starts, service.relocations) = (0, 0);
        let failback = number(config, "failback") == 1;
        let better = places.first().filter(|_| failback && !places.contains(&service.node))?;
        service.target = Some(better.clone());
        service.state = "migrate".into();
        return service.target.clone().map(What::Migrate);
    }
    if service.failed_starts <= number(config, "max_restart") {
        return Some(What::Start);
    }
    let elsewhere = places.into_iter().find(|node| *node != service.node);
    match elsewhere.filter(|_| service.relocations < number(config, "max_relocate")) {
        Some(node) => {
            service.relocations += 1;
            service.failed_starts = 0;
            service.state = "relocate".into();
            service.target = Some(node);
            relocation(service, runs_now)
        }
        None => {
            service.state = "error".into();
            None
        }
    }
}

/// The candidates as if the service were nowhere: its own weight does not count.
fn candidates_with(world: &World, sid: &str, service: &Service) -> Vec<String> {
    let places = candidates(world, sid);
    match places.contains(&service.node) {
        true if service.failed_starts == 0 => vec![service.node.clone()],
        _ => places,
    }
}

fn wanted_off(service: &mut Service, runs_now: bool) -> Option<What> {
    if !runs_now {
        service.state = "stopped".into();
        return None;
    }
    service.state = "request_stop".into();
    Some(What::Stop(service.stop_timeout))
}

/// A service of a fenced node gets another one, and its guest with it.
fn recover(world: &mut World, sid: &str, vmid: u32, service: &mut Service, wanted: &str) {
    service.state = "recovery".into();
    let Some(node) = candidates(world, sid).into_iter().next() else { return };
    if let Some(guest) = world.guests.get_mut(&vmid) {
        guest.node.clone_from(&node);
    }
    service.node = node;
    service.failed_starts = 0;
    service.state = if wanted == "started" { "started" } else { "stopped" }.into();
}

//! High availability: what the managers of the cluster (CRM) and of the nodes (LRM) know, and what others ask of them.
//!
//! Resources and rules are configuration and stand among the documents (`/cluster/ha/resources` by service id,
//! `/cluster/ha/rules` by name). What becomes of them is here: [`round`] does what the managers do every ten seconds of
//! virtual time and answers with the [`Action`]s that nodes have to carry out.
//!
//! For guest calls: [`managed`] tells whether HA has a guest, [`request_state`] and [`request_stop`] are what `hastart` and
//! `hastop` do in their task, [`request_move`] what `hamigrate` does, [`guest_status`] is the `ha` object of a guest's
//! status, [`purge`] is what the removal of a guest does. The guest itself follows some rounds later, by tasks of
//! `root@pam` on its node.

pub mod place;
mod round;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{GuestKind, World};

pub use round::{Action, What, round};

/// Where resources stand among the documents.
pub const RESOURCES: &str = "/cluster/ha/resources";
/// Where rules stand among the documents.
pub const RULES: &str = "/cluster/ha/rules";
/// Where groups stand among the documents.
pub const GROUPS: &str = "/cluster/ha/groups";
/// Virtual milliseconds between two rounds.
pub const ROUND_MS: i64 = 10_000;

/// What the managers know.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ha {
    /// The node whose CRM decides; none before there is something to decide.
    pub master: Option<String>,
    /// Services by id (`vm:100`), as the CRM sees them.
    pub services: BTreeMap<String, Service>,
    /// Nodes as the CRM sees them.
    pub nodes: BTreeMap<String, NodeHealth>,
    /// What was asked by command and not looked at yet, in order.
    pub commands: Vec<Command>,
    /// Whether HA is disarmed, and what it does with its resources meanwhile.
    pub disarmed: Option<ResourceMode>,
    /// Whether there still are groups: not every node was of release 9 yet, so they did not become rules.
    pub groups: bool,
    /// When the next round is, in milliseconds; `None` while there is nothing to do.
    pub next_round_ms: Option<i64>,
}

/// What a disarmed HA does with resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ResourceMode {
    /// Nothing may be done with them.
    Freeze,
    /// They are left to their own.
    Ignore,
}

/// A service as the CRM sees it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Service {
    /// Where it is.
    pub node: String,
    /// `started`, `request_stop`, `stopped`, `migrate`, `relocate`, `freeze`, `fence`, `recovery`, `error`.
    pub state: String,
    /// Where it moves to.
    pub target: Option<String>,
    /// The task that a node does for it.
    pub task: Option<String>,
    /// Failed starts in a row on this node.
    pub failed_starts: u32,
    /// Moves to other nodes after failed starts.
    pub relocations: u32,
    /// Seconds that a stop may take; 0 is at once.
    pub stop_timeout: Option<u32>,
}

/// A node as the CRM sees it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeHealth {
    /// `online`, `unknown`, `fence`.
    pub state: String,
    /// Since when, in seconds.
    pub since: i64,
}

/// A command for the CRM. Its text is the line that it is in the file of commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Command {
    /// Move a service; with a stop in between when `relocate` is set.
    Move {
        /// Which.
        sid: String,
        /// Where to.
        node: String,
        /// Stop, move, start instead of moving while it runs.
        relocate: bool,
    },
    /// Do what it is for again.
    Arm,
    /// Do nothing any more.
    Disarm(ResourceMode),
}

impl std::fmt::Display for Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Command::Move { sid, node, relocate: false } => write!(f, "migrate {sid} {node}"),
            Command::Move { sid, node, relocate: true } => write!(f, "relocate {sid} {node}"),
            Command::Arm => write!(f, "arm-ha"),
            Command::Disarm(ResourceMode::Freeze) => write!(f, "disarm-ha freeze"),
            Command::Disarm(ResourceMode::Ignore) => write!(f, "disarm-ha ignore"),
        }
    }
}

/// The service id of a guest: `vm:100`, `ct:200`.
pub fn sid_of(kind: GuestKind, vmid: u32) -> String {
    match kind {
        GuestKind::Vm => format!("vm:{vmid}"),
        GuestKind::Lxc => format!("ct:{vmid}"),
    }
}

/// The guest of a service id.
pub fn vmid_of(sid: &str) -> Option<u32> {
    sid.split_once(':')?.1.parse().ok()
}

/// The configuration of a resource.
pub fn resource<'w>(world: &'w World, sid: &str) -> Option<&'w Map<String, Value>> {
    world.documents.get(RESOURCES, sid)
}

/// The state that is asked of a resource: `started` when nothing is said, `enabled` being its old name.
pub fn requested(resource: &Map<String, Value>) -> &str {
    match resource.get("state").and_then(Value::as_str) {
        None | Some("enabled") => "started",
        Some(state) => state,
    }
}

/// The service id of a guest that HA manages. One in state `ignored` is not managed.
pub fn managed(world: &World, vmid: u32) -> Option<String> {
    let sid = sid_of(world.guests.get(&vmid)?.kind, vmid);
    resource(world, &sid).filter(|resource| requested(resource) != "ignored").map(|_| sid)
}

/// The `ha` object of a guest's status.
pub fn guest_status(world: &World, vmid: u32) -> Value {
    match managed(world, vmid) {
        None => json!({"managed": 0}),
        Some(sid) => json!({"managed": 1, "state": world.ha.services.get(&sid).map(|service| &service.state)}),
    }
}

/// The `hastate` of a guest in the resource list; none before the CRM has seen it.
pub fn hastate(world: &World, vmid: u32) -> Option<&str> {
    let sid = sid_of(world.guests.get(&vmid)?.kind, vmid);
    resource(world, &sid)?;
    world.ha.services.get(&sid).map(|service| service.state.as_str())
}

/// Asks for a state (`started`, `stopped`, `disabled`): what `ha-manager set … --state` does.
///
/// # Errors
/// An unknown resource, or one in error state, which must be disabled first.
pub fn request_state(world: &mut World, sid: &str, state: &str) -> Result<(), String> {
    check_error_state(world, sid, Some(state))?;
    let resource = world.documents.get_mut(RESOURCES, sid).ok_or_else(|| format!("no such resource '{sid}'"))?;
    resource.insert("state".into(), json!(state));
    Ok(())
}

/// Asks for a stop within some seconds (0: at once): what `ha-manager crm-command stop` does.
///
/// # Errors
/// As [`request_state`].
pub fn request_stop(world: &mut World, sid: &str, timeout: u32) -> Result<(), String> {
    request_state(world, sid, "stopped")?;
    if let Some(service) = world.ha.services.get_mut(sid) {
        service.stop_timeout = Some(timeout);
    }
    Ok(())
}

/// Asks for a move.
///
/// # Errors
/// A resource that HA does not manage, or one in error state.
pub fn request_move(world: &mut World, sid: &str, node: &str, relocate: bool) -> Result<(), String> {
    if resource(world, sid).is_none_or(|resource| requested(resource) == "ignored") {
        return Err(format!("resource '{sid}' is not HA managed"));
    }
    check_error_state(world, sid, None)?;
    world.ha.commands.push(Command::Move { sid: sid.into(), node: node.into(), relocate });
    Ok(())
}

/// A service in error state can only be disabled.
///
/// # Errors
/// Proxmox's text.
pub fn check_error_state(world: &World, sid: &str, wanted: Option<&str>) -> Result<(), String> {
    let broken = world.ha.services.get(sid).is_some_and(|service| service.state == "error");
    match broken && wanted != Some("disabled") {
        true => Err(format!("service '{sid}' in error state, must be disabled and fixed first")),
        false => Ok(()),
    }
}

/// Takes a resource away, and with `rules` out of its rules; a rule without resources goes too.
pub fn purge(world: &mut World, sid: &str, rules: bool) {
    world.documents.remove(RESOURCES, sid);
    if !rules {
        return;
    }
    let names: Vec<String> = world.documents.list(RULES).iter().map(|(name, _)| name.clone()).collect();
    for name in names {
        let Some(rule) = world.documents.get_mut(RULES, &name) else { continue };
        let listed = rule.get("resources").and_then(Value::as_str).unwrap_or_default();
        let left: Vec<&str> = listed.split(',').filter(|other| !other.is_empty() && *other != sid).collect();
        match left.is_empty() {
            true => drop(world.documents.remove(RULES, &name)),
            false => {
                let left = left.join(",");
                rule.insert("resources".into(), json!(left));
            }
        }
    }
}

/// Whether a manager (`pve-ha-crm`, `pve-ha-lrm`) runs on a node.
pub fn runs(world: &World, node: &str, manager: &str) -> bool {
    let stopped = |node: &super::Node| node.services.get(manager).is_some_and(|state| state != "running");
    world.nodes.get(node).is_some_and(|node| node.online && !stopped(node))
}

/// Arranges the next round when there is something to do and none is arranged.
pub fn arrange(world: &mut World, now_ms: i64) {
    let nothing = world.documents.list(RESOURCES).is_empty() && world.ha.services.is_empty();
    let idle = nothing && world.ha.commands.is_empty();
    let deciding = world.nodes.keys().any(|node| runs(world, node, "pve-ha-crm"));
    if idle || !deciding {
        world.ha.next_round_ms = None;
    } else if world.ha.next_round_ms.is_none() {
        world.ha.next_round_ms = Some(now_ms + ROUND_MS);
    }
}

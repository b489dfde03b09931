//! Faults that are a condition of the cluster: they change the world while they hold, and behaviours meet them there.

use pve_catalog::Verb;

use super::{Effect, Fault};
use crate::behaviour::Answer;
use crate::world::World;

/// Brings a condition about. Faults of single requests bring nothing about.
///
/// # Errors
/// The node, guest or storage is not there.
pub(super) fn begin(world: &mut World, fault: &Fault) -> Result<(), String> {
    match &fault.effect {
        Effect::NodeOffline { node } => {
            let found = world.nodes.get_mut(node).ok_or_else(|| format!("no such cluster node '{node}'"))?;
            found.online = false;
        }
        Effect::QuorumLost => world.no_quorum = true,
        Effect::GuestLocked { vmid, lock } => {
            let found = world.guests.get_mut(vmid).ok_or_else(|| format!("no guest has the id {vmid}"))?;
            found.config.insert("lock".into(), lock.as_str().into());
        }
        Effect::StorageFull { storage } => {
            let found = world.storages.get_mut(storage).ok_or_else(|| format!("storage '{storage}' does not exist"))?;
            found.full = Some(fault.times.unwrap_or(u32::MAX));
        }
        _ => {}
    }
    Ok(())
}

/// Takes a condition back, unless another fault still holds it.
pub(super) fn end(world: &mut World, fault: &Fault, rest: &[&Fault]) {
    if rest.iter().any(|other| other.effect == fault.effect) {
        return;
    }
    match &fault.effect {
        Effect::NodeOffline { node } => {
            if let Some(node) = world.nodes.get_mut(node) {
                node.online = true;
            }
        }
        Effect::QuorumLost => world.no_quorum = false,
        Effect::GuestLocked { vmid, lock } => {
            if let Some(guest) = world.guests.get_mut(vmid).filter(|guest| guest.lock().as_ref() == Some(lock)) {
                guest.config.shift_remove("lock");
            }
        }
        Effect::StorageFull { storage } => {
            if let Some(storage) = world.storages.get_mut(storage) {
                storage.full = None;
            }
        }
        _ => {}
    }
}

/// Whether a finished call has met a condition, where the world does not count for itself.
pub(super) fn has_struck(fault: &Fault, verb: Verb, path: &str, answer: &Answer) -> bool {
    match &fault.effect {
        Effect::QuorumLost => answer.as_ref().is_err_and(|failure| is_quorums(&failure.message)),
        Effect::GuestLocked { vmid, .. } => {
            verb != Verb::Get && path.split('/').any(|segment| segment == vmid.to_string())
        }
        _ => false,
    }
}

/// The ways in which a lack of quorum is told.
fn is_quorums(message: &str) -> bool {
    message.contains("no quorum") || (message.contains("unable to open file '/etc/pve/") && message.contains(".tmp."))
}

/// What a write without quorum is refused with: the first configuration file of the cluster that differs from how it
/// was. Files of guests are written as they are, others under a lock of the cluster.
pub(crate) fn refused_write(before: &World, after: &World) -> Option<String> {
    let names = || before.files().into_iter().chain(after.files());
    let changed = names().find(|path| path.starts_with("/etc/pve/") && before.file(path) != after.file(path))?;
    let path = changed.trim_start_matches("/etc/pve/");
    Some(match path.split_once('/') {
        Some(("nodes", _)) => {
            format!("unable to open file '{changed}.tmp.{}' - Permission denied", after.last_pid.max(1000))
        }
        Some(("ha", _)) => "cfs-lock 'domain-ha' error: no quorum!".into(),
        Some(("firewall", name)) => {
            let scope = name.trim_end_matches(".fw");
            format!("cfs-lock 'firewall-{scope}' error: no quorum!")
        }
        _ => format!("cfs-lock 'file-{}' error: no quorum!", path.replace(['.', '/'], "_")),
    })
}

//! What both kinds of guests share: reading configurations, pending changes, rights on options and volumes.

pub(crate) mod access;
pub(crate) mod autostart;
pub(crate) mod copy;
pub(crate) mod destroy;
pub(crate) mod handover;
pub(crate) mod network;
pub(crate) mod reading;
pub(crate) mod stage;
pub(crate) mod tags;

use super::{Call, Failure};
use crate::world::{Guest, GuestKind};

/// The guest of the path on the call's node.
pub(crate) fn found<'c>(call: &'c Call<'_>, kind: GuestKind) -> Result<&'c Guest, Failure> {
    Ok(call.world.guest(kind, &call.node(), call.vmid())?)
}

/// Refuses without a quorum.
pub(crate) fn check_quorum(call: &Call<'_>) -> Result<(), Failure> {
    if call.world.no_quorum { Err(Failure::die("cluster not ready - no quorum?")) } else { Ok(()) }
}

/// Refuses a vmid that some guest has.
pub(crate) fn check_unused(call: &Call<'_>, vmid: u32) -> Result<(), Failure> {
    match call.world.guests.get(&vmid) {
        Some(guest) => {
            let (word, node) = (guest.kind.word(), &guest.node);
            Err(Failure::die(format!("{word} {vmid} already exists on node '{node}'")))
        }
        None => Ok(()),
    }
}

/// Refuses a pool that does not exist.
pub(crate) fn check_pool(call: &Call<'_>, pool: Option<&str>) -> Result<(), Failure> {
    match pool {
        Some(pool) if !call.world.access.config.pools.contains_key(pool) => {
            Err(Failure::denied(&format!("pool '{pool}' does not exist")))
        }
        _ => Ok(()),
    }
}

/// Refuses `skiplock` from anybody but root.
pub(crate) fn check_skiplock(call: &Call<'_>) -> Result<(), Failure> {
    if call.params.is_on("skiplock") && !call.is_root() {
        return Err(Failure::param("skiplock", "Only root may use this option."));
    }
    Ok(())
}

/// Refuses while the guest is protected: `can't remove VM 100 - protection mode enabled`.
pub(crate) fn check_protection(guest: &Guest, what: &str) -> Result<(), String> {
    match guest.option("protection").as_deref() {
        Some("1") => Err(format!("{what} - protection mode enabled")),
        _ => Ok(()),
    }
}

//! Software-defined networks: objects that are asked for, applied and rolled back together, under a lock of their own.

mod address;
pub(crate) mod apply;
pub(crate) mod controllers;
pub(crate) mod dns;
pub(crate) mod fabrics;
pub(crate) mod ipams;
pub(crate) mod ips;
pub(crate) mod node;
pub(crate) mod prefix_lists;
pub(crate) mod route_maps;
mod section;
pub(crate) mod subnets;
mod view;
pub(crate) mod vnets;
pub(crate) mod zones;

use serde_json::{Map, Value};

use super::params::word as text;
use super::{Call, Failure};

const ZONES: &str = "/cluster/sdn/zones";
const VNETS: &str = "/cluster/sdn/vnets";

/// Refuses whoever has not the token of the lock, when there is a lock.
fn check_lock(call: &Call<'_>) -> Result<(), Failure> {
    match &call.world.sdn.lock {
        Some(token) if call.params.get("lock-token").as_ref() != Some(token) => {
            Err(Failure::die("invalid lock token provided! at /usr/share/perl5/PVE/Network/SDN.pm line 237."))
        }
        _ => Ok(()),
    }
}

/// Refuses changes of the cluster's configuration when it has no quorum.
fn check_quorum(call: &Call<'_>) -> Result<(), Failure> {
    if call.world.no_quorum { Err(Failure::die("cluster not ready - no quorum?")) } else { Ok(()) }
}

/// Proxmox's wrapping of what fails within the lock: one text with a prefix, per-parameter errors included.
fn wrapped<T>(prefix: &str, result: Result<T, Failure>) -> Result<T, Failure> {
    result.map_err(|failure| {
        let mut text = format!("{prefix}: ");
        if failure.errors.is_empty() {
            text.push_str(&failure.message);
        } else {
            text.push_str(&format!("{} {}", failure.status, failure.message));
            for (name, error) in &failure.errors {
                text.push_str(&format!("\n{name}: {error}"));
            }
        }
        Failure::die(text)
    })
}

/// As Perl sees it: `0` and nothing are false.
fn is_true(object: &Map<String, Value>, key: &str) -> bool {
    let value = text(object, key);
    !value.is_empty() && value != "0"
}

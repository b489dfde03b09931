//! `POST …/remote_migrate`: everything that Proxmox refuses, and then no way out. The fake speaks to no other cluster, so
//! the last step always finds the remote unreachable.

use pve_catalog::property;
use pve_catalog::verify::parameter;
use serde_json::Value;

use super::condition;
use crate::behaviour::status::{Target, quorate};
use crate::behaviour::{Answer, Call, Failure};
use crate::world::{GuestKind, ha};

/// `POST …/remote_migrate`.
pub(crate) fn remote(call: &mut Call<'_>) -> Answer {
    let target = Target::of(call);
    quorate(call)?;
    let guest = target.guest(call.world)?;
    guest.check_lock()?;
    let word = guest.kind.word();
    if ha::managed(call.world, target.vmid).is_some() {
        return Err(Failure::param("vmid", format!("cannot remote-migrate {word} that is configured for HA\n")));
    }
    if !condition::replicated_to(call.world, target.vmid).is_empty() {
        return Err(Failure::die(format!("cannot remote-migrate replicated {word}")));
    }
    let params = &call.params;
    if guest.runs() {
        match target.kind {
            GuestKind::Vm if !params.is_on("online") => {
                return Err(Failure::die("can't migrate running VM without --online"));
            }
            GuestKind::Lxc if !params.is_on("online") && !params.is_on("restart") => {
                return Err(Failure::die("can't migrate running container without --online or --restart"));
            }
            GuestKind::Vm | GuestKind::Lxc => {}
        }
    }
    let endpoint = params.text("target-endpoint");
    let (host, port) = place(call, &endpoint);
    if params.text("target-storage") == "1" {
        return Err(Failure::die("remote migration requires explicit storage mapping!"));
    }
    Err(Failure::die(format!("Can't connect to {host}:{port} (Network is unreachable)")))
}

/// Host and port of an endpoint.
fn place(call: &Call<'_>, endpoint: &str) -> (String, String) {
    let schema = parameter(call.method.parameters(), "target-endpoint");
    let keys = schema.and_then(property::keys);
    let parsed = keys.and_then(|keys| property::parse(keys, endpoint).ok()).unwrap_or_default();
    let text =
        |key: &str| parsed.get(key).map(|value: &Value| value.as_str().map_or(value.to_string(), str::to_string));
    (text("host").unwrap_or_default(), text("port").unwrap_or_else(|| "8006".into()))
}

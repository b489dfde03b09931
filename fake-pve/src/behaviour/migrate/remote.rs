//! `POST …/remote_migrate`: the guest goes to another cluster, where one answers; everywhere else it finds nobody.

use std::time::Duration;

use pve_catalog::property;
use pve_catalog::verify::parameter;
use serde_json::Value;

use super::condition;
use crate::behaviour::guest::destroy::destroy;
use crate::behaviour::status::{Target, quorate};
use crate::behaviour::{Answer, Call, Failure};
use crate::world::{GuestKind, ha, power};

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
    let Some(there) = call.world.servers.get(&host).and_then(|server| server.cluster.as_ref()) else {
        return Err(Failure::die(format!("Can't connect to {host}:{port} (Network is unreachable)")));
    };
    let newid = params.int("target-vmid").and_then(|vmid| u32::try_from(vmid).ok()).unwrap_or(target.vmid);
    if there.guests.contains_key(&newid) {
        return Err(Failure::die(format!("Guest with ID '{newid}' already exists on remote cluster")));
    }
    let (delete, worker) =
        (params.is_on("delete"), if target.kind == GuestKind::Vm { "qmigrate" } else { "vzmigrate" });
    let line = format!("remote: started tunnel worker on node '{}' ({host})", there.node);
    let vmid = target.vmid;
    let task = target.task(&call.authid, worker, worker).lasts(Duration::from_secs(30)).line(line);
    let task = task.finish(move |run| {
        let Some(mut guest) = run.world.guests.get(&vmid).cloned() else { return Ok(()) };
        power::power_off(run.world, vmid, run.now);
        let there = run.world.servers.get_mut(&host).and_then(|server| server.cluster.as_mut());
        let Some(there) = there else { return Err(format!("Can't connect to {host}:{port} (Network is unreachable)")) };
        guest.vmid = newid;
        guest.node.clone_from(&there.node);
        there.guests.insert(newid, guest);
        // Without `delete` the old one stays, switched off.
        if delete {
            destroy(run, vmid, false, false);
        }
        run.log("migration finished successfully (duration 00:00:30)");
        Ok(())
    });
    call.start(task)
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

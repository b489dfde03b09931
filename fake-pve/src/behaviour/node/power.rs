//! `POST /nodes/{node}/status` and wake-on-LAN: a node goes down with its guests, and comes back.
//!
//! While the entry node is down, calls to it fail as those to any other; the rest of the cluster still answers.

use std::time::Duration;

use serde_json::{Value, json};

use crate::behaviour::{Answer, Call, Data, Failure};
use crate::work::{NewTask, Run};
use crate::world::World;

/// How long guests take to stop when their node goes down.
const STOP: Duration = Duration::from_secs(5);
/// How long a node takes from off to its last guest.
const BOOT: Duration = Duration::from_secs(30);

/// `POST /nodes/{node}/status`.
pub(crate) fn command(call: &mut Call<'_>) -> Answer {
    let (node, reboot) = (call.node(), call.params.text("command") == "reboot");
    let stop = NewTask::new(&node, "root@pam", "stopall", "").lasts(STOP).finish(move |run| {
        let node = run.node.to_string();
        go_down(run.world, &node);
        if reboot {
            run.spawn(boot(&node));
        }
        Ok(())
    });
    call.start(stop)?;
    Ok(Data::null())
}

/// `POST /nodes/{node}/wakeonlan`: answers the address that was called.
pub(crate) fn wake(call: &mut Call<'_>) -> Answer {
    let node = call.params.text("node");
    if node == call.world.entry || node == "localhost" {
        return Err(Failure::die(format!("'{node}' is local node, cannot wake my self!")));
    }
    let Some(found) = call.world.nodes.get(&node) else {
        return Err(Failure::die(format!("no such cluster node '{node}'")));
    };
    let off = !found.online;
    let options = call.world.documents.options.get(&format!("/nodes/{node}/config"));
    let wakeonlan = options.and_then(|options| options.get("wakeonlan")).and_then(Value::as_str);
    let address =
        wakeonlan.and_then(|text| text.split(',').find(|part| !part.contains('=') || part.starts_with("mac=")));
    let Some(address) = address.map(|part| part.trim_start_matches("mac=").to_string()) else {
        return Err(Failure::die(format!("No wake on LAN MAC address defined for '{node}'!")));
    };
    let booting =
        call.world.tasks.iter().any(|task| task.running() && task.node == node && task.worker_type == "startall");
    if off && !booting {
        call.start(boot(&node))?;
    }
    Ok(json!(address).into())
}

/// Everything on it stops, and it answers no longer.
fn go_down(world: &mut World, name: &str) {
    for guest in world.guests.values_mut().filter(|guest| guest.node == name) {
        guest.power_off();
    }
    if let Some(node) = world.nodes.get_mut(name) {
        node.online = false;
    }
}

/// The start of a node, at the end of which it answers and its guests run.
fn boot(node: &str) -> NewTask {
    NewTask::new(node, "root@pam", "startall", "").lasts(BOOT).finish(|run| {
        let (name, now) = (run.node.to_string(), run.now);
        if let Some(node) = run.world.nodes.get_mut(&name) {
            node.online = true;
            node.booted = Some(now);
            node.services.clear();
        }
        crate::behaviour::network::reload(run.world, &name);
        start_guests(run, &name, now);
        Ok(())
    })
}

fn start_guests(run: &mut Run<'_>, name: &str, now: i64) {
    let wanted = run.world.guests.values().filter(|guest| guest.node == name && !guest.runs() && !guest.template());
    let wanted = wanted.filter(|guest| guest.option("onboot").as_deref() == Some("1") && guest.lock().is_none());
    let ids: Vec<u32> = wanted.map(|guest| guest.vmid).collect();
    for vmid in ids {
        let pid = run.world.next_pid();
        if let Some(guest) = run.world.guests.get_mut(&vmid) {
            guest.power_on(now, pid);
            let line = format!("Starting {} {vmid}", guest.kind.word());
            run.log(line);
        }
    }
}

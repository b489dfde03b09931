//! `/cluster/ha/status`: quorum, managers, fencing and services; arming and disarming.

use serde_json::{Map, Value, json};

use super::quorum;
use crate::behaviour::{Answer, Call, Data};
use crate::world::ha::{self, Command, ResourceMode, Service, requested};
use crate::world::{World, document};

/// `GET /cluster/ha/status/current`. On a cluster that never had a resource there are rows for quorum, fencing and nodes.
pub(crate) fn current(call: &mut Call<'_>) -> Answer {
    call.let_ha_rest();
    let (world, now) = (&*call.world, call.now());
    let entry = &world.entry;
    let quorum = if world.no_quorum { format!("No quorum on node '{entry}'!") } else { "OK".to_string() };
    let mut rows = vec![json!({
        "id": "quorum", "type": "quorum", "node": entry, "quorate": i32::from(!world.no_quorum), "status": quorum,
    })];
    if let Some(master) = &world.ha.master {
        let state = if ha::runs(world, master, "pve-ha-crm") { "active" } else { "old timestamp - dead?" };
        rows.push(json!({
            "id": "master", "type": "master", "node": master, "timestamp": now,
            "status": format!("{master} ({state}, {})", local_time(now)),
        }));
    }
    rows.push(fencing(world));
    for node in lrm_nodes(world) {
        let (mode, watchdog) = if is_active(world, node) { ("active", "active") } else { ("idle", "standby") };
        let status = match ha::runs(world, node, "pve-ha-lrm") {
            true => format!("{node} ({mode}, watchdog {watchdog}, {})", local_time(now)),
            false => format!("{node} (old timestamp - dead?, {})", local_time(now)),
        };
        rows.push(json!({
            "id": format!("lrm:{node}"), "type": "lrm", "node": node, "timestamp": now, "status": status,
        }));
    }
    rows.extend(services(world).iter().filter_map(|sid| service_row(world, sid)));
    Ok(Data::from(rows))
}

/// `GET /cluster/ha/status/manager_status`: what the managers wrote down.
pub(crate) fn manager_status(call: &mut Call<'_>) -> Answer {
    call.let_ha_rest();
    let (world, now) = (&*call.world, call.now());
    let node_status: Map<String, Value> =
        world.ha.nodes.iter().map(|(name, health)| (name.clone(), json!(health.state))).collect();
    let mut manager = json!({"node_status": node_status});
    if let Some(master) = &world.ha.master {
        manager["master_node"] = json!(master);
        manager["timestamp"] = json!(now);
        let services: Map<String, Value> =
            world.ha.services.iter().map(|(sid, service)| (sid.clone(), service_status(world, sid, service))).collect();
        manager["service_status"] = Value::Object(services);
    }
    let mut answer = json!({
        "manager_status": manager,
        "quorum": {"node": world.entry, "quorate": if world.no_quorum { "0" } else { "1" }},
    });
    let lrm: Map<String, Value> = lrm_nodes(world)
        .map(|node| {
            let state = if is_active(world, node) { "active" } else { "wait_for_agent_lock" };
            (node.clone(), json!({"mode": "active", "state": state, "results": {}, "timestamp": now}))
        })
        .collect();
    if !lrm.is_empty() {
        answer["lrm_status"] = Value::Object(lrm);
    }
    Ok(answer.into())
}

/// `POST /cluster/ha/status/arm-ha`.
pub(crate) fn arm(call: &mut Call<'_>) -> Answer {
    quorum(call)?;
    call.world.ha.commands.push(Command::Arm);
    Ok(Data::null())
}

/// `POST /cluster/ha/status/disarm-ha`: until it is armed again, HA starts, stops, moves and fences nothing.
pub(crate) fn disarm(call: &mut Call<'_>) -> Answer {
    quorum(call)?;
    let ignore = call.params.text("resource-mode") == "ignore";
    let mode = if ignore { ResourceMode::Ignore } else { ResourceMode::Freeze };
    call.world.ha.commands.push(Command::Disarm(mode));
    Ok(Data::null())
}

fn fencing(world: &World) -> Value {
    let mut row = json!({"id": "fencing", "type": "fencing", "node": world.ha.master.as_ref().unwrap_or(&world.entry)});
    let (state, status) = match (world.ha.disarmed, &world.ha.master) {
        (Some(mode), _) => {
            row["resource_mode"] = json!(mode);
            ("disarmed", "disarmed (CRM watchdog standby)")
        }
        (None, Some(_)) => ("armed", "armed (CRM watchdog active)"),
        (None, None) => ("standby", "standby (CRM watchdog standby)"),
    };
    row["armed-state"] = json!(state);
    row["status"] = json!(status);
    row
}

/// Nodes whose manager runs, or ran when the CRM last looked.
fn lrm_nodes(world: &World) -> impl Iterator<Item = &String> {
    world.nodes.keys().filter(|node| ha::runs(world, node, "pve-ha-lrm") || world.ha.nodes.contains_key(*node))
}

fn is_active(world: &World, node: &str) -> bool {
    world.ha.disarmed.is_none() && world.ha.services.values().any(|service| service.node == node)
}

/// Services of the configuration and those that are still being taken away.
fn services(world: &World) -> Vec<String> {
    let mut sids: Vec<String> = world.documents.list(ha::RESOURCES).iter().map(|(sid, _)| sid.clone()).collect();
    sids.extend(world.ha.services.keys().cloned());
    sids.sort_unstable();
    sids.dedup();
    sids
}

fn service_row(world: &World, sid: &str) -> Option<Value> {
    let vmid = ha::vmid_of(sid)?;
    let config = ha::resource(world, sid);
    let service = world.ha.services.get(sid);
    let guest_node = world.guests.get(&vmid).map(|guest| guest.node.clone());
    let node = service.map(|service| service.node.clone()).or(guest_node).unwrap_or_default();
    let state = verbose(world, sid, config, service);
    let mut row = json!({
        "id": format!("service:{sid}"), "type": "service", "sid": sid, "node": node, "state": state,
        "status": format!("{sid} ({node}, {state})"),
    });
    if let Some(service) = service {
        row["crm_state"] = json!(service.state);
    }
    if let Some(config) = config {
        row["request_state"] = json!(requested(config));
        for key in ["failback", "max_relocate", "max_restart"] {
            row[key] = config.get(key).cloned().unwrap_or(json!(1));
        }
        if let Some(comment) = config.get("comment") {
            row["comment"] = comment.clone();
        }
    }
    Some(row)
}

/// The state in words that take configuration and guest into account.
fn verbose(world: &World, sid: &str, config: Option<&Map<String, Value>>, service: Option<&Service>) -> &'static str {
    let Some(config) = config else { return "deleting" };
    let wanted = requested(config);
    if wanted == "ignored" {
        return "ignored";
    }
    let guest = ha::vmid_of(sid).and_then(|vmid| world.guests.get(&vmid));
    if guest.is_none() {
        return "not found";
    }
    let Some(service) = service else { return "queued" };
    match service.state.as_str() {
        "started" if guest.is_some_and(crate::world::Guest::runs) => "started",
        "started" => "starting",
        "request_stop" => "stopping",
        "stopped" if wanted == "disabled" => "disabled",
        "stopped" => "stopped",
        "error" if wanted == "disabled" => "clearing error flag",
        "error" => "error",
        "migrate" => "migrate",
        "relocate" => "relocate",
        "freeze" => "freeze",
        "fence" => "fence",
        "recovery" => "recovery",
        _ => "ignored",
    }
}

fn service_status(world: &World, sid: &str, service: &Service) -> Value {
    let mut status = json!({
        "node": service.node, "state": service.state,
        "uid": &document::digest(&json!([sid, service.state]))[..22],
    });
    if let Some(target) = &service.target {
        status["target"] = json!(target);
    }
    if service.state == "started" {
        let runs = ha::vmid_of(sid).and_then(|vmid| world.guests.get(&vmid)).is_some_and(crate::world::Guest::runs);
        status["running"] = json!(i32::from(runs));
    }
    status
}

/// `Mon Nov 30 19:10:47 2026`.
fn local_time(seconds: i64) -> String {
    let moment = jiff::Timestamp::from_second(seconds).unwrap_or_default();
    moment.strftime("%a %b %e %H:%M:%S %Y").to_string()
}

//! `/nodes/{node}/network`: interfaces of a node. Changes wait until they are applied, or taken back.

mod check;

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::params::{scalar, word};
use super::{Answer, Call, Data, Failure, diff};
use crate::work::NewTask;
use crate::world::interfaces::{self, Interfaces};
use crate::world::{Node, World};

/// Where the moment of the last change is kept, in a node's state.
const CHANGED: &str = "interfaces.new";

/// `GET /nodes/{node}/network`: what waits is shown in its place, and told as `changes`.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let node = node(call);
    let wanted = call.params.get("type").unwrap_or_default();
    let with_sdn = matches!(wanted.as_str(), "any_bridge" | "include_sdn" | "vnet");
    let mut items: Vec<Map<String, Value>> =
        current(&node).into_iter().map(|(name, iface)| named(name, iface)).collect();
    items.retain(|iface| fits(iface, &wanted) && may_see(call, iface));
    items.sort_by_key(|iface| iface.get("priority").and_then(Value::as_i64).unwrap_or(i64::MAX));
    if with_sdn {
        items.extend(vnets(call));
    }
    let data = Data::from(items.into_iter().map(Value::Object).collect::<Vec<_>>());
    Ok(match changes(call, &node) {
        changes if changes.is_empty() => data,
        changes => data.with_changes(changes),
    })
}

/// `GET /nodes/{node}/network/{iface}`.
pub(crate) fn get(call: &mut Call<'_>) -> Answer {
    let iface = current(&node(call)).remove(&call.params.text("iface")).ok_or_else(missing)?;
    Ok(Value::Object(iface).into())
}

/// `POST /nodes/{node}/network`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    let name = call.params.text("iface");
    let mut interfaces = current(&node(call));
    if name == "lo" || interfaces.contains_key(&name) {
        return Err(Failure::param("iface", "interface already exists"));
    }
    let given = given(call);
    check::gateways(&given, &name, &interfaces)?;
    check::address6(&given)?;
    if word(&given, "type").starts_with("OVS") {
        return Err(Failure::die("Open VSwitch is not installed (need package 'openvswitch-switch')"));
    }
    let mut iface = Map::from_iter([("families".to_string(), json!(["inet"]))]);
    take_over(&name, &mut iface, given);
    interfaces.insert(name, iface);
    write(call, interfaces)
}

/// `PUT /nodes/{node}/network/{iface}`. An address that is not given again stays, but no longer counts as static: that is
/// how Proxmox does it.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    let name = call.params.text("iface");
    let mut interfaces = current(&node(call));
    let mut iface = interfaces.get(&name).cloned().ok_or_else(missing)?;
    for key in call.params.list("delete") {
        let more: &[&str] = match key.as_str() {
            "cidr" | "address" => &["cidr", "address", "netmask"],
            "cidr6" | "address6" => &["cidr6", "address6", "netmask6"],
            _ => &[],
        };
        iface.shift_remove(&key);
        more.iter().for_each(|key| drop(iface.shift_remove(*key)));
    }
    let given = given(call);
    check::gateways(&given, &name, &interfaces)?;
    check::address6(&given)?;
    take_over(&name, &mut iface, given);
    interfaces.insert(name, iface);
    write(call, interfaces)
}

/// `DELETE /nodes/{node}/network/{iface}`.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    let mut interfaces = current(&node(call));
    interfaces.remove(&call.params.text("iface")).ok_or_else(missing)?;
    write(call, interfaces)
}

/// `DELETE /nodes/{node}/network`: forgets what waits.
pub(crate) fn revert(call: &mut Call<'_>) -> Answer {
    let name = call.node();
    if let Some(node) = call.world.nodes.get_mut(&name) {
        node.network_pending = None;
    }
    Ok(Data::null())
}

/// `PUT /nodes/{node}/network`: a task that makes what waits the running configuration.
pub(crate) fn apply(call: &mut Call<'_>) -> Answer {
    let task = reload_task(&call.node(), &call.authid);
    call.start(task)
}

/// The reload of a node's network: its own interfaces, and the applied virtual networks.
pub(crate) fn reload_task(node: &str, user: &str) -> NewTask {
    NewTask::new(node, user, "srvreload", "networking").lasts(Duration::from_secs(2)).finish(|run| {
        let name = run.node.to_string();
        reload(run.world, &name);
        Ok(())
    })
}

/// Loads what waits.
pub(crate) fn reload(world: &mut World, name: &str) {
    if world.sdn.applied.is_some() {
        world.sdn.loaded.insert(name.into(), world.sdn.version);
    }
    let Some(node) = world.nodes.get_mut(name) else { return };
    if let Some(waiting) = node.network_pending.take() {
        node.network = waiting;
    }
    for iface in node.network.values_mut().filter(|iface| iface.get("autostart") == Some(&json!(1))) {
        iface.insert("active".into(), json!(1));
        if iface.get("type") == Some(&json!("vlan")) {
            iface.insert("exists".into(), json!(1));
        }
    }
}

fn node(call: &Call<'_>) -> Node {
    call.world.nodes.get(&call.node()).cloned().unwrap_or_default()
}

/// What will be when everything is applied.
fn current(node: &Node) -> Interfaces {
    node.network_pending.clone().unwrap_or_else(|| node.network.clone())
}

/// Keeps a configuration that makes sense as a whole.
fn write(call: &mut Call<'_>, mut changed: Interfaces) -> Answer {
    check::all(&changed)?;
    interfaces::number(&mut changed);
    let (name, now) = (call.node(), call.now());
    if let Some(node) = call.world.nodes.get_mut(&name) {
        node.network_pending = Some(changed);
        node.state.insert(CHANGED.into(), json!(now));
    }
    Ok(Data::null())
}

fn missing() -> Failure {
    Failure::param("iface", "interface does not exist")
}

fn named(name: String, mut iface: Map<String, Value>) -> Map<String, Value> {
    iface.insert("iface".into(), json!(name));
    iface
}

fn fits(iface: &Map<String, Value>, wanted: &str) -> bool {
    let kind = word(iface, "type");
    match wanted {
        "" | "include_sdn" => true,
        "any_bridge" | "any_local_bridge" => is_bridge(&kind),
        _ => kind == wanted,
    }
}

fn is_bridge(kind: &str) -> bool {
    matches!(kind, "bridge" | "OVSBridge")
}

/// Bridges are shown to those who may use them, other interfaces to everybody.
fn may_see(call: &Call<'_>, iface: &Map<String, Value>) -> bool {
    let path = format!("/sdn/zones/localnetwork/{}", word(iface, "iface"));
    !is_bridge(&word(iface, "type")) || call.may(&path, &["SDN.Audit", "SDN.Use"])
}

/// Applied virtual networks of the node that the caller may use.
fn vnets(call: &Call<'_>) -> Vec<Map<String, Value>> {
    let vnets = call.world.sdn.vnets_on(&call.node()).into_iter();
    let allowed = vnets.filter(|(id, vnet)| {
        let path = format!("/sdn/zones/{}/{id}", word(vnet, "zone"));
        call.may(&path, &["SDN.Audit", "SDN.Use"])
    });
    let shown = allowed.map(|(id, vnet)| {
        let mut iface = Map::from_iter([("type".to_string(), json!("vnet")), ("active".to_string(), json!("1"))]);
        if let Some(alias) = vnet.get("alias") {
            iface.insert("comments".into(), alias.clone());
        }
        named(id.into(), iface)
    });
    shown.collect()
}

/// The parameters of the call in the form in which interfaces are kept: addresses both as a whole and in parts.
fn given(call: &Call<'_>) -> Map<String, Value> {
    const OTHERS: [&str; 4] = ["node", "iface", "delete", "bridge_vids"];
    let mut given = Map::new();
    for (name, value) in call.params.iter().filter(|(name, _)| !OTHERS.contains(name)) {
        let number = matches!(name, "autostart" | "bridge_vlan_aware");
        let text = scalar(value).unwrap_or_default();
        given.insert(name.into(), if number { json!(i32::from(text == "1")) } else { json!(text) });
    }
    if given.get("bridge_vlan_aware") == Some(&json!(1)) {
        given.insert("bridge_vids".into(), json!(call.params.get("bridge_vids").unwrap_or_else(|| "2-4094".into())));
    }
    interfaces::join_addresses(&mut given);
    given
}

/// Empty values and switches that are off leave no trace in the file.
fn take_over(name: &str, iface: &mut Map<String, Value>, given: Map<String, Value>) {
    for (method, address) in [("method", "address"), ("method6", "address6")] {
        let word = if given.contains_key(address) { "static" } else { "manual" };
        iface.insert(method.into(), json!(word));
    }
    for (key, value) in given {
        let keeps = key == "bridge_ports" || !(value == json!("") || value == json!(0));
        if keeps {
            iface.insert(key, value);
        } else {
            iface.shift_remove(&key);
        }
    }
    interfaces::complete(name, iface);
}

/// What waits, as the difference of the two files.
fn changes(call: &Call<'_>, node: &Node) -> String {
    let Some(waiting) = &node.network_pending else { return String::new() };
    let changed = node.state.get(CHANGED).and_then(Value::as_i64).unwrap_or_else(|| call.now());
    let moment = |at: i64| {
        let at = jiff::Timestamp::from_second(at).unwrap_or_default();
        at.strftime("%Y-%m-%d %H:%M:%S.000000000 +0000").to_string()
    };
    let old = format!("/etc/network/interfaces\t{}", moment(node.booted.unwrap_or_default()));
    let new = format!("/etc/network/interfaces.new\t{}", moment(changed));
    diff::unified((&old, &interfaces::text(&node.network)), (&new, &interfaces::text(waiting)))
}

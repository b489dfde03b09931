//! `/cluster/resources`: everything that there is, as far as the caller may see it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::behaviour::{Answer, Call, Data, node};
use crate::world::sdn::on_node;
use crate::world::{Guest, Storage, ha};

/// `GET /cluster/resources`: pools, guests, nodes, storages, networks.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    call.let_ha_rest();
    let wanted = call.params.get("type");
    let is = |kind: &str| wanted.as_deref().is_none_or(|wanted| wanted == kind);
    let mut items = Vec::new();
    if wanted.is_none() {
        items.extend(pools(call));
    }
    if is("vm") {
        items.extend(guests(call));
    }
    if is("node") {
        items.extend(nodes(call));
    }
    if is("storage") {
        items.extend(storages(call));
    }
    if is("sdn") {
        items.extend(networks(call));
    }
    Ok(Data::from(items))
}

/// Pools, each with the sums of its running guests.
fn pools(call: &Call<'_>) -> Vec<Value> {
    let mut sums: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for (name, pool) in &call.world.access.config.pools {
        let members = pool.vms.iter().filter_map(|vmid| call.world.guests.get(vmid));
        let figures = members.filter_map(|guest| call.world.statistics_of(guest, call.now()));
        let running: Vec<_> = figures.filter(|figures| figures["uptime"].as_i64().unwrap_or(0) > 0).collect();
        if running.is_empty() {
            continue;
        }
        let number = |figures: &Map<String, Value>, key: &str| figures[key].as_f64().unwrap_or(0.0);
        let sum = |key: &str| running.iter().filter_map(|figures| figures[key].as_u64()).sum::<u64>();
        let uptime = running.iter().filter_map(|figures| figures["uptime"].as_i64()).max();
        let load: f64 = running.iter().map(|figures| number(figures, "cpu") * number(figures, "maxcpu")).sum();
        let cpus = sum("maxcpu");
        let summed = json!({
            "uptime": uptime, "mem": sum("mem"), "maxmem": sum("maxmem"), "maxcpu": cpus, "cpu": load / cpus.max(1) as f64,
        });
        sums.insert(name, summed.as_object().cloned().unwrap_or_default());
    }
    let names = call.world.access.config.pools.keys();
    let visible = names.filter(|name| call.may(&format!("/pool/{name}"), &["Pool.Audit"]));
    let row = |name: &String| {
        let mut item = sums.get(name.as_str()).cloned().unwrap_or_default();
        item.insert("id".into(), json!(format!("/pool/{name}")));
        item.insert("pool".into(), json!(name));
        item.insert("type".into(), json!("pool"));
        Value::Object(item)
    };
    visible.map(row).collect()
}

fn guests(call: &Call<'_>) -> Vec<Value> {
    let mut visible: Vec<&Guest> = call.world.guests.values().collect();
    visible.retain(|guest| call.may(&format!("/vms/{}", guest.vmid), &["VM.Audit"]));
    visible.sort_by_cached_key(|guest| guest.vmid.to_string());
    visible.into_iter().map(|guest| Value::Object(guest_item(call, guest))).collect()
}

/// A guest as the resource list and pools show it. Without figures its state is unknown, and so is its name.
pub(crate) fn guest_item(call: &Call<'_>, guest: &Guest) -> Map<String, Value> {
    let unknown = || Map::from_iter([("status".to_string(), json!("unknown"))]);
    let mut item = call.world.statistics_of(guest, call.now()).unwrap_or_else(unknown);
    let mut set = |key: &str, value: Value| item.insert(key.to_string(), value);
    set("id", json!(format!("{}/{}", guest.kind.noun(), guest.vmid)));
    set("vmid", json!(guest.vmid));
    set("node", json!(guest.node));
    set("type", json!(guest.kind.noun()));
    for key in ["tags", "lock"] {
        if let Some(value) = guest.option(key) {
            set(key, json!(value));
        }
    }
    if let Some(state) = ha::hastate(call.world, guest.vmid) {
        set("hastate", json!(state));
    }
    let pool = call.world.pool_of(guest.vmid);
    if let Some(pool) = pool.filter(|pool| call.may(&format!("/pool/{pool}"), &["Pool.Audit"])) {
        set("pool", json!(pool));
    }
    item
}

fn nodes(call: &Call<'_>) -> Vec<Value> {
    let row = |(name, node): (&String, &crate::world::Node)| {
        let mut item = node::item(call, name, node);
        if node.online {
            item.insert("cgroup-mode".into(), json!(2));
        }
        if let Some(health) = call.world.ha.nodes.get(name) {
            item.insert("hastate".into(), json!(health.state));
        }
        Value::Object(item)
    };
    call.world.nodes.iter().map(row).collect()
}

fn storages(call: &Call<'_>) -> Vec<Value> {
    let mut items = Vec::new();
    for (name, storage) in &call.world.storages {
        if !call.may(&format!("/storage/{name}"), &["Datastore.Audit"]) {
            continue;
        }
        for (node_name, node) in &call.world.nodes {
            if storage.on_node(node_name) {
                let reached = node.online && !storage.offline_on.contains(node_name);
                items.push(storage_item(call, name, storage, node_name, reached));
            }
        }
    }
    items
}

/// A storage as a pool shows it: seen from the entry node when it is there, else from its first node.
pub(crate) fn storage_of_pool(call: &Call<'_>, name: &str) -> Option<Value> {
    let storage = call.world.storages.get(name)?;
    let entry = call.world.nodes.get_key_value(&call.world.entry).filter(|(node, _)| storage.on_node(node));
    let (node_name, node) = entry.or_else(|| call.world.nodes.iter().find(|(node, _)| storage.on_node(node)))?;
    let reached = node.online && !storage.offline_on.contains(node_name);
    Some(storage_item(call, name, storage, node_name, reached))
}

fn storage_item(call: &Call<'_>, name: &str, storage: &Storage, node: &str, reached: bool) -> Value {
    let mut item = json!({
        "id": format!("storage/{node}/{name}"), "storage": name, "node": node, "type": "storage",
        "plugintype": storage.plugin(), "status": if reached { "available" } else { "unknown" },
        "shared": i32::from(storage.shared()), "content": storage.content().join(","),
    });
    if reached {
        item["disk"] = json!(call.world.used(node, name));
        item["maxdisk"] = json!(storage.size);
    }
    item
}

/// Zones and fabrics of each node, as far as they are applied; the zone of plain bridges is always there.
fn networks(call: &Call<'_>) -> Vec<Value> {
    let (world, sdn) = (&*call.world, &call.world.sdn);
    let sees = |kind: &str, id: &str| call.may(&format!("/sdn/{kind}/{id}"), &["SDN.Audit"]);
    let mut items = Vec::new();
    for name in world.nodes.keys() {
        let row = |kind: &str, id: &str, status: &str| {
            json!({
                "id": format!("network/{name}/{kind}/{id}"), "type": "network", "network-type": kind, "network": id,
                "node": name, "status": status,
            })
        };
        let loaded = sdn.is_loaded(name);
        let status = if loaded { "available" } else { "pending" };
        if sees("zones", "localnetwork") {
            items.push(row("zone", "localnetwork", "ok"));
        }
        for (id, zone) in sdn.running("zones").iter().filter(|(id, zone)| on_node(zone, name) && sees("zones", id)) {
            let mut item = row("zone", id, status);
            item["zone-type"] = zone.get("type").cloned().unwrap_or_default();
            items.push(item);
        }
        for (id, fabric) in sdn.running("fabrics").iter().filter(|(id, _)| sees("fabrics", id)) {
            let mut item = row("fabric", id, if loaded { "ok" } else { "pending" });
            item["protocol"] = fabric.get("protocol").cloned().unwrap_or_default();
            items.push(item);
        }
    }
    items
}

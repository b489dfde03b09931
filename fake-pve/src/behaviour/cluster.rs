//! `/cluster`: status, resources, the next free vmid.

use serde_json::{Map, Value, json};

use super::status::{ct_fields, vm_fields};
use super::{Answer, Call, Data, Failure, node, params::split_list};
use crate::world::{Guest, GuestKind, Storage};

/// `GET /cluster/status`.
pub(crate) fn status(call: &mut Call<'_>) -> Answer {
    let world = &*call.world;
    let mut items = Vec::new();
    if let Some(name) = &world.cluster {
        let quorate = i32::from(!world.no_quorum);
        items.push(json!({
            "type": "cluster", "id": "cluster", "name": name, "nodes": world.nodes.len(), "version": world.nodes.len(),
            "quorate": quorate,
        }));
    }
    for (name, node) in &world.nodes {
        let nodeid = if world.cluster.is_some() { node.nodeid } else { 0 };
        items.push(json!({
            "type": "node", "id": format!("node/{name}"), "name": name, "nodeid": nodeid, "ip": node.ip,
            "local": i32::from(*name == world.entry), "online": i32::from(node.online), "level": "",
        }));
    }
    Ok(Data::from(items))
}

/// `GET /cluster/nextid`.
pub(crate) fn nextid(call: &mut Call<'_>) -> Answer {
    if let Some(vmid) = call.params.get("vmid") {
        let number = vmid.trim_start_matches('+').trim_end().parse::<u32>().unwrap_or(0);
        return match call.world.guests.get(&number) {
            Some(_) => Err(Failure::param("vmid", format!("VM {number} already exists"))),
            None => Ok(json!(vmid).into()),
        };
    }
    let (lower, upper) = id_range(call);
    match (lower..upper).find(|vmid| !call.world.guests.contains_key(vmid)) {
        Some(vmid) => Ok(json!(vmid.to_string()).into()),
        None => Err(Failure::die(format!("unable to get any free VMID in range [{lower}, {upper}]"))),
    }
}

/// The range of the datacenter option `next-id`.
fn id_range(call: &Call<'_>) -> (u32, u32) {
    let options = call.world.documents.options.get("/cluster/options");
    let text = options.and_then(|options| options.get("next-id")).and_then(Value::as_str).unwrap_or_default();
    let bound = |key: &str| {
        let part = split_list(text).into_iter().find_map(|part| part.strip_prefix(key).map(str::to_string))?;
        part.strip_prefix('=')?.parse::<u32>().ok()
    };
    (bound("lower").unwrap_or(100), bound("upper").unwrap_or(1_000_000))
}

/// `GET /cluster/resources`: pools, guests, nodes, storages, networks, as far as the caller may see them.
pub(crate) fn resources(call: &mut Call<'_>) -> Answer {
    let wanted = call.params.get("type");
    let all = wanted.is_none();
    let is = |kind: &str| wanted.as_deref() == Some(kind);
    let mut items = Vec::new();
    if all {
        items.extend(pools(call));
    }
    if all || is("vm") {
        items.extend(guests(call));
    }
    if all || is("node") {
        for (name, node) in &call.world.nodes {
            let mut item = node::item(call, name, node);
            if node.online {
                item.insert("cgroup-mode".into(), json!(2));
            }
            items.push(Value::Object(item));
        }
    }
    if all || is("storage") {
        items.extend(storages(call));
    }
    if all || is("sdn") {
        items.extend(networks(call));
    }
    Ok(Data::from(items))
}

fn pools(call: &Call<'_>) -> Vec<Value> {
    let pools = call.world.access.config.pools.keys();
    let visible = pools.filter(|name| call.may(&format!("/pool/{name}"), &["Pool.Audit"]));
    visible.map(|name| json!({"id": format!("/pool/{name}"), "pool": name, "type": "pool"})).collect()
}

fn guests(call: &Call<'_>) -> Vec<Value> {
    let mut visible: Vec<&Guest> = call.world.guests.values().collect();
    visible.retain(|guest| call.may(&format!("/vms/{}", guest.vmid), &["VM.Audit"]));
    visible.sort_by_key(|guest| guest.vmid.to_string());
    visible.into_iter().map(|guest| Value::Object(guest_item(call, guest))).collect()
}

/// A guest as the resource list and pools show it.
pub(crate) fn guest_item(call: &Call<'_>, guest: &Guest) -> Map<String, Value> {
    let mut item = Map::new();
    let mut set = |key: &str, value: Value| item.insert(key.to_string(), value);
    set("id", json!(format!("{}/{}", guest.kind.noun(), guest.vmid)));
    set("vmid", json!(guest.vmid));
    set("node", json!(guest.node));
    set("type", json!(guest.kind.noun()));
    set("status", json!(if guest.runs() { "running" } else { "stopped" }));
    set("name", json!(guest.name()));
    set("template", json!(i32::from(guest.template())));
    let (kind, now) = (guest.kind, call.now());
    let fields =
        if kind == GuestKind::Vm { vm_fields(call.world, guest, now, true) } else { ct_fields(call.world, guest, now) };
    for key in ["uptime", "cpu", "mem", "disk", "netin", "netout", "diskread", "diskwrite"] {
        set(key, fields.get(key).cloned().unwrap_or_else(|| json!(0)));
    }
    set("maxcpu", json!(max_cpu(call, guest)));
    set("maxmem", json!(guest.max_memory()));
    set("maxdisk", json!(max_disk(call, guest)));
    if guest.kind == GuestKind::Vm {
        set("memhost", json!(guest.memory_used));
    }
    for key in ["tags", "lock"] {
        if let Some(value) = guest.option(key) {
            set(key, json!(value));
        }
    }
    if let Some(pool) =
        call.world.pool_of(guest.vmid).filter(|pool| call.may(&format!("/pool/{pool}"), &["Pool.Audit"]))
    {
        set("pool", json!(pool));
    }
    item
}

/// Processors that a guest can use: a container without a limit has those of its node.
pub(crate) fn max_cpu(call: &Call<'_>, guest: &Guest) -> u32 {
    let of_node = call.world.nodes.get(&guest.node).map_or(1, |node| node.cpus);
    match guest.cpus() {
        0 => of_node,
        cpus => cpus.min(of_node),
    }
}

/// Size in bytes of a guest's first disk: what lists call `maxdisk`.
pub(crate) fn max_disk(call: &Call<'_>, guest: &Guest) -> u64 {
    let keys: &[&str] = match guest.kind {
        GuestKind::Vm => &["scsi0", "virtio0", "sata0", "ide0"],
        GuestKind::Lxc => &["rootfs"],
    };
    let volid = keys.iter().find_map(|key| guest.option(key)).map(|text| {
        let first = text.split(',').next().unwrap_or_default().to_string();
        first.strip_prefix("file=").or_else(|| first.strip_prefix("volume=")).unwrap_or(&first).to_string()
    });
    volid.and_then(|volid| call.world.volume(&guest.node, &volid)).map_or(0, |volume| volume.size)
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

fn networks(call: &Call<'_>) -> Vec<Value> {
    let visible = call.may("/sdn/zones/localnetwork", &["SDN.Audit"]);
    let nodes = call.world.nodes.iter().filter(|(_, node)| visible && node.online);
    nodes
        .map(|(name, _)| {
            json!({
                "id": format!("network/{name}/zone/localnetwork"), "type": "network", "network-type": "zone",
                "network": "localnetwork", "node": name, "status": "ok", "zone-type": "localnetwork",
            })
        })
        .collect()
}

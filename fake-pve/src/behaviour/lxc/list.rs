//! `GET /nodes/{node}/lxc` and what a container's path holds.

use serde_json::{Map, Value, json};

use crate::behaviour::guest::found;
use crate::behaviour::qemu::list::number;
use crate::behaviour::{Answer, Call, Data};
use crate::world::disk::Disk;
use crate::world::{Guest, GuestKind, World};

/// The containers of a node that the caller may audit.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let (node, now) = (call.node(), call.now());
    let guests = call.world.guests.values().filter(|guest| guest.kind == GuestKind::Lxc && guest.node == node);
    let visible = guests.filter(|guest| call.may(&format!("/vms/{}", guest.vmid), &["VM.Audit"]));
    Ok(Data::from(visible.map(|guest| Value::Object(item(call.world, guest, now))).collect::<Vec<_>>()))
}

/// What can be asked of a container.
pub(crate) fn index(call: &mut Call<'_>) -> Answer {
    found(call, GuestKind::Lxc)?;
    const CHILDREN: [&str; 15] = [
        "config",
        "pending",
        "status",
        "vncproxy",
        "termproxy",
        "vncwebsocket",
        "spiceproxy",
        "migrate",
        "clone",
        "rrd",
        "rrddata",
        "firewall",
        "snapshot",
        "resize",
        "interfaces",
    ];
    Ok(Data::from(CHILDREN.map(|name| json!({"subdir": name})).to_vec()))
}

/// A container as lists and `status/current` show it.
pub(crate) fn item(world: &World, guest: &Guest, now: i64) -> Map<String, Value> {
    let mut item = Map::new();
    let mut set = |key: &str, value: Value| item.insert(key.to_string(), value);
    let megabytes =
        |key: &str, default: u64| guest.option(key).and_then(|text| text.parse::<u64>().ok()).unwrap_or(default) << 20;
    set("vmid", json!(guest.vmid));
    set("type", json!("lxc"));
    set("name", json!(guest.name()));
    set("status", json!(if guest.runs() { "running" } else { "stopped" }));
    set("cpus", cpus(world, guest));
    set("maxmem", json!(megabytes("memory", 512)));
    set("maxswap", json!(megabytes("swap", 0)));
    set("maxdisk", json!(root_size(guest)));
    set("disk", json!(if guest.runs() { guest.disk_used } else { 0 }));
    set("mem", json!(guest.memory_used));
    set("cpu", number(guest.cpu));
    set("uptime", json!(guest.uptime(now)));
    for key in ["swap", "netin", "netout", "diskread", "diskwrite"] {
        set(key, json!(0));
    }
    if let Some(pid) = guest.pid.filter(|_| guest.runs()) {
        set("pid", json!(pid));
    }
    if guest.template() {
        set("template", json!(1));
    }
    for key in ["lock", "tags"] {
        if let Some(value) = guest.option(key) {
            set(key, json!(value));
        }
    }
    if guest.runs() {
        for what in ["cpu", "io", "memory"] {
            set(&format!("pressure{what}some"), json!("0.00"));
            set(&format!("pressure{what}full"), json!("0.00"));
        }
    }
    item
}

/// `cores`, else `cpulimit`, else the node's.
fn cpus(world: &World, guest: &Guest) -> Value {
    let of_node = world.nodes.get(&guest.node).map_or(1, |node| node.cpus);
    if let Some(cores) = guest.option("cores").and_then(|text| text.parse::<u32>().ok()) {
        return json!(cores.min(of_node));
    }
    match guest.option("cpulimit").filter(|limit| limit != "0") {
        Some(limit) => limit.parse::<u32>().map_or_else(|_| json!(limit), |limit| json!(limit)),
        None => json!(of_node),
    }
}

/// Size of the root file system in bytes; 4 GiB where it is not written.
pub(crate) fn root_size(guest: &Guest) -> u64 {
    let text = guest.option("rootfs").unwrap_or_default();
    let size = Disk::parse(GuestKind::Lxc, "rootfs", &text).and_then(|disk| disk.size());
    size.filter(|bytes| *bytes > 0).unwrap_or(4 << 30)
}

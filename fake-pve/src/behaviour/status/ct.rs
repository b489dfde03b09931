//! What is known about a container: the fields of its status and of lists.

use serde_json::{Map, Value, json};

use crate::world::curve::{GuestLoad, guest_cpu};
use crate::world::disk::Disk;
use crate::world::{Guest, World};

/// A container in a list and on its own status page.
pub(crate) fn fields(world: &World, guest: &Guest, now: i64) -> Map<String, Value> {
    let counters = GuestLoad::of(guest).counters(guest, now);
    let runs = guest.runs();
    let mut fields = Map::new();
    let mut set = |key: &str, value: Value| fields.insert(key.to_string(), value);
    set("vmid", json!(guest.vmid));
    set("type", json!("lxc"));
    set("name", json!(guest.name()));
    set("status", json!(if runs { "running" } else { "stopped" }));
    set("cpus", cpus(world, guest));
    set("cpu", guest_cpu(guest, now));
    set("maxmem", json!(guest.max_memory()));
    set("mem", json!(guest.memory_used));
    let swap = guest.option("swap").and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    set("maxswap", json!(swap << 20));
    set("swap", json!(0));
    set("maxdisk", json!(root_size(guest)));
    set("disk", json!(if runs { root_used(world, guest) } else { 0 }));
    set("uptime", json!(guest.uptime(now)));
    set("netin", json!(counters.netin));
    set("netout", json!(counters.netout));
    set("diskread", json!(counters.diskread));
    set("diskwrite", json!(counters.diskwrite));
    if guest.template() {
        set("template", json!(1));
    }
    for key in ["lock", "tags"] {
        if let Some(value) = guest.option(key) {
            set(key, json!(value));
        }
    }
    if runs {
        set("pid", json!(guest.pid));
        for pressure in ["cpusome", "cpufull", "iosome", "iofull", "memorysome", "memoryfull"] {
            set(&format!("pressure{pressure}"), json!("0.00"));
        }
    }
    fields
}

/// `cores`, else the limit, else all of the node.
fn cpus(world: &World, guest: &Guest) -> Value {
    let of_node = world.nodes.get(&guest.node).map_or(1, |node| node.cpus);
    let number = |key: &str| guest.option(key).and_then(|text| text.parse::<f64>().ok()).filter(|number| *number > 0.0);
    let cores = number("cores").map(|cores| cores.min(f64::from(of_node)));
    match cores.or_else(|| number("cpulimit")) {
        Some(cpus) if cpus.fract() == 0.0 => json!(cpus as u64),
        Some(cpus) => json!(cpus.to_string()),
        None => json!(of_node),
    }
}

fn root_used(world: &World, guest: &Guest) -> u64 {
    if guest.disk_used > 0 {
        return guest.disk_used;
    }
    let rootfs = guest.option("rootfs").and_then(|text| Disk::parse(guest.kind, "rootfs", &text));
    rootfs.and_then(|rootfs| world.volume(&guest.node, &rootfs.volume())).map_or(0, |volume| volume.used)
}

/// Size of the root file system in bytes; 4 GiB where it is not written.
fn root_size(guest: &Guest) -> u64 {
    let text = guest.option("rootfs").unwrap_or_default();
    let size = Disk::parse(guest.kind, "rootfs", &text).and_then(|disk| disk.size());
    size.filter(|bytes| *bytes > 0).unwrap_or(4 << 30)
}

//! `GET /nodes/{node}/qemu` and what a machine's path holds.

use serde_json::{Map, Value, json};

use crate::behaviour::{Answer, Call, Data};
use crate::world::disk::{Disk, is_drive};
use crate::world::{Guest, GuestKind, GuestStatus, World, option};

/// The version of QEMU that machines run.
pub(crate) const QEMU: &str = "10.1.2";

/// The machines of a node that the caller may audit.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let (node, full, now) = (call.node(), call.params.is_on("full"), call.now());
    let guests = call.world.guests.values().filter(|guest| guest.kind == GuestKind::Vm && guest.node == node);
    let visible = guests.filter(|guest| call.may(&format!("/vms/{}", guest.vmid), &["VM.Audit"]));
    Ok(Data::from(visible.map(|guest| Value::Object(item(call.world, guest, now, full))).collect::<Vec<_>>()))
}

/// What can be asked of a machine; whether it exists is not looked at.
pub(crate) fn index(_call: &mut Call<'_>) -> Answer {
    const CHILDREN: [&str; 20] = [
        "config",
        "cloudinit",
        "pending",
        "status",
        "unlink",
        "vncproxy",
        "termproxy",
        "migrate",
        "resize",
        "move",
        "rrd",
        "rrddata",
        "monitor",
        "agent",
        "snapshot",
        "spiceproxy",
        "sendkey",
        "firewall",
        "mtunnel",
        "remote_migrate",
    ];
    Ok(Data::from(CHILDREN.map(|name| json!({"subdir": name})).to_vec()))
}

/// A machine as lists show it; with `full` (and in `status/current`) what QEMU itself tells.
pub(crate) fn item(world: &World, guest: &Guest, now: i64, full: bool) -> Map<String, Value> {
    let mut item = Map::new();
    let mut set = |key: &str, value: Value| item.insert(key.to_string(), value);
    let of_node = world.nodes.get(&guest.node).map_or(1, |node| node.cpus);
    let memory = guest.max_memory();
    set("vmid", json!(guest.vmid));
    set("name", json!(guest.name()));
    set("status", json!(if guest.runs() { "running" } else { "stopped" }));
    set("cpus", json!(guest.cpus().min(of_node)));
    set("maxmem", json!(memory));
    set("maxdisk", json!(boot_disk_size(guest)));
    set("disk", json!(0));
    set("mem", json!(guest.memory_used));
    set("memhost", json!(guest.memory_used));
    set("cpu", number(guest.cpu));
    set("uptime", json!(guest.uptime(now)));
    set("netin", json!(0));
    set("netout", json!(0));
    if let Some(pid) = guest.pid.filter(|_| guest.runs()) {
        set("pid", json!(pid));
    }
    if guest.template() {
        set("template", json!(1));
    }
    if guest.config.keys().any(|key| key.starts_with("serial")) {
        set("serial", json!(1));
    }
    for key in ["lock", "tags"] {
        if let Some(value) = guest.option(key) {
            set(key, json!(value));
        }
    }
    if let Some(least) = guest.option("balloon").and_then(|text| text.parse::<u64>().ok()).filter(|mib| *mib > 0) {
        set("balloon_min", json!(least << 20));
        set("shares", json!(guest.option("shares").and_then(|text| text.parse::<u64>().ok()).unwrap_or(1000)));
    }
    if guest.runs() {
        for what in ["cpu", "io", "memory"] {
            set(&format!("pressure{what}some"), json!(0));
            set(&format!("pressure{what}full"), json!(0));
        }
    }
    if full {
        let paused = guest.status == GuestStatus::Paused;
        set(
            "qmpstatus",
            json!(if paused {
                "paused"
            } else if guest.runs() {
                "running"
            } else {
                "stopped"
            }),
        );
        if guest.runs() {
            tell_running(guest, now, memory, &mut set);
        }
    }
    item
}

fn tell_running(guest: &Guest, now: i64, memory: u64, set: &mut dyn FnMut(&str, Value) -> Option<Value>) {
    set("running-qemu", json!(QEMU));
    set("running-machine", json!(running_machine(guest)));
    set("diskread", json!(0));
    set("diskwrite", json!(0));
    set(
        "proxmox-support",
        json!({
            "backup-access-api": true, "backup-fleecing": true, "backup-max-workers": true, "pbs-dirty-bitmap": true,
            "pbs-dirty-bitmap-migration": true, "pbs-dirty-bitmap-savevm": true, "pbs-library-version": "1.5.1",
            "query-bitmap-info": true,
        }),
    );
    if guest.option("balloon").as_deref() != Some("0") {
        set("balloon", json!(memory));
        set("ballooninfo", json!({"actual": memory, "max_mem": memory, "last_update": now}));
    }
    let mut stats = Map::new();
    let mut nics = Map::new();
    for key in guest.config.keys() {
        if is_drive(key) {
            stats.insert(key.clone(), json!({"rd_bytes": 0, "wr_bytes": 0, "rd_operations": 0, "wr_operations": 0}));
        }
        if let Some(number) = key.strip_prefix("net").filter(|rest| rest.parse::<u32>().is_ok()) {
            nics.insert(format!("tap{}i{number}", guest.vmid), json!({"netin": 0, "netout": 0}));
        }
    }
    set("blockstat", Value::Object(stats));
    if !nics.is_empty() {
        set("nics", Value::Object(nics));
    }
}

/// The machine type that a running machine has: `pc-i440fx-10.1+pve0`.
pub(crate) fn running_machine(guest: &Guest) -> String {
    let version: Vec<&str> = QEMU.split('.').take(2).collect();
    let machine = guest.option("machine").unwrap_or_default();
    let machine = machine.split(',').next().unwrap_or_default().trim_start_matches("type=").to_string();
    match machine.as_str() {
        "" | "pc" => format!("pc-i440fx-{}+pve0", version.join(".")),
        "q35" => format!("pc-q35-{}+pve0", version.join(".")),
        other => other.to_string(),
    }
}

/// Size in bytes of the disk that is booted first; 0 where none is named.
pub(crate) fn boot_disk_size(guest: &Guest) -> u64 {
    let boot = guest.option("boot").unwrap_or_default();
    let order = boot.split(',').find_map(|part| part.trim().strip_prefix("order=").map(str::to_string));
    let keys: Vec<String> = match order {
        Some(order) => order.split(';').map(str::to_string).collect(),
        None => guest.option("bootdisk").into_iter().collect(),
    };
    let drives = keys.iter().filter(|key| is_drive(key)).filter_map(|key| Some((key, guest.config.get(key)?)));
    let mut disks = drives.filter_map(|(key, value)| Disk::parse(GuestKind::Vm, key, &option::text(value)));
    disks.find(|disk| !disk.is_cdrom(false)).and_then(|disk| disk.size()).unwrap_or(0)
}

/// 0 goes out as an integer, as Perl has it.
pub(crate) fn number(value: f64) -> Value {
    if value == 0.0 { json!(0) } else { json!(value) }
}

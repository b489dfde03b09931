//! What is known about a virtual machine: the fields of its status and of lists.

use serde_json::{Map, Value, json};

use crate::behaviour::qemu::machine;
use crate::world::curve::{GuestLoad, guest_cpu};
use crate::world::disk::{boot_disk_size, drives};
use crate::world::{Guest, GuestKind, GuestStatus, World};

/// The QEMU that machines run on.
pub(crate) const QEMU: &str = "11.0.0";

/// A machine in a list; with `full` what only QEMU itself knows, too.
pub(crate) fn fields(world: &World, guest: &Guest, now: i64, full: bool) -> Map<String, Value> {
    let node_cpus = world.nodes.get(&guest.node).map_or(u32::MAX, |node| node.cpus);
    let load = GuestLoad::of(guest);
    let counters = load.counters(guest, now);
    let mut fields = Map::new();
    let mut set = |key: &str, value: Value| fields.insert(key.to_string(), value);
    set("vmid", json!(guest.vmid));
    set("name", json!(guest.name()));
    set("status", json!(if guest.runs() { "running" } else { "stopped" }));
    set("cpus", json!(guest.cpus().min(node_cpus)));
    set("cpu", guest_cpu(guest, now));
    set("maxmem", json!(guest.max_memory()));
    set("mem", json!(guest.memory_used));
    set("memhost", json!(guest.memory_used));
    set("maxdisk", json!(boot_disk_size(guest)));
    set("disk", json!(0));
    set("uptime", json!(guest.uptime(now)));
    set("netin", json!(counters.netin));
    set("netout", json!(counters.netout));
    if guest.template() {
        set("template", json!(1));
    }
    if guest.config.keys().any(|key| key.strip_prefix("serial").is_some_and(|number| number.parse::<u8>().is_ok())) {
        set("serial", json!(1));
    }
    for key in ["lock", "tags"] {
        if let Some(value) = guest.option(key) {
            set(key, json!(value));
        }
    }
    if let Some(least) = guest.option("balloon").and_then(|text| text.parse::<u64>().ok()).filter(|least| *least > 0) {
        set("balloon_min", json!(least << 20));
        set("shares", json!(guest.option("shares").and_then(|text| text.parse::<u32>().ok()).unwrap_or(1000)));
    }
    if guest.runs() {
        set("pid", json!(guest.pid));
        for pressure in ["cpusome", "cpufull", "iosome", "iofull", "memorysome", "memoryfull"] {
            set(&format!("pressure{pressure}"), json!(0));
        }
    }
    if full {
        set("qmpstatus", json!(qmp_status(guest)));
        if guest.runs() {
            set("diskread", json!(counters.diskread));
            set("diskwrite", json!(counters.diskwrite));
            of_qemu(guest, now, &mut set);
            set("nics", nics(guest, counters.netin, counters.netout));
            set("blockstat", block_statistics(guest, counters.diskread, counters.diskwrite));
        }
    }
    fields
}

/// A machine's own status page.
pub(super) fn current(world: &World, guest: &Guest, now: i64) -> Map<String, Value> {
    let mut fields = fields(world, guest, now, true);
    let vga = guest.option("vga").unwrap_or_default();
    let vga = vga.split(',').next().unwrap_or_default().trim_start_matches("type=").to_string();
    if vga.starts_with("qxl") || vga.starts_with("virtio") {
        fields.insert("spice".into(), json!(1));
    }
    if let Some(vga) = guest.option("vga") {
        // Null where the display says nothing about it.
        fields.insert("clipboard".into(), json!(vga.split(',').find_map(|part| part.strip_prefix("clipboard="))));
    }
    if guest.agent_enabled() {
        fields.insert("agent".into(), json!(1));
    }
    fields
}

/// The state that QEMU reports.
pub(super) fn qmp_status(guest: &Guest) -> &'static str {
    match guest.status {
        GuestStatus::Stopped => "stopped",
        GuestStatus::Running => "running",
        GuestStatus::Paused if guest.state.contains_key("asleep") => "suspended",
        GuestStatus::Paused => "paused",
    }
}

fn of_qemu(guest: &Guest, now: i64, set: &mut impl FnMut(&str, Value) -> Option<Value>) {
    set("running-machine", json!(machine(guest)));
    set("running-qemu", json!(QEMU));
    set(
        "proxmox-support",
        json!({
            "backup-access-api": true, "backup-fleecing": true, "backup-max-workers": true, "pbs-dirty-bitmap": true,
            "pbs-dirty-bitmap-migration": true, "pbs-dirty-bitmap-savevm": true,
            "pbs-library-version": "1.5.1 (UNKNOWN)", "query-bitmap-info": true,
        }),
    );
    if guest.option("balloon").as_deref() == Some("0") {
        return;
    }
    let all = guest.max_memory();
    let free = all.saturating_sub(guest.memory_used);
    set("balloon", json!(all));
    set("freemem", json!(free));
    set(
        "ballooninfo",
        json!({
            "actual": all, "max_mem": all, "total_mem": all, "free_mem": free, "last_update": now,
            "major_page_faults": 312, "minor_page_faults": 184_220, "mem_swapped_in": 0, "mem_swapped_out": 0,
        }),
    );
}

/// The full type of the machine that runs.
pub(crate) fn machine(guest: &Guest) -> String {
    match machine::kind(&guest.option("machine").unwrap_or_default()).as_str() {
        "" | "pc" | "q35" => {
            format!("{}+pve0", machine::pinned(guest.option("machine").as_deref()).unwrap_or_default())
        }
        other if other.contains("+pve") => other.into(),
        other => format!("{other}+pve0"),
    }
}

/// Traffic by device; all of it goes through the first.
fn nics(guest: &Guest, netin: u64, netout: u64) -> Value {
    let mut nics = Map::new();
    let devices = (0..32).filter(|number| guest.config.contains_key(&format!("net{number}")));
    for (at, number) in devices.enumerate() {
        let (netin, netout) = if at == 0 { (netin, netout) } else { (0, 0) };
        nics.insert(format!("tap{}i{number}", guest.vmid), json!({"netin": netin, "netout": netout}));
    }
    Value::Object(nics)
}

/// Reads and writes by drive; all of them on the first disk.
fn block_statistics(guest: &Guest, read: u64, written: u64) -> Value {
    let mut all = Map::new();
    let mut first = true;
    for drive in drives(GuestKind::Vm, &guest.config) {
        let busy = first && !drive.is_cdrom(false);
        first &= !busy;
        let (read, written) = if busy { (read, written) } else { (0, 0) };
        let statistics = json!({
            "rd_bytes": read, "rd_operations": read / 16_384, "rd_total_time_ns": read * 40, "rd_merged": 0,
            "wr_bytes": written, "wr_operations": written / 8192, "wr_total_time_ns": written * 90, "wr_merged": 0,
            "wr_highest_offset": written, "flush_operations": written / 262_144, "flush_total_time_ns": written * 20,
            "unmap_bytes": 0, "unmap_operations": 0, "unmap_total_time_ns": 0, "unmap_merged": 0,
            "failed_rd_operations": 0, "failed_wr_operations": 0, "failed_flush_operations": 0,
            "failed_unmap_operations": 0, "invalid_rd_operations": 0, "invalid_wr_operations": 0,
            "invalid_flush_operations": 0, "invalid_unmap_operations": 0, "account_failed": true,
            "account_invalid": true, "timed_stats": [],
        });
        all.insert(drive.key, statistics);
    }
    Value::Object(all)
}

//! One step of statistics: the columns of guests, nodes and storages.

use serde_json::{Map, Value, json};

use super::Subject;
use crate::behaviour::status::ct_fields;
use crate::world::curve::{Curve, GuestLoad, NodeLoad, share_of_run};
use crate::world::disk::boot_disk_size;
use crate::world::{Guest, GuestKind, Node, World};

const GUEST: [&str; 17] = [
    "maxcpu",
    "cpu",
    "maxmem",
    "mem",
    "maxdisk",
    "disk",
    "netin",
    "netout",
    "diskread",
    "diskwrite",
    "memhost",
    "pressurecpusome",
    "pressurecpufull",
    "pressureiosome",
    "pressureiofull",
    "pressurememorysome",
    "pressurememoryfull",
];

const NODE: [&str; 19] = [
    "loadavg",
    "maxcpu",
    "cpu",
    "iowait",
    "memtotal",
    "memused",
    "swaptotal",
    "swapused",
    "roottotal",
    "rootused",
    "netin",
    "netout",
    "memavailable",
    "arcsize",
    "pressurecpusome",
    "pressureiosome",
    "pressureiofull",
    "pressurememorysome",
    "pressurememoryfull",
];

/// The columns of a subject.
pub(super) fn columns(subject: &Subject) -> &'static [&'static str] {
    match subject {
        Subject::Guest(..) => &GUEST,
        Subject::Node(_) => &NODE,
        Subject::Storage { .. } => &["total", "used"],
    }
}

/// How long a node that is off is known to be off, in seconds: nothing is recorded of it in that time.
const SILENCE: i64 = 7200;

/// What rows are made from.
pub(super) struct Rows<'w> {
    pub world: &'w World,
    pub now: i64,
    /// Seconds of a step.
    pub step: i64,
    /// The highest value of a step instead of its average.
    pub highest: bool,
}

impl Rows<'_> {
    /// The row of the step that begins at a moment; columns without a value are left out.
    pub fn row(&self, subject: &Subject, from: i64) -> Map<String, Value> {
        let mut row = Map::new();
        row.insert("time".into(), json!(from));
        match subject {
            Subject::Guest(_, vmid) => {
                if let Some(guest) = self.world.guests.get(vmid) {
                    self.guest(guest, from, &mut row);
                }
            }
            Subject::Node(name) => {
                if let Some(node) = self.world.nodes.get(name) {
                    self.node(name, node, from, &mut row);
                }
            }
            Subject::Storage { node, storage } => self.storage(node, storage, from, &mut row),
        }
        row
    }

    fn value(&self, curve: &Curve, from: i64) -> f64 {
        let (from, to) = (from as f64, (from + self.step) as f64);
        if self.highest { curve.highest(from, to) } else { curve.average(from, to) }
    }

    fn guest(&self, guest: &Guest, from: i64, row: &mut Map<String, Value>) {
        if from < guest.created || self.silent(&guest.node, from) {
            return;
        }
        let mut set = |key: &str, value: f64| row.insert(key.to_string(), json!(value));
        let of_node = self.world.nodes.get(&guest.node).map_or(1, |node| node.cpus);
        let cpus = if guest.cpus() == 0 { of_node } else { guest.cpus().min(of_node) };
        set("maxcpu", f64::from(cpus));
        set("maxmem", guest.max_memory() as f64);
        let (disk, max_disk) = self.disk(guest);
        set("maxdisk", max_disk);
        let share = share_of_run(guest, from, from + self.step, self.now);
        set("disk", if share > 0.0 { disk } else { 0.0 });
        if share <= 0.0 {
            return;
        }
        let load = GuestLoad::of(guest);
        set("cpu", (self.value(&load.cpu, from) * share).clamp(0.0, 1.0));
        let memory = self.value(&load.memory, from).min(guest.max_memory() as f64);
        set("mem", memory);
        if guest.kind == GuestKind::Vm {
            set("memhost", memory * 1.02);
        }
        let rates = [
            ("netin", &load.netin),
            ("netout", &load.netout),
            ("diskread", &load.diskread),
            ("diskwrite", &load.diskwrite),
        ];
        for (key, curve) in rates {
            set(key, self.value(curve, from) * share);
        }
        for key in &GUEST[11..] {
            set(key, 0.0);
        }
    }

    /// Used and whole bytes of what lists call the guest's disk.
    fn disk(&self, guest: &Guest) -> (f64, f64) {
        if guest.kind == GuestKind::Vm {
            return (0.0, boot_disk_size(guest) as f64);
        }
        let fields = ct_fields(self.world, guest, self.now);
        let number = |key: &str| fields.get(key).and_then(Value::as_f64).unwrap_or(0.0);
        (number("disk"), number("maxdisk"))
    }

    fn node(&self, name: &str, node: &Node, from: i64, row: &mut Map<String, Value>) {
        let booted = node.booted.unwrap_or(self.now - 864_000);
        if self.silent(name, from) || from + self.step <= booted {
            return;
        }
        let mut set = |key: &str, value: f64| row.insert(key.to_string(), json!(value));
        let guests = self.world.guests.values().filter(|guest| guest.node == name);
        let memory = (node.memory_used + guests.map(|guest| guest.memory_used).sum::<u64>()).min(node.memory);
        let load = NodeLoad::of(name, node, memory);
        let used = self.value(&load.memory, from).min(node.memory as f64);
        set("loadavg", self.value(&load.loadavg, from));
        set("maxcpu", f64::from(node.cpus));
        set("cpu", self.value(&load.cpu, from).clamp(0.0, 1.0));
        set("iowait", self.value(&load.iowait, from));
        set("memtotal", node.memory as f64);
        set("memused", used);
        set("memavailable", node.memory as f64 - used);
        set("swaptotal", node.swap as f64);
        set("swapused", 0.0);
        set("roottotal", node.rootfs as f64);
        set("rootused", self.grown(node.rootfs_used as f64, from));
        set("netin", self.value(&load.netin, from));
        set("netout", self.value(&load.netout, from));
        set("arcsize", 0.0);
        for key in &NODE[14..] {
            set(key, 0.0);
        }
    }

    fn storage(&self, node: &str, storage: &str, from: i64, row: &mut Map<String, Value>) {
        let Some(found) = self.world.storages.get(storage) else { return };
        if self.silent(node, from) || found.offline_on.iter().any(|other| other == node) {
            return;
        }
        row.insert("total".into(), json!(found.size as f64));
        let used = self.grown(self.world.used(node, storage) as f64, from);
        row.insert("used".into(), json!(used));
    }

    /// What fills up slowly: a tenth less for each month back, and never less than a half.
    fn grown(&self, now: f64, from: i64) -> f64 {
        let months = (self.now - from).max(0) as f64 / (30.0 * 86_400.0);
        now * (1.0 - 0.1 * months).max(0.5)
    }

    /// Whether a node was off then.
    fn silent(&self, node: &str, from: i64) -> bool {
        let off = self.world.nodes.get(node).is_some_and(|node| !node.online);
        off && from + self.step > self.now - SILENCE
    }
}

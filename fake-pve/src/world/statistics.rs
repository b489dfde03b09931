//! What the resource list knows of guests: the figures that nodes tell every few seconds, so that they can lag behind.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Guest, GuestKind, World};

/// The last figures that nodes told.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Statistics {
    /// Seconds between two tellings; 0 is always fresh. The real thing has about ten.
    pub lag: u32,
    /// When nodes told last, in seconds.
    pub at: i64,
    /// Figures by guest, as they were then.
    pub guests: BTreeMap<u32, Map<String, Value>>,
}

impl World {
    /// Lets nodes tell their figures when it is time to.
    pub fn tell_statistics(&mut self, now: i64) {
        let lag = i64::from(self.statistics.lag);
        if lag == 0 || now < self.statistics.at + lag {
            return;
        }
        self.statistics.at = now;
        self.statistics.guests =
            self.guests.values().map(|guest| (guest.vmid, self.fresh_statistics(guest, now))).collect();
    }

    /// The figures of a guest as the resource list has them: `None` for one that no node has told about yet, or whose
    /// node is silent.
    pub fn statistics_of(&self, guest: &Guest, now: i64) -> Option<Map<String, Value>> {
        if !self.nodes.get(&guest.node).is_some_and(|node| node.online) {
            return None;
        }
        match self.statistics.lag {
            0 => Some(self.fresh_statistics(guest, now)),
            _ => self.statistics.guests.get(&guest.vmid).cloned(),
        }
    }

    fn fresh_statistics(&self, guest: &Guest, now: i64) -> Map<String, Value> {
        let figures = json!({
            "status": if guest.runs() { "running" } else { "stopped" }, "name": guest.name(),
            "template": i32::from(guest.template()), "uptime": guest.uptime(now), "cpu": guest.cpu,
            "maxcpu": self.max_cpu(guest), "mem": guest.memory_used, "maxmem": guest.max_memory(),
            "disk": guest.disk_used, "maxdisk": self.max_disk(guest), "netin": 0, "netout": 0, "diskread": 0,
            "diskwrite": 0, "memhost": guest.memory_used,
        });
        figures.as_object().cloned().unwrap_or_default()
    }

    /// Processors that a guest can use: a container without a limit has those of its node.
    pub fn max_cpu(&self, guest: &Guest) -> u32 {
        let of_node = self.nodes.get(&guest.node).map_or(1, |node| node.cpus);
        match guest.cpus() {
            0 => of_node,
            cpus => cpus.min(of_node),
        }
    }

    /// Size in bytes of a guest's first disk: what lists call `maxdisk`.
    pub fn max_disk(&self, guest: &Guest) -> u64 {
        let keys: &[&str] = match guest.kind {
            GuestKind::Vm => &["scsi0", "virtio0", "sata0", "ide0"],
            GuestKind::Lxc => &["rootfs"],
        };
        let volid = keys.iter().find_map(|key| guest.option(key)).map(|text| {
            let first = text.split(',').next().unwrap_or_default().to_string();
            first.strip_prefix("file=").or_else(|| first.strip_prefix("volume=")).unwrap_or(&first).to_string()
        });
        volid.and_then(|volid| self.volume(&guest.node, &volid)).map_or(0, |volume| volume.size)
    }
}

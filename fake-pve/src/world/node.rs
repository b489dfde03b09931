//! A node: what it has, whether it answers, its disks, network and services.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A node of the cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Node {
    /// Whether it answers; requests to an offline node end in 595.
    pub online: bool,
    /// Address within the cluster.
    pub ip: String,
    /// Number in the cluster, from 1.
    pub nodeid: u32,
    /// Logical processors.
    pub cpus: u32,
    /// Memory in bytes.
    pub memory: u64,
    /// Memory that the node itself uses, in bytes.
    pub memory_used: u64,
    /// Size of the root file system in bytes.
    pub rootfs: u64,
    /// Used part of the root file system in bytes.
    pub rootfs_used: u64,
    /// Swap in bytes.
    pub swap: u64,
    /// Load of the processors, 0 to 1.
    pub cpu: f64,
    /// When it booted, in seconds; `None` is ten days before the world's first moment.
    pub booted: Option<i64>,
    /// Interfaces by name, as their applied configuration.
    pub network: BTreeMap<String, Map<String, Value>>,
    /// The whole network configuration that waits for its reload, when something was changed.
    pub network_pending: Option<BTreeMap<String, Map<String, Value>>>,
    /// Block devices by path, as `disks/list` shows them.
    pub disks: BTreeMap<String, Map<String, Value>>,
    /// State of services that differ from `running`, by name.
    pub services: BTreeMap<String, String>,
    /// Time zone.
    pub timezone: String,
    /// Free room for state of the node's own that a behaviour keeps (hosts file, subscription, certificates …).
    pub state: BTreeMap<String, Value>,
}

impl Default for Node {
    fn default() -> Self {
        Node {
            online: true,
            ip: "192.0.2.10".into(),
            nodeid: 1,
            cpus: 8,
            memory: 32 << 30,
            memory_used: 3 << 30,
            rootfs: 94 << 30,
            rootfs_used: 8 << 30,
            swap: 8 << 30,
            cpu: 0.02,
            booted: None,
            network: BTreeMap::new(),
            network_pending: None,
            disks: BTreeMap::new(),
            services: BTreeMap::new(),
            timezone: "Etc/UTC".into(),
            state: BTreeMap::new(),
        }
    }
}

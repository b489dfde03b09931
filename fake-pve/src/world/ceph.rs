//! Ceph as the cluster runs it: packages on nodes, its configuration, daemons, disks, pools, file systems.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Everything about Ceph. A cluster begins without.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ceph {
    /// Nodes on which the packages are installed.
    pub installed: BTreeSet<String>,
    /// The configuration, once it was made.
    pub config: Option<CephConfig>,
    /// Monitors by id.
    pub mons: BTreeMap<String, CephDaemon>,
    /// Managers by id.
    pub mgrs: BTreeMap<String, CephDaemon>,
    /// Metadata servers by name.
    pub mds: BTreeMap<String, CephDaemon>,
    /// Object storage daemons by number.
    pub osds: BTreeMap<u32, CephOsd>,
    /// Pools by name, with their options and their number as `pool`.
    pub pools: BTreeMap<String, Map<String, Value>>,
    /// Last number that a pool got.
    pub last_pool: u32,
    /// File systems by name: data and metadata pool.
    pub filesystems: BTreeMap<String, (String, String)>,
    /// Flags that are set (`noout` …).
    pub flags: BTreeSet<String>,
    /// Muted health checks by code: whether sticky, and for how long.
    pub mutes: BTreeMap<String, (bool, Option<String>)>,
}

/// What `init` settles.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CephConfig {
    /// Identifier of the cluster.
    pub fsid: String,
    /// Public network.
    pub network: String,
    /// Network between disks.
    pub cluster_network: String,
    /// Copies of each object.
    pub size: u32,
    /// Least number of copies to go on with.
    pub min_size: u32,
    /// Whether clients are authenticated.
    pub cephx: bool,
}

/// A monitor, manager or metadata server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CephDaemon {
    /// Where it runs.
    pub node: String,
    /// Its address.
    pub addr: String,
    /// Whether its service runs.
    pub running: bool,
}

/// An object storage daemon.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CephOsd {
    /// Where it runs.
    pub node: String,
    /// Its disk.
    pub device: String,
    /// Size in bytes.
    pub size: u64,
    /// Whether it runs.
    pub up: bool,
    /// Whether data is placed on it.
    pub r#in: bool,
    /// `hdd`, `ssd` or `nvme`.
    pub class: String,
    /// Whether it is encrypted.
    pub encrypted: bool,
    /// Name of its volume group.
    pub vg: String,
}

impl Ceph {
    /// Whether monitors answer.
    pub fn answers(&self) -> bool {
        self.mons.values().any(|mon| mon.running)
    }

    /// Bytes of all disks that hold data.
    pub fn total(&self) -> u64 {
        self.osds.values().filter(|osd| osd.up && osd.r#in).map(|osd| osd.size).sum()
    }
}

//! What the cluster is: plain data without HTTP, read and changed by behaviours under one lock.
//!
//! Everything here can be written as JSON and read back ([`World`] is serde data): scenarios, the control page and the
//! capture of a live cluster rest on that. What a running task will still do is not data; it lives in
//! `work`. Vocabulary and key names are Proxmox's own (`volid`, `snaptime`, `lock`), sizes are bytes, times
//! are seconds since the epoch unless a name says `_ms`.

pub mod access;
pub mod address;
pub mod calendar;
pub mod ceph;
pub mod conf;
pub mod crypt;
pub mod curve;
pub mod disk;
pub mod document;
pub mod file;
pub mod firewall;
pub mod folder;
pub mod guest;
pub mod ha;
pub mod interfaces;
pub mod mount;
pub mod node;
pub mod option;
pub mod pending;
pub mod plugin;
pub mod power;
pub mod random;
pub mod relation;
pub mod replication;
pub mod retention;
pub mod sdn;
pub mod section;
pub mod section_type;
pub mod server;
pub mod size;
pub mod snapshot;
pub mod statistics;
pub mod storage;
pub mod task;
pub mod volume;
pub mod web;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use access::Access;
pub use ceph::Ceph;
pub use document::{Documents, digest, digest_of};
pub use firewall::Firewall;
pub use guest::{Guest, GuestKind, GuestStatus, Snapshot};
pub use ha::Ha;
pub use node::Node;
pub use random::Random;
pub use sdn::Sdn;
pub use server::{Elsewhere, Server};
pub use statistics::Statistics;
pub use storage::{Storage, Volume};
pub use task::{Line, Task};
pub use web::WebFile;

/// The version answers of a cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Release {
    /// `9.2.11`.
    pub version: String,
    /// `9.2`.
    pub release: String,
    /// 16 hexadecimal digits.
    pub repoid: String,
}

impl Default for Release {
    fn default() -> Self {
        Release { version: "9.2.11".into(), release: "9.2".into(), repoid: "6d1f0a2c9be34875".into() }
    }
}

/// A whole cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct World {
    /// Name of the cluster; `None` is a standalone node.
    pub cluster: Option<String>,
    /// Whether the cluster has no quorum (writes that need it are refused).
    pub no_quorum: bool,
    /// What `/version` says.
    pub release: Release,
    /// Nodes by name.
    pub nodes: BTreeMap<String, Node>,
    /// The node whose address clients use: it answers what no node parameter routes elsewhere.
    pub entry: String,
    /// Guests by vmid.
    pub guests: BTreeMap<u32, Guest>,
    /// Storage configurations by id.
    pub storages: BTreeMap<String, Storage>,
    /// Machines outside the cluster that serve storage, by host name or address.
    pub servers: BTreeMap<String, Server>,
    /// Files on the Internet by URL, as far as they are known.
    pub web: BTreeMap<String, WebFile>,
    /// Volumes by place: [`World::place`] of their storage, then volid.
    pub volumes: BTreeMap<String, BTreeMap<String, Volume>>,
    /// Tasks, oldest first.
    pub tasks: Vec<Task>,
    /// The cluster's log, oldest first.
    pub log: Vec<LogEntry>,
    /// Users, groups, roles, ACL, tokens, pools, realms and their secrets.
    pub access: Access,
    /// Firewall configurations by file: `firewall/cluster.fw`, `firewall/100.fw`, `nodes/pve1/host.fw`,
    /// `sdn/firewall/vnet1.fw`.
    pub firewalls: BTreeMap<String, Firewall>,
    /// Software-defined networks.
    pub sdn: Sdn,
    /// Ceph.
    pub ceph: Ceph,
    /// Objects of generic collections and option pairs, by concrete path.
    pub documents: Documents,
    /// Backup jobs that are switched on, by id, with their next run.
    pub backup_runs: BTreeMap<String, calendar::Awaited>,
    /// What the managers of high availability know.
    pub ha: Ha,
    /// What nodes told last, for the resource list.
    pub statistics: Statistics,
    /// Source of every invented value: the same seed and calls give the same world.
    pub random: Random,
    /// Last process id handed out.
    pub last_pid: u32,
}

/// One line of the cluster's log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogEntry {
    /// Running number.
    pub uid: u32,
    /// When, in seconds.
    pub time: i64,
    /// Syslog priority (6 is information).
    pub pri: u8,
    /// Program.
    pub tag: String,
    /// Process id.
    pub pid: u32,
    /// Node.
    pub node: String,
    /// Who.
    pub user: String,
    /// Text.
    pub msg: String,
}

impl World {
    /// A guest of a node, with Proxmox's words when it is not there.
    ///
    /// # Errors
    /// The text of a missing configuration file, as Proxmox says it (also when the guest lives on another node).
    pub fn guest(&self, kind: GuestKind, node: &str, vmid: u32) -> Result<&Guest, String> {
        self.guests
            .get(&vmid)
            .filter(|guest| guest.kind == kind && guest.node == node)
            .ok_or_else(|| missing_guest(kind, node, vmid))
    }

    /// [`World::guest`], to change it.
    ///
    /// # Errors
    /// As [`World::guest`].
    pub fn guest_mut(&mut self, kind: GuestKind, node: &str, vmid: u32) -> Result<&mut Guest, String> {
        self.guests
            .get_mut(&vmid)
            .filter(|guest| guest.kind == kind && guest.node == node)
            .ok_or_else(|| missing_guest(kind, node, vmid))
    }

    /// The pool that a guest belongs to.
    pub fn pool_of(&self, vmid: u32) -> Option<&str> {
        self.access.config.pool_of(vmid)
    }

    /// The key of [`World::volumes`] for a storage seen from a node: its id when shared, `node/id` otherwise.
    pub fn place(&self, node: &str, storage: &str) -> String {
        match self.storages.get(storage) {
            Some(found) if found.shared() => storage.to_string(),
            _ => format!("{node}/{storage}"),
        }
    }

    /// A volume seen from a node.
    pub fn volume(&self, node: &str, volid: &str) -> Option<&Volume> {
        let (storage, _) = volid.split_once(':')?;
        self.volumes.get(&self.place(node, storage))?.get(volid)
    }

    /// [`World::volume`], to change it.
    pub fn volume_mut(&mut self, node: &str, volid: &str) -> Option<&mut Volume> {
        let (storage, _) = volid.split_once(':')?;
        let place = self.place(node, storage);
        self.volumes.get_mut(&place)?.get_mut(volid)
    }

    /// Puts a volume where its storage keeps it for this node; the one before, if there was one.
    pub fn put_volume(&mut self, node: &str, volume: Volume) -> Option<Volume> {
        let storage = volume.volid.split_once(':').map_or("", |(storage, _)| storage);
        let place = self.place(node, storage);
        self.volumes.entry(place).or_default().insert(volume.volid.clone(), volume)
    }

    /// Takes a volume away.
    pub fn take_volume(&mut self, node: &str, volid: &str) -> Option<Volume> {
        let (storage, _) = volid.split_once(':')?;
        let place = self.place(node, storage);
        self.volumes.get_mut(&place)?.remove(volid)
    }

    /// Every volume of a storage seen from a node, by volid.
    pub fn volumes_of(&self, node: &str, storage: &str) -> impl Iterator<Item = &Volume> {
        self.volumes.get(&self.place(node, storage)).into_iter().flat_map(|volumes| volumes.values())
    }

    /// The firewall file of a guest: its key in [`World::firewalls`].
    pub fn guest_firewall(vmid: u32) -> String {
        format!("firewall/{vmid}.fw")
    }

    /// Gives a guest's firewall to its clone.
    pub fn clone_firewall(&mut self, vmid: u32, newid: u32) {
        if let Some(firewall) = self.firewalls.get(&World::guest_firewall(vmid)).cloned() {
            self.firewalls.insert(World::guest_firewall(newid), firewall);
        }
    }

    /// Forgets the firewall of a guest that is gone.
    pub fn forget_firewall(&mut self, vmid: u32) {
        self.firewalls.remove(&World::guest_firewall(vmid));
    }

    /// Used bytes of a storage seen from a node.
    pub fn used(&self, node: &str, storage: &str) -> u64 {
        let Some(found) = self.storages.get(storage) else { return 0 };
        if found.full.is_some_and(|times| times > 0) {
            return found.size;
        }
        found.used_otherwise + self.volumes_of(node, storage).map(|volume| volume.used).sum::<u64>()
    }

    /// The next process id.
    pub fn next_pid(&mut self) -> u32 {
        self.last_pid = self.last_pid.max(1000) + 1 + self.random.below(7) as u32;
        self.last_pid
    }

    /// Adds a line to the cluster's log.
    pub fn say(&mut self, time: i64, node: &str, user: &str, tag: &str, msg: impl Into<String>) {
        let uid = self.log.last().map_or(1, |entry| entry.uid + 1);
        let (node, user, tag) = (node.to_string(), user.to_string(), tag.to_string());
        self.log.push(LogEntry { uid, time, pri: 6, tag, pid: self.last_pid.max(1000), node, user, msg: msg.into() });
        if self.log.len() > 1000 {
            self.log.remove(0);
        }
    }
}

fn missing_guest(kind: GuestKind, node: &str, vmid: u32) -> String {
    format!("Configuration file 'nodes/{node}/{}/{vmid}.conf' does not exist", kind.folder())
}

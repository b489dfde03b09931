//! A guest: a virtual machine or a container, with its configuration, pending changes and snapshots.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::conf;
use super::document::digest_of;

/// Virtual machine or container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GuestKind {
    /// A virtual machine (`qemu`).
    Vm,
    /// A container (`lxc`).
    Lxc,
}

impl GuestKind {
    /// Its word in paths and lists: `qemu` or `lxc`.
    pub fn noun(self) -> &'static str {
        match self {
            GuestKind::Vm => "qemu",
            GuestKind::Lxc => "lxc",
        }
    }

    /// Its word in messages: `VM` or `CT`.
    pub fn word(self) -> &'static str {
        match self {
            GuestKind::Vm => "VM",
            GuestKind::Lxc => "CT",
        }
    }

    /// The folder of its configuration file.
    pub fn folder(self) -> &'static str {
        match self {
            GuestKind::Vm => "qemu-server",
            GuestKind::Lxc => "lxc",
        }
    }
}

/// Whether a guest runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GuestStatus {
    /// Off.
    #[default]
    Stopped,
    /// On.
    Running,
    /// On, but its processors are halted (`qmpstatus` paused; `status` stays running).
    Paused,
}

/// The agent in a virtual machine. Whether it is *enabled* stands in the configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Agent {
    /// Whether it answers when the machine runs and the option is on.
    pub running: bool,
    /// Whether its file systems are frozen.
    pub frozen: bool,
    /// Files by absolute path, as text.
    pub files: BTreeMap<String, String>,
    /// Finished or running commands by process id, as `exec-status` shows them.
    pub processes: BTreeMap<u32, Value>,
    /// Passwords set through it, by user.
    pub passwords: BTreeMap<String, String>,
    /// Answers that replace the built-in ones, by command (`get-osinfo`).
    pub answers: BTreeMap<String, Value>,
    /// Commands that never answer (`get-fsinfo`, `exec`): the call ends in a timeout.
    pub hangs: BTreeSet<String>,
}

/// A snapshot: the configuration at its time, and its place in the tree.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Snapshot {
    /// The configuration then.
    pub config: Map<String, Value>,
    /// The snapshot before it.
    pub parent: Option<String>,
    /// When, in seconds.
    pub snaptime: i64,
    /// The volume that holds the memory, when it was saved.
    pub vmstate: Option<String>,
    /// Free text.
    pub description: Option<String>,
    /// `prepare` or `delete` while a task is at it.
    pub snapstate: Option<String>,
}

/// A guest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Guest {
    /// Its number.
    pub vmid: u32,
    /// Machine or container.
    pub kind: GuestKind,
    /// Where it lives.
    pub node: String,
    /// The active configuration, as it would stand in the file: text, or numbers for integer and boolean options.
    /// `lock`, `template`, `parent`, `description`, `unusedN` are options like any other and stand here.
    #[serde(default)]
    pub config: Map<String, Value>,
    /// Values that wait for a stop.
    #[serde(default)]
    pub pending: Map<String, Value>,
    /// Options that wait to be deleted; `true` when forced.
    #[serde(default)]
    pub pending_delete: BTreeMap<String, bool>,
    /// Snapshots by name.
    #[serde(default)]
    pub snapshots: BTreeMap<String, Snapshot>,
    /// Whether it runs.
    #[serde(default)]
    pub status: GuestStatus,
    /// When it was started, in seconds.
    #[serde(default)]
    pub started: Option<i64>,
    /// Process id while it runs.
    #[serde(default)]
    pub pid: Option<u32>,
    /// Load of its processors, 0 to 1, while it runs.
    #[serde(default)]
    pub cpu: f64,
    /// Memory in use, in bytes, while it runs.
    #[serde(default)]
    pub memory_used: u64,
    /// Used bytes of a container's root file system.
    #[serde(default)]
    pub disk_used: u64,
    /// The agent of a virtual machine.
    #[serde(default)]
    pub agent: Agent,
    /// The configuration that the cloud-init drive was last made from.
    #[serde(default)]
    pub cloudinit: Map<String, Value>,
    /// When it was made, in seconds.
    #[serde(default)]
    pub created: i64,
    /// Free room for state that a behaviour keeps.
    #[serde(default)]
    pub state: BTreeMap<String, Value>,
}

impl Guest {
    /// A stopped guest with a configuration.
    pub fn new(kind: GuestKind, vmid: u32, node: &str, config: Value) -> Guest {
        let config = match config {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        Guest {
            vmid,
            kind,
            node: node.into(),
            config,
            pending: Map::new(),
            pending_delete: BTreeMap::new(),
            snapshots: BTreeMap::new(),
            status: GuestStatus::Stopped,
            started: None,
            pid: None,
            cpu: 0.0,
            memory_used: 0,
            disk_used: 0,
            agent: Agent::default(),
            cloudinit: Map::new(),
            created: 0,
            state: BTreeMap::new(),
        }
    }

    /// An option of the active configuration as text.
    pub fn option(&self, key: &str) -> Option<String> {
        match self.config.get(key)? {
            Value::String(text) => Some(text.clone()),
            Value::Null => None,
            other => Some(other.to_string()),
        }
    }

    /// Its name: `name` of a machine, `hostname` of a container, or Proxmox's own default.
    pub fn name(&self) -> String {
        let key = if self.kind == GuestKind::Vm { "name" } else { "hostname" };
        self.option(key).unwrap_or_else(|| format!("{} {}", self.kind.word(), self.vmid).replace("CT ", "CT"))
    }

    /// Whether it is on (paused counts).
    pub fn runs(&self) -> bool {
        self.status != GuestStatus::Stopped
    }

    /// Whether it is a template.
    pub fn template(&self) -> bool {
        self.option("template").as_deref() == Some("1")
    }

    /// Whether the option `agent` is on.
    pub fn agent_enabled(&self) -> bool {
        let option = self.option("agent").unwrap_or_default();
        option
            .split(',')
            .any(|part| matches!(part.strip_prefix("enabled=").unwrap_or(part), "1" | "yes" | "on" | "true"))
    }

    /// The lock of the configuration.
    pub fn lock(&self) -> Option<String> {
        self.option("lock")
    }

    /// Refuses when a lock is set.
    ///
    /// # Errors
    /// `VM is locked (backup)`, `CT is locked (…)`.
    pub fn check_lock(&self) -> Result<(), String> {
        match self.lock() {
            Some(lock) => Err(format!("{} is locked ({lock})", self.kind.word())),
            None => Ok(()),
        }
    }

    /// Switches it on.
    pub fn power_on(&mut self, now: i64, pid: u32) {
        (self.status, self.started, self.pid) = (GuestStatus::Running, Some(now), Some(pid));
        self.cpu = 0.01;
        self.memory_used = self.max_memory() / 4;
    }

    /// Switches it off.
    pub fn power_off(&mut self) {
        (self.status, self.started, self.pid, self.cpu, self.memory_used) = (GuestStatus::Stopped, None, None, 0.0, 0);
        self.agent.frozen = false;
    }

    /// Seconds since it was started.
    pub fn uptime(&self, now: i64) -> i64 {
        self.started.map_or(0, |started| (now - started).max(0))
    }

    /// Configured memory in bytes.
    pub fn max_memory(&self) -> u64 {
        let text = self.option("memory").unwrap_or_default();
        let first = text.split(',').next().unwrap_or_default().trim_start_matches("current=");
        first.parse::<u64>().unwrap_or(512) << 20
    }

    /// Configured processors; a container without `cores` has all of its node (`0` here).
    pub fn cpus(&self) -> u32 {
        let number = |key: &str| self.option(key).and_then(|text| text.parse::<u32>().ok());
        match self.kind {
            GuestKind::Vm => {
                number("vcpus").unwrap_or_else(|| number("sockets").unwrap_or(1) * number("cores").unwrap_or(1))
            }
            GuestKind::Lxc => number("cores").unwrap_or(0),
        }
    }

    /// The digest of its configuration file: SHA-1 of the text as Proxmox writes it.
    pub fn digest(&self) -> String {
        digest_of(&conf::write(self))
    }
}

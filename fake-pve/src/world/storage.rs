//! Storages and volumes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::plugin::Plugin;
use super::{World, digest};

/// A storage's configuration and size. Volumes stand in [`crate::world::World::volumes`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Storage {
    /// The configuration as `/storage/{storage}` shows it, without `storage` and `digest`: `type`, `content`, `path`,
    /// `shared`, `nodes`, `disable` …
    pub config: Map<String, Value>,
    /// Size in bytes (per node when it is not shared).
    pub size: u64,
    /// Bytes used by what is no volume.
    pub used_otherwise: u64,
    /// Nodes on which it cannot be reached although it is enabled.
    pub offline_on: Vec<String>,
    /// How many more allocations find it without room, whatever its figures say; `None` is as its figures say.
    pub full: Option<u32>,
    /// Whether no file names it: `local` is always there, even when its definition was removed.
    pub implicit: bool,
    /// Secrets of its configuration (passwords, keys) by option, in plain as Proxmox keeps them. They stand in files of
    /// their own ([`Storage::secret_files`]) and in no answer.
    pub secrets: BTreeMap<String, String>,
}

impl World {
    /// The digest of the file of storages: 40 hexadecimal digits that change with every change.
    pub fn storage_digest(&self) -> String {
        let configs = self.storages.iter().map(|(id, storage)| json!([id, storage.config]));
        digest(&configs.collect::<Vec<_>>().into())
    }
}

impl Storage {
    /// What `local` is when no file says it.
    pub fn default_local(size: u64, used_otherwise: u64) -> Storage {
        let config = [
            ("type", "dir"),
            ("path", "/var/lib/vz"),
            ("content", "backup,images,iso,rootdir,snippets,vztmpl"),
            ("prune-backups", "keep-all=1"),
        ];
        let config = config.into_iter().map(|(key, value)| (key.to_string(), json!(value))).collect();
        Storage { config, size, used_otherwise, implicit: true, ..Storage::default() }
    }

    /// The files beneath the configuration folder that hold its secrets, with their text.
    pub fn secret_files(&self, id: &str) -> Vec<(String, String)> {
        let plugin = self.plugin();
        let file = |(key, text): (&String, &String)| match (key.as_str(), plugin.as_str()) {
            ("password", "cifs") => (format!("priv/storage/{id}.pw"), format!("password={text}\n")),
            ("password", "esxi") => (format!("priv/storage/{id}.pw"), text.clone()),
            ("password", _) => (format!("priv/storage/{id}.pw"), format!("{text}\n")),
            ("encryption-key", _) => (format!("priv/storage/{id}.enc"), text.clone()),
            ("master-pubkey", _) => (format!("priv/storage/{id}.master.pem"), text.clone()),
            (_, "cephfs") => (format!("priv/ceph/{id}.secret"), format!("{text}\n")),
            _ => (format!("priv/ceph/{id}.keyring"), text.clone()),
        };
        self.secrets.iter().map(file).collect()
    }

    /// A configured value as text.
    pub fn option(&self, key: &str) -> Option<String> {
        match self.config.get(key)? {
            Value::String(text) => Some(text.clone()),
            Value::Null => None,
            other => Some(other.to_string()),
        }
    }

    /// Its plugin: `dir`, `lvmthin`, `nfs` …
    pub fn plugin(&self) -> String {
        self.option("type").unwrap_or_default()
    }

    /// Whether all nodes see the same volumes.
    pub fn shared(&self) -> bool {
        let always = Plugin::named(&self.plugin()).is_some_and(|plugin| plugin.always_shared);
        always || self.option("shared").as_deref() == Some("1")
    }

    /// Whether it is switched off.
    pub fn disabled(&self) -> bool {
        self.option("disable").as_deref() == Some("1")
    }

    /// Content types that it may hold: those of its configuration, else its plugin's default.
    pub fn content(&self) -> Vec<String> {
        let default = || Plugin::named(&self.plugin()).map_or("", |plugin| plugin.default_content).to_string();
        let list = self.option("content").unwrap_or_else(default);
        list.split(',').map(|kind| kind.trim().to_string()).filter(|kind| !kind.is_empty()).collect()
    }

    /// Whether it may hold a content type.
    pub fn holds(&self, content: &str) -> bool {
        self.content().iter().any(|kind| kind == content)
    }

    /// Whether it is configured and switched on for a node.
    pub fn on_node(&self, node: &str) -> bool {
        let listed = self.option("nodes").is_none_or(|nodes| nodes.split(',').any(|name| name.trim() == node));
        listed && !self.disabled()
    }
}

/// A volume.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Volume {
    /// `local-lvm:vm-100-disk-0`, `local:iso/debian-13.iso`.
    pub volid: String,
    /// `images`, `rootdir`, `iso`, `vztmpl`, `backup`, `snippets`, `import`.
    pub content: String,
    /// `raw`, `qcow2`, `subvol`, `iso`, `tzst`, `vma.zst` …
    pub format: String,
    /// Size in bytes.
    pub size: u64,
    /// Used bytes.
    pub used: u64,
    /// The guest that owns it.
    pub vmid: Option<u32>,
    /// When it was made, in seconds.
    pub ctime: i64,
    /// The volid that it is a linked clone of.
    pub parent: Option<String>,
    /// Notes of a backup.
    pub notes: Option<String>,
    /// Whether it may not be removed.
    pub protected: bool,
    /// Snapshots that it holds.
    pub snapshots: Vec<String>,
    /// What a backup holds (the guest then), or the text of a snippet.
    pub payload: Option<Value>,
}

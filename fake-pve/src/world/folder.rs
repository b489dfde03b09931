//! Folders that a node has: those of its system, and those of its storages.

use super::{World, plugin};

/// What a fresh installation has, as far as somebody would name it.
const OF_THE_SYSTEM: [&str; 24] = [
    "/",
    "/boot",
    "/dev",
    "/etc",
    "/etc/pve",
    "/home",
    "/media",
    "/mnt",
    "/mnt/pve",
    "/opt",
    "/root",
    "/run",
    "/srv",
    "/tmp",
    "/usr",
    "/usr/local",
    "/usr/share",
    "/var",
    "/var/backups",
    "/var/lib",
    "/var/lib/vz",
    "/var/log",
    "/var/spool",
    "/var/tmp",
];

impl World {
    /// Whether a folder is there on a node. Those of storages are, and all that leads to them.
    pub fn has_folder(&self, node: &str, path: &str) -> bool {
        let path = if path.len() > 1 { path.trim_end_matches('/') } else { path };
        let leads_to =
            |folder: &str| folder.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let of_storages = self.storages.iter().filter(|(_, storage)| storage.on_node(node)).any(|(id, storage)| {
            let own = storage.option("path").unwrap_or_else(|| format!("/mnt/pve/{id}"));
            let contents = storage.content();
            leads_to(&own)
                || contents.iter().any(|content| leads_to(&format!("{own}/{}", plugin::folder(storage, content))))
        });
        OF_THE_SYSTEM.contains(&path) || of_storages
    }
}

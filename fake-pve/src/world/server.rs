//! Machines outside the cluster that serve storage, and what a storage finds when it is switched on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Guest, Storage, World};

/// A machine that answers on the network. Addresses that no server has do not answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Server {
    /// NFS exports by path, with the clients that may mount them.
    pub exports: BTreeMap<String, String>,
    /// CIFS shares by name, with their description.
    pub shares: BTreeMap<String, String>,
    /// iSCSI targets.
    pub targets: Vec<String>,
    /// Datastores of a Proxmox Backup Server by name, with their comment.
    pub datastores: BTreeMap<String, String>,
    /// Size in bytes of each thing that it serves.
    pub size: u64,
    /// The other cluster that it is a node of.
    pub cluster: Option<Elsewhere>,
}

/// Another cluster, as far as this one has to do with it: a node may join it, guests may move there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Elsewhere {
    /// Its name.
    pub name: String,
    /// The node that answers.
    pub node: String,
    /// Guests that moved there.
    pub guests: BTreeMap<u32, Guest>,
}

/// Host of `host`, `host:port`, `[v6]:port`.
pub fn host(address: &str) -> &str {
    if let Some(rest) = address.strip_prefix('[') {
        return rest.split(']').next().unwrap_or_default();
    }
    match address.split_once(':') {
        Some((host, port)) if !port.contains(':') => host,
        _ => address,
    }
}

impl World {
    /// Whether a storage that is not there yet would work on a node, and the size that it would have.
    ///
    /// # Errors
    /// What switching it on says: not online, no such directory, mount errors.
    pub fn probe(&self, node: &str, id: &str, storage: &Storage) -> Result<u64, String> {
        let option = |key: &str| storage.option(key).unwrap_or_default();
        let offline = || format!("storage '{id}' is not online");
        let server = |key: &str| self.servers.get(host(option(key).as_str()));
        match storage.plugin().as_str() {
            "nfs" => {
                let found = server("server").ok_or_else(offline)?;
                let export = option("export");
                found.exports.get(&export).map(|_| found.size).ok_or_else(|| {
                    format!(
                        "mount error: mount.nfs: mounting {}:{export} failed, reason given by server: No such file or \
                         directory",
                        option("server")
                    )
                })
            }
            "cifs" => {
                let found = server("server").ok_or_else(offline)?;
                let share = found.shares.get(&option("share"));
                share.map(|_| found.size).ok_or_else(|| "mount error: mount error(2): No such file or directory".into())
            }
            "iscsi" | "iscsidirect" | "zfs" => {
                let found = server("portal").ok_or_else(offline)?;
                if found.targets.contains(&option("target")) { Ok(found.size) } else { Err(offline()) }
            }
            "esxi" => server("server").map(|found| found.size).ok_or_else(offline),
            "pbs" => self.probe_backup_server(id, storage),
            "cephfs" | "rbd" => {
                let monitors = option("monhost");
                let mut hosts = monitors.split([' ', ',', ';']).map(host);
                let found = hosts.find_map(|host| self.servers.get(host));
                found.map(|found| found.size).ok_or_else(|| "mount error: Connection timed out".into())
            }
            "lvm" | "lvmthin" => {
                let group = option("vgname");
                let size = self.volume_group(node, &group);
                size.ok_or_else(|| format!("no such volume group '{group}'"))
            }
            "zfspool" => {
                let pool = option("pool");
                let root = pool.split('/').next().unwrap_or_default();
                self.zfs_pool(node, root).ok_or_else(|| {
                    format!(
                        "could not activate storage '{id}', zfs error: cannot import '{root}': no such pool available"
                    )
                })
            }
            _ => self.probe_directory(node, id, storage),
        }
    }

    fn probe_backup_server(&self, id: &str, storage: &Storage) -> Result<u64, String> {
        let address = storage.option("server").unwrap_or_default();
        let port = storage.option("port").unwrap_or_else(|| "8007".into());
        let Some(found) = self.servers.get(host(&address)) else {
            return Err(format!(
                "{id}: error fetching datastores - 500 Can't connect to {address}:{port} (No route to host)"
            ));
        };
        let datastore = storage.option("datastore").unwrap_or_default();
        let known = found.datastores.contains_key(&datastore);
        let unknown = || format!("{id}: Cannot find datastore '{datastore}', check permissions and existence!");
        known.then_some(found.size).ok_or_else(unknown)
    }

    fn probe_directory(&self, node: &str, id: &str, storage: &Storage) -> Result<u64, String> {
        let path = storage.option("path").unwrap_or_default();
        let exists = path.starts_with("/mnt/pve/")
            || self.storages.values().any(|other| other.option("path").as_ref() == Some(&path));
        let expected = match storage.option("is_mountpoint").unwrap_or_default().as_str() {
            "" | "0" | "no" | "off" | "false" => None,
            "1" | "yes" | "on" | "true" => Some(path.clone()),
            other => Some(other.to_string()),
        };
        if let Some(expected) = expected.filter(|_| !exists) {
            return Err(format!(
                "unable to activate storage '{id}' - directory is expected to be a mount point but is not mounted: \
                 '{expected}'"
            ));
        }
        let makes = |key: &str| storage.option(key).as_deref() != Some("0");
        let made = makes("mkdir") && makes("create-base-path");
        if !exists && !made {
            return Err(format!(
                "unable to activate storage '{id}' - directory '{path}' does not exist or is unreachable"
            ));
        }
        Ok(self.nodes.get(node).map_or(0, |node| node.rootfs))
    }

    /// Size in bytes of a volume group that a node has.
    pub fn volume_group(&self, node: &str, group: &str) -> Option<u64> {
        let here = |storage: &&Storage| storage.on_node(node) && !storage.offline_on.iter().any(|other| other == node);
        let named = |storage: &&Storage| storage.option("vgname").as_deref() == Some(group);
        let stored = self.storages.values().filter(here).find(named).map(|storage| storage.size);
        stored.or_else(|| self.made_of_disks(node, "lvm", group))
    }

    /// Size in bytes of a ZFS pool that a node has.
    pub fn zfs_pool(&self, node: &str, pool: &str) -> Option<u64> {
        let here = |storage: &&Storage| storage.on_node(node) && !storage.offline_on.iter().any(|other| other == node);
        let of_pool = |storage: &&Storage| {
            let dataset = storage.option("pool").unwrap_or_default();
            storage.plugin() == "zfspool" && dataset.split('/').next() == Some(pool)
        };
        let stored = self.storages.values().filter(here).find(of_pool).map(|storage| storage.size);
        stored.or_else(|| self.made_of_disks(node, "zfs", pool))
    }

    /// Size in bytes of what was made of a node's disks and is no storage yet.
    fn made_of_disks(&self, node: &str, kind: &str, name: &str) -> Option<u64> {
        self.documents.get(&format!("/nodes/{node}/disks/{kind}"), name)?.get("size")?.as_u64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;
    use serde_json::{Value, json};

    fn storage(config: Value) -> Storage {
        Scenario::empty().storage("x", config, 0).world.storages.remove("x").expect("a storage")
    }

    #[test]
    fn hosts_are_told_from_ports() {
        assert_eq!(
            (host("192.0.2.1:3260"), host("nas"), host("[2001:db8::1]:3260")),
            ("192.0.2.1", "nas", "2001:db8::1")
        );
        assert_eq!(host("2001:db8::1"), "2001:db8::1");
    }

    #[test]
    fn what_does_not_answer_refuses() {
        let mut world = Scenario::empty().world;
        let nfs = |export: &str| storage(json!({"type": "nfs", "server": "nas", "export": export}));
        assert_eq!(world.probe("pve1", "n", &nfs("/a")), Err("storage 'n' is not online".into()));
        let exports = [("/a".to_string(), "*".to_string())].into();
        world.servers.insert("nas".into(), Server { exports, size: 7, ..Server::default() });
        assert_eq!(world.probe("pve1", "n", &nfs("/a")), Ok(7));
        assert!(world.probe("pve1", "n", &nfs("/b")).is_err_and(|text| text.starts_with("mount error: mount.nfs")));
        let lvm = |group: &str| storage(json!({"type": "lvm", "vgname": group}));
        assert!(world.probe("pve1", "l", &lvm("pve")).is_ok());
        assert_eq!(world.probe("pve1", "l", &lvm("no")), Err("no such volume group 'no'".into()));
        let mounted = storage(json!({"type": "dir", "path": "/mnt/usb", "is_mountpoint": "yes"}));
        assert!(world.probe("pve1", "d", &mounted).is_err_and(|text| text.contains("expected to be a mount point")));
        assert!(world.probe("pve1", "d", &storage(json!({"type": "dir", "path": "/mnt/usb"}))).is_ok());
    }
}

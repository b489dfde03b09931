//! Built-in worlds that are the default one with something more: Ceph, groups of HA, machines around the cluster.

use serde_json::json;

use super::{GIB, Scenario, object};
use crate::world::access::{Directory, TfaLock};
use crate::world::ceph::{CephConfig, CephDaemon, CephOsd};
use crate::world::{Elsewhere, Server, Storage, WebFile};

impl Scenario {
    /// [`Scenario::cluster`] with Ceph: a third node `pve3`, a monitor on each node, a manager, a metadata server on
    /// `pve2`, one disk of every node, the pool `rbd` with a storage `ceph-rbd` on it, the file system `cephfs`.
    pub fn ceph() -> Scenario {
        let mut scenario = Scenario::cluster().node("pve3").ceph_installed();
        let world = &mut scenario.world;
        let addresses: Vec<(String, String)> =
            world.nodes.iter().map(|(name, node)| (name.clone(), node.ip.clone())).collect();
        let network = "192.0.2.0/24".to_string();
        let fsid = world.random.uuid();
        let (size, min_size, cephx) = (3, 2, true);
        world.ceph.config =
            Some(CephConfig { fsid, network: network.clone(), cluster_network: network, size, min_size, cephx });
        for (number, (node, addr)) in (0..).zip(&addresses) {
            let daemon = CephDaemon { node: node.clone(), addr: addr.clone(), running: true };
            world.ceph.mons.insert(node.clone(), daemon.clone());
            match node.as_str() {
                "pve1" => world.ceph.mgrs.insert(node.clone(), daemon),
                "pve2" => world.ceph.mds.insert(node.clone(), daemon),
                _ => None,
            };
            let device = "/dev/sdb".to_string();
            let osd = CephOsd {
                node: node.clone(),
                device: device.clone(),
                size: 512 * GIB,
                up: true,
                r#in: true,
                class: "hdd".into(),
                encrypted: false,
                vg: format!("ceph-{}", world.random.uuid()),
            };
            world.ceph.osds.insert(number, osd);
            let spare = json!({
                "devpath": "/dev/sdc", "type": "hdd", "size": 512 * GIB, "model": "Rehearsal HDD",
                "serial": format!("RC{number:06}"), "vendor": "ATA", "wwn": "unknown", "health": "PASSED",
                "wearout": "N/A", "gpt": 0, "osdid": -1, "rpm": 7200,
            });
            let Some(found) = world.nodes.get_mut(node) else { continue };
            found.disks.insert("/dev/sdc".into(), object(spare));
            if let Some(disk) = found.disks.get_mut(&device) {
                disk.extend(object(json!({"used": "LVM", "gpt": 0, "osdid": number})));
            }
        }
        for (name, application) in [("rbd", "rbd"), ("cephfs_data", "cephfs"), ("cephfs_metadata", "cephfs")] {
            world.ceph.last_pool += 1;
            let pool = json!({
                "size": size, "min_size": min_size, "pg_num": 128, "pg_autoscale_mode": "warn", "application": application,
                "pool": world.ceph.last_pool,
            });
            world.ceph.pools.insert(name.into(), object(pool));
        }
        world.ceph.filesystems.insert("cephfs".into(), ("cephfs_data".into(), "cephfs_metadata".into()));
        let config = object(json!({"type": "rbd", "pool": "rbd", "content": "images,rootdir", "krbd": 0}));
        world.storages.insert("ceph-rbd".into(), Storage { config, size: 512 * GIB, ..Storage::default() });
        scenario
    }

    /// [`Scenario::cluster`] where not every node was of release 9 when it last looked: HA still has groups.
    pub fn ha_groups() -> Scenario {
        let mut scenario = Scenario::cluster();
        scenario.world.ha.groups = true;
        scenario
    }

    /// [`Scenario::cluster`] with more around it: the directory of a realm `ldap1` with the user `ann` and the group
    /// `staff`, the identity provider `https://sso.example.com`, and another cluster at 192.0.2.30 that takes guests.
    pub fn neighbours() -> Scenario {
        let mut scenario = Scenario::cluster();
        let users = [("ann".to_string(), object(json!({"firstname": "Ann", "email": "ann@example.com"})))];
        let groups = [("staff".to_string(), ["ann".to_string()].into())];
        let directory = Directory { users: users.into(), groups: groups.into() };
        scenario.world.access.directories.insert("ldap1".into(), directory);
        let about = "https://sso.example.com/.well-known/openid-configuration";
        scenario.world.web.insert(about.into(), WebFile { size: 1024, ..WebFile::default() });
        scenario.elsewhere("192.0.2.30")
    }

    /// [`Scenario::empty`] beside a cluster that it may join, at 192.0.2.12.
    pub fn newcomer() -> Scenario {
        Scenario::empty().elsewhere("192.0.2.12")
    }

    /// [`Scenario::cluster`] where `reader@pve` has an authenticator, the entry `phone`, locked after too many wrong codes.
    pub fn second_factor() -> Scenario {
        let mut scenario = Scenario::cluster();
        let entry = json!({
            "id": "phone", "type": "totp", "description": "phone", "created": 1_700_000_000,
            "secret": "otpauth://totp/pve:reader?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=pve&digits=6&period=30",
        });
        scenario.world.access.tfa.insert("reader@pve".into(), vec![object(entry)]);
        let lock = TfaLock { totp_locked: true, ..TfaLock::default() };
        scenario.world.access.tfa_locks.insert("reader@pve".into(), lock);
        if let Some(user) = scenario.world.access.config.users.get_mut("reader@pve") {
            user.keys = Some("x".into());
        }
        scenario
    }

    /// Lets the node `far1` of another cluster answer at an address.
    fn elsewhere(mut self, address: &str) -> Scenario {
        let cluster = Elsewhere { name: "elsewhere".into(), node: "far1".into(), ..Elsewhere::default() };
        self.world.servers.insert(address.into(), Server { cluster: Some(cluster), ..Server::default() });
        self
    }
}

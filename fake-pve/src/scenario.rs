//! Worlds to start from, as data: built-in ones by name, and small ones for tests put together step by step.

mod built_in;
pub(crate) mod moments;
mod troubled;

use serde_json::{Value, json};

pub use troubled::TROUBLES;

use crate::Error;
use crate::world::access::Access;
use crate::world::{Guest, GuestKind, Node, Random, Server, Storage, Volume, World};

const GIB: u64 = 1 << 30;

/// The names of the built-in scenarios.
pub const NAMES: [&str; 10] = [
    "ceph",
    "ceph-installed",
    "cluster",
    "empty",
    "ha-groups",
    "healthy",
    "neighbours",
    "newcomer",
    "second-factor",
    "troubled",
];

/// A world to start from.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The world before the first request.
    pub world: World,
}

impl Scenario {
    /// A built-in scenario by its name, one of [`NAMES`].
    ///
    /// # Errors
    /// [`Error::Scenario`] names the known ones.
    pub fn named(name: &str) -> Result<Scenario, Error> {
        match name {
            "ceph" => Ok(Scenario::ceph()),
            "ceph-installed" => Ok(Scenario::cluster().ceph_installed()),
            "cluster" => Ok(Scenario::cluster()),
            "empty" => Ok(Scenario::empty()),
            "ha-groups" => Ok(Scenario::ha_groups()),
            "healthy" => Ok(Scenario::healthy()),
            "neighbours" => Ok(Scenario::neighbours()),
            "newcomer" => Ok(Scenario::newcomer()),
            "second-factor" => Ok(Scenario::second_factor()),
            "troubled" => Ok(Scenario::troubled()),
            _ => Err(Error::Scenario(format!("no scenario is called '{name}': there are {}", NAMES.join(", ")))),
        }
    }

    /// A world that was saved as JSON.
    ///
    /// # Errors
    /// [`Error::Scenario`] says where the text is wrong.
    pub fn from_json(text: &str) -> Result<Scenario, Error> {
        let world: World = serde_json::from_str(text).map_err(|error| Error::Scenario(error.to_string()))?;
        if !world.nodes.contains_key(&world.entry) {
            return Err(Error::Scenario("'entry' must name one of 'nodes'".into()));
        }
        Ok(Scenario { world })
    }

    /// The world as JSON, for [`Scenario::from_json`].
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(&self.world).expect("plain data with text keys")
    }

    /// One node `pve1` with storages and a bridge, no guests, no cluster. On its network `nas.example.com` (192.0.2.60)
    /// serves NFS, CIFS, iSCSI and a backup datastore; nothing else answers there.
    pub fn empty() -> Scenario {
        let mut world =
            World { entry: "pve1".into(), random: Random(1), access: Access::default(), ..World::default() };
        world.storages.insert("local".into(), local());
        world.storages.insert("local-lvm".into(), local_lvm());
        let nas = nas();
        world.servers.insert("nas.example.com".into(), nas.clone());
        world.servers.insert("192.0.2.60".into(), nas);
        Scenario { world }.node("pve1")
    }

    /// [`Scenario::empty`] with one stopped virtual machine 100.
    pub fn one_vm() -> Scenario {
        Scenario::empty().vm(100, "pve1", json!({"name": "one"}))
    }

    /// [`Scenario::empty`] with one stopped container 200.
    pub fn one_ct() -> Scenario {
        Scenario::empty().ct(200, "pve1", json!({"hostname": "one"}))
    }

    /// The default: two nodes, machines, containers, a template, images, a pool, a reader and tokens.
    pub fn cluster() -> Scenario {
        let mut scenario = Scenario::empty().node("pve2");
        scenario.world.cluster = Some("rehearsal".into());
        let mut scenario = scenario
            .file("local:iso/debian-13.iso", "iso", "iso", 700 << 20)
            .file("local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst", "vztmpl", "tzst", 120 << 20)
            .vm(
                100,
                "pve1",
                json!({"name": "web", "memory": "2048", "cores": 2, "agent": "1", "tags": "prod;web", "onboot": 1}),
            )
            .vm(101, "pve1", json!({"name": "db", "memory": "4096", "cores": 2}))
            .vm(9000, "pve1", json!({"name": "debian-template", "memory": "1024"}))
            .ct(200, "pve1", json!({"hostname": "dns", "memory": 512, "cores": 1}))
            .ct(201, "pve2", json!({"hostname": "build", "memory": 1024, "cores": 2}))
            .running(100)
            .running(201)
            .template(9000)
            .user("reader@pve", "reader-secret", "/", "PVEAuditor");
        let access = &mut scenario.world.access;
        access.add_token("reader@pve!ro", "11111111-2222-3333-4444-555555555555", true);
        access.grant_token("/", "reader@pve!ro", "PVEAuditor");
        let pool = access.config.pools.entry("test".into()).or_default();
        pool.comment = Some("guests to try things on".into());
        pool.vms.insert(101);
        pool.storage.insert("local-lvm".into());
        scenario
    }

    /// Adds a node with a bridge `vmbr0`.
    pub fn node(mut self, name: &str) -> Scenario {
        let number = u32::try_from(self.world.nodes.len() + 1).unwrap_or(1);
        let mut node = Node { nodeid: number, ip: format!("192.0.2.{}", 10 + number), ..Node::default() };
        let interfaces = [
            (
                "eno1",
                json!({"type": "eth", "active": 1, "exists": 1, "method": "manual", "method6": "manual", "families": ["inet"], "priority": 3}),
            ),
            (
                "vmbr0",
                json!({
                    "type": "bridge", "active": 1, "autostart": 1, "method": "static", "method6": "manual", "families": ["inet"],
                    "address": node.ip, "netmask": "24", "cidr": format!("{}/24", node.ip), "gateway": "192.0.2.1",
                    "bridge_ports": "eno1", "bridge_stp": "off", "bridge_fd": "0", "priority": 4,
                }),
            ),
        ];
        for (iface, config) in interfaces {
            node.network.insert(iface.into(), object(config));
        }
        let disk = json!({
            "devpath": "/dev/sda", "type": "ssd", "size": 256 * GIB, "used": "LVM", "model": "Rehearsal SSD",
            "serial": format!("RH{number:06}"), "vendor": "ATA", "wwn": "unknown", "health": "PASSED", "wearout": 100,
            "gpt": 1, "osdid": -1, "rpm": 0,
        });
        node.disks.insert("/dev/sda".into(), object(disk));
        let spare = json!({
            "devpath": "/dev/sdb", "type": "hdd", "size": 512 * GIB, "model": "Rehearsal HDD",
            "serial": format!("RS{number:06}"), "vendor": "ATA", "wwn": "unknown", "health": "PASSED", "wearout": "N/A",
            "gpt": 0, "osdid": -1, "rpm": 7200,
        });
        node.disks.insert("/dev/sdb".into(), object(spare));
        self.world.nodes.insert(name.into(), node);
        self
    }

    /// Installs the packages of Ceph on every node; nothing is configured yet.
    pub fn ceph_installed(mut self) -> Scenario {
        self.world.ceph.installed = self.world.nodes.keys().cloned().collect();
        self
    }

    /// Takes a node off the network.
    pub fn offline(mut self, node: &str) -> Scenario {
        if let Some(node) = self.world.nodes.get_mut(node) {
            node.online = false;
        }
        self
    }

    /// Lets the resource list lag behind: nodes tell their guests' figures every so many seconds.
    pub fn resource_lag(mut self, seconds: u32) -> Scenario {
        self.world.statistics.lag = seconds;
        self
    }

    /// Adds a storage by its configuration (`{"type": "nfs", "content": "images", …}`) and size in bytes.
    pub fn storage(mut self, name: &str, config: Value, size: u64) -> Scenario {
        self.world.storages.insert(name.into(), Storage { config: object(config), size, ..Storage::default() });
        self
    }

    /// Adds a file to a storage of every node.
    pub fn file(mut self, volid: &str, content: &str, format: &str, size: u64) -> Scenario {
        let nodes: Vec<String> = self.world.nodes.keys().cloned().collect();
        for node in nodes {
            let volume = Volume {
                volid: volid.into(),
                content: content.into(),
                format: format.into(),
                size,
                used: size,
                ..Volume::default()
            };
            self.world.put_volume(&node, volume);
        }
        self
    }

    /// Adds a stopped machine with an 8 GiB disk on `local-lvm` and a network device; `config` comes on top.
    pub fn vm(mut self, vmid: u32, node: &str, config: Value) -> Scenario {
        let volid = self.disk(node, vmid, "images", 8 * GIB);
        let mac = self.world.random.mac("BC:24:11");
        let uuid = self.world.random.uuid();
        let mut all = object(json!({
            "boot": "order=scsi0;net0", "cores": 1, "memory": "512", "net0": format!("virtio={mac},bridge=vmbr0"),
            "ostype": "l26", "scsi0": format!("{volid},size=8G"), "scsihw": "virtio-scsi-single",
            "smbios1": format!("uuid={uuid}"),
        }));
        all.extend(object(config));
        let mut guest = Guest::new(GuestKind::Vm, vmid, node, Value::Object(all));
        guest.agent.running = true;
        self.world.guests.insert(vmid, guest);
        self
    }

    /// Adds a stopped container with a 4 GiB root file system on `local-lvm` and a network device.
    pub fn ct(mut self, vmid: u32, node: &str, config: Value) -> Scenario {
        let volid = self.disk(node, vmid, "rootdir", 4 * GIB);
        let mac = self.world.random.mac("BC:24:11");
        let mut all = object(json!({
            "arch": "amd64", "cores": 1, "hostname": format!("CT{vmid}"), "memory": 512, "swap": 512, "ostype": "debian",
            "net0": format!("name=eth0,bridge=vmbr0,hwaddr={mac},ip=dhcp,type=veth"), "unprivileged": 1,
            "rootfs": format!("{volid},size=4G"),
        }));
        all.extend(object(config));
        self.world.guests.insert(vmid, Guest::new(GuestKind::Lxc, vmid, node, Value::Object(all)));
        self
    }

    /// Switches a guest on.
    pub fn running(mut self, vmid: u32) -> Scenario {
        let pid = self.world.next_pid();
        if let Some(guest) = self.world.guests.get_mut(&vmid) {
            guest.power_on(0, pid);
        }
        self
    }

    /// Switches a guest off.
    pub fn stopped(mut self, vmid: u32) -> Scenario {
        if let Some(guest) = self.world.guests.get_mut(&vmid) {
            guest.power_off();
        }
        self
    }

    /// Makes a machine a template, its disk a base volume.
    pub fn template(mut self, vmid: u32) -> Scenario {
        let Some(guest) = self.world.guests.get_mut(&vmid) else { return self };
        guest.config.insert("template".into(), json!(1));
        let (node, old) = (guest.node.clone(), format!("vm-{vmid}-disk-0"));
        let new = format!("base-{vmid}-disk-0");
        for value in guest.config.values_mut() {
            if let Value::String(text) = value {
                *text = text.replace(&old, &new);
            }
        }
        if let Some(mut volume) = self.world.take_volume(&node, &format!("local-lvm:{old}")) {
            volume.volid = format!("local-lvm:{new}");
            self.world.put_volume(&node, volume);
        }
        self
    }

    /// Adds a user with a role on a path.
    pub fn user(mut self, userid: &str, password: &str, path: &str, role: &str) -> Scenario {
        self.world.access.add_user(userid, password);
        self.world.access.grant(path, userid, role);
        self
    }

    fn disk(&mut self, node: &str, vmid: u32, content: &str, size: u64) -> String {
        let volid = format!("local-lvm:vm-{vmid}-disk-0");
        self.world.put_volume(
            node,
            Volume {
                volid: volid.clone(),
                content: content.into(),
                format: "raw".into(),
                size,
                used: size / 4,
                vmid: Some(vmid),
                ..Volume::default()
            },
        );
        volid
    }
}

fn object(value: Value) -> serde_json::Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => serde_json::Map::new(),
    }
}

fn local() -> Storage {
    let config = json!({"type": "dir", "path": "/var/lib/vz", "content": "backup,import,iso,snippets,vztmpl"});
    Storage { config: object(config), size: 94 * GIB, used_otherwise: 4 * GIB, ..Storage::default() }
}

fn local_lvm() -> Storage {
    let config = json!({"type": "lvmthin", "vgname": "pve", "thinpool": "data", "content": "images,rootdir"});
    Storage { config: object(config), size: 140 * GIB, ..Storage::default() }
}

fn nas() -> Server {
    let named = |name: &str, text: &str| [(name.to_string(), text.to_string())].into();
    Server {
        exports: named("/export/pve", "192.0.2.0/24"),
        shares: named("pve", "storage of the cluster"),
        targets: vec!["iqn.2003-01.com.example.nas:pve".into()],
        datastores: named("store1", "backups of the cluster"),
        size: 2048 * GIB,
        ..Server::default()
    }
}

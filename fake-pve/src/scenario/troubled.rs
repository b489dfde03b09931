//! The default cluster kept well, and the same one with troubles that checks should find (`troubles.toml` lists each).

use serde_json::{Value, json};

use super::Scenario;
use crate::world::{Firewall, Task, Volume};

/// What checks should find in [`Scenario::troubled`], and nothing else: `[[trouble]]` with `tool`, `check` and `subject`.
pub const TROUBLES: &str = include_str!("troubles.toml");

const GIB: u64 = 1 << 30;
const DAY: i64 = 86_400;

/// 2040-01-01, the end of tokens that have one.
const FAR: u64 = 2_208_988_800;

impl Scenario {
    /// [`Scenario::cluster`] kept well: subscriptions, a second factor for root, tokens that end, firewalls, a nightly backup of
    /// every guest and last night's backups.
    pub fn healthy() -> Scenario {
        let mut scenario = Scenario::cluster().running(200).stopped(201);
        let world = &mut scenario.world;
        for node in world.nodes.values_mut() {
            let subscription =
                json!({"status": "active", "level": "c", "productname": "Proxmox VE Community Subscription"});
            node.state.insert("subscription".into(), subscription);
        }
        let factor = json!({"id": "totp:1", "type": "totp", "description": "authenticator", "created": 1_700_000_000});
        world.access.tfa.insert("root@pam".into(), vec![super::object(factor)]);
        for token in world.access.config.users.values_mut().flat_map(|user| user.tokens.values_mut()) {
            token.expire = FAR;
        }
        let options = json!({"enable": 1, "policy_in": "DROP"});
        world.firewalls.insert("firewall/cluster.fw".into(), firewall(options));
        let job = json!({
            "type": "vzdump", "enabled": 1, "all": 1, "mode": "snapshot", "schedule": "21:00", "storage": "local",
            "exclude": "9000",
        });
        world.documents.put("/cluster/backup", "backup-nightly", super::object(job));
        [100, 101, 200, 201].into_iter().fold(scenario, Scenario::kept_well)
    }

    /// [`Scenario::healthy`] with one trouble of each kind.
    pub fn troubled() -> Scenario {
        let mut scenario = Scenario::healthy()
            .vm(102, "pve2", json!({"name": "big", "memory": "49152", "cores": 4}))
            .running(102)
            .kept_well(102)
            .ct(202, "pve2", json!({"hostname": "legacy"}))
            .running(202)
            .user("deploy@pve", "deploy-secret", "/", "Administrator");
        let archive = json!({"type": "dir", "path": "/srv/archive", "content": "iso", "nodes": "pve2"});
        scenario = scenario.storage("archive", archive, 100 * GIB);
        let world = &mut scenario.world;
        world.access.add_token("deploy@pve!ci", "22222222-3333-4444-5555-666666666666", false);
        world.access.tfa.clear();
        if let Some(archive) = world.storages.get_mut("archive") {
            archive.used_otherwise = 93 * GIB;
        }
        if let Some(guest) = world.guests.get_mut(&202) {
            guest.config.shift_remove("unprivileged");
        }
        if let Some(job) = world.documents.get_mut("/cluster/backup", "backup-nightly") {
            job.insert("exclude".into(), json!("202,9000"));
        }
        if let Some(volume) = world.volume_mut("pve1", &backup(200, "lxc")) {
            volume.ctime = -20 * DAY;
        }
        if let Some(node) = world.nodes.get_mut("pve1") {
            node.state.insert("apt-fetched".into(), json!(1));
        }
        if let Some(node) = world.nodes.get_mut("pve2") {
            node.services.insert("chrony".into(), "stopped".into());
            node.state.remove("subscription");
            node.memory_used = 20 * GIB;
            // Its certificate was made with it and lasts two years.
            node.booted = Some(-690 * DAY);
        }
        world.tasks.push(failed_backup(101));
        scenario
    }

    /// Gives a guest a firewall and a backup of last night.
    fn kept_well(mut self, vmid: u32) -> Scenario {
        let world = &mut self.world;
        let Some(guest) = world.guests.get_mut(&vmid) else { return self };
        if let Some(Value::String(net)) = guest.config.get_mut("net0") {
            net.push_str(",firewall=1");
        }
        let (node, noun) = (guest.node.clone(), guest.kind.noun());
        world.firewalls.insert(format!("firewall/{vmid}.fw"), firewall(json!({"enable": 1})));
        let volume = Volume {
            volid: backup(vmid, noun),
            content: "backup".into(),
            format: "vma.zst".into(),
            size: GIB,
            used: GIB,
            vmid: Some(vmid),
            ctime: -DAY / 2,
            ..Volume::default()
        };
        world.put_volume(&node, volume);
        self
    }
}

fn backup(vmid: u32, noun: &str) -> String {
    format!("local:backup/vzdump-{noun}-{vmid}-2026_11_30-21_00_02.vma.zst")
}

fn firewall(options: Value) -> Firewall {
    Firewall { options: super::object(options), ..Firewall::default() }
}

/// Last night's backup of a guest, which did not work.
fn failed_backup(vmid: u32) -> Task {
    Task {
        upid: String::new(),
        node: "pve1".into(),
        pid: 4711,
        pstart: 86_000,
        starttime: -DAY / 2,
        worker_type: "vzdump".into(),
        id: vmid.to_string(),
        user: "root@pam".into(),
        ends_ms: 0,
        endtime: Some(-DAY / 2 + 40),
        exitstatus: Some("job errors".into()),
        log: Vec::new(),
        warnings: 0,
        locks: Vec::new(),
    }
}

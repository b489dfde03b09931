//! What else in the cluster speaks of a guest: high availability, replication, backup jobs, rights, pools, firewall.

use serde_json::{Map, Value, json};

use super::{GuestKind, World, ha, option};

const REPLICATION: &str = "/cluster/replication";
const BACKUP: &str = "/cluster/backup";

impl World {
    /// The guest as a resource of high availability.
    pub fn ha_resource(&self, vmid: u32) -> Option<&Map<String, Value>> {
        ha::resource(self, &ha::sid_of(self.guests.get(&vmid)?.kind, vmid))
    }

    /// Makes the guest a resource of high availability.
    pub fn add_to_ha(&mut self, vmid: u32, state: &str) {
        let sid = ha::sid_of(self.guests.get(&vmid).map_or(GuestKind::Vm, |guest| guest.kind), vmid);
        if let Value::Object(resource) = json!({"state": state}) {
            self.documents.put(ha::RESOURCES, &sid, resource);
        }
    }

    /// The first replication job of a guest: `100-0`.
    pub fn replication_job(&self, vmid: u32) -> Option<&str> {
        let prefix = format!("{vmid}-");
        let jobs = self.documents.list(REPLICATION);
        jobs.iter().map(|(id, _)| id.as_str()).find(|id| id.starts_with(&prefix))
    }

    /// Puts a guest into a pool.
    pub fn add_to_pool(&mut self, vmid: u32, pool: &str) {
        for other in self.access.config.pools.values_mut() {
            other.vms.remove(&vmid);
        }
        self.access.config.pools.entry(pool.into()).or_default().vms.insert(vmid);
    }

    /// The zone whose rights guard a bridge: that of the virtual network, else `localnetwork`.
    pub fn zone_of(&self, bridge: &str) -> String {
        let vnet = self.sdn.get_running("vnets", bridge);
        vnet.and_then(|vnet| vnet.get("zone")).map_or_else(|| "localnetwork".into(), option::text)
    }

    /// Copies the firewall of a guest to another one.
    pub fn copy_firewall(&mut self, from: u32, to: u32) {
        if let Some(firewall) = self.firewalls.get(&firewall_file(from)).cloned() {
            self.firewalls.insert(firewall_file(to), firewall);
        }
    }

    /// Forgets a destroyed guest: rights, pool, firewall; with `purge` also high availability, replication and backup jobs.
    /// Answers the lines for the log.
    pub fn forget_guest(&mut self, vmid: u32, purge: bool) -> Vec<String> {
        let mut log = Vec::new();
        let kind = self.guests.get(&vmid).map_or(GuestKind::Vm, |guest| guest.kind);
        let path = format!("/vms/{vmid}");
        self.access.config.acl.retain(|on, _| *on != path && !on.starts_with(&format!("{path}/")));
        for pool in self.access.config.pools.values_mut() {
            pool.vms.remove(&vmid);
        }
        self.firewalls.remove(&firewall_file(vmid));
        if purge {
            let word = kind.word();
            log.push(format!("purging {word} {vmid} from related configurations.."));
            let sid = ha::sid_of(kind, vmid);
            if ha::resource(self, &sid).is_some() {
                ha::purge(self, &sid, true);
                log.push(format!("NOTE: removed {word} {vmid} from HA resource configuration."));
            }
            let jobs: Vec<String> = self.documents.list(REPLICATION).iter().map(|(id, _)| id.clone()).collect();
            for job in jobs.iter().filter(|id| id.starts_with(&format!("{vmid}-"))) {
                self.documents.remove(REPLICATION, job);
            }
            for (_, job) in self.documents.collections.get_mut(BACKUP).into_iter().flatten() {
                let Some(listed) = job.get("vmid").map(option::text) else { continue };
                let left: Vec<&str> = listed.split(',').filter(|id| *id != vmid.to_string()).collect();
                job.insert("vmid".into(), left.join(",").into());
            }
        }
        log
    }
}

/// The file that holds the firewall of a guest.
fn firewall_file(vmid: u32) -> String {
    format!("firewall/{vmid}.fw")
}

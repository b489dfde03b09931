//! `/cluster`: status, resources, the next free vmid.

pub(crate) mod acme;
pub(crate) mod config;
pub(crate) mod cpu_models;
pub(crate) mod jobs;
pub(crate) mod log;
pub(crate) mod mapping;
pub(crate) mod metrics;
pub(crate) mod options;
pub(crate) mod resources;

use serde_json::json;

use super::{Answer, Call, Data, Failure, params::split_list};

pub(crate) use resources::{guest_item, storage_of_pool};

/// What Proxmox's section configurations say to an empty `delete`.
const EMPTY_DELETE: &str = "Can't use string (\"\") as an ARRAY ref while \"strict refs\" in use at /usr/share/perl5/PVE/SectionConfig.pm line 1856.";

/// `GET /cluster`.
pub(crate) fn index(_call: &mut Call<'_>) -> Answer {
    let names = [
        "acme",
        "backup",
        "backup-info",
        "bulk-action",
        "ceph",
        "config",
        "firewall",
        "ha",
        "jobs",
        "log",
        "mapping",
        "metrics",
        "notifications",
        "nextid",
        "options",
        "qemu",
        "replication",
        "resources",
        "status",
        "tasks",
        "sdn",
    ];
    Ok(names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>().into())
}

/// `GET /cluster/bulk-action`.
pub(crate) fn bulk_action(_call: &mut Call<'_>) -> Answer {
    Ok(json!([{"name": "guest"}]).into())
}

/// `GET /cluster/bulk-action/guest`.
pub(crate) fn bulk_action_guest(_call: &mut Call<'_>) -> Answer {
    Ok(json!([{"name": "start"}, {"name": "shutdown"}, {"name": "migrate"}, {"name": "suspend"}]).into())
}

/// `GET /cluster/status`.
pub(crate) fn status(call: &mut Call<'_>) -> Answer {
    let world = &*call.world;
    let mut items = Vec::new();
    if let Some(name) = &world.cluster {
        let quorate = i32::from(!world.no_quorum);
        items.push(json!({
            "type": "cluster", "id": "cluster", "name": name, "nodes": world.nodes.len(), "version": world.nodes.len(),
            "quorate": quorate,
        }));
    }
    for (name, node) in &world.nodes {
        let nodeid = if world.cluster.is_some() { node.nodeid } else { 0 };
        let mut item = json!({
            "type": "node", "id": format!("node/{name}"), "name": name, "nodeid": nodeid,
            "local": i32::from(*name == world.entry), "online": i32::from(node.online), "level": "",
        });
        if node.online {
            item["ip"] = json!(node.ip);
        }
        items.push(item);
    }
    Ok(Data::from(items))
}

/// `GET /cluster/nextid`.
pub(crate) fn nextid(call: &mut Call<'_>) -> Answer {
    if let Some(vmid) = call.params.get("vmid") {
        let number = vmid.trim_start_matches('+').trim_end().parse::<u32>().unwrap_or(0);
        return match call.world.guests.get(&number) {
            Some(_) => Err(Failure::param("vmid", format!("VM {number} already exists"))),
            None => Ok(json!(vmid).into()),
        };
    }
    let (lower, upper) = id_range(call);
    match (lower..upper).find(|vmid| !call.world.guests.contains_key(vmid)) {
        Some(vmid) => Ok(json!(vmid.to_string()).into()),
        None => Err(Failure::die(format!("unable to get any free VMID in range [{lower}, {upper}]"))),
    }
}

/// The range of the datacenter option `next-id`.
fn id_range(call: &Call<'_>) -> (u32, u32) {
    let (lower, upper) = bounds(&options::option(call.world, "next-id").unwrap_or_default());
    (lower.unwrap_or(100), upper.unwrap_or(1_000_000))
}

/// `lower=200,upper=300` as numbers.
fn bounds(text: &str) -> (Option<u32>, Option<u32>) {
    let bound = |key: &str| {
        let part = split_list(text).into_iter().find_map(|part| part.strip_prefix(key).map(str::to_string))?;
        part.strip_prefix('=')?.parse::<u32>().ok()
    };
    (bound("lower"), bound("upper"))
}

//! `/nodes`: the list, and a node's own status.

pub(crate) mod config;
pub(crate) mod dns;
pub(crate) mod execute;
pub(crate) mod hosts;
pub(crate) mod journal;
pub(crate) mod netstat;
pub(crate) mod power;
pub(crate) mod report;
pub(crate) mod subscription;
pub(crate) mod time;

use serde_json::{Map, Value, json};

use super::certificates::SERVED;
use super::{Answer, Call, Data};
use crate::world::Node;

/// `GET /nodes`.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let items = call.world.nodes.iter().map(|(name, node)| {
        let mut item = item(call, name, node);
        item.insert("ssl_fingerprint".into(), json!(presented(node).unwrap_or_else(|| fingerprint(name))));
        Value::Object(item)
    });
    Ok(Data::from(items.collect::<Vec<_>>()))
}

/// A node as lists show it; figures only with `Sys.Audit` on it.
pub(crate) fn item(call: &Call<'_>, name: &str, node: &Node) -> Map<String, Value> {
    let mut item = Map::new();
    let mut set = |key: &str, value: Value| item.insert(key.to_string(), value);
    set("node", json!(name));
    set("id", json!(format!("node/{name}")));
    set("type", json!("node"));
    set("status", json!(if node.online { "online" } else { "offline" }));
    set("level", json!(""));
    if call.may(&format!("/nodes/{name}"), &["Sys.Audit"]) {
        set("maxcpu", json!(node.cpus));
        set("maxmem", json!(node.memory));
        set("maxdisk", json!(node.rootfs));
        if node.online {
            set("cpu", json!(node.cpu));
            set("mem", json!(memory_used(call, name, node)));
            set("disk", json!(node.rootfs_used));
            set("uptime", json!(uptime(call, node)));
        }
    }
    item
}

/// `GET /nodes/{node}/status`.
pub(crate) fn status(call: &mut Call<'_>) -> Answer {
    let name = call.node();
    let Some(node) = call.world.nodes.get(&name) else { return Ok(Data::null()) };
    let used = memory_used(call, &name, node);
    let kernel = "6.17.4-2-pve";
    let release = &call.world.release;
    Ok(json!({
        "uptime": uptime(call, node),
        "idle": 0,
        "loadavg": ["0.10", "0.08", "0.01"],
        "kversion": format!("Linux {kernel} #1 SMP PREEMPT_DYNAMIC PMX {kernel}"),
        "current-kernel": {
            "sysname": "Linux", "release": kernel,
            "version": format!("#1 SMP PREEMPT_DYNAMIC PMX {kernel}"), "machine": "x86_64",
        },
        "boot-info": {"mode": "efi", "secureboot": 0},
        "cpuinfo": {
            "user_hz": 100, "vendor": "GenuineIntel", "family": "6", "model": "Rehearsal CPU", "mhz": "2400.000",
            "cpus": node.cpus, "sockets": 1, "cores": node.cpus, "flags": "fpu vme de pse tsc msr vmx", "hvm": "1",
        },
        "cpu": node.cpu,
        "wait": 0,
        "memory": {
            "total": node.memory, "used": used, "free": node.memory - used, "available": node.memory - used,
        },
        "ksm": {"shared": 0},
        "swap": {"total": node.swap, "used": 0, "free": node.swap},
        "pveversion": format!("pve-manager/{}/{}", release.version, release.repoid),
        "rootfs": {
            "total": node.rootfs, "used": node.rootfs_used, "avail": node.rootfs - node.rootfs_used,
            "free": node.rootfs - node.rootfs_used,
        },
    })
    .into())
}

fn uptime(call: &Call<'_>, node: &Node) -> i64 {
    node.booted.map_or(864_000, |booted| (call.now() - booted).max(0))
}

/// The node's own memory and that of its running guests.
fn memory_used(call: &Call<'_>, name: &str, node: &Node) -> u64 {
    let guests = call.world.guests.values().filter(|guest| guest.node == name);
    (node.memory_used + guests.map(|guest| guest.memory_used).sum::<u64>()).min(node.memory)
}

/// The fingerprint of the certificate that a server really presents for a node.
fn presented(node: &Node) -> Option<String> {
    Some(node.state.get(SERVED)?["fingerprint"].as_str()?.to_string())
}

/// A stable fingerprint of a node: the API clients reach is that of the entry node only.
pub(crate) fn fingerprint(name: &str) -> String {
    let digest = crate::world::digest(&json!([name, "certificate"])) + &crate::world::digest(&json!([name]));
    let pairs: Vec<String> = (0..32).map(|at| digest[at * 2..at * 2 + 2].to_uppercase()).collect();
    pairs.join(":")
}

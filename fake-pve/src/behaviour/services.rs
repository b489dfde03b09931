//! `/nodes/{node}/services`: what runs on a node, and starting and stopping it.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{Answer, Call, Data, Failure};

/// Name and description of each service.
const SERVICES: [(&str, &str); 23] = [
    ("chrony", "NTP client/server"),
    ("corosync", "Corosync Cluster Engine"),
    ("cron", "Command Scheduler"),
    ("ksmtuned", "KSM Tuning"),
    ("lxcfs", "LXC Filesystem"),
    ("postfix", "Mail Transport"),
    ("proxmox-firewall", "nftables Firewall"),
    ("pve-cluster", "Cluster Filesystem"),
    ("pve-firewall", "Firewall"),
    ("pve-ha-crm", "HA Cluster Resource Manager"),
    ("pve-ha-lrm", "HA Local Resource Manager"),
    ("pve-lxc-syscalld", "LXC System Call Handler"),
    ("pvedaemon", "API Daemon"),
    ("pvefw-logger", "Firewall Logger"),
    ("pveproxy", "API Proxy"),
    ("pvescheduler", "Job Scheduler"),
    ("pvestatd", "Status Daemon"),
    ("qmeventd", "QEMU Event Daemon"),
    ("spiceproxy", "SPICE Proxy"),
    ("sshd", "OpenSSH Server"),
    ("syslog", "System Log"),
    ("systemd-journald", "Journal"),
    ("systemd-timesyncd", "Time Synchronisation"),
];

/// Services that a node will not stop.
const ESSENTIAL: [&str; 3] = ["pve-cluster", "pvedaemon", "pveproxy"];

/// `GET /nodes/{node}/services`.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let node = call.node();
    let items = SERVICES.iter().map(|(name, desc)| Value::Object(item(call, &node, name, desc)));
    Ok(Data::from(items.collect::<Vec<_>>()))
}

/// `GET /nodes/{node}/services/{service}/state`.
pub(crate) fn state(call: &mut Call<'_>) -> Answer {
    let (node, service) = (call.node(), call.params.text("service"));
    let (name, desc) = known(&service)?;
    Ok(Value::Object(item(call, &node, name, desc)).into())
}

/// `POST …/start`.
pub(crate) fn start(call: &mut Call<'_>) -> Answer {
    command(call, "srvstart", "start", "running")
}

/// `POST …/stop`.
pub(crate) fn stop(call: &mut Call<'_>) -> Answer {
    command(call, "srvstop", "stop", "stopped")
}

/// `POST …/restart`.
pub(crate) fn restart(call: &mut Call<'_>) -> Answer {
    command(call, "srvrestart", "restart", "running")
}

/// `POST …/reload`.
pub(crate) fn reload(call: &mut Call<'_>) -> Answer {
    command(call, "srvreload", "reload", "running")
}

fn command(call: &mut Call<'_>, worker_type: &str, verb: &'static str, state: &'static str) -> Answer {
    let service = call.params.text("service");
    known(&service)?;
    let essential = verb == "stop" && ESSENTIAL.contains(&service.as_str());
    let refused = format!("invalid service cmd '{service} stop': refusing to stop essential service!");
    let name = service.clone();
    let task = call
        .task(worker_type, &service)
        .lasts(Duration::from_secs(1))
        .begin(move |_| if essential { Err(refused) } else { Ok(()) })
        .finish(move |run| {
            let node = run.node.to_string();
            if let Some(node) = run.world.nodes.get_mut(&node) {
                node.services.insert(name, state.into());
            }
            Ok(())
        });
    call.start(task)
}

fn known(service: &str) -> Result<(&'static str, &'static str), Failure> {
    let found = SERVICES.iter().find(|(name, _)| *name == service);
    found.copied().ok_or_else(|| Failure::die(format!("unknown service '{service}'")))
}

fn item(call: &Call<'_>, node: &str, name: &str, desc: &str) -> Map<String, Value> {
    let changed = call.world.nodes.get(node).and_then(|node| node.services.get(name));
    let state = changed.map_or("running", String::as_str);
    let active = if state == "running" { "active" } else { "inactive" };
    let item = json!({
        "service": name, "name": name, "desc": desc, "state": if state == "running" { "running" } else { "dead" },
        "active-state": active, "unit-state": "enabled",
    });
    match item {
        Value::Object(item) => item,
        _ => Map::new(),
    }
}

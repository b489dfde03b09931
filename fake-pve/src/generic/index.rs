//! Indexes: a GET on a folder lists the names beneath it.

use pve_catalog::path::placeholder;
use pve_catalog::{Catalog, Method};
use serde_json::{Value, json};

use crate::behaviour::{Answer, Call};
use crate::world::GuestKind;

/// Whether a method lists a folder of fixed names.
pub(crate) fn is_folder(method: &Method) -> bool {
    let key = method.returns().child_key.as_deref();
    key.is_some_and(|key| !key.contains('/')) && !children(method.path).is_empty()
}

/// Folders whose index names less, or other things, than what lies beneath them.
const SAID_OTHERWISE: [(&str, &[&str]); 14] = [
    ("/access", &["users", "groups", "roles", "acl", "domains", "openid", "tfa", "ticket", "password"]),
    ("/cluster/ceph", &["metadata", "status", "flags", "restart-bulk"]),
    ("/cluster/metrics", &["server"]),
    ("/cluster/sdn", &["vnets", "zones", "controllers", "ipams", "dns", "fabrics"]),
    (
        "/nodes/{node}",
        &[
            "aplinfo",
            "apt",
            "capabilities",
            "ceph",
            "certificates",
            "config",
            "disks",
            "dns",
            "firewall",
            "hardware",
            "hosts",
            "journal",
            "lxc",
            "migrateall",
            "netstat",
            "network",
            "qemu",
            "query-oci-repo-tags",
            "query-url-metadata",
            "replication",
            "report",
            "rrd",
            "rrddata",
            "scan",
            "sdn",
            "services",
            "spiceshell",
            "startall",
            "status",
            "stopall",
            "storage",
            "subscription",
            "suspendall",
            "syslog",
            "tasks",
            "termproxy",
            "time",
            "version",
            "vncshell",
            "vzdump",
            "wakeonlan",
        ],
    ),
    ("/nodes/{node}/ceph/osd/{osdid}", &["metadata", "lv-info"]),
    (
        "/nodes/{node}/lxc/{vmid}",
        &[
            "config",
            "pending",
            "status",
            "vncproxy",
            "termproxy",
            "vncwebsocket",
            "spiceproxy",
            "migrate",
            "clone",
            "rrd",
            "rrddata",
            "firewall",
            "snapshot",
            "resize",
            "interfaces",
        ],
    ),
    ("/nodes/{node}/lxc/{vmid}/firewall", &["rules", "aliases", "ipset", "refs", "options"]),
    ("/nodes/{node}/lxc/{vmid}/status", &["current", "start", "stop", "shutdown", "reboot", "migrate"]),
    (
        "/nodes/{node}/qemu/{vmid}",
        &[
            "config",
            "cloudinit",
            "pending",
            "status",
            "unlink",
            "vncproxy",
            "termproxy",
            "migrate",
            "resize",
            "move",
            "rrd",
            "rrddata",
            "monitor",
            "agent",
            "snapshot",
            "spiceproxy",
            "sendkey",
            "firewall",
            "mtunnel",
            "remote_migrate",
        ],
    ),
    ("/nodes/{node}/qemu/{vmid}/firewall", &["rules", "aliases", "ipset", "refs", "options"]),
    ("/nodes/{node}/qemu/{vmid}/status", &["current", "start", "stop", "reset", "shutdown", "suspend", "reboot"]),
    ("/nodes/{node}/scan", &["cifs", "iscsi", "lvm", "nfs", "pbs", "zfs"]),
    ("/nodes/{node}/sdn/fabrics/{fabric}", &["neighbors", "routes"]),
];

/// The list of a folder's children. Some folders of a guest ask for the guest first.
pub(crate) fn list(call: &Call<'_>) -> Answer {
    let method = call.method;
    let asks = match method.path {
        "/nodes/{node}/qemu/{vmid}/status" => Some(GuestKind::Vm),
        "/nodes/{node}/lxc/{vmid}" | "/nodes/{node}/lxc/{vmid}/status" => Some(GuestKind::Lxc),
        _ => None,
    };
    if let Some(kind) = asks {
        call.world.guest(kind, &call.node(), call.vmid())?;
    }
    let key = method.returns().child_key.as_deref().unwrap_or("name");
    let said = SAID_OTHERWISE.iter().find(|(template, _)| *template == method.path);
    let names = said.map_or_else(|| children(method.path), |(_, names)| names.to_vec());
    let items: Vec<Value> = names.into_iter().map(|name| json!({ key: name })).collect();
    Ok(items.into())
}

/// The fixed names one level beneath a template, sorted.
fn children(template: &str) -> Vec<&'static str> {
    let beneath = |path: &'static str| path.strip_prefix(template)?.strip_prefix('/')?.split('/').next();
    let mut names: Vec<&str> = Catalog::embedded().templates().filter_map(beneath).collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| placeholder(name).is_none());
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_are_folders_of_the_catalogue() {
        for (template, names) in SAID_OTHERWISE {
            let method = Catalog::embedded().get(pve_catalog::Verb::Get, template).expect("a method");
            assert!(is_folder(method) && !names.is_empty(), "{template}");
        }
    }

    #[test]
    fn children_are_the_next_level() {
        assert_eq!(children("/cluster/metrics"), ["export", "server"]);
        assert_eq!(children("/nodes/{node}/tasks/{upid}"), ["log", "status"]);
        assert!(children("/nodes").is_empty());
    }
}

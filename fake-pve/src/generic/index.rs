//! Indexes: a GET on a folder lists the names beneath it.

use pve_catalog::path::placeholder;
use pve_catalog::{Catalog, Method};
use serde_json::{Value, json};

use crate::behaviour::Data;

/// What Proxmox leaves out of its lists, by folder.
const LEFT_OUT: [(&str, &[&str]); 8] = [
    ("/cluster/ceph", &["health-mute"]),
    ("/cluster/sdn", &["dry-run", "lock", "prefix-lists", "rollback", "route-maps"]),
    ("/nodes/{node}", &["execute", "vncwebsocket"]),
    ("/nodes/{node}/ceph/osd/{osdid}", &["in", "out", "scrub"]),
    ("/nodes/{node}/lxc/{vmid}/firewall", &["log"]),
    ("/nodes/{node}/qemu/{vmid}/firewall", &["log"]),
    ("/nodes/{node}/scan", &["lvmthin"]),
    ("/nodes/{node}/sdn/fabrics/{fabric}", &["interfaces"]),
];

/// Whether a method lists a folder of fixed names.
pub(crate) fn is_folder(method: &Method) -> bool {
    let key = method.returns().child_key.as_deref();
    key.is_some_and(|key| !key.contains('/')) && !children(method.path).is_empty()
}

/// The list of a folder's children.
pub(crate) fn list(method: &Method) -> Data {
    let key = method.returns().child_key.as_deref().unwrap_or("name");
    let left_out = LEFT_OUT.iter().find(|(template, _)| *template == method.path).map_or(&[][..], |(_, names)| names);
    let names = children(method.path).into_iter().filter(|name| !left_out.contains(name));
    Data::from(names.map(|name| json!({ key: name })).collect::<Vec<Value>>())
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
    use super::children;

    #[test]
    fn children_are_the_next_level() {
        assert_eq!(children("/cluster/metrics"), ["export", "server"]);
        assert_eq!(children("/nodes/{node}/tasks/{upid}"), ["log", "status"]);
        assert!(children("/nodes").is_empty());
    }
}

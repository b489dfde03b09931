//! Which behaviour answers which method: one line each, sorted by path, then verb.

use super::{Behaviour, access, cluster, lxc, node, qemu, services, tasks, version};

/// The table. Keys are those of the catalogue.
pub(crate) static TABLE: &[(&str, Behaviour)] = &[
    ("GET /access/permissions", access::permissions),
    ("GET /access/ticket", access::no_ticket),
    ("POST /access/ticket", access::ticket),
    ("GET /cluster/nextid", cluster::nextid),
    ("GET /cluster/resources", cluster::resources),
    ("GET /cluster/status", cluster::status),
    ("GET /cluster/tasks", tasks::of_cluster),
    ("GET /nodes", node::list),
    ("GET /nodes/{node}/lxc", lxc::list::list),
    ("POST /nodes/{node}/lxc", lxc::create::create),
    ("DELETE /nodes/{node}/lxc/{vmid}", lxc::change::delete),
    ("GET /nodes/{node}/lxc/{vmid}", lxc::list::index),
    ("POST /nodes/{node}/lxc/{vmid}/clone", lxc::clone::clone),
    ("GET /nodes/{node}/lxc/{vmid}/config", lxc::read::config),
    ("PUT /nodes/{node}/lxc/{vmid}/config", lxc::update::put),
    ("GET /nodes/{node}/lxc/{vmid}/feature", lxc::change::feature),
    ("POST /nodes/{node}/lxc/{vmid}/move_volume", lxc::move_volume::move_volume),
    ("GET /nodes/{node}/lxc/{vmid}/pending", lxc::read::pending),
    ("PUT /nodes/{node}/lxc/{vmid}/resize", lxc::change::resize),
    ("POST /nodes/{node}/lxc/{vmid}/template", lxc::change::template),
    ("GET /nodes/{node}/qemu", qemu::list::list),
    ("POST /nodes/{node}/qemu", qemu::create::create),
    ("DELETE /nodes/{node}/qemu/{vmid}", qemu::destroy::delete),
    ("GET /nodes/{node}/qemu/{vmid}", qemu::list::index),
    ("POST /nodes/{node}/qemu/{vmid}/clone", qemu::clone::clone),
    ("GET /nodes/{node}/qemu/{vmid}/cloudinit", qemu::cloudinit::pending),
    ("PUT /nodes/{node}/qemu/{vmid}/cloudinit", qemu::cloudinit::regenerate),
    ("GET /nodes/{node}/qemu/{vmid}/cloudinit/dump", qemu::cloudinit::dump),
    ("GET /nodes/{node}/qemu/{vmid}/config", qemu::read::config),
    ("POST /nodes/{node}/qemu/{vmid}/config", qemu::update::post),
    ("PUT /nodes/{node}/qemu/{vmid}/config", qemu::update::put),
    ("GET /nodes/{node}/qemu/{vmid}/feature", qemu::feature::feature),
    ("POST /nodes/{node}/qemu/{vmid}/move_disk", qemu::move_disk::move_disk),
    ("GET /nodes/{node}/qemu/{vmid}/pending", qemu::read::pending),
    ("PUT /nodes/{node}/qemu/{vmid}/resize", qemu::resize::resize),
    ("POST /nodes/{node}/qemu/{vmid}/template", qemu::template::template),
    ("PUT /nodes/{node}/qemu/{vmid}/unlink", qemu::update::unlink),
    ("GET /nodes/{node}/services", services::list),
    ("POST /nodes/{node}/services/{service}/reload", services::reload),
    ("POST /nodes/{node}/services/{service}/restart", services::restart),
    ("POST /nodes/{node}/services/{service}/start", services::start),
    ("GET /nodes/{node}/services/{service}/state", services::state),
    ("POST /nodes/{node}/services/{service}/stop", services::stop),
    ("GET /nodes/{node}/status", node::status),
    ("GET /nodes/{node}/tasks", tasks::list),
    ("DELETE /nodes/{node}/tasks/{upid}", tasks::stop),
    ("GET /nodes/{node}/tasks/{upid}", tasks::index),
    ("GET /nodes/{node}/tasks/{upid}/log", tasks::log),
    ("GET /nodes/{node}/tasks/{upid}/status", tasks::status),
    ("GET /nodes/{node}/version", version::get),
    ("GET /version", version::get),
];

/// The behaviour of a method's key.
pub(crate) fn find(key: &str) -> Option<Behaviour> {
    TABLE.binary_search_by(|(entry, _)| order(entry).cmp(&order(key))).ok().map(|at| TABLE[at].1)
}

/// By path, then verb as a word.
fn order(key: &str) -> (&str, &str) {
    let (verb, path) = key.split_once(' ').unwrap_or(("", key));
    (path, verb)
}

#[cfg(test)]
mod tests {
    use pve_catalog::{Catalog, Verb};

    use super::*;

    #[test]
    fn the_table_is_sorted_without_doubles_and_known_to_the_catalogue() {
        for pair in TABLE.windows(2) {
            assert!(order(pair[0].0) < order(pair[1].0), "{} must stand after {}", pair[0].0, pair[1].0);
        }
        for (key, _) in TABLE {
            let (verb, path) = key.split_once(' ').expect("a verb and a path");
            let verb: Verb = verb.parse().expect("a verb");
            assert!(Catalog::embedded().get(verb, path).is_some(), "{key} is not in the catalogue");
            assert!(find(key).is_some(), "{key} is not found");
        }
    }
}

//! Which behaviour answers which method: one line each, sorted by path, then verb.

use super::{Behaviour, access, cluster, node, services, storage, tasks, version};
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
    ("GET /nodes/{node}/lxc/{vmid}", lxc::list::index),
    ("GET /nodes/{node}/lxc/{vmid}/config", lxc::read::config),
    ("GET /nodes/{node}/lxc/{vmid}/pending", lxc::read::pending),
    ("GET /nodes/{node}/qemu", qemu::list::list),
    ("GET /nodes/{node}/qemu/{vmid}", qemu::list::index),
    ("GET /nodes/{node}/qemu/{vmid}/cloudinit", qemu::cloudinit::pending),
    ("PUT /nodes/{node}/qemu/{vmid}/cloudinit", qemu::cloudinit::regenerate),
    ("GET /nodes/{node}/qemu/{vmid}/cloudinit/dump", qemu::cloudinit::dump),
    ("GET /nodes/{node}/qemu/{vmid}/config", qemu::read::config),
    ("POST /nodes/{node}/qemu/{vmid}/config", qemu::update::post),
    ("PUT /nodes/{node}/qemu/{vmid}/config", qemu::update::put),
    ("GET /nodes/{node}/qemu/{vmid}/pending", qemu::read::pending),
    ("PUT /nodes/{node}/qemu/{vmid}/unlink", qemu::update::unlink),
    ("GET /nodes/{node}/services", services::list),
    ("POST /nodes/{node}/services/{service}/reload", services::reload),
    ("POST /nodes/{node}/services/{service}/restart", services::restart),
    ("POST /nodes/{node}/services/{service}/start", services::start),
    ("GET /nodes/{node}/services/{service}/state", services::state),
    ("POST /nodes/{node}/services/{service}/stop", services::stop),
    ("GET /nodes/{node}/status", node::status),
    ("GET /nodes/{node}/storage", storage::node::list),
    ("GET /nodes/{node}/storage/{storage}/content", storage::content::list),
    ("POST /nodes/{node}/storage/{storage}/content", storage::content::allocate),
    ("DELETE /nodes/{node}/storage/{storage}/content/{volume}", storage::content::delete),
    ("GET /nodes/{node}/storage/{storage}/content/{volume}", storage::content::info),
    ("POST /nodes/{node}/storage/{storage}/content/{volume}", storage::content::copy),
    ("PUT /nodes/{node}/storage/{storage}/content/{volume}", storage::content::update),
    ("GET /nodes/{node}/storage/{storage}/identity", storage::node::identity),
    ("DELETE /nodes/{node}/storage/{storage}/prunebackups", storage::prune::remove),
    ("GET /nodes/{node}/storage/{storage}/prunebackups", storage::prune::preview),
    ("GET /nodes/{node}/storage/{storage}/rrd", storage::node::rrd),
    ("GET /nodes/{node}/storage/{storage}/rrddata", storage::node::rrddata),
    ("GET /nodes/{node}/storage/{storage}/status", storage::node::status),
    ("POST /nodes/{node}/storage/{storage}/upload", storage::upload::upload),
    ("GET /nodes/{node}/tasks", tasks::list),
    ("DELETE /nodes/{node}/tasks/{upid}", tasks::stop),
    ("GET /nodes/{node}/tasks/{upid}", tasks::index),
    ("GET /nodes/{node}/tasks/{upid}/log", tasks::log),
    ("GET /nodes/{node}/tasks/{upid}/status", tasks::status),
    ("GET /nodes/{node}/version", version::get),
    ("GET /storage", storage::config::list),
    ("POST /storage", storage::config::create),
    ("DELETE /storage/{storage}", storage::config::delete),
    ("GET /storage/{storage}", storage::config::show),
    ("PUT /storage/{storage}", storage::config::update),
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

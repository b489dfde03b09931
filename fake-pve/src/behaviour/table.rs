//! Which behaviour answers which method: one line each, sorted by path, then verb.

use super::{Behaviour, access, cluster, node, pools, services, tasks, version};

/// The table. Keys are those of the catalogue.
pub(crate) static TABLE: &[(&str, Behaviour)] = &[
    ("GET /access", access::index),
    ("GET /access/acl", access::acl::list),
    ("PUT /access/acl", access::acl::update),
    ("GET /access/domains", access::domains::list),
    ("POST /access/domains", access::domains::create),
    ("DELETE /access/domains/{realm}", access::domains::delete),
    ("GET /access/domains/{realm}", access::domains::show),
    ("PUT /access/domains/{realm}", access::domains::update),
    ("POST /access/domains/{realm}/sync", access::sync::sync),
    ("GET /access/groups", access::groups::list),
    ("POST /access/groups", access::groups::create),
    ("DELETE /access/groups/{groupid}", access::groups::delete),
    ("GET /access/groups/{groupid}", access::groups::show),
    ("PUT /access/groups/{groupid}", access::groups::update),
    ("POST /access/openid/auth-url", access::openid::auth_url),
    ("POST /access/openid/login", access::openid::login),
    ("PUT /access/password", access::password::change),
    ("GET /access/permissions", access::ticket::permissions),
    ("GET /access/roles", access::roles::list),
    ("POST /access/roles", access::roles::create),
    ("DELETE /access/roles/{roleid}", access::roles::delete),
    ("GET /access/roles/{roleid}", access::roles::show),
    ("PUT /access/roles/{roleid}", access::roles::update),
    ("GET /access/tfa", access::tfa::list_all),
    ("GET /access/tfa/{userid}", access::tfa::list),
    ("POST /access/tfa/{userid}", access::tfa::create),
    ("DELETE /access/tfa/{userid}/{id}", access::tfa::delete),
    ("GET /access/tfa/{userid}/{id}", access::tfa::show),
    ("PUT /access/tfa/{userid}/{id}", access::tfa::update),
    ("GET /access/ticket", access::ticket::no_ticket),
    ("POST /access/ticket", access::ticket::ticket),
    ("GET /access/users", access::users::list),
    ("POST /access/users", access::users::create),
    ("DELETE /access/users/{userid}", access::users::delete),
    ("GET /access/users/{userid}", access::users::show),
    ("PUT /access/users/{userid}", access::users::update),
    ("GET /access/users/{userid}/tfa", access::tfa::types),
    ("GET /access/users/{userid}/token", access::tokens::list),
    ("DELETE /access/users/{userid}/token/{tokenid}", access::tokens::delete),
    ("GET /access/users/{userid}/token/{tokenid}", access::tokens::show),
    ("POST /access/users/{userid}/token/{tokenid}", access::tokens::create),
    ("PUT /access/users/{userid}/token/{tokenid}", access::tokens::update),
    ("PUT /access/users/{userid}/unlock-tfa", access::tfa::unlock),
    ("POST /access/vncticket", access::ticket::vncticket),
use super::{Behaviour, access, cluster, firewall, node, services, tasks, version};

/// The table. Keys are those of the catalogue.
pub(crate) static TABLE: &[(&str, Behaviour)] = &[
    ("GET /access/permissions", access::permissions),
    ("GET /access/ticket", access::no_ticket),
    ("POST /access/ticket", access::ticket),
    ("GET /cluster/firewall/aliases", firewall::aliases::list),
    ("POST /cluster/firewall/aliases", firewall::aliases::create),
    ("DELETE /cluster/firewall/aliases/{name}", firewall::aliases::delete),
    ("GET /cluster/firewall/aliases/{name}", firewall::aliases::get),
    ("PUT /cluster/firewall/aliases/{name}", firewall::aliases::update),
    ("GET /cluster/firewall/groups", firewall::groups::list),
    ("POST /cluster/firewall/groups", firewall::groups::create),
    ("DELETE /cluster/firewall/groups/{group}", firewall::groups::delete),
    ("GET /cluster/firewall/groups/{group}", firewall::rules::list),
    ("POST /cluster/firewall/groups/{group}", firewall::rules::create),
    ("DELETE /cluster/firewall/groups/{group}/{pos}", firewall::rules::delete),
    ("GET /cluster/firewall/groups/{group}/{pos}", firewall::rules::get),
    ("PUT /cluster/firewall/groups/{group}/{pos}", firewall::rules::update),
    ("GET /cluster/firewall/ipset", firewall::ipset::list),
    ("POST /cluster/firewall/ipset", firewall::ipset::create),
    ("DELETE /cluster/firewall/ipset/{name}", firewall::ipset::delete),
    ("GET /cluster/firewall/ipset/{name}", firewall::ipset::entries),
    ("POST /cluster/firewall/ipset/{name}", firewall::ipset::add),
    ("DELETE /cluster/firewall/ipset/{name}/{cidr}", firewall::ipset::remove),
    ("GET /cluster/firewall/ipset/{name}/{cidr}", firewall::ipset::get),
    ("PUT /cluster/firewall/ipset/{name}/{cidr}", firewall::ipset::update),
    ("GET /cluster/firewall/macros", firewall::refs::macros),
    ("GET /cluster/firewall/options", firewall::options::get),
    ("PUT /cluster/firewall/options", firewall::options::put),
    ("GET /cluster/firewall/refs", firewall::refs::list),
    ("GET /cluster/firewall/rules", firewall::rules::list),
    ("POST /cluster/firewall/rules", firewall::rules::create),
    ("DELETE /cluster/firewall/rules/{pos}", firewall::rules::delete),
    ("GET /cluster/firewall/rules/{pos}", firewall::rules::get),
    ("PUT /cluster/firewall/rules/{pos}", firewall::rules::update),
    ("GET /cluster/nextid", cluster::nextid),
    ("GET /cluster/resources", cluster::resources),
    ("GET /cluster/sdn/vnets/{vnet}/firewall/options", firewall::options::get),
    ("PUT /cluster/sdn/vnets/{vnet}/firewall/options", firewall::options::put),
    ("GET /cluster/sdn/vnets/{vnet}/firewall/rules", firewall::rules::list),
    ("POST /cluster/sdn/vnets/{vnet}/firewall/rules", firewall::rules::create),
    ("DELETE /cluster/sdn/vnets/{vnet}/firewall/rules/{pos}", firewall::rules::delete),
    ("GET /cluster/sdn/vnets/{vnet}/firewall/rules/{pos}", firewall::rules::get),
    ("PUT /cluster/sdn/vnets/{vnet}/firewall/rules/{pos}", firewall::rules::update),
    ("GET /cluster/status", cluster::status),
    ("GET /cluster/tasks", tasks::of_cluster),
    ("GET /nodes", node::list),
    ("GET /nodes/{node}/firewall/log", firewall::refs::log_of_node),
    ("GET /nodes/{node}/firewall/options", firewall::options::get),
    ("PUT /nodes/{node}/firewall/options", firewall::options::put),
    ("GET /nodes/{node}/firewall/rules", firewall::rules::list),
    ("POST /nodes/{node}/firewall/rules", firewall::rules::create),
    ("DELETE /nodes/{node}/firewall/rules/{pos}", firewall::rules::delete),
    ("GET /nodes/{node}/firewall/rules/{pos}", firewall::rules::get),
    ("PUT /nodes/{node}/firewall/rules/{pos}", firewall::rules::update),
    ("GET /nodes/{node}/lxc/{vmid}/firewall/aliases", firewall::aliases::list),
    ("POST /nodes/{node}/lxc/{vmid}/firewall/aliases", firewall::aliases::create),
    ("DELETE /nodes/{node}/lxc/{vmid}/firewall/aliases/{name}", firewall::aliases::delete),
    ("GET /nodes/{node}/lxc/{vmid}/firewall/aliases/{name}", firewall::aliases::get),
    ("PUT /nodes/{node}/lxc/{vmid}/firewall/aliases/{name}", firewall::aliases::update),
    ("GET /nodes/{node}/lxc/{vmid}/firewall/ipset", firewall::ipset::list),
    ("POST /nodes/{node}/lxc/{vmid}/firewall/ipset", firewall::ipset::create),
    ("DELETE /nodes/{node}/lxc/{vmid}/firewall/ipset/{name}", firewall::ipset::delete),
    ("GET /nodes/{node}/lxc/{vmid}/firewall/ipset/{name}", firewall::ipset::entries),
    ("POST /nodes/{node}/lxc/{vmid}/firewall/ipset/{name}", firewall::ipset::add),
    ("DELETE /nodes/{node}/lxc/{vmid}/firewall/ipset/{name}/{cidr}", firewall::ipset::remove),
    ("GET /nodes/{node}/lxc/{vmid}/firewall/ipset/{name}/{cidr}", firewall::ipset::get),
    ("PUT /nodes/{node}/lxc/{vmid}/firewall/ipset/{name}/{cidr}", firewall::ipset::update),
    ("GET /nodes/{node}/lxc/{vmid}/firewall/log", firewall::refs::log_of_guest),
    ("GET /nodes/{node}/lxc/{vmid}/firewall/options", firewall::options::get),
    ("PUT /nodes/{node}/lxc/{vmid}/firewall/options", firewall::options::put),
    ("GET /nodes/{node}/lxc/{vmid}/firewall/refs", firewall::refs::list),
    ("GET /nodes/{node}/lxc/{vmid}/firewall/rules", firewall::rules::list),
    ("POST /nodes/{node}/lxc/{vmid}/firewall/rules", firewall::rules::create),
    ("DELETE /nodes/{node}/lxc/{vmid}/firewall/rules/{pos}", firewall::rules::delete),
    ("GET /nodes/{node}/lxc/{vmid}/firewall/rules/{pos}", firewall::rules::get),
    ("PUT /nodes/{node}/lxc/{vmid}/firewall/rules/{pos}", firewall::rules::update),
    ("GET /nodes/{node}/qemu/{vmid}/firewall/aliases", firewall::aliases::list),
    ("POST /nodes/{node}/qemu/{vmid}/firewall/aliases", firewall::aliases::create),
    ("DELETE /nodes/{node}/qemu/{vmid}/firewall/aliases/{name}", firewall::aliases::delete),
    ("GET /nodes/{node}/qemu/{vmid}/firewall/aliases/{name}", firewall::aliases::get),
    ("PUT /nodes/{node}/qemu/{vmid}/firewall/aliases/{name}", firewall::aliases::update),
    ("GET /nodes/{node}/qemu/{vmid}/firewall/ipset", firewall::ipset::list),
    ("POST /nodes/{node}/qemu/{vmid}/firewall/ipset", firewall::ipset::create),
    ("DELETE /nodes/{node}/qemu/{vmid}/firewall/ipset/{name}", firewall::ipset::delete),
    ("GET /nodes/{node}/qemu/{vmid}/firewall/ipset/{name}", firewall::ipset::entries),
    ("POST /nodes/{node}/qemu/{vmid}/firewall/ipset/{name}", firewall::ipset::add),
    ("DELETE /nodes/{node}/qemu/{vmid}/firewall/ipset/{name}/{cidr}", firewall::ipset::remove),
    ("GET /nodes/{node}/qemu/{vmid}/firewall/ipset/{name}/{cidr}", firewall::ipset::get),
    ("PUT /nodes/{node}/qemu/{vmid}/firewall/ipset/{name}/{cidr}", firewall::ipset::update),
    ("GET /nodes/{node}/qemu/{vmid}/firewall/log", firewall::refs::log_of_guest),
    ("GET /nodes/{node}/qemu/{vmid}/firewall/options", firewall::options::get),
    ("PUT /nodes/{node}/qemu/{vmid}/firewall/options", firewall::options::put),
    ("GET /nodes/{node}/qemu/{vmid}/firewall/refs", firewall::refs::list),
    ("GET /nodes/{node}/qemu/{vmid}/firewall/rules", firewall::rules::list),
    ("POST /nodes/{node}/qemu/{vmid}/firewall/rules", firewall::rules::create),
    ("DELETE /nodes/{node}/qemu/{vmid}/firewall/rules/{pos}", firewall::rules::delete),
    ("GET /nodes/{node}/qemu/{vmid}/firewall/rules/{pos}", firewall::rules::get),
    ("PUT /nodes/{node}/qemu/{vmid}/firewall/rules/{pos}", firewall::rules::update),
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
    ("DELETE /pools", pools::delete),
    ("GET /pools", pools::list),
    ("POST /pools", pools::create),
    ("PUT /pools", pools::update),
    ("DELETE /pools/{poolid}", pools::delete),
    ("GET /pools/{poolid}", pools::show),
    ("PUT /pools/{poolid}", pools::update),
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

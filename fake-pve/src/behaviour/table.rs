//! Which behaviour answers which method: one line each, sorted by path, then verb.

use super::{
    Behaviour, access, agent, bulk, cluster, console, interfaces, migrate, monitor, node, rrd, services, snapshot,
    status, tasks, version,
};

/// The table. Keys are those of the catalogue.
pub(crate) static TABLE: &[(&str, Behaviour)] = &[
    ("GET /access/permissions", access::permissions),
    ("GET /access/ticket", access::no_ticket),
    ("POST /access/ticket", access::ticket),
    ("POST /cluster/bulk-action/guest/migrate", bulk::migrate),
    ("POST /cluster/bulk-action/guest/shutdown", bulk::shutdown),
    ("POST /cluster/bulk-action/guest/start", bulk::start),
    ("POST /cluster/bulk-action/guest/suspend", bulk::suspend),
    ("GET /cluster/nextid", cluster::nextid),
    ("GET /cluster/resources", cluster::resources),
    ("GET /cluster/status", cluster::status),
    ("GET /cluster/tasks", tasks::of_cluster),
    ("GET /nodes", node::list),
    ("GET /nodes/{node}/lxc/{vmid}/feature", snapshot::feature),
    ("GET /nodes/{node}/lxc/{vmid}/interfaces", interfaces::list),
    ("GET /nodes/{node}/lxc/{vmid}/migrate", migrate::show),
    ("POST /nodes/{node}/lxc/{vmid}/migrate", migrate::start),
    ("POST /nodes/{node}/lxc/{vmid}/remote_migrate", migrate::remote),
    ("GET /nodes/{node}/lxc/{vmid}/rrd", rrd::picture),
    ("GET /nodes/{node}/lxc/{vmid}/rrddata", rrd::data),
    ("GET /nodes/{node}/lxc/{vmid}/snapshot", snapshot::list),
    ("POST /nodes/{node}/lxc/{vmid}/snapshot", snapshot::create),
    ("DELETE /nodes/{node}/lxc/{vmid}/snapshot/{snapname}", snapshot::delete),
    ("GET /nodes/{node}/lxc/{vmid}/snapshot/{snapname}", snapshot::index),
    ("GET /nodes/{node}/lxc/{vmid}/snapshot/{snapname}/config", snapshot::config),
    ("PUT /nodes/{node}/lxc/{vmid}/snapshot/{snapname}/config", snapshot::set_config),
    ("POST /nodes/{node}/lxc/{vmid}/snapshot/{snapname}/rollback", snapshot::rollback),
    ("POST /nodes/{node}/lxc/{vmid}/spiceproxy", console::spice),
    ("GET /nodes/{node}/lxc/{vmid}/status", status::index),
    ("GET /nodes/{node}/lxc/{vmid}/status/current", status::current),
    ("POST /nodes/{node}/lxc/{vmid}/status/reboot", status::reboot),
    ("POST /nodes/{node}/lxc/{vmid}/status/resume", status::resume),
    ("POST /nodes/{node}/lxc/{vmid}/status/shutdown", status::shut_down),
    ("POST /nodes/{node}/lxc/{vmid}/status/start", status::switch_on),
    ("POST /nodes/{node}/lxc/{vmid}/status/stop", status::switch_off),
    ("POST /nodes/{node}/lxc/{vmid}/status/suspend", status::suspend),
    ("POST /nodes/{node}/lxc/{vmid}/termproxy", console::terminal),
    ("POST /nodes/{node}/lxc/{vmid}/vncproxy", console::vnc),
    ("GET /nodes/{node}/lxc/{vmid}/vncwebsocket", console::websocket),
    ("POST /nodes/{node}/migrateall", bulk::migrate_all),
    ("POST /nodes/{node}/qemu/{vmid}/agent", agent::by_name),
    ("POST /nodes/{node}/qemu/{vmid}/agent/exec", agent::exec),
    ("GET /nodes/{node}/qemu/{vmid}/agent/exec-status", agent::exec_status),
    ("GET /nodes/{node}/qemu/{vmid}/agent/file-read", agent::file_read),
    ("POST /nodes/{node}/qemu/{vmid}/agent/file-write", agent::file_write),
    ("POST /nodes/{node}/qemu/{vmid}/agent/fsfreeze-freeze", agent::plain),
    ("POST /nodes/{node}/qemu/{vmid}/agent/fsfreeze-status", agent::plain),
    ("POST /nodes/{node}/qemu/{vmid}/agent/fsfreeze-thaw", agent::plain),
    ("POST /nodes/{node}/qemu/{vmid}/agent/fstrim", agent::plain),
    ("GET /nodes/{node}/qemu/{vmid}/agent/get-fsinfo", agent::plain),
    ("GET /nodes/{node}/qemu/{vmid}/agent/get-host-name", agent::plain),
    ("GET /nodes/{node}/qemu/{vmid}/agent/get-memory-block-info", agent::plain),
    ("GET /nodes/{node}/qemu/{vmid}/agent/get-memory-blocks", agent::plain),
    ("GET /nodes/{node}/qemu/{vmid}/agent/get-osinfo", agent::plain),
    ("GET /nodes/{node}/qemu/{vmid}/agent/get-time", agent::plain),
    ("GET /nodes/{node}/qemu/{vmid}/agent/get-timezone", agent::plain),
    ("GET /nodes/{node}/qemu/{vmid}/agent/get-users", agent::plain),
    ("GET /nodes/{node}/qemu/{vmid}/agent/get-vcpus", agent::plain),
    ("GET /nodes/{node}/qemu/{vmid}/agent/info", agent::plain),
    ("GET /nodes/{node}/qemu/{vmid}/agent/network-get-interfaces", agent::plain),
    ("POST /nodes/{node}/qemu/{vmid}/agent/ping", agent::plain),
    ("POST /nodes/{node}/qemu/{vmid}/agent/set-user-password", agent::set_password),
    ("POST /nodes/{node}/qemu/{vmid}/agent/shutdown", agent::plain),
    ("POST /nodes/{node}/qemu/{vmid}/agent/suspend-disk", agent::plain),
    ("POST /nodes/{node}/qemu/{vmid}/agent/suspend-hybrid", agent::plain),
    ("POST /nodes/{node}/qemu/{vmid}/agent/suspend-ram", agent::plain),
    ("POST /nodes/{node}/qemu/{vmid}/dbus-vmstate", monitor::dbus_vmstate),
    ("GET /nodes/{node}/qemu/{vmid}/feature", snapshot::feature),
    ("GET /nodes/{node}/qemu/{vmid}/migrate", migrate::show),
    ("POST /nodes/{node}/qemu/{vmid}/migrate", migrate::start),
    ("POST /nodes/{node}/qemu/{vmid}/monitor", monitor::monitor),
    ("POST /nodes/{node}/qemu/{vmid}/remote_migrate", migrate::remote),
    ("GET /nodes/{node}/qemu/{vmid}/rrd", rrd::picture),
    ("GET /nodes/{node}/qemu/{vmid}/rrddata", rrd::data),
    ("PUT /nodes/{node}/qemu/{vmid}/sendkey", monitor::sendkey),
    ("GET /nodes/{node}/qemu/{vmid}/snapshot", snapshot::list),
    ("POST /nodes/{node}/qemu/{vmid}/snapshot", snapshot::create),
    ("DELETE /nodes/{node}/qemu/{vmid}/snapshot/{snapname}", snapshot::delete),
    ("GET /nodes/{node}/qemu/{vmid}/snapshot/{snapname}", snapshot::index),
    ("GET /nodes/{node}/qemu/{vmid}/snapshot/{snapname}/config", snapshot::config),
    ("PUT /nodes/{node}/qemu/{vmid}/snapshot/{snapname}/config", snapshot::set_config),
    ("POST /nodes/{node}/qemu/{vmid}/snapshot/{snapname}/rollback", snapshot::rollback),
    ("POST /nodes/{node}/qemu/{vmid}/spiceproxy", console::spice),
    ("GET /nodes/{node}/qemu/{vmid}/status", status::index),
    ("GET /nodes/{node}/qemu/{vmid}/status/current", status::current),
    ("POST /nodes/{node}/qemu/{vmid}/status/reboot", status::reboot),
    ("POST /nodes/{node}/qemu/{vmid}/status/reset", status::reset),
    ("POST /nodes/{node}/qemu/{vmid}/status/resume", status::resume),
    ("POST /nodes/{node}/qemu/{vmid}/status/shutdown", status::shut_down),
    ("POST /nodes/{node}/qemu/{vmid}/status/start", status::switch_on),
    ("POST /nodes/{node}/qemu/{vmid}/status/stop", status::switch_off),
    ("POST /nodes/{node}/qemu/{vmid}/status/suspend", status::suspend),
    ("POST /nodes/{node}/qemu/{vmid}/termproxy", console::terminal),
    ("POST /nodes/{node}/qemu/{vmid}/vncproxy", console::vnc),
    ("GET /nodes/{node}/qemu/{vmid}/vncwebsocket", console::websocket),
    ("GET /nodes/{node}/rrd", rrd::picture),
    ("GET /nodes/{node}/rrddata", rrd::data),
    ("GET /nodes/{node}/services", services::list),
    ("POST /nodes/{node}/services/{service}/reload", services::reload),
    ("POST /nodes/{node}/services/{service}/restart", services::restart),
    ("POST /nodes/{node}/services/{service}/start", services::start),
    ("GET /nodes/{node}/services/{service}/state", services::state),
    ("POST /nodes/{node}/services/{service}/stop", services::stop),
    ("POST /nodes/{node}/startall", bulk::start_all),
    ("GET /nodes/{node}/status", node::status),
    ("POST /nodes/{node}/stopall", bulk::stop_all),
    ("GET /nodes/{node}/storage/{storage}/rrd", rrd::picture),
    ("GET /nodes/{node}/storage/{storage}/rrddata", rrd::data),
    ("POST /nodes/{node}/suspendall", bulk::suspend_all),
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

//! Starting and stopping the services of Ceph on a node, and restarting many one after the other.

use std::time::Duration;

use serde_json::json;

use super::{inited, ready};
use crate::behaviour::{Answer, Call};
use crate::world::ceph::Ceph;

/// `POST …/start`.
pub(crate) fn start(call: &mut Call<'_>) -> Answer {
    command(call, "srvstart", Some(true))
}

/// `POST …/stop`.
pub(crate) fn stop(call: &mut Call<'_>) -> Answer {
    command(call, "srvstop", Some(false))
}

/// `POST …/restart`.
pub(crate) fn restart(call: &mut Call<'_>) -> Answer {
    command(call, "srvrestart", Some(true))
}

fn command(call: &mut Call<'_>, worker: &str, running: Option<bool>) -> Answer {
    inited(call)?;
    let service = call.params.get("service").unwrap_or_else(|| "ceph.target".into());
    let task = call.task(worker, &service).lasts(Duration::from_secs(2)).finish(move |run| {
        if let Some(running) = running {
            set(&mut run.world.ceph, run.node, &service, running);
        }
        Ok(())
    });
    call.start(task)
}

/// `ceph`, `ceph.target`, `osd`, `osd.0`, `mon.pve1`: those of the node.
fn set(ceph: &mut Ceph, node: &str, service: &str, running: bool) {
    let (kind, id) = service.split_once('.').unwrap_or((service, ""));
    let all = kind == "ceph";
    let fits = |word: &str, name: &str| all || (kind == word && (id.is_empty() || id == "target" || id == name));
    for (name, daemon) in ceph.mons.iter_mut().filter(|(_, daemon)| daemon.node == node) {
        if fits("mon", name) {
            daemon.running = running;
        }
    }
    for (name, daemon) in ceph.mgrs.iter_mut().filter(|(_, daemon)| daemon.node == node) {
        if fits("mgr", name) {
            daemon.running = running;
        }
    }
    for (name, daemon) in ceph.mds.iter_mut().filter(|(_, daemon)| daemon.node == node) {
        if fits("mds", name) {
            daemon.running = running;
        }
    }
    for (number, osd) in ceph.osds.iter_mut().filter(|(_, osd)| osd.node == node) {
        if fits("osd", &number.to_string()) {
            osd.up = running;
        }
    }
}

/// `POST …/restart-bulk` of a node and of the cluster: all of a kind, one after the other; a dry run only tells.
pub(crate) fn restart_bulk(call: &mut Call<'_>) -> Answer {
    ready(call)?;
    let (kind, dry) = (call.params.text("service-type"), call.params.is_on("dry-run"));
    let of_node = call.method.path.starts_with("/nodes").then(|| call.node());
    let here = |node: &str| of_node.as_ref().is_none_or(|wanted| wanted == node);
    let ceph = &call.world.ceph;
    let names: Vec<String> = match kind.as_str() {
        "mon" => ceph.mons.iter().filter(|(_, mon)| here(&mon.node)).map(|(id, _)| id.clone()).collect(),
        "mgr" => ceph.mgrs.iter().filter(|(_, mgr)| here(&mgr.node)).map(|(id, _)| id.clone()).collect(),
        "mds" => ceph.mds.iter().filter(|(_, mds)| here(&mds.node)).map(|(id, _)| id.clone()).collect(),
        _ => ceph.osds.iter().filter(|(_, osd)| here(&osd.node)).map(|(id, _)| id.to_string()).collect(),
    };
    let word = if dry { "would restart" } else { "restarting" };
    let mut task = call.task("cephrestartbulk", &kind);
    let mut seconds = 1;
    for name in names {
        task = task.line_after(Duration::from_secs(seconds), format!("{word} {kind}.{name}"));
        seconds += if dry { 0 } else { 5 };
    }
    let task = task.lasts(Duration::from_secs(seconds + 1)).finish(move |run| {
        let now = json!(run.now);
        if !dry && let Some(node) = run.world.nodes.get_mut(run.node) {
            node.state.insert(format!("ceph-restarted-{kind}"), now);
        }
        Ok(())
    });
    call.start(task)
}

//! `/nodes/{node}/ceph`: what a node does with Ceph. Without packages, and before `init`, every call is refused.

pub(crate) mod cluster;
pub(crate) mod config;
pub(crate) mod daemons;
pub(crate) mod fs;
pub(crate) mod osd;
pub(crate) mod pools;
pub(crate) mod services;

use std::time::Duration;

use serde_json::{Value, json};

use super::{Answer, Call, Data, Failure};
use crate::world::World;
use crate::world::ceph::CephConfig;

/// The version that is installed.
const VERSION: &str = "20.2.0";
const VERSION_TEXT: &str = "ceph version 20.2.0 (69f84cc2651aa259a15bc192ddaabd3baba07489) tentacle (stable)";

/// How long work on daemons and pools takes.
const WORK: Duration = Duration::from_secs(4);

/// Release, version, whether it can be installed, whether it is the usual choice.
const RELEASES: [(&str, &str, i32, i32); 6] = [
    ("octopus", "15.2", 0, 0),
    ("pacific", "16.2", 0, 0),
    ("quincy", "17.2", 0, 0),
    ("reef", "18.2", 0, 0),
    ("squid", "19.2", 1, 0),
    ("tentacle", "20.2", 1, 1),
];

/// `GET …/releases`.
pub(crate) fn releases(_call: &mut Call<'_>) -> Answer {
    let items = RELEASES.iter().map(|(release, version, available, default)| {
        json!({"release": release, "version": version, "available": available, "is-default": default, "unsupported": 0})
    });
    Ok(Data::from(items.collect::<Vec<_>>()))
}

/// `POST …/init`.
pub(crate) fn init(call: &mut Call<'_>) -> Answer {
    let node = call.node();
    if !call.world.ceph.installed.contains(&node) {
        return Err(Failure::die("Ceph Nautilus required - please run 'pveceph install'"));
    }
    let number = |name: &str, default: u32| {
        call.params.int(name).and_then(|number| u32::try_from(number).ok()).unwrap_or(default)
    };
    let (size, min_size) = (number("size", 3), number("min_size", 2));
    let network = call.params.get("network").unwrap_or_else(|| "192.0.2.0/24".into());
    let cluster_network = call.params.get("cluster-network").unwrap_or_else(|| network.clone());
    let cephx = !call.params.is_on("disable_cephx");
    let fsid = call.world.random.uuid();
    let config = CephConfig { fsid, network, cluster_network, size, min_size, cephx };
    // A second call changes nothing that is there already.
    call.world.ceph.config.get_or_insert(config);
    Ok(Data::null())
}

/// `GET …/status`.
pub(crate) fn status(call: &mut Call<'_>) -> Answer {
    ready(call)?;
    Ok(state(call.world, call.now()).into())
}

/// `GET …/log`.
pub(crate) fn log(call: &mut Call<'_>) -> Answer {
    inited(call)?;
    let about = |worker: &str| worker.starts_with("ceph");
    let tasks = call.world.tasks.iter().filter(|task| about(&task.worker_type) && task.endtime.is_some());
    let lines: Vec<String> = tasks
        .map(|task| {
            let at = jiff::Timestamp::from_second(task.endtime.unwrap_or_default()).unwrap_or_default();
            format!(
                "{}.000000+0000 mon.{} (mon.0) 1 : cluster [INF] {} {}",
                at.strftime("%Y-%m-%dT%H:%M:%S"),
                task.node,
                task.worker_type,
                task.id
            )
        })
        .collect();
    let number = |name: &str, default: usize| {
        call.params.int(name).and_then(|number| usize::try_from(number).ok()).unwrap_or(default)
    };
    let (start, limit, total) = (number("start", 0), number("limit", 50), lines.len());
    let part = lines.into_iter().enumerate().skip(start).take(limit);
    let part: Vec<Value> = part.map(|(at, text)| json!({"n": at + 1, "t": text})).collect();
    Ok(Data::from(part).with_total(total))
}

/// `GET …/crush`: the map as text.
pub(crate) fn crush(call: &mut Call<'_>) -> Answer {
    ready(call)?;
    let ceph = &call.world.ceph;
    let mut text = String::from("# begin crush map\ntunable choose_total_tries 50\n\n# devices\n");
    for (id, osd) in &ceph.osds {
        text.push_str(&format!("device {id} osd.{id} class {}\n", osd.class));
    }
    text.push_str("\n# buckets\n");
    for (at, host) in osd::hosts(ceph).into_iter().enumerate() {
        text.push_str(&format!("host {host} {{\n\tid -{}\n\talg straw2\n\thash 0\n", at + 2));
        for (id, osd) in ceph.osds.iter().filter(|(_, osd)| osd.node == host) {
            text.push_str(&format!("\titem osd.{id} weight {:.5}\n", osd::weight(osd)));
        }
        text.push_str("}\n");
    }
    text.push_str("\n# rules\nrule replicated_rule {\n\tid 0\n\ttype replicated\n\tstep take default\n");
    text.push_str("\tstep chooseleaf firstn 0 type host\n\tstep emit\n}\n\n# end crush map\n");
    Ok(json!(text).into())
}

/// `GET …/rules`.
pub(crate) fn rules(call: &mut Call<'_>) -> Answer {
    ready(call)?;
    Ok(json!([{"name": "replicated_rule"}]).into())
}

/// `GET …/cmd-safety`: whether the cluster stays whole when a daemon is stopped or destroyed.
pub(crate) fn cmd_safety(call: &mut Call<'_>) -> Answer {
    ready(call)?;
    let (service, id, action) = (call.params.text("service"), call.params.text("id"), call.params.text("action"));
    let ceph = &call.world.ceph;
    let config = ceph.config.clone().unwrap_or_default();
    let (left, least) = match service.as_str() {
        "mon" => {
            (ceph.mons.iter().filter(|(mon, daemon)| **mon != id && daemon.running).count(), ceph.mons.len() / 2 + 1)
        }
        "mds" => {
            (ceph.mds.iter().filter(|(name, daemon)| **name != id && daemon.running).count(), ceph.filesystems.len())
        }
        _ => {
            let left = ceph.osds.iter().filter(|(osd, daemon)| osd.to_string() != id && daemon.up);
            (left.count(), if ceph.pools.is_empty() { 0 } else { config.min_size as usize })
        }
    };
    let safe = left >= least;
    let word = if safe { "can" } else { "cannot" };
    Ok(json!({"safe": i32::from(safe), "status": format!("{service}.{id} {word} be taken ({action}): {left} of {least} needed are left")}).into())
}

/// Packages are there.
fn installed(call: &Call<'_>) -> Result<(), Failure> {
    if call.world.ceph.installed.contains(&call.node()) {
        Ok(())
    } else {
        Err(Failure::die("binary not installed: /usr/bin/ceph-mon"))
    }
}

/// There is a configuration.
fn inited(call: &Call<'_>) -> Result<(), Failure> {
    installed(call)?;
    match &call.world.ceph.config {
        Some(_) => Ok(()),
        None => Err(Failure::die("pveceph configuration not initialized")),
    }
}

/// Monitors answer.
fn ready(call: &Call<'_>) -> Result<(), Failure> {
    inited(call)?;
    if call.world.ceph.answers() {
        Ok(())
    } else {
        Err(Failure::die("rados_connect failed - No such file or directory"))
    }
}

/// The state of the whole, as its monitors tell it.
fn state(world: &World, now: i64) -> Value {
    let ceph = &world.ceph;
    let config = ceph.config.clone().unwrap_or_default();
    let (mut warnings, osds) = (serde_json::Map::new(), ceph.osds.len());
    let mut warn = |code: &str, text: String| {
        let muted = ceph.mutes.contains_key(code);
        warnings.insert(
            code.into(),
            json!({"severity": "HEALTH_WARN", "summary": {"message": text, "count": 1}, "muted": muted}),
        );
    };
    let up = ceph.osds.values().filter(|osd| osd.up).count();
    let inside = ceph.osds.values().filter(|osd| osd.r#in).count();
    if osds < config.size as usize {
        warn("TOO_FEW_OSDS", format!("OSD count {osds} < osd_pool_default_size {}", config.size));
    }
    if up < osds {
        warn("OSD_DOWN", format!("{} osds down", osds - up));
    }
    if !ceph.flags.is_empty() {
        let flags: Vec<&str> = ceph.flags.iter().map(String::as_str).collect();
        warn("OSDMAP_FLAGS", format!("{} flag(s) set", flags.join(",")));
    }
    if ceph.mgrs.values().all(|mgr| !mgr.running) {
        warn("MGR_DOWN", "no active mgr".into());
    }
    let healthy = warnings.values().all(|warning| warning["muted"] == true);
    let mons: Vec<Value> = ceph.mons.iter().enumerate().map(|(rank, (name, mon))| {
        json!({"rank": rank, "name": name, "addr": format!("{}:6789/0", mon.addr), "public_addr": format!("{}:6789/0", mon.addr)})
    }).collect();
    let quorum: Vec<(usize, &String)> = ceph
        .mons
        .iter()
        .enumerate()
        .filter(|(_, (_, mon))| mon.running)
        .map(|(rank, (name, _))| (rank, name))
        .collect();
    let active = ceph.mgrs.iter().find(|(_, mgr)| mgr.running).map(|(id, _)| id.clone()).unwrap_or_default();
    let standbys: Vec<Value> =
        ceph.mgrs.iter().filter(|(id, mgr)| mgr.running && **id != active).map(|(id, _)| json!({"name": id})).collect();
    let used: u64 = ceph.pools.keys().map(|pool| pools::used(world, pool) * u64::from(config.size)).sum();
    let groups: u64 = ceph.pools.values().filter_map(|pool| pool.get("pg_num")?.as_u64()).sum();
    let clean = if up == osds && osds > 0 { "active+clean" } else { "active+undersized+degraded" };
    let by_state = if groups > 0 { json!([{"state_name": clean, "count": groups}]) } else { json!([]) };
    let (total, mutes) = (ceph.total(), ceph.mutes.keys().map(|code| json!({"code": code})).collect::<Vec<_>>());
    json!({
        "fsid": config.fsid,
        "health": {"status": if healthy { "HEALTH_OK" } else { "HEALTH_WARN" }, "checks": warnings, "mutes": mutes},
        "election_epoch": 8, "quorum_age": now % 86_400,
        "quorum": quorum.iter().map(|(rank, _)| rank).collect::<Vec<_>>(),
        "quorum_names": quorum.iter().map(|(_, name)| name).collect::<Vec<_>>(),
        "monmap": {"epoch": ceph.mons.len(), "fsid": config.fsid, "min_mon_release_name": "tentacle", "mons": mons},
        "osdmap": {"epoch": 20, "num_osds": osds, "num_up_osds": up, "num_in_osds": inside, "num_remapped_pgs": 0},
        "pgmap": {
            "pgs_by_state": by_state, "num_pgs": groups, "num_pools": ceph.pools.len(), "num_objects": used >> 22,
            "data_bytes": used, "bytes_used": used, "bytes_avail": total.saturating_sub(used), "bytes_total": total,
        },
        "fsmap": {"epoch": 1, "by_rank": [], "up:standby": ceph.mds.values().filter(|mds| mds.running).count()},
        "mgrmap": {"available": !active.is_empty(), "active_name": active, "num_standbys": standbys.len(), "standbys": standbys},
        "servicemap": {"epoch": 1, "services": {}}, "progress_events": {},
    })
}

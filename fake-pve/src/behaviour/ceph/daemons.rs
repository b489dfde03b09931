//! Monitors, managers and metadata servers.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{VERSION, VERSION_TEXT, WORK, inited, ready};
use crate::behaviour::{Answer, Call, Data, Failure};
use crate::world::ceph::{Ceph, CephDaemon};

/// A kind of daemon.
#[derive(Clone, Copy)]
enum Kind {
    Mon,
    Mgr,
    Mds,
}

impl Kind {
    fn of(self, ceph: &Ceph) -> &BTreeMap<String, CephDaemon> {
        match self {
            Kind::Mon => &ceph.mons,
            Kind::Mgr => &ceph.mgrs,
            Kind::Mds => &ceph.mds,
        }
    }

    fn of_mut(self, ceph: &mut Ceph) -> &mut BTreeMap<String, CephDaemon> {
        match self {
            Kind::Mon => &mut ceph.mons,
            Kind::Mgr => &mut ceph.mgrs,
            Kind::Mds => &mut ceph.mds,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Kind::Mon => "mon",
            Kind::Mgr => "mgr",
            Kind::Mds => "mds",
        }
    }
}

/// `GET …/mon`: also before there is one.
pub(crate) fn mons(call: &mut Call<'_>) -> Answer {
    inited(call)?;
    let items = call.world.ceph.mons.iter().enumerate().map(|(rank, (name, mon))| {
        let mut item = shown(name, mon);
        item["addr"] = json!(format!("{}:6789/0", mon.addr));
        item["rank"] = json!(rank);
        item["quorum"] = json!(i32::from(mon.running));
        item["state"] = json!(if mon.running { "running" } else { "stopped" });
        item
    });
    Ok(Data::from(items.collect::<Vec<_>>()))
}

/// `GET …/mgr`: the first that runs is active.
pub(crate) fn mgrs(call: &mut Call<'_>) -> Answer {
    inited(call)?;
    Ok(Data::from(with_states(&call.world.ceph.mgrs, "active", "standby")))
}

/// `GET …/mds`: as many are active as there are file systems.
pub(crate) fn mds(call: &mut Call<'_>) -> Answer {
    ready(call)?;
    let ceph = &call.world.ceph;
    let mut items = with_states(&ceph.mds, "up:standby", "up:standby");
    let mut running = items.iter_mut().filter(|item| item["state"] == "up:standby");
    for fs in ceph.filesystems.keys() {
        if let Some(item) = running.next() {
            item["state"] = json!("up:active");
            item["fs_name"] = json!(fs);
            item["rank"] = json!(0);
            item["standby_replay"] = json!(0);
        }
    }
    Ok(Data::from(items))
}

/// `POST …/mon/{monid}`.
pub(crate) fn create_mon(call: &mut Call<'_>) -> Answer {
    inited(call)?;
    let id = call.params.get("monid").unwrap_or_else(|| call.node());
    let node = call.node();
    let own = call.world.nodes.get(&node).map(|node| node.ip.clone()).unwrap_or_default();
    let addr = call.params.get("mon-address").unwrap_or(own);
    if call.world.ceph.mons.contains_key(&id) {
        return Err(Failure::die(format!("monitor '{id}' already exists")));
    }
    if call.world.ceph.mons.values().any(|mon| mon.addr == addr) {
        return Err(Failure::die(format!("monitor address '{addr}' already in use")));
    }
    create(call, Kind::Mon, &id, addr)
}

/// `POST …/mgr/{id}`.
pub(crate) fn create_mgr(call: &mut Call<'_>) -> Answer {
    ready(call)?;
    let id = call.params.get("id").unwrap_or_else(|| call.node());
    let path = format!("/var/lib/ceph/mgr/ceph-{id}");
    if call.world.ceph.mgrs.contains_key(&id) {
        return Err(Failure::die(format!("ceph manager directory '{path}' already exists")));
    }
    create(call, Kind::Mgr, &id, String::new())
}

/// `POST …/mds/{name}`.
pub(crate) fn create_mds(call: &mut Call<'_>) -> Answer {
    ready(call)?;
    let name = call.params.get("name").unwrap_or_else(|| call.node());
    if call.world.ceph.mds.contains_key(&name) {
        return Err(Failure::die(format!("ceph MDS with name '{name}' already exists")));
    }
    create(call, Kind::Mds, &name, String::new())
}

fn create(call: &mut Call<'_>, kind: Kind, id: &str, addr: String) -> Answer {
    let node = call.node();
    let own = call.world.nodes.get(&node).map(|node| node.ip.clone()).unwrap_or_default();
    let addr = if addr.is_empty() { own } else { addr };
    let word = kind.word();
    let label = format!("{word}.{id}");
    let id = id.to_string();
    let task = call.task(&format!("cephcreate{word}"), &label).lasts(WORK).finish(move |run| {
        let daemon = CephDaemon { node: run.node.to_string(), addr, running: true };
        // The first monitor brings a manager with it.
        if matches!(kind, Kind::Mon) && run.world.ceph.mgrs.is_empty() {
            run.world.ceph.mgrs.insert(run.node.to_string(), daemon.clone());
            run.log(format!("creating manager directory '/var/lib/ceph/mgr/ceph-{}'", run.node));
        }
        kind.of_mut(&mut run.world.ceph).insert(id.clone(), daemon);
        run.log(format!("Created symlink '/etc/systemd/system/ceph-{word}.target.wants/ceph-{word}@{id}.service'"));
        Ok(())
    });
    call.start(task)
}

/// `DELETE …/mon/{monid}`.
pub(crate) fn destroy_mon(call: &mut Call<'_>) -> Answer {
    inited(call)?;
    let id = call.params.text("monid");
    if !call.world.ceph.mons.contains_key(&id) {
        return Err(Failure::die(format!("no such monitor id '{id}'")));
    }
    if call.world.ceph.mons.len() <= 1 {
        return Err(Failure::die("can't remove last monitor"));
    }
    destroy(call, Kind::Mon, id)
}

/// `DELETE …/mgr/{id}`.
pub(crate) fn destroy_mgr(call: &mut Call<'_>) -> Answer {
    inited(call)?;
    let id = call.params.text("id");
    if !call.world.ceph.mgrs.contains_key(&id) {
        return Err(Failure::die(format!("ceph manager directory '/var/lib/ceph/mgr/ceph-{id}' not found")));
    }
    destroy(call, Kind::Mgr, id)
}

/// `DELETE …/mds/{name}`.
pub(crate) fn destroy_mds(call: &mut Call<'_>) -> Answer {
    inited(call)?;
    let name = call.params.text("name");
    if !call.world.ceph.mds.contains_key(&name) {
        return Err(Failure::die(format!("no such MDS '{name}'")));
    }
    destroy(call, Kind::Mds, name)
}

fn destroy(call: &mut Call<'_>, kind: Kind, id: String) -> Answer {
    let word = kind.word();
    let task = call.task(&format!("cephdestroy{word}"), &format!("{word}.{id}")).lasts(WORK).finish(move |run| {
        if matches!(kind, Kind::Mon) && kind.of(&run.world.ceph).len() <= 1 {
            return Err("can't remove last monitor".into());
        }
        kind.of_mut(&mut run.world.ceph).remove(&id);
        run.log(format!("Removed '/etc/systemd/system/ceph-{word}.target.wants/ceph-{word}@{id}.service'."));
        Ok(())
    });
    call.start(task)
}

fn shown(name: &str, daemon: &CephDaemon) -> Value {
    json!({
        "name": name, "host": daemon.node, "addr": daemon.addr, "ceph_version": VERSION_TEXT, "ceph_version_short": VERSION,
        "direxists": 1, "service": 1,
    })
}

fn with_states(daemons: &BTreeMap<String, CephDaemon>, first: &str, others: &str) -> Vec<Value> {
    let mut seen = false;
    let items = daemons.iter().map(|(name, daemon)| {
        let mut item = shown(name, daemon);
        let state = match (daemon.running, seen) {
            (false, _) => "stopped",
            (true, false) => first,
            (true, true) => others,
        };
        seen |= daemon.running;
        item["state"] = json!(state);
        item
    });
    items.collect()
}

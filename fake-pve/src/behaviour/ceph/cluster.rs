//! `/cluster/ceph`: flags, health and the daemons of the whole cluster.

use serde_json::{Map, Value, json};

use super::{VERSION, VERSION_TEXT, ready, state};
use crate::behaviour::{Answer, Call, Data};
use crate::world::ceph::CephDaemon;

/// Flags, with what they stop.
const FLAGS: [(&str, &str); 11] = [
    ("nobackfill", "no placement group is filled up again"),
    ("nodeep-scrub", "no deep scrub"),
    ("nodown", "nobody is marked down"),
    ("noin", "nobody comes back in by itself"),
    ("noout", "nobody is taken out after a while"),
    ("norebalance", "no data is moved for balance"),
    ("norecover", "no recovery"),
    ("noscrub", "no scrub"),
    ("notieragent", "no cache tiering"),
    ("noup", "nobody may start"),
    ("pause", "no reads and writes"),
];

/// `GET …/flags`.
pub(crate) fn flags(call: &mut Call<'_>) -> Answer {
    ready(call)?;
    let items = FLAGS.iter().map(
        |(name, description)| json!({"name": name, "description": description, "value": i32::from(is_set(call, name))}),
    );
    Ok(Data::from(items.collect::<Vec<_>>()))
}

/// `PUT …/flags`: a task.
pub(crate) fn set_flags(call: &mut Call<'_>) -> Answer {
    ready(call)?;
    let changes: Vec<(String, bool)> = FLAGS
        .iter()
        .filter_map(|(name, _)| Some((name.to_string(), call.params.flag(name)?)))
        .filter(|(name, on)| is_set(call, name) != *on)
        .collect();
    let mut task = call.task("cephsetflags", "");
    for (name, on) in &changes {
        task = task.line(format!("{} flag '{name}'", if *on { "setting" } else { "unsetting" }));
    }
    let task = task.finish(move |run| {
        for (name, on) in changes {
            set(&mut run.world.ceph.flags, &name, on);
        }
        Ok(())
    });
    call.start(task)
}

/// `GET …/flags/{flag}`.
pub(crate) fn flag(call: &mut Call<'_>) -> Answer {
    ready(call)?;
    Ok(json!(i32::from(is_set(call, &call.params.text("flag")))).into())
}

/// `PUT …/flags/{flag}`.
pub(crate) fn set_flag(call: &mut Call<'_>) -> Answer {
    ready(call)?;
    let (flag, on) = (call.params.text("flag"), call.params.is_on("value"));
    set(&mut call.world.ceph.flags, &flag, on);
    Ok(Data::null())
}

fn set(flags: &mut std::collections::BTreeSet<String>, name: &str, on: bool) {
    if on {
        flags.insert(name.into());
    } else {
        flags.remove(name);
    }
}

/// Pausing is kept as two flags by Ceph; it is one here.
fn is_set(call: &Call<'_>, name: &str) -> bool {
    call.world.ceph.flags.contains(name)
}

/// `GET …/status`.
pub(crate) fn status(call: &mut Call<'_>) -> Answer {
    ready(call)?;
    Ok(state(call.world, call.now()).into())
}

/// `GET …/health-mute`.
pub(crate) fn mutes(call: &mut Call<'_>) -> Answer {
    ready(call)?;
    let items = call.world.ceph.mutes.iter().map(|(code, (sticky, ttl))| {
        let mut item = json!({"code": code, "sticky": i32::from(*sticky)});
        if let Some(ttl) = ttl {
            item["ttl"] = json!(ttl);
        }
        item
    });
    Ok(Data::from(items.collect::<Vec<_>>()))
}

/// `PUT …/health-mute/{code}`.
pub(crate) fn mute(call: &mut Call<'_>) -> Answer {
    ready(call)?;
    let code = call.params.text("code");
    if call.params.is_on("value") {
        let mute = (call.params.is_on("sticky"), call.params.get("ttl"));
        call.world.ceph.mutes.insert(code, mute);
    } else {
        call.world.ceph.mutes.remove(&code);
    }
    Ok(Data::null())
}

/// `GET …/metadata`: versions alone can be told without Ceph.
pub(crate) fn metadata(call: &mut Call<'_>) -> Answer {
    let ceph = &call.world.ceph;
    let nodes: Map<String, Value> = ceph.installed.iter().map(|node| {
        let parts: Vec<&str> = VERSION.split('.').collect();
        (node.clone(), json!({"buildcommit": "69f84cc2651aa259a15bc192ddaabd3baba07489", "version": {"str": VERSION, "parts": parts}}))
    }).collect();
    if call.params.get("scope").as_deref() == Some("versions") && ceph.installed.is_empty() {
        return Ok(json!({"node": nodes}).into());
    }
    ready(call)?;
    let daemons = |daemons: &std::collections::BTreeMap<String, CephDaemon>| -> Value {
        let shown = daemons.iter().map(|(name, daemon)| {
            let facts = json!({
                "name": name, "hostname": daemon.node, "addr": daemon.addr, "ceph_version": VERSION_TEXT,
                "ceph_version_short": VERSION, "ceph_release": "tentacle", "direxists": 1, "service": 1,
            });
            (format!("{name}@{}", daemon.node), facts)
        });
        Value::Object(shown.collect())
    };
    let osds: Vec<Value> = ceph.osds.iter().map(|(id, osd)| {
        json!({
            "id": id, "hostname": osd.node, "ceph_version": VERSION_TEXT, "ceph_version_short": VERSION,
            "ceph_release": "tentacle", "osd_data": format!("/var/lib/ceph/osd/ceph-{id}"), "osd_objectstore": "bluestore",
            "devices": osd.device.trim_start_matches("/dev/"), "back_addr": "", "front_addr": "", "mem_swap_kb": 0,
            "mem_total_kb": call.world.nodes.get(&osd.node).map_or(0, |node| node.memory >> 10),
        })
    }).collect();
    Ok(json!({
        "mon": daemons(&ceph.mons), "mgr": daemons(&ceph.mgrs), "mds": daemons(&ceph.mds), "osd": osds, "node": nodes,
    })
    .into())
}

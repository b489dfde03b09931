//! Object storage daemons, each on a disk of its own.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{VERSION, VERSION_TEXT, WORK, ready};
use crate::behaviour::params::word;
use crate::behaviour::{Answer, Call, Data, Failure, disks};
use crate::world::ceph::{Ceph, CephOsd};

/// Nodes with disks.
pub(super) fn hosts(ceph: &Ceph) -> BTreeSet<String> {
    ceph.osds.values().map(|osd| osd.node.clone()).collect()
}

/// Weight of a disk: its size in tebibytes.
pub(super) fn weight(osd: &CephOsd) -> f64 {
    osd.size as f64 / (1_u64 << 40) as f64
}

/// `GET …/osd`: the tree of nodes and disks.
pub(crate) fn tree(call: &mut Call<'_>) -> Answer {
    ready(call)?;
    let ceph = &call.world.ceph;
    let hosts = hosts(ceph).into_iter().enumerate().map(|(at, host)| {
        let osds = ceph.osds.iter().filter(|(_, osd)| osd.node == host).map(|(id, osd)| leaf(*id, osd));
        json!({
            "id": (-3 - i64::try_from(at).unwrap_or(0)).to_string(), "name": host, "type": "host", "leaf": 0,
            "version": VERSION, "children": osds.collect::<Vec<_>>(),
        })
    });
    let default =
        json!({"id": "-1", "name": "default", "type": "root", "leaf": 0, "children": hosts.collect::<Vec<_>>()});
    let mut answer = json!({"root": {"leaf": 0, "children": [default]}});
    if !ceph.flags.is_empty() {
        answer["flags"] = json!(ceph.flags.iter().cloned().collect::<Vec<_>>().join(","));
    }
    Ok(answer.into())
}

fn leaf(id: u32, osd: &CephOsd) -> Value {
    let status = if osd.up { "up" } else { "down" };
    json!({
        "id": id.to_string(), "name": format!("osd.{id}"), "type": "osd", "leaf": 1, "status": status, "host": osd.node,
        "in": i32::from(osd.r#in), "reweight": i32::from(osd.r#in), "crush_weight": weight(osd), "device_class": osd.class,
        "total_space": osd.size, "bytes_used": osd.size / 100, "percent_used": 1.0, "pgs": 0, "osdtype": "bluestore",
        "blfsdev": "0", "ceph_version": VERSION_TEXT, "ceph_version_short": VERSION,
    })
}

/// `POST …/osd`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    ready(call)?;
    let device = call.params.text("dev");
    let mut devices = vec![device.clone()];
    devices.extend(["db_dev", "wal_dev"].iter().filter_map(|name| call.params.get(name)));
    for path in &devices[1..] {
        disks::find(call, path)?;
    }
    disks::free(call, std::slice::from_ref(&device))?;
    let disk = disks::find(call, &device)?;
    let kind = word(&disk, "type");
    let class = call.params.get("crush-device-class").unwrap_or(if kind.is_empty() { "hdd".into() } else { kind });
    let osd = CephOsd {
        node: call.node(),
        device: device.clone(),
        size: disk.get("size").and_then(Value::as_u64).unwrap_or(0),
        up: true,
        r#in: true,
        class,
        encrypted: call.params.is_on("encrypted"),
        vg: format!("ceph-{}", call.world.random.uuid()),
    };
    let id = device.rsplit('/').next().unwrap_or_default().to_string();
    let task = call.task("cephcreateosd", &id).lasts(WORK).line(format!("create OSD on {device} (bluestore)"));
    let task = task.line(format!("wiping block device {device}")).finish(move |run| {
        let taken = &run.world.ceph.osds;
        let number = (0..).find(|number| !taken.contains_key(number)).unwrap_or_default();
        disks::take(run.world, &osd.node, std::slice::from_ref(&osd.device), "LVM");
        disks::set_osd(run.world, &osd.node, &osd.device, i64::from(number));
        run.log(format!("--> ceph-volume lvm activate successful for osd ID: {number}"));
        run.log(format!("--> ceph-volume lvm create successful for: {}", osd.device));
        run.world.ceph.osds.insert(number, osd);
        Ok(())
    });
    call.start(task)
}

/// `DELETE …/osd/{osdid}`: only one that holds nothing and does not run.
pub(crate) fn destroy(call: &mut Call<'_>) -> Answer {
    ready(call)?;
    let (id, osd) = find(call)?;
    if osd.r#in {
        return Err(Failure::die("osd is in use (in == 1)"));
    }
    if osd.up {
        return Err(Failure::die("osd is still running (up == 1)"));
    }
    let cleanup = call.params.is_on("cleanup");
    let task = call.task("cephdestroyosd", &format!("osd.{id}")).lasts(WORK).line(format!("destroy OSD osd.{id}"));
    let task = task.line(format!("Remove osd.{id} from the CRUSH map")).finish(move |run| {
        if let Some(osd) = run.world.ceph.osds.remove(&id) {
            disks::set_osd(run.world, &osd.node, &osd.device, -1);
            disks::release(run.world, &osd.node, std::slice::from_ref(&osd.device), cleanup);
        }
        Ok(())
    });
    call.start(task)
}

/// `POST …/osd/{osdid}/in`.
pub(crate) fn take_in(call: &mut Call<'_>) -> Answer {
    set(call, |osd| osd.r#in = true)
}

/// `POST …/osd/{osdid}/out`.
pub(crate) fn take_out(call: &mut Call<'_>) -> Answer {
    set(call, |osd| osd.r#in = false)
}

/// `POST …/osd/{osdid}/scrub`: it is looked through in the background, and nothing is found.
pub(crate) fn scrub(call: &mut Call<'_>) -> Answer {
    set(call, |_| ())
}

fn set(call: &mut Call<'_>, act: fn(&mut CephOsd)) -> Answer {
    ready(call)?;
    let (id, _) = find(call)?;
    if let Some(osd) = call.world.ceph.osds.get_mut(&id) {
        act(osd);
    }
    Ok(Data::null())
}

/// `GET …/osd/{osdid}/metadata`.
pub(crate) fn metadata(call: &mut Call<'_>) -> Answer {
    ready(call)?;
    let (id, osd) = find(call)?;
    let ip = call.world.nodes.get(&osd.node).map(|node| node.ip.clone()).unwrap_or_default();
    let address = |port: u32| format!("[v2:{ip}:{},v1:{ip}:{}]", port, port + 1);
    Ok(json!({
        "osd": {
            "id": id, "hostname": osd.node, "osd_data": format!("/var/lib/ceph/osd/ceph-{id}"), "osd_objectstore": "bluestore",
            "version": VERSION_TEXT, "encrypted": i32::from(osd.encrypted), "mem_usage": 512_u64 << 20,
            "back_addr": address(6800), "front_addr": address(6802), "hb_back_addr": address(6804), "hb_front_addr": address(6806),
        },
        "devices": [{
            "device": "block", "dev_node": "dm-0", "physical_device": osd.device.trim_start_matches("/dev/"), "size": osd.size,
            "support_discard": i32::from(osd.class != "hdd"), "type": osd.class,
        }],
    })
    .into())
}

/// `GET …/osd/{osdid}/lv-info`.
pub(crate) fn lv_info(call: &mut Call<'_>) -> Answer {
    ready(call)?;
    let (id, osd) = find(call)?;
    let kind = call.params.get("type").unwrap_or_else(|| "block".into());
    if kind != "block" {
        return Err(Failure::die(format!("volume type '{kind}' not found for OSD {id}")));
    }
    let name = format!("osd-block-{id}");
    Ok(json!({
        "lv_name": name, "vg_name": osd.vg, "lv_path": format!("/dev/{}/{name}", osd.vg), "lv_size": osd.size,
        "lv_uuid": format!("{name}-uuid"), "creation_time": "2026-11-01 10:00:00 +0000",
    })
    .into())
}

fn find(call: &Call<'_>) -> Result<(u32, CephOsd), Failure> {
    let given = call.params.text("osdid");
    let id = call.params.int("osdid").and_then(|id| u32::try_from(id).ok());
    let found = id.and_then(|id| Some((id, call.world.ceph.osds.get(&id)?.clone())));
    found.ok_or_else(|| Failure::die(format!("no such OSD '{given}'")))
}

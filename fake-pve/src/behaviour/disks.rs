//! `/nodes/{node}/disks`: block devices of a node, and what is made of them.

pub(crate) mod directory;
pub(crate) mod lvm;
pub(crate) mod lvmthin;
pub(crate) mod zfs;

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::params::word;
use super::{Answer, Call, Data, Failure};
use crate::world::{Node, Storage, World};

/// How long work on a disk takes.
const WORK: Duration = Duration::from_secs(4);

/// `GET …/list`.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let node = node(call);
    let wanted = call.params.get("type").unwrap_or_default();
    let (partitions, skip) = (call.params.is_on("include-partitions"), call.params.is_on("skipsmart"));
    let mut items = Vec::new();
    for (path, disk) in &node.disks {
        if wanted == "unused" && is_used(disk) {
            continue;
        }
        let mut shown = disk.clone();
        shown.insert("devpath".into(), json!(path));
        shown.insert("mounted".into(), json!(0));
        shown.entry("osdid-list").or_insert_with(|| json!([]));
        let name = format!("{}_{}", word(disk, "model").replace(' ', "_"), word(disk, "serial"));
        shown.insert("by_id_link".into(), json!(format!("/dev/disk/by-id/ata-{name}")));
        if skip {
            shown.shift_remove("health");
            shown.shift_remove("wearout");
        }
        items.push(Value::Object(shown));
        if partitions && is_used(disk) {
            items.push(json!({
                "devpath": partition(path), "parent": path, "used": word(disk, "used"), "type": "partition",
                "size": disk.get("size").and_then(Value::as_u64).unwrap_or(0).saturating_sub(1 << 20), "gpt": 1, "osdid": -1,
                "osdid-list": [], "mounted": u8::from(directory::mounts(call, path)),
            }));
        }
    }
    Ok(Data::from(items))
}

/// `GET …/smart`.
pub(crate) fn smart(call: &mut Call<'_>) -> Answer {
    let disk = find(call, &call.params.text("disk"))?;
    let health = word(&disk, "health");
    let health = if health.is_empty() { "UNKNOWN".to_string() } else { health };
    if call.params.is_on("healthonly") {
        return Ok(json!({"health": health}).into());
    }
    if word(&disk, "type") == "nvme" {
        let text = "\nSMART/Health Information (NVMe Log 0x02)\nCritical Warning:  0x00\nTemperature:  38 Celsius\n";
        return Ok(json!({"health": health, "type": "text", "text": text}).into());
    }
    let attributes = [
        (5, "Reallocated_Sector_Ct", 100, 10, "0"),
        (9, "Power_On_Hours", 99, 0, "4211"),
        (12, "Power_Cycle_Count", 99, 0, "31"),
        (194, "Temperature_Celsius", 66, 0, "34"),
    ];
    let attributes = attributes.iter().map(|(id, name, value, threshold, raw)| {
        json!({
            "id": format!("{id:>3}"), "name": name, "value": value, "normalized": value, "worst": value,
            "threshold": threshold, "fail": "-", "raw": raw, "flags": "PO--CK",
        })
    });
    Ok(json!({"health": health, "type": "ata", "attributes": attributes.collect::<Vec<_>>()}).into())
}

/// `POST …/initgpt`.
pub(crate) fn init_gpt(call: &mut Call<'_>) -> Answer {
    let path = call.params.text("disk");
    let disk = find(call, &path)?;
    if is_used(&disk) {
        return Err(Failure::die(format!("disk {path} already in use")));
    }
    let task = call.task("diskinit", base(&path)).lasts(WORK).finish(move |run| {
        change(run.world, run.node, &path, |disk| drop(disk.insert("gpt".into(), json!(1))));
        run.log("The operation has completed successfully.");
        Ok(())
    });
    call.start(task)
}

/// `PUT …/wipedisk`.
pub(crate) fn wipe(call: &mut Call<'_>) -> Answer {
    let path = call.params.text("disk");
    let disk = find(call, &path)?;
    match word(&disk, "used").as_str() {
        "mounted" | "ext4" | "xfs" if directory::mounts(call, &path) => {
            return Err(Failure::die(format!("disk/partition '{}' is mounted", partition(&path))));
        }
        "LVM" | "ZFS" => {
            return Err(Failure::die(format!("disk/partition '{}' has a holder", partition(&path))));
        }
        _ => {}
    }
    let task = call.task("wipedisk", base(&path)).lasts(WORK).line(format!("wiping disk/partition: {path}"));
    let task = task.finish(move |run| {
        change(run.world, run.node, &path, clear);
        run.log("200+0 records in");
        run.log("200+0 records out");
        run.log("209715200 bytes (210 MB, 200 MiB) copied");
        Ok(())
    });
    call.start(task)
}

fn node(call: &Call<'_>) -> Node {
    call.world.nodes.get(&call.node()).cloned().unwrap_or_default()
}

/// A whole disk of the node.
pub(crate) fn find(call: &Call<'_>, path: &str) -> Result<Map<String, Value>, Failure> {
    node(call).disks.get(path).cloned().ok_or_else(|| Failure::die("not a valid block device"))
}

/// Disks that are free to take.
pub(crate) fn free(call: &Call<'_>, paths: &[String]) -> Result<(), Failure> {
    for path in paths {
        if is_used(&find(call, path)?) {
            return Err(Failure::die(format!("device '{path}' is already in use")));
        }
    }
    Ok(())
}

fn is_used(disk: &Map<String, Value>) -> bool {
    !word(disk, "used").is_empty()
}

fn change(world: &mut World, node: &str, path: &str, act: impl FnOnce(&mut Map<String, Value>)) {
    if let Some(disk) = world.nodes.get_mut(node).and_then(|node| node.disks.get_mut(path)) {
        act(disk);
    }
}

/// Marks disks as taken.
pub(crate) fn take(world: &mut World, node: &str, paths: &[String], used: &str) {
    for path in paths {
        change(world, node, path, |disk| {
            disk.insert("used".into(), json!(used));
            disk.insert("gpt".into(), json!(1));
        });
    }
}

/// Gives disks back: empty when they are cleaned, else with what is left on them.
pub(crate) fn release(world: &mut World, node: &str, paths: &[String], cleaned: bool) {
    for path in paths {
        change(world, node, path, |disk| {
            if cleaned {
                clear(disk);
            } else {
                disk.insert("used".into(), json!("partitions"));
            }
        });
    }
}

fn clear(disk: &mut Map<String, Value>) {
    disk.shift_remove("used");
    disk.insert("gpt".into(), json!(0));
}

/// The partition that Proxmox makes of a whole disk.
fn partition(path: &str) -> String {
    if path.ends_with(|c: char| c.is_ascii_digit()) { format!("{path}p1") } else { format!("{path}1") }
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

fn size(call: &Call<'_>, paths: &[String]) -> u64 {
    let node = node(call);
    let sizes = paths.iter().filter_map(|path| node.disks.get(path)?.get("size")?.as_u64());
    sizes.sum()
}

/// Tells which Ceph daemon a disk belongs to; -1 is none.
pub(crate) fn set_osd(world: &mut World, node: &str, path: &str, osd: i64) {
    change(world, node, path, |disk| {
        disk.insert("osdid".into(), json!(osd));
        if osd < 0 {
            disk.shift_remove("osdid-list");
        } else {
            disk.insert("osdid-list".into(), json!([osd]));
        }
    });
}

/// Where what is made of disks is kept.
fn collection(node: &str, kind: &str) -> String {
    format!("/nodes/{node}/disks/{kind}")
}

fn devices(object: &Map<String, Value>) -> Vec<String> {
    let devices = object.get("devices").and_then(Value::as_array).into_iter().flatten();
    devices.filter_map(Value::as_str).map(str::to_string).collect()
}

/// May the caller add the storage it asks for, and is its name free?
fn check_storage(call: &Call<'_>, name: &str) -> Result<(), Failure> {
    if !call.params.is_on("add_storage") {
        return Ok(());
    }
    call.require("/storage", &["Datastore.Allocate"])?;
    match call.world.storages.get(name) {
        Some(storage) if storage.on_node(&call.node()) => {
            Err(Failure::die(format!("storage ID '{name}' already exists on node {}", call.node())))
        }
        _ => Ok(()),
    }
}

/// Adds a storage for the node that made it.
fn add_storage(world: &mut World, node: &str, name: &str, config: Value, size: u64) {
    let mut config = config.as_object().cloned().unwrap_or_default();
    config.insert("nodes".into(), json!(node));
    world.storages.entry(name.into()).or_insert_with(|| Storage { config, size, ..Storage::default() });
}

/// Forgets storages that lay on what is gone, and their volumes on the node.
fn forget_storages(world: &mut World, node: &str, key: &str, value: &str, config_too: bool) {
    let on_it =
        world.storages.iter().filter(|(_, storage)| word(&storage.config, key) == value && storage.on_node(node));
    let ids: Vec<String> = on_it.map(|(id, _)| id.clone()).collect();
    for id in ids {
        let place = world.place(node, &id);
        world.volumes.remove(&place);
        let only_here = world.storages.get(&id).is_some_and(|storage| word(&storage.config, "nodes") == node);
        if config_too && only_here {
            world.storages.remove(&id);
        }
    }
}

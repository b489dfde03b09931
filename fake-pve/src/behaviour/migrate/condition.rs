//! What keeps a guest where it is: storages, local disks, local devices, replication.

use serde_json::{Map, Value, json};

use crate::behaviour::status::Target;
use crate::behaviour::{Answer, Call, Failure};
use crate::world::disk::Disk;
use crate::world::disk::{drives, unused};
use crate::world::{Guest, GuestKind, World};

/// A volume of a guest on a storage that only its node has.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalDisk {
    /// `scsi0`, `mp1`, `unused0`, `vmstate`.
    pub key: String,
    pub volid: String,
    pub cdrom: bool,
    pub cloudinit: bool,
    pub replicate: bool,
    pub attached: bool,
    pub vmstate: bool,
    /// Snapshots that hold it.
    pub snapshots: Vec<String>,
    /// Bytes.
    pub size: u64,
}

impl LocalDisk {
    fn of(disk: &Disk, attached: bool) -> LocalDisk {
        LocalDisk {
            key: disk.key.clone(),
            volid: disk.volume(),
            cdrom: disk.is_cdrom(false),
            cloudinit: disk.is_cloudinit(),
            replicate: disk.get("replicate").as_deref() != Some("0"),
            attached,
            size: disk.size().unwrap_or(0),
            ..LocalDisk::default()
        }
    }

    fn bare(key: &str, volid: &str) -> LocalDisk {
        let vmstate = key == "vmstate";
        LocalDisk { key: key.into(), volid: volid.into(), replicate: true, vmstate, ..LocalDisk::default() }
    }
}

/// `GET …/migrate`.
pub(crate) fn show(call: &mut Call<'_>) -> Answer {
    let target = Target::of(call);
    let guest = target.guest(call.world)?;
    Ok(match target.kind {
        GuestKind::Lxc => json!({
            "running": i32::from(guest.runs()), "allowed-nodes": others(call.world, guest), "not-allowed-nodes": {},
        }),
        GuestKind::Vm => preconditions(call.world, guest)?,
    }
    .into())
}

/// What `GET …/migrate` says of a machine.
///
/// # Errors
/// It is locked.
pub(crate) fn preconditions(world: &World, guest: &Guest) -> Result<Value, String> {
    guest.check_lock()?;
    let mut allowed = Vec::new();
    let mut checked = Map::new();
    for node in others(world, guest) {
        let missing = missing_storages(world, guest, &node);
        if missing.is_empty() {
            checked.insert(node.clone(), json!({}));
            allowed.push(node);
        } else {
            checked.insert(node, json!({"unavailable_storages": missing}));
        }
    }
    Ok(json!({
        "running": i32::from(guest.runs()), "allowed_nodes": allowed, "not_allowed_nodes": checked,
        "local_disks": local_disks(world, guest).iter().map(item).collect::<Vec<_>>(),
        "local_resources": local_resources(guest), "mapped-resources": [], "mapped-resource-info": {},
        "has-dbus-vmstate": 1,
    }))
}

fn others(world: &World, guest: &Guest) -> Vec<String> {
    world.nodes.keys().filter(|node| **node != guest.node).cloned().collect()
}

/// Storages of a guest's drives that a node has not.
fn missing_storages(world: &World, guest: &Guest, node: &str) -> Vec<String> {
    let drives = drives(guest.kind, &guest.config);
    let mut missing: Vec<String> = drives.iter().filter_map(|drive| drive.storage()).collect();
    missing.retain(|id| usable(world, id, node).is_err());
    missing.sort_unstable();
    missing.dedup();
    missing
}

/// Whether a storage may be used on a node.
///
/// # Errors
/// `storage '…' does not exist`, `… is disabled`, `… is not available on node '…'`.
pub(crate) fn usable(world: &World, id: &str, node: &str) -> Result<(), String> {
    match world.storages.get(id) {
        None => Err(format!("storage '{id}' does not exist")),
        Some(storage) if storage.disabled() => Err(format!("storage '{id}' is disabled")),
        Some(storage) if !storage.on_node(node) => Err(format!("storage '{id}' is not available on node '{node}'")),
        Some(_) => Ok(()),
    }
}

/// Whether every storage of a guest is there, here and on the target, for what lies on it.
pub(super) fn storages_there(world: &World, guest: &Guest, to: &str) -> Result<(), Failure> {
    for drive in drives(guest.kind, &guest.config) {
        let Some(id) = drive.storage() else { continue };
        usable(world, &id, &guest.node)?;
        usable(world, &id, to)?;
        let content = if drive.is_cdrom(false) && !drive.is_cloudinit() { "iso" } else { "images" };
        if !world.storages.get(&id).is_some_and(|storage| storage.holds(content)) {
            let volid = drive.volume();
            return Err(Failure::die(format!("{volid}: content type '{content}' is not available on storage '{id}'")));
        }
    }
    Ok(())
}

/// The volumes of a guest that lie on storages of its node alone.
pub(crate) fn local_disks(world: &World, guest: &Guest) -> Vec<LocalDisk> {
    let attached = drives(guest.kind, &guest.config);
    let mut found: Vec<(LocalDisk, Option<&str>)> =
        attached.iter().map(|disk| (LocalDisk::of(disk, true), None)).collect();
    found.extend(unused(&guest.config).iter().map(|(key, volid)| (LocalDisk::bare(key, volid), None)));
    found.extend(guest.option("vmstate").map(|volid| (LocalDisk::bare("vmstate", &volid), None)));
    for (name, snapshot) in &guest.snapshots {
        let disks = drives(guest.kind, &snapshot.config);
        found.extend(disks.iter().map(|disk| (LocalDisk::of(disk, false), Some(name.as_str()))));
        found.extend(snapshot.vmstate.iter().map(|volid| (LocalDisk::bare("vmstate", volid), Some(name.as_str()))));
    }
    let mut all: Vec<LocalDisk> = Vec::new();
    for (mut disk, snapshot) in found.into_iter().filter(|(disk, _)| is_local(world, &disk.volid)) {
        let snapshot = snapshot.map(str::to_string);
        if let Some(known) = all.iter_mut().find(|known| known.volid == disk.volid) {
            known.snapshots.extend(snapshot);
            continue;
        }
        if let Some(volume) = world.volume(&guest.node, &disk.volid) {
            disk.size = volume.size;
        }
        disk.snapshots.extend(snapshot);
        all.push(disk);
    }
    all
}

fn is_local(world: &World, volid: &str) -> bool {
    let storage = volid.split_once(':').and_then(|(storage, _)| world.storages.get(storage));
    storage.is_some_and(|storage| !storage.shared())
}

fn item(disk: &LocalDisk) -> Value {
    let flag = |on: bool| i32::from(on);
    let unused = !disk.attached && !disk.vmstate && disk.snapshots.is_empty();
    let mut item = json!({
        "volid": disk.volid, "size": disk.size, "cdrom": flag(disk.cdrom), "drivename": disk.key, "shared": 0,
        "is_attached": flag(disk.attached), "is_cloudinit": flag(disk.cloudinit), "is_unused": flag(unused),
        "is_tpmstate": flag(disk.key == "tpmstate0"), "is_vmstate": flag(disk.vmstate),
        "replicate": flag(disk.replicate),
    });
    if !disk.snapshots.is_empty() {
        let held: Map<String, Value> = disk.snapshots.iter().map(|name| (name.clone(), json!(1))).collect();
        item["referenced_in_snapshot"] = Value::Object(held);
    }
    item
}

/// Devices of the node that a machine uses.
pub(super) fn local_resources(guest: &Guest) -> Vec<String> {
    let numbered = |key: &str, word: &str| key.strip_prefix(word).is_some_and(|rest| rest.parse::<u8>().is_ok());
    let config = guest.config.iter().filter(|(key, value)| {
        let text = value.as_str().unwrap_or_default();
        let free = text.contains("spice") || text.contains("mapping=") || text == "socket";
        ["usb", "hostpci", "serial", "parallel"].iter().any(|word| numbered(key, word)) && !free
    });
    let mut keys: Vec<String> = config.map(|(key, _)| key.clone()).collect();
    keys.sort_unstable();
    keys
}

/// Nodes that a guest is replicated to.
pub(super) fn replicated_to(world: &World, vmid: u32) -> Vec<String> {
    let jobs = world.documents.list("/cluster/replication").iter();
    let mine = jobs.filter(|(id, _)| id.split('-').next() == Some(vmid.to_string().as_str()));
    mine.filter_map(|(_, job)| job.get("target")?.as_str().map(str::to_string)).collect()
}

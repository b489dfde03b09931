//! Snapshots of a guest: taking, removing, rolling back, on configuration and volumes alike.

use serde_json::{Map, Value};

use super::disk::{Disk, drives, is_unused};
use super::volume::name::is_directory;
use super::{Guest, GuestKind, Snapshot, Volume, World};

/// Keys of a configuration that a snapshot does not keep.
const LEFT_OUT: [&str; 4] = ["lock", "description", "parent", "digest"];

/// Keys that a snapshot with memory has beyond the configuration.
pub const OF_THE_RUN: [&str; 3] = ["runningmachine", "runningcpu", "running-nets-host-mtu"];

/// The volumes that a snapshot covers: all but media of CD-ROM drives.
pub fn covered(kind: GuestKind, config: &Map<String, Value>) -> Vec<Disk> {
    let mut drives = drives(kind, config);
    drives.retain(|drive| !drive.is_cdrom(false) && drive.storage().is_some());
    drives
}

/// Proxmox's text for a snapshot that is not there.
pub fn missing(name: &str) -> String {
    format!("snapshot '{name}' does not exist")
}

/// Puts a snapshot in preparation into the configuration.
pub fn prepare(guest: &mut Guest, name: &str, description: Option<String>, vmstate: Option<String>, now: i64) {
    let config = guest.config.iter().filter(|(key, _)| !LEFT_OUT.contains(&key.as_str()) && !is_unused(key));
    let snapshot = Snapshot {
        config: config.map(|(key, value)| (key.clone(), value.clone())).collect(),
        parent: guest.option("parent"),
        snaptime: now,
        vmstate,
        description: description.filter(|text| !text.is_empty()),
        snapstate: Some("prepare".into()),
    };
    guest.snapshots.insert(name.into(), snapshot);
}

/// Finishes a prepared snapshot: its volumes have it, and the configuration descends from it.
pub fn commit(world: &mut World, vmid: u32, name: &str) {
    let Some(guest) = world.guests.get_mut(&vmid) else { return };
    let Some(snapshot) = guest.snapshots.get_mut(name) else { return };
    snapshot.snapstate = None;
    let (node, volumes) = (guest.node.clone(), covered(guest.kind, &snapshot.config));
    guest.config.insert("parent".into(), name.into());
    for drive in volumes {
        if let Some(volume) = world.volume_mut(&node, &drive.volume()) {
            volume.snapshots.push(name.into());
        }
    }
}

/// Takes a snapshot away: its volumes lose it, and what descended from it descends from its parent.
pub fn remove(world: &mut World, vmid: u32, name: &str) {
    let Some(guest) = world.guests.get_mut(&vmid) else { return };
    let Some(gone) = guest.snapshots.remove(name) else { return };
    for snapshot in guest.snapshots.values_mut().filter(|snapshot| snapshot.parent.as_deref() == Some(name)) {
        snapshot.parent.clone_from(&gone.parent);
    }
    if guest.option("parent").as_deref() == Some(name) {
        match &gone.parent {
            Some(parent) => guest.config.insert("parent".into(), parent.as_str().into()),
            None => guest.config.shift_remove("parent"),
        };
    }
    let (node, kind) = (guest.node.clone(), guest.kind);
    for drive in covered(kind, &gone.config) {
        if let Some(volume) = world.volume_mut(&node, &drive.volume()) {
            volume.snapshots.retain(|held| held != name);
        }
    }
    if let Some(volid) = gone.vmstate {
        world.take_volume(&node, &volid);
    }
}

/// The volume on which a rollback would lose younger snapshots, when its storage cannot do that (ZFS).
pub fn blocked(world: &World, vmid: u32, name: &str) -> Option<String> {
    let guest = world.guests.get(&vmid)?;
    let drives = covered(guest.kind, &guest.snapshots.get(name)?.config);
    drives.into_iter().map(|drive| drive.volume()).find(|volid| {
        let storage = volid.split_once(':').and_then(|(storage, _)| world.storages.get(storage));
        let zfs = storage.is_some_and(|storage| matches!(storage.plugin().as_str(), "zfspool" | "zfs"));
        let last = world.volume(&guest.node, volid).and_then(|volume| volume.snapshots.last());
        zfs && last.is_some_and(|last| last != name)
    })
}

/// Puts the configuration of a snapshot in the place of the present one. Description and unused disks stay, disks that
/// the snapshot does not know become unused, what waited is forgotten.
pub fn apply(world: &mut World, vmid: u32, name: &str) {
    let uuid = world.random.uuid();
    let Some(guest) = world.guests.get_mut(&vmid) else { return };
    let Some(snapshot) = guest.snapshots.get(name).cloned() else { return };
    let then: Vec<String> = covered(guest.kind, &snapshot.config).into_iter().map(|drive| drive.volume()).collect();
    let mut config = snapshot.config.clone();
    for key in OF_THE_RUN {
        config.shift_remove(key);
    }
    let kept = guest.config.iter().filter(|(key, _)| *key == "description" || is_unused(key));
    config.extend(kept.map(|(key, value)| (key.clone(), value.clone())));
    let now: Vec<String> = covered(guest.kind, &guest.config).into_iter().map(|drive| drive.volume()).collect();
    if config.contains_key("vmgenid") {
        config.insert("vmgenid".into(), uuid.into());
    }
    config.insert("parent".into(), name.into());
    guest.config = config;
    guest.pending.clear();
    guest.pending_delete.clear();
    for volid in now.iter().filter(|volid| !then.contains(volid)) {
        let _full = guest.add_unused(volid);
    }
    guest.written();
    let node = guest.node.clone();
    for drive in covered(guest.kind, &snapshot.config) {
        if let (Some(size), Some(volume)) = (drive.size(), world.volume_mut(&node, &drive.volume())) {
            volume.size = size;
        }
    }
}

/// The storage that a machine's saved memory goes to: the one it names, else one that its disks are on, shared ones and
/// those with files first, else `local`.
pub fn state_storage(world: &World, guest: &Guest) -> String {
    if let Some(named) = guest.option("vmstatestorage") {
        return named;
    }
    let drives = covered(guest.kind, &guest.config);
    let used = drives.iter().filter_map(|drive| {
        let id = drive.storage()?;
        world.storages.get(&id).map(|storage| (id, storage))
    });
    let rank = |storage: &super::Storage| (storage.shared(), storage.option("path").is_some());
    let best = used.enumerate().max_by_key(|(at, (_, storage))| (rank(storage), std::cmp::Reverse(*at)));
    best.map_or_else(|| "local".into(), |(_, (id, _))| id)
}

/// The volume for saved memory: `local-lvm:vm-100-state-s1`, `local:100/vm-100-state-s1.raw`.
pub fn state_volume(world: &World, guest: &Guest, storage: &str, name: &str, now: i64) -> Volume {
    let vmid = guest.vmid;
    let files = world.storages.get(storage).is_some_and(|found| is_directory(&found.plugin()));
    let place = if files { format!("{vmid}/vm-{vmid}-state-{name}.raw") } else { format!("vm-{vmid}-state-{name}") };
    Volume {
        volid: format!("{storage}:{place}"),
        content: "images".into(),
        format: "raw".into(),
        size: 2 * guest.max_memory() + (500 << 20),
        used: guest.memory_used.max(1 << 20),
        vmid: Some(vmid),
        ctime: now,
        ..Volume::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Scenario;

    fn take(world: &mut World, name: &str) {
        prepare(world.guests.get_mut(&100).expect("the guest"), name, Some("d".into()), None, 7);
        commit(world, 100, name);
    }

    #[test]
    fn a_tree_keeps_its_parents() {
        let mut world = Scenario::one_vm().world;
        take(&mut world, "a1");
        take(&mut world, "b1");
        take(&mut world, "c1");
        assert_eq!(world.volume("pve1", "local-lvm:vm-100-disk-0").expect("the disk").snapshots, ["a1", "b1", "c1"]);
        remove(&mut world, 100, "b1");
        let guest = &world.guests[&100];
        assert_eq!(guest.snapshots["c1"].parent.as_deref(), Some("a1"));
        remove(&mut world, 100, "c1");
        assert_eq!(world.guests[&100].option("parent").as_deref(), Some("a1"));
        assert_eq!(world.volume("pve1", "local-lvm:vm-100-disk-0").expect("the disk").snapshots, ["a1"]);
    }

    #[test]
    fn a_rollback_keeps_new_disks_as_unused() {
        let mut world = Scenario::one_vm().world;
        take(&mut world, "a1");
        let guest = world.guests.get_mut(&100).expect("the guest");
        guest.config.insert("scsi1".into(), json!("local-lvm:vm-100-disk-1,size=1G"));
        guest.config.insert("memory".into(), json!("4096"));
        guest.config.insert("description".into(), json!("mine"));
        guest.pending.insert("cores".into(), json!(4));
        apply(&mut world, 100, "a1");
        let guest = &world.guests[&100];
        assert_eq!(guest.option("memory").as_deref(), Some("512"));
        assert_eq!(guest.option("unused0").as_deref(), Some("local-lvm:vm-100-disk-1"));
        assert_eq!((guest.option("description").as_deref(), guest.option("scsi1")), (Some("mine"), None));
        assert_eq!(guest.option("parent").as_deref(), Some("a1"));
        assert!(guest.pending.is_empty());
    }

    #[test]
    fn zfs_rolls_back_to_the_last_only() {
        let zfs = json!({"type": "zfspool", "pool": "rpool/data", "content": "images,rootdir"});
        let mut world = Scenario::one_vm().storage("local-lvm", zfs, 1 << 40).world;
        take(&mut world, "a1");
        take(&mut world, "b1");
        assert_eq!(blocked(&world, 100, "a1").as_deref(), Some("local-lvm:vm-100-disk-0"));
        assert_eq!(blocked(&world, 100, "b1"), None);
    }
}

//! Volume groups.

use serde_json::{Map, Value, json};

use super::{
    WORK, add_storage, check_storage, collection, devices, forget_storages, free, partition, release, size, take,
};
use crate::behaviour::params::word;
use crate::behaviour::{Answer, Call, Failure};
use crate::world::World;

/// `GET …/lvm`: a tree of groups and the devices beneath them.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let node = call.node();
    let groups = groups(call.world, &node).into_iter().map(|(name, group)| {
        let (size, free) = room(call.world, &node, &name, &group);
        let disks = devices(&group);
        let count = u64::try_from(disks.len()).unwrap_or(1).max(1);
        let children = disks
            .iter()
            .map(|disk| json!({"name": partition(disk), "size": size / count, "free": free / count, "leaf": 1}));
        json!({
            "name": name, "size": size, "free": free, "lvcount": volumes(call.world, &node, &name).0, "leaf": 0,
            "children": children.collect::<Vec<_>>(),
        })
    });
    Ok(json!({"leaf": 0, "children": groups.collect::<Vec<_>>()}).into())
}

/// `POST …/lvm`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    let (name, device) = (call.params.text("name"), call.params.text("device"));
    let disks = vec![device.clone()];
    free(call, &disks)?;
    check_storage(call, &name)?;
    refuse_double(call, &name)?;
    let (add, size) = (call.params.is_on("add_storage"), size(call, &disks));
    let task = call.task("lvmcreate", &name).lasts(WORK).finish(move |run| {
        let node = run.node.to_string();
        run.log(format!("  Physical volume \"{}\" successfully created.", partition(&device)));
        run.log(format!("  Volume group \"{name}\" successfully created"));
        put(run.world, &node, &name, &disks, size);
        if add {
            let config = json!({"type": "lvm", "vgname": name, "content": "images,rootdir", "shared": 0});
            add_storage(run.world, &node, &name, config, size);
        }
        Ok(())
    });
    call.start(task)
}

/// `DELETE …/lvm/{name}`.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    let name = call.params.text("name");
    let (clean, config) = (call.params.is_on("cleanup-disks"), call.params.is_on("cleanup-config"));
    let task = call.task("lvmremove", &name).lasts(WORK).finish(move |run| {
        let node = run.node.to_string();
        let Some((_, group)) = groups(run.world, &node).into_iter().find(|(known, _)| *known == name) else {
            return Err(format!("no such volume group '{name}'"));
        };
        if group.contains_key("system") {
            return Err(format!("command '/sbin/vgremove -y {name}' failed: exit code 5"));
        }
        run.world.documents.remove(&collection(&node, "lvm"), &name);
        release(run.world, &node, &devices(&group), clean);
        forget_storages(run.world, &node, "vgname", &name, config);
        run.log(format!("  Volume group \"{name}\" successfully removed"));
        Ok(())
    });
    call.start(task)
}

/// Groups by name: that of the installation, and those made here.
pub(super) fn groups(world: &World, node: &str) -> Vec<(String, Map<String, Value>)> {
    let mut groups = world.documents.list(&collection(node, "lvm")).to_vec();
    let taken: Vec<String> = groups.iter().flat_map(|(_, group)| devices(group)).collect();
    let disks = world.nodes.get(node).into_iter().flat_map(|node| &node.disks);
    let system = disks.filter(|(path, disk)| word(disk, "used") == "LVM" && !taken.contains(path));
    let system: Vec<(String, u64)> =
        system.map(|(path, disk)| (path.clone(), disk.get("size").and_then(Value::as_u64).unwrap_or(0))).collect();
    if !system.is_empty() {
        let size: u64 = system.iter().map(|(_, size)| size).sum();
        let paths: Vec<&String> = system.iter().map(|(path, _)| path).collect();
        let group = json!({"devices": paths, "size": size, "system": 1});
        groups.insert(0, ("pve".into(), group.as_object().cloned().unwrap_or_default()));
    }
    groups
}

/// Keeps a new group.
pub(super) fn put(world: &mut World, node: &str, name: &str, disks: &[String], size: u64) {
    take(world, node, disks, "LVM");
    let group = json!({"devices": disks, "size": size});
    world.documents.put(&collection(node, "lvm"), name, group.as_object().cloned().unwrap_or_default());
}

pub(super) fn refuse_double(call: &Call<'_>, name: &str) -> Result<(), Failure> {
    let node = call.node();
    if groups(call.world, &node).iter().any(|(known, _)| known == name) {
        return Err(Failure::die(format!("volume group with name '{name}' already exists on node '{node}'")));
    }
    Ok(())
}

/// Size and free bytes of a group.
fn room(world: &World, node: &str, name: &str, group: &Map<String, Value>) -> (u64, u64) {
    let size = group.get("size").and_then(Value::as_u64).unwrap_or(0);
    let pools = super::lvmthin::pools(world, node).into_iter().filter(|pool| pool["vg"] == name);
    let in_pools: u64 = pools.filter_map(|pool| pool["lv_size"].as_u64()).sum();
    (size, size.saturating_sub(in_pools + volumes(world, node, name).1))
}

/// Number and bytes of volumes that lie in a group itself.
fn volumes(world: &World, node: &str, name: &str) -> (usize, u64) {
    let thick = |storage: &crate::world::Storage| storage.plugin() == "lvm" && word(&storage.config, "vgname") == name;
    let storages = world.storages.iter().filter(|(_, storage)| thick(storage));
    let volumes: Vec<u64> = storages.flat_map(|(id, _)| world.volumes_of(node, id).map(|volume| volume.size)).collect();
    (volumes.len(), volumes.iter().sum())
}

//! Thin pools. A new one has a volume group of its own name.

use serde_json::{Value, json};

use super::{
    WORK, add_storage, check_storage, collection, devices, forget_storages, free, lvm, partition, release, size,
};
use crate::behaviour::params::word;
use crate::behaviour::{Answer, Call, Data};
use crate::world::World;

/// `GET …/lvmthin`.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    Ok(Data::from(pools(call.world, &call.node())))
}

/// `POST …/lvmthin`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    let (name, device) = (call.params.text("name"), call.params.text("device"));
    let disks = vec![device.clone()];
    free(call, &disks)?;
    check_storage(call, &name)?;
    lvm::refuse_double(call, &name)?;
    let (add, size) = (call.params.is_on("add_storage"), size(call, &disks));
    let task = call.task("lvmthincreate", &name).lasts(WORK).finish(move |run| {
        let node = run.node.to_string();
        run.log(format!("  Physical volume \"{}\" successfully created.", partition(&device)));
        run.log(format!("  Volume group \"{name}\" successfully created"));
        run.log(format!("  Logical volume \"{name}\" created."));
        lvm::put(run.world, &node, &name, &disks, size);
        let pool = json!({"vg": name, "size": size - size / 50});
        let pool = pool.as_object().cloned().unwrap_or_default();
        run.world.documents.put(&collection(&node, "lvmthin"), &name, pool);
        if add {
            let config = json!({"type": "lvmthin", "vgname": name, "thinpool": name, "content": "images,rootdir"});
            add_storage(run.world, &node, &name, config, size - size / 50);
        }
        Ok(())
    });
    call.start(task)
}

/// `DELETE …/lvmthin/{name}`.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    let (name, group) = (call.params.text("name"), call.params.text("volume-group"));
    let (clean, config) = (call.params.is_on("cleanup-disks"), call.params.is_on("cleanup-config"));
    let task = call.task("lvmthinremove", &format!("{group}-{name}")).lasts(WORK).finish(move |run| {
        let node = run.node.to_string();
        let pools = pools(run.world, &node);
        if !pools.iter().any(|pool| pool["lv"] == name && pool["vg"] == group) {
            return Err(format!("no such thin pool {group}/{name}"));
        }
        run.world.documents.remove(&collection(&node, "lvmthin"), &name);
        forget_storages(run.world, &node, "thinpool", &name, config);
        if clean {
            let found = lvm::groups(run.world, &node).into_iter().find(|(known, _)| *known == group);
            let disks = found.map(|(_, group)| devices(&group)).unwrap_or_default();
            run.world.documents.remove(&collection(&node, "lvm"), &group);
            release(run.world, &node, &disks, true);
        }
        run.log(format!("  Logical volume \"{name}\" successfully removed."));
        Ok(())
    });
    call.start(task)
}

/// Pools as the list shows them: those that storages lie on, and those made here.
pub(super) fn pools(world: &World, node: &str) -> Vec<Value> {
    let mut pools: Vec<(String, String, u64)> = Vec::new();
    for (name, pool) in world.documents.list(&collection(node, "lvmthin")) {
        pools.push((word(pool, "vg"), name.clone(), pool.get("size").and_then(Value::as_u64).unwrap_or(0)));
    }
    let known_groups: Vec<String> = lvm::groups(world, node).into_iter().map(|(name, _)| name).collect();
    for storage in world.storages.values().filter(|storage| storage.plugin() == "lvmthin" && storage.on_node(node)) {
        let (group, pool) = (word(&storage.config, "vgname"), word(&storage.config, "thinpool"));
        if known_groups.contains(&group) && !pools.iter().any(|(vg, lv, _)| (vg, lv) == (&group, &pool)) {
            pools.push((group, pool, storage.size));
        }
    }
    let shown = pools.into_iter().map(|(vg, lv, size)| {
        let on_it = |storage: &crate::world::Storage| {
            word(&storage.config, "vgname") == vg && word(&storage.config, "thinpool") == lv
        };
        let storages = world.storages.iter().filter(|(_, storage)| on_it(storage));
        let used: u64 = storages.map(|(id, _)| world.used(node, id)).sum();
        json!({
            "vg": vg, "lv": lv, "lv_size": size, "used": used, "metadata_size": 1_u64 << 30, "metadata_used": used >> 10,
        })
    });
    shown.collect()
}

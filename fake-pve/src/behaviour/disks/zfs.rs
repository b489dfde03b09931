//! ZFS pools.

use serde_json::{Map, Value, json};

use super::{WORK, add_storage, check_storage, collection, devices, forget_storages, free, release, size, take};
use crate::behaviour::params::word;
use crate::behaviour::{Answer, Call, Data, Failure};

/// Least number of disks by RAID level.
const LEAST: [(&str, usize); 9] = [
    ("single", 1),
    ("mirror", 2),
    ("raid10", 4),
    ("raidz", 3),
    ("raidz2", 4),
    ("raidz3", 5),
    ("draid", 3),
    ("draid2", 4),
    ("draid3", 5),
];

/// `GET …/zfs`.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let node = call.node();
    let pools = call.world.documents.list(&collection(&node, "zfs"));
    let items = pools.iter().map(|(name, pool)| {
        let size = pool.get("size").and_then(Value::as_u64).unwrap_or(0);
        let on_it =
            |storage: &crate::world::Storage| word(&storage.config, "pool").split('/').next() == Some(name.as_str());
        let storages = call.world.storages.iter().filter(|(_, storage)| on_it(storage));
        let used: u64 = storages.map(|(id, _)| call.world.used(&node, id)).sum();
        json!({
            "name": name, "size": size, "alloc": used, "free": size.saturating_sub(used), "frag": 0, "dedup": 1.0,
            "health": "ONLINE",
        })
    });
    Ok(Data::from(items.collect::<Vec<_>>()))
}

/// `GET …/zfs/{name}`.
pub(crate) fn get(call: &mut Call<'_>) -> Answer {
    let name = call.params.text("name");
    let Some(pool) = call.world.documents.get(&collection(&call.node(), "zfs"), &name) else {
        return Err(Failure::die(format!("command '/sbin/zpool status -P {name}' failed: exit code 1")));
    };
    let leaf = |disk: &String| {
        json!({
            "name": format!("{disk}1"), "state": "ONLINE", "read": 0, "write": 0, "cksum": 0, "msg": "", "leaf": 1,
        })
    };
    let disks: Vec<Value> = devices(pool).iter().map(leaf).collect();
    let level = word(pool, "raidlevel");
    let inner = match level.as_str() {
        "single" => disks,
        "raid10" => {
            disks.chunks(2).enumerate().map(|(at, pair)| vdev(&format!("mirror-{at}"), pair.to_vec())).collect()
        }
        _ => vec![vdev(&format!("{}-0", if level == "raidz" { "raidz1" } else { level.as_str() }), disks)],
    };
    Ok(json!({
        "name": name, "state": "ONLINE", "errors": "No known data errors", "leaf": 0, "children": [vdev(&name, inner)],
    })
    .into())
}

fn vdev(name: &str, children: Vec<Value>) -> Value {
    json!({
        "name": name, "state": "ONLINE", "read": 0, "write": 0, "cksum": 0, "msg": "", "leaf": 0, "children": children,
    })
}

/// `POST …/zfs`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    let (name, level) = (call.params.text("name"), call.params.text("raidlevel"));
    let disks = call.params.list("devices");
    if call.params.has("draid-config") && !level.starts_with("draid") {
        return Err(Failure::param("draid-config", "draid-config set without using dRAID level"));
    }
    free(call, &disks)?;
    check_storage(call, &name)?;
    let path = collection(&call.node(), "zfs");
    if call.world.documents.get(&path, &name).is_some() {
        return Err(Failure::die(format!("pool '{name}' already exists on node '{}'", call.node())));
    }
    check_level(&level, disks.len())?;
    let whole = size(call, &disks);
    let count = u64::try_from(disks.len()).unwrap_or(1).max(1);
    let usable = match level.as_str() {
        "mirror" => whole / count,
        "raid10" => whole / 2,
        "raidz" | "draid" => whole - whole / count,
        "raidz2" | "draid2" => whole - 2 * (whole / count),
        "raidz3" | "draid3" => whole - 3 * (whole / count),
        _ => whole,
    };
    let add = call.params.is_on("add_storage");
    let ashift = call.params.get("ashift").unwrap_or_else(|| "12".into());
    let line = format!("# /sbin/zpool create -o ashift={ashift} {name} {}", disks.join(" "));
    let task = call.task("zfscreate", &name).lasts(WORK).line(line).finish(move |run| {
        let node = run.node.to_string();
        take(run.world, &node, &disks, "ZFS");
        let pool = json!({"devices": disks, "raidlevel": level, "size": usable});
        run.world.documents.put(&path, &name, pool.as_object().cloned().unwrap_or_default());
        if add {
            let config =
                json!({"type": "zfspool", "pool": name, "content": "images,rootdir", "mountpoint": format!("/{name}")});
            add_storage(run.world, &node, &name, config, usable);
        }
        Ok(())
    });
    call.start(task)
}

fn check_level(level: &str, disks: usize) -> Result<(), Failure> {
    let least = LEAST.iter().find(|(known, _)| *known == level).map_or(1, |(_, least)| *least);
    let refuse = |text: String| Err(Failure::die(text));
    match level {
        "raid10" if !disks.is_multiple_of(2) => refuse("raid10 needs an even number of disks".into()),
        "single" if disks > 1 => refuse("please give only one disk for single disk mode".into()),
        _ if disks < least => refuse(format!("{level} needs at least {least} disks")),
        _ => Ok(()),
    }
}

/// `DELETE …/zfs/{name}`.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    let name = call.params.text("name");
    let (clean, config) = (call.params.is_on("cleanup-disks"), call.params.is_on("cleanup-config"));
    let task =
        call.task("zfsremove", &name).lasts(WORK).line(format!("# /sbin/zpool destroy {name}")).finish(move |run| {
            let node = run.node.to_string();
            let gone: Option<Map<String, Value>> = run.world.documents.remove(&collection(&node, "zfs"), &name);
            let Some(pool) = gone else {
                run.log(format!("cannot open '{name}': no such pool"));
                return Err(format!("command '/sbin/zpool destroy {name}' failed: exit code 1"));
            };
            release(run.world, &node, &devices(&pool), clean);
            forget_storages(run.world, &node, "pool", &name, config);
            Ok(())
        });
    call.start(task)
}

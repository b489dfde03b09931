//! Pools.

use serde_json::{Map, Value, json};

use super::{WORK, ready};
use crate::behaviour::params::stored;
use crate::behaviour::params::word;
use crate::behaviour::{Answer, Call, Data, Failure};
use crate::world::{Storage, World};

/// Parameters that are no options of a pool.
const OTHERS: [&str; 5] = ["node", "name", "add_storages", "erasure-coding", "application"];

/// Bytes of the volumes of a pool, one copy.
pub(super) fn used(world: &World, pool: &str) -> u64 {
    let on_it = world.storages.iter().filter(|(_, storage)| is_on(storage, pool));
    on_it.map(|(id, _)| world.used(&world.entry, id)).sum()
}

fn is_on(storage: &Storage, pool: &str) -> bool {
    storage.plugin() == "rbd" && word(&storage.config, "pool") == pool
}

/// `GET …/pool`.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    ready(call)?;
    let total = call.world.ceph.total().max(1);
    let items = call.world.ceph.pools.iter().map(|(name, pool)| {
        let used = used(call.world, name);
        let mut item = pool.clone();
        let application = item.shift_remove("application").unwrap_or_else(|| json!("rbd"));
        let application = application.as_str().unwrap_or("rbd").to_string();
        let facts = json!({
            "pool_name": name, "type": "replicated", "crush_rule": 0, "crush_rule_name": "replicated_rule",
            "bytes_used": used, "percent_used": used as f64 / total as f64, "application_metadata": {application: {}},
            "pg_num_final": pool.get("pg_num"),
        });
        item.extend(facts.as_object().cloned().unwrap_or_default());
        Value::Object(item)
    });
    Ok(Data::from(items.collect::<Vec<_>>()))
}

/// `GET …/pool/{name}/status`.
pub(crate) fn status(call: &mut Call<'_>) -> Answer {
    ready(call)?;
    let name = call.params.text("name");
    let pool = call.world.ceph.pools.get(&name).cloned().ok_or_else(|| missing(&name))?;
    let mut shown = pool.clone();
    let number = shown.shift_remove("pool").unwrap_or_default();
    let application = word(&pool, "application");
    let facts = json!({
        "id": number, "name": name, "application": application, "application_list": [application], "crush_rule": "replicated_rule",
        "pgp_num": pool.get("pg_num"), "fast_read": 0, "hashpspool": 1, "nodeep-scrub": 0, "nodelete": 0, "nopgchange": 0,
        "noscrub": 0, "nosizechange": 0, "use_gmt_hitset": 1, "write_fadvise_dontneed": 0,
    });
    shown.extend(facts.as_object().cloned().unwrap_or_default());
    if call.params.is_on("verbose") {
        shown.insert("statistics".into(), json!({"bytes_used": used(call.world, &name), "objects": 0}));
    }
    Ok(Value::Object(shown).into())
}

/// `POST …/pool`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    ready(call)?;
    if call.world.no_quorum {
        return Err(Failure::die("cluster not ready - no quorum?"));
    }
    let name = call.params.text("name");
    let add = call.params.is_on("add_storages");
    if add {
        call.require("/storage", &["Datastore.Allocate"])?;
        if call.world.storages.contains_key(&name) {
            return Err(Failure::die(format!("pool name '{name}' is already used as storage")));
        }
    }
    let mut pool = defaults(call);
    pool.extend(options(call));
    let task = call.task("cephcreatepool", &name).lasts(WORK).begin({
        let name = name.clone();
        move |run| match run.world.ceph.pools.contains_key(&name) {
            true => Err(format!("mon_command failed - pool '{name}' already exists")),
            false => Ok(()),
        }
    });
    let task =
        task.line(format!("pool {name}: applying application = {}", word(&pool, "application"))).finish(move |run| {
            put(run.world, &name, pool);
            if add {
                let config = json!({"type": "rbd", "pool": name, "content": "images,rootdir", "krbd": 0});
                let config = config.as_object().cloned().unwrap_or_default();
                let size =
                    run.world.ceph.total() / u64::from(run.world.ceph.config.clone().unwrap_or_default().size.max(1));
                run.world.storages.insert(name, Storage { config, size, ..Storage::default() });
            }
            Ok(())
        });
    call.start(task)
}

/// `PUT …/pool/{name}`.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    ready(call)?;
    let (name, options) = (call.params.text("name"), options(call));
    let task = call.task("cephsetpool", &name).lasts(WORK).finish(move |run| {
        let Some(pool) = run.world.ceph.pools.get_mut(&name) else {
            return Err(format!("mon_command failed - unrecognized pool '{name}'"));
        };
        let lines: Vec<String> =
            options.keys().map(|key| format!("pool {name}: applying {key} = {}", word(&options, key))).collect();
        pool.extend(options);
        lines.into_iter().for_each(|line| run.log(line));
        Ok(())
    });
    call.start(task)
}

/// `DELETE …/pool/{name}`: one that holds volumes only when forced.
pub(crate) fn destroy(call: &mut Call<'_>) -> Answer {
    ready(call)?;
    let (name, force, storages) =
        (call.params.text("name"), call.params.is_on("force"), call.params.is_on("remove_storages"));
    let task = call.task("cephdestroypool", &name).lasts(WORK).finish(move |run| {
        if !run.world.ceph.pools.contains_key(&name) {
            return Err(format!("mon_command failed - pool '{name}' does not exist"));
        }
        let on_it = run.world.storages.iter().filter(|(_, storage)| is_on(storage, &name));
        let ids: Vec<String> = on_it.map(|(id, _)| id.clone()).collect();
        if let Some(id) = ids.iter().find(|id| run.world.volumes_of(run.node, id).next().is_some()).filter(|_| !force) {
            return Err(format!("ceph pool '{name}' still in use by storage '{id}'"));
        }
        run.world.ceph.pools.remove(&name);
        for id in ids {
            let place = run.world.place(run.node, &id);
            run.world.volumes.remove(&place);
            if storages {
                run.world.storages.remove(&id);
            }
        }
        Ok(())
    });
    call.start(task)
}

/// Keeps a pool under a new number.
pub(super) fn put(world: &mut World, name: &str, mut pool: Map<String, Value>) {
    world.ceph.last_pool += 1;
    pool.insert("pool".into(), json!(world.ceph.last_pool));
    world.ceph.pools.insert(name.into(), pool);
}

/// What a pool is without options.
pub(super) fn defaults(call: &Call<'_>) -> Map<String, Value> {
    let config = call.world.ceph.config.clone().unwrap_or_default();
    let defaults = json!({
        "size": config.size, "min_size": config.min_size, "pg_num": 128, "pg_autoscale_mode": "warn", "application": "rbd",
    });
    defaults.as_object().cloned().unwrap_or_default()
}

fn options(call: &Call<'_>) -> Map<String, Value> {
    let mut options = stored(call.method, &call.params, &OTHERS.map(String::from));
    options.shift_remove("crush_rule");
    if let Some(application) = call.params.get("application") {
        options.insert("application".into(), json!(application));
    }
    options
}

fn missing(name: &str) -> Failure {
    Failure::die(format!("mon_command failed - unrecognized pool '{name}'"))
}

//! File systems, each on a pool for its data and one for its metadata.

use serde_json::{Value, json};

use super::{WORK, pools, ready};
use crate::behaviour::{Answer, Call, Data, Failure};
use crate::world::Storage;

/// `GET …/fs`.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    ready(call)?;
    let ceph = &call.world.ceph;
    let number = |pool: &str| ceph.pools.get(pool).and_then(|pool| pool.get("pool")).cloned().unwrap_or_default();
    let items = ceph.filesystems.iter().map(|(name, (data, metadata))| {
        json!({
            "name": name, "data_pool": data, "data_pools": [data], "data_pool_ids": [number(data)],
            "metadata_pool": metadata, "metadata_pool_id": number(metadata),
        })
    });
    Ok(Data::from(items.collect::<Vec<Value>>()))
}

/// `POST …/fs/{name}`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    ready(call)?;
    let name = call.params.get("name").unwrap_or_else(|| "cephfs".into());
    let (data, metadata) = (format!("{name}_data"), format!("{name}_metadata"));
    let ceph = &call.world.ceph;
    let refuse = |text: String| Err(Failure::die(text));
    if ceph.filesystems.contains_key(&name) {
        return refuse(format!("ceph fs '{name}' already exists"));
    }
    if ceph.mds.values().all(|mds| !mds.running) {
        return refuse("no running Metadata Server (MDS) found!".into());
    }
    if [&data, &metadata].iter().any(|pool| ceph.pools.contains_key(*pool)) {
        return refuse(format!("ceph pools '{data}' and/or '{metadata}' already exist"));
    }
    let add = call.params.is_on("add-storage");
    if add && call.world.storages.contains_key(&name) {
        return refuse(format!("PVE storage '{name}' already defined"));
    }
    let mut pool = pools::defaults(call);
    pool.insert("application".into(), json!("cephfs"));
    pool.insert("pg_num".into(), json!(call.params.int("pg_num").unwrap_or(128)));
    let task = call.task("cephfscreate", &name).lasts(WORK);
    let task =
        task.line(format!("creating data pool '{data}'...")).line(format!("creating metadata pool '{metadata}'..."));
    let task = task.finish(move |run| {
        pools::put(run.world, &data, pool.clone());
        pools::put(run.world, &metadata, pool);
        run.world.ceph.filesystems.insert(name.clone(), (data, metadata));
        run.log(format!("configuring new CephFS '{name}'"));
        if add {
            let config = json!({
                "type": "cephfs", "path": format!("/mnt/pve/{name}"), "fs-name": name, "content": "backup,iso,vztmpl",
            });
            let config = config.as_object().cloned().unwrap_or_default();
            let size =
                run.world.ceph.total() / u64::from(run.world.ceph.config.clone().unwrap_or_default().size.max(1));
            run.world.storages.insert(name, Storage { config, size, ..Storage::default() });
        }
        Ok(())
    });
    call.start(task)
}

/// `DELETE …/fs/{name}`: not while a storage is enabled on it.
pub(crate) fn destroy(call: &mut Call<'_>) -> Answer {
    ready(call)?;
    let name = call.params.text("name");
    if !call.world.ceph.filesystems.contains_key(&name) {
        return Err(Failure::die(format!("no such cephfs '{name}'")));
    }
    let (pools, storages) = (call.params.is_on("remove-pools"), call.params.is_on("remove-storages"));
    let task = call.task("cephdestroyfs", &name).lasts(WORK).finish(move |run| {
        let of_it = |storage: &Storage| {
            storage.plugin() == "cephfs" && storage.option("fs-name").unwrap_or_else(|| "cephfs".into()) == name
        };
        let on_it = run.world.storages.iter().filter(|(_, storage)| of_it(storage));
        let ids: Vec<(String, bool)> = on_it.map(|(id, storage)| (id.clone(), storage.disabled())).collect();
        if let Some((id, _)) = ids.iter().find(|(_, disabled)| !disabled) {
            return Err(format!("storage '{id}' is not disabled, make sure to disable and unmount the storage first"));
        }
        if let Some((data, metadata)) = run.world.ceph.filesystems.remove(&name).filter(|_| pools) {
            run.world.ceph.pools.remove(&data);
            run.world.ceph.pools.remove(&metadata);
        }
        for (id, _) in ids.into_iter().filter(|_| storages) {
            run.world.storages.remove(&id);
        }
        Ok(())
    });
    call.start(task)
}

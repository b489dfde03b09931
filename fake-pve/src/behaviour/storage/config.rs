//! `/storage`: definitions of storages.

use serde_json::{Map, Value, json};

use crate::behaviour::params::split_list;
use crate::behaviour::params::stored;
use crate::behaviour::{Answer, Call, Data, Failure};
use crate::world::plugin::{Need, Plugin};
use crate::world::{Storage, option};

/// `GET /storage`.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let wanted = call.params.get("type");
    let visible = |id: &str| call.may(&format!("/storage/{id}"), &["Datastore.Audit", "Datastore.AllocateSpace"]);
    let storages = call.world.storages.iter().filter(|(id, _)| visible(id));
    let of_type = storages.filter(|(_, storage)| wanted.as_ref().is_none_or(|wanted| storage.plugin() == *wanted));
    Ok(of_type.map(|(id, storage)| shown(call, id, storage)).collect::<Vec<_>>().into())
}

/// `GET /storage/{storage}`.
pub(crate) fn show(call: &mut Call<'_>) -> Answer {
    let id = call.params.text("storage");
    let storage = call.world.storages.get(&id).ok_or_else(|| missing(&id))?;
    Ok(shown(call, &id, storage).into())
}

fn shown(call: &Call<'_>, id: &str, storage: &Storage) -> Value {
    let mut shown = storage.config.clone();
    shown.insert("content".into(), json!(storage.content().join(",")));
    if storage.shared() {
        shown.insert("shared".into(), json!(1));
    }
    shown.insert("storage".into(), json!(id));
    shown.insert("digest".into(), json!(call.world.storage_digest()));
    Value::Object(shown)
}

/// `POST /storage`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    let (id, name) = (call.params.text("storage"), call.params.text("type"));
    let plugin = Plugin::named(&name).ok_or_else(|| Failure::die(format!("unknown section type '{name}'")))?;
    let (mut given, secrets) = apart(call, plugin);
    if plugin.mounted && !given.contains_key("path") {
        given.insert("path".into(), json!(format!("/mnt/pve/{id}")));
    }
    let mut config = Map::from_iter([("type".to_string(), json!(name))]);
    config.extend(checked(call, plugin, &given)?);
    if let Some(key) = plugin.required().find(|key| !given.contains_key(*key)) {
        return Err(Failure::die(format!("missing value for required option '{key}'")));
    }
    let returned = locked(call, "create", |call| add(call, plugin, &id, config, &secrets))?;
    Ok(answer(&id, plugin, returned))
}

fn add(
    call: &mut Call<'_>,
    plugin: &Plugin,
    id: &str,
    mut config: Map<String, Value>,
    secrets: &Map<String, Value>,
) -> Result<Map<String, Value>, String> {
    if call.world.storages.contains_key(id) {
        return Err(format!("storage ID '{id}' already defined"));
    }
    if plugin.name == "zfs" {
        config.entry("zfs-base-path").or_insert_with(|| json!("/dev/zvol"));
    }
    let mut storage = Storage { config, ..Storage::default() };
    let returned = keep_secrets(call, &mut storage, secrets);
    switch_on(call, id, &mut storage)?;
    call.world.storages.insert(id.into(), storage);
    Ok(returned)
}

/// Tries a new storage where it is enabled; what cannot be reached from a node is remembered as offline there.
fn switch_on(call: &Call<'_>, id: &str, storage: &mut Storage) -> Result<(), String> {
    let entry = &call.world.entry;
    let probed = call.world.probe(entry, id, storage);
    // A volume group that is not there is found out by the status, not by switching the storage on; so is a pool of RBD.
    let found_out_later = matches!(storage.plugin().as_str(), "lvm" | "lvmthin" | "rbd" | "zfs");
    if storage.on_node(entry) && !found_out_later {
        probed.clone()?;
    }
    storage.size = probed.unwrap_or(0);
    for node in call.world.nodes.keys() {
        match call.world.probe(node, id, storage) {
            Ok(size) => storage.size = storage.size.max(size),
            Err(_) => storage.offline_on.push(node.clone()),
        }
    }
    if storage.plugin() == "dir" || storage.plugin() == "btrfs" {
        storage.used_otherwise = call.world.nodes.get(entry).map_or(0, |node| node.rootfs_used);
    }
    Ok(())
}

/// `PUT /storage/{storage}`.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    let id = call.params.text("storage");
    let (plugin, returned) = locked(call, "update", |call| change(call, &id))?;
    Ok(answer(&id, plugin, returned))
}

fn change(call: &mut Call<'_>, id: &str) -> Result<(&'static Plugin, Map<String, Value>), String> {
    call.check_digest(&call.world.storage_digest()).map_err(|failure| failure.message)?;
    let mut storage = call.world.storages.get(id).cloned().ok_or_else(|| missing(id).message)?;
    let plugin =
        Plugin::named(&storage.plugin()).ok_or_else(|| format!("unknown section type '{}'", storage.plugin()))?;
    let (given, secrets) = apart(call, plugin);
    let fixed = |key: &&String| matches!(plugin.option(key), Some(Need::Fixed | Need::OptionalFixed));
    if let Some(key) = given.keys().find(fixed) {
        return Err(format!("can't change value of fixed parameter '{key}'"));
    }
    let new = checked(call, plugin, &given)?;
    for key in call.params.list("delete") {
        match plugin.option(&key).ok_or_else(|| format!("no such option '{key}'"))? {
            Need::Fixed | Need::Required => return Err(format!("unable to delete required option '{key}'")),
            Need::OptionalFixed => return Err(format!("unable to delete fixed option '{key}'")),
            Need::Optional if given.contains_key(&key) => {
                return Err(format!("cannot set and delete property '{key}' at the same time!"));
            }
            Need::Optional => storage.config.shift_remove(&key),
        };
        storage.secrets.remove(&key);
    }
    for key in given.keys().filter(|key| !new.contains_key(*key)) {
        storage.config.shift_remove(key);
    }
    storage.config.extend(new);
    let returned = keep_secrets(call, &mut storage, &secrets);
    call.world.storages.insert(id.into(), storage);
    Ok((plugin, returned))
}

/// `DELETE /storage/{storage}`.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    let id = call.params.text("storage");
    let removed = locked(call, "delete", |call| {
        if !call.world.storages.contains_key(&id) {
            return Err(missing(&id).message);
        }
        let on_top = |storage: &Storage| storage.option("base").is_some_and(|base| base.split(':').next() == Some(&id));
        if call.world.storages.values().any(on_top) {
            return Err("can't remove storage - storage is used as base of another storage".into());
        }
        Ok(call.world.storages.remove(&id))
    })?;
    if let Some(removed) = removed.filter(|_| id == "local") {
        call.world.storages.insert(id.clone(), Storage::default_local(removed.size, removed.used_otherwise));
    }
    let access = &mut call.world.access.config;
    access.acl.remove(&format!("/storage/{id}"));
    for pool in access.pools.values_mut() {
        pool.storage.remove(&id);
    }
    Ok(Data::null())
}

/// Runs under the lock of the file: its errors say which operation failed.
fn locked<T>(
    call: &mut Call<'_>,
    word: &str,
    act: impl FnOnce(&mut Call<'_>) -> Result<T, String>,
) -> Result<T, Failure> {
    if call.world.no_quorum {
        return Err(Failure::die(format!("{word} storage failed: cfs-lock 'file-storage_cfg' error: no quorum!")));
    }
    let before: Vec<String> = call.world.storages.keys().cloned().collect();
    let done = act(call).map_err(|error| Failure::die(format!("{word} storage failed: {error}")))?;
    // What was read before is written with its default content, and `local` with it.
    for id in before {
        if let Some(storage) = call.world.storages.get_mut(&id) {
            let content = storage.content().join(",");
            storage.config.entry("content").or_insert_with(|| json!(content));
            storage.implicit = false;
        }
    }
    Ok(done)
}

/// Options as they were given, typed, and the secrets among them.
fn apart(call: &Call<'_>, plugin: &Plugin) -> (Map<String, Value>, Map<String, Value>) {
    let not_stored = ["storage", "type", "delete", "digest"].map(String::from);
    let given = stored(call.method, &call.params, &not_stored);
    given.into_iter().partition(|(key, _)| !plugin.secrets.contains(&key.as_str()))
}

/// What is kept of given options. Empty values and switched-off flags that mean nothing are left out.
fn checked(call: &Call<'_>, plugin: &Plugin, given: &Map<String, Value>) -> Result<Map<String, Value>, String> {
    let mut kept = Map::new();
    for (key, value) in given {
        let text = option::text(value);
        if key == "nodes" && matches!(text.as_str(), "" | "0") {
            continue;
        }
        if plugin.option(key).is_none() {
            return Err(format!("unexpected property '{key}'"));
        }
        if call.params.text(key).contains(['\n', '\r']) {
            return Err("property contains a line feed".into());
        }
        let value = match key.as_str() {
            "content" => json!(plugin.check_content(&split_list(&text))?),
            "nodes" => json!(split_list(&text).join(",")),
            "format" if !plugin.formats.contains(&text.as_str()) => {
                return Err(format!("storage does not support format '{text}'"));
            }
            "content-dirs" => json!(split_list(&text).join(",")),
            "disable" if text == "0" => continue,
            _ => value.clone(),
        };
        if !option::text(&value).is_empty() {
            kept.insert(key.clone(), value);
        }
    }
    Ok(kept)
}

/// Keeps given secrets; what the answer shows of them once (a new encryption key).
fn keep_secrets(call: &mut Call<'_>, storage: &mut Storage, secrets: &Map<String, Value>) -> Map<String, Value> {
    let mut returned = Map::new();
    for (key, value) in secrets {
        let mut text = option::text(value);
        match key.as_str() {
            "encryption-key" => {
                let fingerprint = call.world.random.hex(64);
                if text == "autogen" {
                    text = encryption_key(call, &fingerprint);
                    returned.insert(key.clone(), json!(text));
                }
                storage.config.insert(key.clone(), json!(in_pairs(&fingerprint)));
            }
            "master-pubkey" => {
                storage.config.insert(key.clone(), json!("1"));
            }
            _ => {}
        }
        storage.secrets.insert(key.clone(), text);
    }
    returned
}

fn encryption_key(call: &mut Call<'_>, fingerprint: &str) -> String {
    use base64::Engine as _;
    let now = jiff::Timestamp::from_second(call.now()).unwrap_or_default().to_string();
    let data = base64::engine::general_purpose::STANDARD.encode(call.world.random.hex(32));
    let fingerprint = in_pairs(fingerprint);
    json!({"kdf": null, "created": now, "modified": now, "data": data, "fingerprint": fingerprint}).to_string()
}

fn in_pairs(hex: &str) -> String {
    let pairs: Vec<&str> = (0..hex.len() / 2).map(|at| &hex[at * 2..at * 2 + 2]).collect();
    pairs.join(":")
}

fn answer(id: &str, plugin: &Plugin, returned: Map<String, Value>) -> Data {
    let mut answer = json!({"storage": id, "type": plugin.name});
    if plugin.name == "pbs" {
        answer["config"] = Value::Object(returned);
    }
    answer.into()
}

/// `storage '…' does not exist`.
pub(crate) fn missing(id: &str) -> Failure {
    Failure::die(format!("storage '{id}' does not exist"))
}

//! `/nodes/{node}/vzdump`: backups of guests.

mod archive;
mod guest;
mod job;
pub(crate) mod options;

use serde_json::{Map, Value, json};

use super::params::scalar;
use super::storage::volume::{check_access, require_any};
use super::{Answer, Call, Failure};
use crate::work::NewTask;
use crate::world::volume::name;
use crate::world::{Guest, GuestKind, World, conf, disk};
pub(crate) use archive::{NOT_IN_BACKUP, is_included, reason};
use options::Options;
pub(crate) use options::included;

/// `POST /nodes/{node}/vzdump`: a task that backs up the guests of this node, or `OK` when none is here.
pub(crate) fn run(call: &mut Call<'_>) -> Answer {
    let node = call.node();
    if call.params.is_on("stdout") {
        return Err(Failure::param("stdout", "option is only allowed on the command line interface."));
    }
    options::check_root_only(call, &["tmpdir", "dumpdir", "script", "job-id"])?;
    options::check_rights(call, &call.params.0)?;
    let retention_of = call.params.get("prune-backups").and_then(|_| storage_of(&call.params.0));
    if let Some(storage) = retention_of {
        call.require(&format!("/storage/{storage}"), &["Datastore.Allocate"])?;
    }
    let mut given = options::verified(&call.params.0, true)?;
    given.insert("node".into(), json!(node));
    let (local, others) = shares(call.world, &given, &node)?;
    let flag = |key: &str| given.get(key).and_then(scalar).as_deref() == Some("1");
    if flag("stop") {
        let running: Vec<String> =
            call.world.tasks.iter().filter(|task| job::is_backup(task, &node)).map(|task| task.upid.clone()).collect();
        for upid in running {
            call.stop_task(&upid);
        }
    }
    if local.is_empty() && (flag("stop") || !flag("all")) {
        return Ok(json!("OK").into());
    }
    if let Some(storage) = storage_of(&given) {
        call.require(&format!("/storage/{storage}"), &["Datastore.AllocateSpace"])?;
    }
    let options = Options::of(&given);
    let now_ms = call.now_ms();
    let task = job::task(call.world, &node, &call.authid, now_ms, options, local, others);
    call.start(task)
}

/// The guests that options name: those of a node, with those that do not exist, and those of other nodes.
fn shares(world: &World, given: &Map<String, Value>, node: &str) -> Result<(Vec<u32>, Vec<u32>), String> {
    let mut by_node = included(world, given)?;
    let mut local = by_node.remove(node).unwrap_or_default();
    local.extend(by_node.remove("").unwrap_or_default());
    Ok((local, by_node.into_values().flatten().collect()))
}

/// The part of a regular backup that a node does; `None` when it has no guest to back up.
///
/// # Errors
/// The pool of the job does not exist.
pub(crate) fn regular(
    world: &World,
    given: &Map<String, Value>,
    node: &str,
    now_ms: i64,
) -> Result<Option<NewTask>, String> {
    let (local, others) = shares(world, given, node)?;
    if local.is_empty() && given.get("all").and_then(scalar).as_deref() != Some("1") {
        return Ok(None);
    }
    Ok(Some(job::task(world, node, "root@pam", now_ms, Options::of(given), local, others)))
}

/// The storage that backups go to, when one is named.
fn storage_of(given: &Map<String, Value>) -> Option<String> {
    match given.get("storage").and_then(scalar) {
        None if !given.contains_key("dumpdir") => Some("local".into()),
        storage => storage,
    }
}

/// `GET /nodes/{node}/vzdump/defaults`.
pub(crate) fn defaults(call: &mut Call<'_>) -> Answer {
    let storage = call.params.get("storage").unwrap_or_else(|| "local".into());
    require_any(call, &format!("/storage/{storage}"), &["Datastore.Audit", "Datastore.AllocateSpace"])?;
    let found = call.world.storages.get(&storage).ok_or_else(|| super::storage::config::missing(&storage))?;
    if !found.holds("backup") {
        return Err(Failure::die(format!("can't use storage '{storage}' for backups - wrong content type")));
    }
    let mut defaults = json!({
        "all": 0, "bwlimit": 0, "compress": "0", "fleecing": {"enabled": 0}, "ionice": 7, "lockwait": 180,
        "mailnotification": "always", "mode": "snapshot", "notification-mode": "auto",
        "performance": {"max-workers": 16, "pbs-entries-max": 1_048_576}, "pigz": 0,
        "prune-backups": found.option("prune-backups").unwrap_or_else(|| "keep-all=1".into()),
        "quiet": 0, "remove": 1, "stdexcludes": 1, "stop": 0, "stopwait": 10, "storage": storage, "zstd": 1,
    });
    if found.plugin() != "pbs" {
        let folder = crate::world::plugin::folder(found, "backup");
        defaults["dumpdir"] = json!(format!("{}/{folder}", found.option("path").unwrap_or_default()));
    }
    if !call.may(&format!("/nodes/{}", call.node()), &["Sys.Audit"])
        && let Value::Object(defaults) = &mut defaults
    {
        defaults.retain(|key, _| !["mailto", "tmpdir", "dumpdir", "script", "ionice"].contains(&key.as_str()));
    }
    Ok(defaults.into())
}

/// `GET /nodes/{node}/vzdump/extractconfig`: the configuration that a backup holds.
pub(crate) fn extract_config(call: &mut Call<'_>) -> Answer {
    let (node, volid) = (call.node(), call.params.text("volume"));
    check_access(call, None, &volid, Some("backup"))?;
    name::split(&volid)?;
    let owner = call.world.parse_volume(&volid)?.vmid;
    let owner = owner.map_or_else(|| "-".to_string(), |vmid| vmid.to_string());
    call.require(&format!("/vms/{owner}"), &["VM.Backup"])?;
    let path = call.world.volume_path(&volid)?;
    let volume = call.world.volume(&node, &volid);
    let volume = volume.ok_or_else(|| Failure::die(format!("volume '{volid}' does not exist")))?;
    let held = volume.payload.clone().and_then(|payload| serde_json::from_value::<Guest>(payload).ok());
    match held {
        Some(guest) => Ok(json!(config_text(call.world, &guest)).into()),
        None => Err(Failure::die(format!("command 'vma config {path}' failed: exit code 255"))),
    }
}

/// The configuration file in a backup; a machine's names the devices that the archive holds.
fn config_text(world: &World, guest: &Guest) -> String {
    let mut text = conf::write(guest);
    if guest.kind == GuestKind::Vm {
        for drive in disk::disks(guest.kind, &guest.config) {
            let volume = drive.volume();
            let Some((storage, _)) = volume.split_once(':').filter(|_| archive::is_included(&drive)) else { continue };
            let format = world.parse_volume(&volume).map_or_else(|_| "raw".into(), |parsed| parsed.format);
            text.push_str(&format!("#qmdump#map:{key}:drive-{key}:{storage}:{format}:\n", key = drive.key));
        }
    }
    text
}

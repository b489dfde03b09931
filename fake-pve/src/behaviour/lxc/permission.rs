//! Who may set which option of a container.

use pve_catalog::property;
use serde_json::{Map, Value};

use crate::behaviour::Failure;
use crate::behaviour::guest::access::{check_bridge, check_volume};
use crate::behaviour::guest::network::{is_net, numbered};
use crate::behaviour::guest::stage::Stage;
use crate::behaviour::guest::tags;
use crate::world::disk::{Disk, is_mount};
use crate::world::volume::name;
use crate::world::{GuestKind, option};

/// Whose options are judged, and against what.
pub(crate) struct Subject<'a> {
    pub vmid: u32,
    /// The pool that it will be in, when it is being made.
    pub pool: Option<&'a str>,
    /// Its present options; empty when it is being made.
    pub before: &'a Map<String, Value>,
    pub unprivileged: bool,
}

/// Refuses options that the caller may not set or delete.
///
/// # Errors
/// 403 with the privilege, or with what only root may do.
pub(crate) fn check(
    stage: &dyn Stage,
    subject: &Subject<'_>,
    param: &Map<String, Value>,
    delete: &[String],
) -> Result<(), Failure> {
    if stage.by_root() {
        return Ok(());
    }
    for (key, value) in param {
        check_one(stage, subject, key, Some(&option::text(value)))?;
    }
    delete.iter().try_for_each(|key| check_one(stage, subject, key, None))
}

fn check_one(stage: &dyn Stage, subject: &Subject<'_>, key: &str, new: Option<&str>) -> Result<(), Failure> {
    let need = |privilege: &str| stage.need_on_guest(subject.vmid, subject.pool, privilege);
    let root_only = |what: &str| Err(Failure::denied(&format!("{what} is only allowed for root@pam")));
    let before = subject.before.get(key).map(option::text);
    match key {
        "cores" | "cpuunits" | "cpulimit" => need("VM.Config.CPU"),
        _ if is_mount(key) => {
            need("VM.Config.Disk")?;
            new.map_or(Ok(()), |text| check_mount(stage, subject.vmid, key, text))
        }
        _ if numbered(key, "dev") => root_only("configuring device passthrough"),
        "memory" | "swap" => need("VM.Config.Memory"),
        _ if is_net(key) => {
            need("VM.Config.Network")?;
            before.as_deref().into_iter().chain(new).try_for_each(|net| check_bridge(stage, net))
        }
        "nameserver" | "searchdomain" | "hostname" => need("VM.Config.Network"),
        "features" => check_features(stage, subject, before.as_deref(), new),
        "hookscript" => root_only("changing the hookscript"),
        "tags" => {
            if subject.before.is_empty() {
                need("VM.Config.Options")?;
                return Ok(());
            }
            tags::check(stage, subject.vmid, &before.unwrap_or_default(), new.unwrap_or_default())
        }
        "ha-managed" => stage.need("/", &["Sys.Console"]),
        "lxc" => root_only("changing raw configuration"),
        _ => need("VM.Config.Options"),
    }
}

fn check_mount(stage: &dyn Stage, vmid: u32, key: &str, text: &str) -> Result<(), Failure> {
    let Some(mount) = Disk::parse(GuestKind::Lxc, key, text) else { return Ok(()) };
    let kind = mount.mount_type();
    if kind != "volume" {
        return Err(Failure::denied(&format!("mount point type {kind} is only allowed for root@pam")));
    }
    match mount.wants_new() {
        Some((Some(storage), _)) => stage.need(&format!("/storage/{storage}"), &["Datastore.AllocateSpace"]),
        _ => check_volume(stage, vmid, &mount.volume(), Some("rootdir")),
    }
}

fn features(text: Option<&str>) -> Map<String, Value> {
    let keys = option::schema(GuestKind::Lxc, "features").and_then(property::keys);
    let parsed = keys.zip(text).and_then(|(keys, text)| property::parse(keys, text).ok());
    parsed.unwrap_or_default()
}

/// Nesting may be changed by who may allocate the guest; everything else is root's.
fn check_features(
    stage: &dyn Stage,
    subject: &Subject<'_>,
    before: Option<&str>,
    new: Option<&str>,
) -> Result<(), Failure> {
    let denied = |text: &str| Err(Failure::denied(&format!("{text} is only allowed for root@pam")));
    if !subject.unprivileged {
        return denied("changing feature flags for privileged container");
    }
    let (before, after) = (features(before), features(new));
    let changed = |key: &String| before.get(key) != after.get(key);
    let mut nesting = false;
    for key in before.keys().chain(after.keys()).filter(|key| changed(key)) {
        if key != "nesting" || (before.is_empty() && after.get(key).map(option::text).as_deref() != Some("1")) {
            return denied("changing feature flags (except nesting)");
        }
        nesting = true;
    }
    if nesting { stage.need_on_guest(subject.vmid, subject.pool, "VM.Allocate") } else { Ok(()) }
}

/// Refuses mount points that nobody can use: unknown storages, names that cannot be read, paths from others than root.
///
/// # Errors
/// As the storage and the volume are refused.
pub(crate) fn check_mounts(stage: &dyn Stage, vmid: u32, param: &Map<String, Value>) -> Result<(), Failure> {
    for (key, value) in param.iter().filter(|(key, _)| is_mount(key)) {
        let text = option::text(value);
        let Some(mount) = Disk::parse(GuestKind::Lxc, key, &text) else { continue };
        if mount.mount_type() != "volume" {
            continue;
        }
        match mount.wants_new() {
            Some((Some(storage), _)) => {
                stage.need(&format!("/storage/{storage}"), &["Datastore.AllocateSpace"])?;
                let found = stage.world().storages.get(&storage);
                let found = found.ok_or_else(|| format!("storage '{storage}' does not exist"))?;
                if !found.holds("rootdir") {
                    let text = format!("storage '{storage}' does not support container directories");
                    return Err(Failure::param("storage", text));
                }
            }
            Some((None, _)) => {}
            None => {
                name::split(&mount.volume())?;
                if !stage.by_root() {
                    check_volume(stage, vmid, &mount.volume(), Some("rootdir"))?;
                }
            }
        }
    }
    Ok(())
}

/// Refuses devices of the node that are not there.
///
/// # Errors
/// `Path has to be defined`, `Device … does not exist`.
pub(crate) fn check_devices(stage: &dyn Stage, param: &Map<String, Value>) -> Result<(), Failure> {
    for (key, value) in param.iter().filter(|(key, _)| numbered(key, "dev")) {
        let keys = option::schema(GuestKind::Lxc, key).and_then(property::keys);
        let parsed = keys.and_then(|keys| property::parse(keys, &option::text(value)).ok()).unwrap_or_default();
        let Some(path) = parsed.get("path").map(option::text) else {
            return Err(Failure::die("Path has to be defined"));
        };
        let node = stage.world().nodes.get(&stage.at());
        if !node.is_some_and(|node| node.disks.contains_key(&path)) {
            return Err(Failure::die(format!("Device {path} does not exist")));
        }
    }
    Ok(())
}

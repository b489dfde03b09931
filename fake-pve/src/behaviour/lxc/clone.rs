//! `POST …/clone` of a container.

use serde_json::{Map, Value, json};

use crate::behaviour::guest::network::{is_net, stored};
use crate::behaviour::guest::reading::snapshot_config;
use crate::behaviour::guest::stage::{Stage, late};
use crate::behaviour::guest::{access, check_pool, check_quorum, check_unused, copy};
use crate::behaviour::{Answer, Call, Failure};
use crate::work::Run;
use crate::world::disk::{Disk, disks, is_unused};
use crate::world::{Guest, GuestKind, option};

/// What is cloned, and how.
#[derive(Clone)]
struct Plan {
    vmid: u32,
    newid: u32,
    full: bool,
    snapname: Option<String>,
    storage: Option<String>,
    target: Option<String>,
    pool: Option<String>,
    hostname: Option<String>,
    description: Option<String>,
}

/// `POST …/clone`: source and target are locked before there is a task.
pub(crate) fn clone(call: &mut Call<'_>) -> Answer {
    let (vmid, node) = (call.vmid(), call.node());
    let newid = call.params.int("newid").and_then(|id| u32::try_from(id).ok()).unwrap_or(0);
    let pool = call.params.get("pool");
    check_pool(call, pool.as_deref())?;
    let wished = |target: &String| *target != node && target != "localhost" && target != "0";
    let target = call.params.get("target").filter(wished);
    let storage = call.params.get("storage");
    check_places(call, storage.as_deref(), target.as_deref())?;
    check_quorum(call)?;
    let guest = call.world.guest(GuestKind::Lxc, &node, vmid)?.clone();
    guest.check_lock()?;
    check_unused(call, newid)?;
    let plan = Plan {
        vmid,
        newid,
        full: call.params.flag("full").unwrap_or(!guest.template()),
        snapname: call.params.get("snapname"),
        storage,
        target,
        pool,
        hostname: call.params.get("hostname"),
        description: call.params.get("description"),
    };
    let source = check(call, &guest, &plan)?;
    let bytes = if plan.full {
        disks(GuestKind::Lxc, &source).iter().filter_map(Disk::size).fold(0, u64::saturating_add)
    } else {
        0
    };
    call.world.guests.insert(newid, Guest::new(GuestKind::Lxc, newid, &node, json!({"lock": "create"})));
    call.world.copy_firewall(vmid, newid);
    let task = call
        .task("vzclone", &vmid.to_string())
        .lasts(copy::duration(bytes))
        .line(format!("creating a clone of container {vmid} with ID {newid}"))
        .begin(move |run| {
            run.lock(vmid, "disk");
            Ok(())
        })
        .finish(move |run| make(run, &plan, source).map_err(|error| format!("clone failed: {error}")))
        .undo(move |run| {
            run.world.forget_guest(newid, false);
            run.world.guests.remove(&newid);
            Ok(())
        });
    call.start(task)
}

fn check_places(call: &Call<'_>, storage: Option<&str>, target: Option<&str>) -> Result<(), Failure> {
    if let Some(target) = target.filter(|target| !call.world.nodes.contains_key(*target)) {
        return Err(Failure::die(format!("no such cluster node '{target}'")));
    }
    let Some(storage) = storage else { return Ok(()) };
    call.world.usable_storage(&call.node(), storage)?;
    if let Some(target) = target
        && !call.world.usable_storage(target, storage)?.shared()
    {
        return Err(Failure::die(format!("can't clone to non-shared storage '{storage}'")));
    }
    Ok(())
}

/// Refuses what cannot be cloned; the configuration that will be.
fn check(call: &Call<'_>, guest: &Guest, plan: &Plan) -> Result<Map<String, Value>, Failure> {
    let source = match &plan.snapname {
        Some(name) => snapshot_config(guest, name)?,
        None => guest.config.clone(),
    };
    if plan.storage.is_some() && !plan.full {
        return Err(Failure::die("parameter 'storage' not allowed for linked clones"));
    }
    let mut shared = true;
    for mount in disks(GuestKind::Lxc, &source) {
        let (key, volid, kind) = (&mount.key, mount.volume(), mount.mount_type());
        if kind != "volume" {
            return Err(Failure::die(format!("unable to clone mountpoint '{key}' (type {kind})")));
        }
        if plan.full && guest.runs() && plan.snapname.is_none() {
            return Err(Failure::die("Full clone of a running container is only possible from a snapshot"));
        }
        if !plan.full && !can_link(call, &volid, plan.snapname.as_deref()) {
            return Err(Failure::die(format!("Linked clone feature for '{volid}' is not available")));
        }
        let of_source = volid.split_once(':').map(|(storage, _)| storage.to_string());
        let storage = plan.storage.clone().or(of_source).unwrap_or_default();
        let found = call.world.storages.get(&storage).ok_or_else(|| format!("storage '{storage}' does not exist"))?;
        shared &= found.shared();
        call.need(&format!("/storage/{storage}"), &["Datastore.AllocateSpace"])?;
    }
    for (_, net) in source.iter().filter(|(key, _)| is_net(key)) {
        access::check_bridge(call, &option::text(net))?;
    }
    match plan.target.as_ref().filter(|_| !shared) {
        Some(target) => Err(Failure::die(format!("can't clone CT to node '{target}' (CT uses local storage)"))),
        None => Ok(source),
    }
}

/// A container cannot live in an overlay: files of a directory make no linked clones.
fn can_link(call: &Call<'_>, volid: &str, snapshot: Option<&str>) -> bool {
    let storage = volid.split_once(':').map(|(storage, _)| storage).unwrap_or_default();
    let plugin = call.world.storages.get(storage).map(|found| found.plugin()).unwrap_or_default();
    call.world.has_feature(volid, "clone", snapshot) && !matches!(plugin.as_str(), "dir" | "nfs" | "cifs")
}

fn make(run: &mut Run<'_>, plan: &Plan, source: Map<String, Value>) -> Result<(), String> {
    const LEFT: [&str; 6] = ["digest", "lock", "parent", "snaptime", "snapstate", "template"];
    let node = run.node.to_string();
    let mut config = source.clone();
    config.retain(|key, _| !LEFT.contains(&key.as_str()) && !is_unused(key));
    let nets: Vec<String> = config.keys().filter(|key| is_net(key)).cloned().collect();
    for key in nets {
        let net = stored(run, GuestKind::Lxc, &key, &option::text(&config[&key]), true);
        config.insert(key, net.into());
    }
    for (key, value) in [("hostname", &plan.hostname), ("description", &plan.description)] {
        if let Some(value) = value {
            config.insert(key.into(), value.clone().into());
        }
    }
    let mut made = Vec::new();
    for mut mount in disks(GuestKind::Lxc, &source) {
        match copy_mount(run, plan, &mount) {
            Ok(volid) => {
                mount.set_volume(&volid);
                config.insert(mount.key.clone(), mount.print().into());
                made.push(volid);
            }
            Err(error) => {
                for volid in made {
                    let _freed = run.world.free_volume(&node, &volid);
                }
                return Err(error);
            }
        }
    }
    let now = run.now;
    let (used, state) =
        run.world.guests.get(&plan.vmid).map(|guest| (guest.disk_used, guest.state.clone())).unwrap_or_default();
    let clone = run.guest_mut(plan.newid).map_err(late)?;
    (clone.config, clone.created, clone.disk_used, clone.state) = (config, now, used, state);
    clone.written();
    if let Some(target) = &plan.target {
        clone.node.clone_from(target);
    }
    if let Some(pool) = &plan.pool {
        run.world.add_to_pool(plan.newid, pool);
    }
    Ok(())
}

fn copy_mount(run: &mut Run<'_>, plan: &Plan, mount: &Disk) -> Result<String, String> {
    let (now, node, volid) = (run.now, run.node.to_string(), mount.volume());
    if !plan.full {
        run.log(format!("create linked clone of mount point {} ({volid})", mount.key));
        let made = run.world.clone_volume(now, &node, &volid, plan.newid)?;
        run.tell_all(&made.log);
        return Ok(made.volid);
    }
    run.log(format!("create full clone of mountpoint {} ({volid})", mount.key));
    let of_source = volid.split_once(':').map(|(storage, _)| storage.to_string()).unwrap_or_default();
    let storage = plan.storage.clone().unwrap_or(of_source);
    copy_content(run, plan.newid, &volid, &storage)
}

/// A new volume with the content of another one, and what rsync says of it.
pub(super) fn copy_content(run: &mut Run<'_>, vmid: u32, volid: &str, storage: &str) -> Result<String, String> {
    let (now, node) = (run.now, run.node.to_string());
    let volume = run.world.volume(&node, volid).cloned();
    let volume = volume.ok_or_else(|| format!("volume '{volid}' does not exist"))?;
    let (made, log) = run.world.allocate_mount(now, &node, vmid, storage, volume.size)?;
    run.tell_all(&log);
    if !run.world.has_room(&node, storage, volume.used) {
        let _freed = run.world.free_volume(&node, &made);
        return Err("rsync: [receiver] write failed: No space left on device (28)".into());
    }
    if let Some(copy) = run.world.volume_mut(&node, &made) {
        copy.used = copy.used.max(volume.used);
    }
    let files = 1000 + volume.used / 32_768;
    for line in [
        String::new(),
        format!("Number of files: {files}"),
        format!("Number of created files: {}", files - 1),
        "Number of deleted files: 0".into(),
        format!("Total file size: {} bytes", volume.used),
        format!("total size is {}  speedup is 0.99", volume.used),
    ] {
        run.log(line);
    }
    Ok(made)
}

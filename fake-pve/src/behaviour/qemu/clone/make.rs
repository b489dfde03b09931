//! The worker of a clone: volumes, then the configuration with identifiers of its own.

use serde_json::{Map, Value};

use super::Plan;
use crate::behaviour::guest::copy;
use crate::behaviour::guest::network::{is_net, stored};
use crate::behaviour::guest::reading::snapshot_config;
use crate::behaviour::guest::stage::{Stage, late};
use crate::behaviour::qemu::drives::SMALL;
use crate::work::Run;
use crate::world::disk::{Disk, disks, is_drive, is_unused};
use crate::world::{GuestKind, option};

/// The worker: volumes first, one after the other, then the configuration.
pub(super) fn make(run: &mut Run<'_>, plan: &Plan) -> Result<(), String> {
    let node = run.node.to_string();
    let guest = run.world.guest(GuestKind::Vm, &node, plan.vmid)?.clone();
    guest.check_lock()?;
    let source = match &plan.snapname {
        Some(name) => snapshot_config(&guest, name)?,
        None => guest.config.clone(),
    };
    let mut config = kept(run, plan, &source);
    if plan.snapname.is_none() && !guest.pending.is_empty() {
        let keys: Vec<&str> = guest.pending.keys().map(String::as_str).collect();
        run.log(format!("found pending changes for '{}', discarding for clone", keys.join(",")));
    }
    let mut made = Vec::new();
    for mut disk in disks(GuestKind::Vm, &source).into_iter().filter(|disk| !disk.is_cdrom(true)) {
        match copy_disk(run, plan, &disk) {
            Ok(volid) => {
                disk.take("format");
                disk.set_volume(&volid);
                if let Some(size) = run.world.volume(&node, &volid).map(|volume| volume.size) {
                    disk.set_size(size);
                }
                config.insert(disk.key.clone(), disk.print().into());
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
    let clone = run.guest_mut(plan.newid).map_err(late)?;
    (clone.config, clone.created, clone.agent) = (config, now, guest.agent.clone());
    clone.written();
    if let Some(target) = &plan.target {
        clone.node.clone_from(target);
    }
    if let Some(pool) = &plan.pool {
        run.world.add_to_pool(plan.newid, pool);
    }
    Ok(())
}

/// What the clone takes over as it is, with addresses and identifiers of its own.
fn kept(run: &mut Run<'_>, plan: &Plan, source: &Map<String, Value>) -> Map<String, Value> {
    const LEFT: [&str; 9] = [
        "digest",
        "lock",
        "parent",
        "runningcpu",
        "runningmachine",
        "running-nets-host-mtu",
        "snaptime",
        "snapstate",
        "vmstate",
    ];
    let mut config = source.clone();
    config.retain(|key, _| !LEFT.contains(&key.as_str()) && !is_unused(key) && key != "template");
    let keys: Vec<String> = config.keys().cloned().collect();
    for key in keys {
        if is_net(&key) {
            let net = stored(run, GuestKind::Vm, &key, &option::text(&config[&key]), true);
            config.insert(key, net.into());
        } else if is_drive(&key) && Disk::parse(GuestKind::Vm, &key, &option::text(&config[&key])).is_none() {
            config.shift_remove(&key);
        }
    }
    let uuid = run.world.random.uuid();
    let smbios = config.get("smbios1").map(option::text).unwrap_or_default();
    let rest = smbios.split(',').filter(|part| !part.is_empty() && !part.starts_with("uuid="));
    let parts: Vec<String> = std::iter::once(format!("uuid={uuid}")).chain(rest.map(str::to_string)).collect();
    config.insert("smbios1".into(), parts.join(",").into());
    if config.contains_key("vmgenid") {
        config.insert("vmgenid".into(), run.world.random.uuid().into());
    }
    let old = source.get("name").map_or_else(|| plan.vmid.to_string(), option::text);
    config.insert("name".into(), plan.name.clone().unwrap_or_else(|| format!("Copy-of-VM-{old}")).into());
    if let Some(description) = plan.description.as_ref().filter(|text| !text.is_empty()) {
        config.insert("description".into(), description.clone().into());
    }
    config
}

fn copy_disk(run: &mut Run<'_>, plan: &Plan, disk: &Disk) -> Result<String, String> {
    let volid = disk.volume();
    let (now, node) = (run.now, run.node.to_string());
    if !plan.full && !disk.is_cloudinit() {
        run.log(format!("create linked clone of drive {} ({volid})", disk.key));
        let made = run.world.clone_volume(now, &node, &volid, plan.newid)?;
        run.tell_all(&made.log);
        return Ok(made.volid);
    }
    run.log(format!("create full clone of drive {} ({volid})", disk.key));
    let of_source = volid.split_once(':').map(|(storage, _)| storage.to_string()).unwrap_or_default();
    let storage = plan.storage.clone().unwrap_or(of_source);
    let format = match disk.key.as_str() {
        "tpmstate0" => "raw".to_string(),
        _ => copy::target_format(run, &volid, &storage, plan.format.as_deref()),
    };
    let name = disk.is_cloudinit().then(|| copy::cloudinit_name(run, plan.newid, &storage, &format));
    let target = copy::Target {
        vmid: plan.newid,
        storage: &storage,
        format: &format,
        name: name.as_deref(),
        size: name.is_some().then_some(SMALL),
    };
    copy::full(run, &volid, &target)
}

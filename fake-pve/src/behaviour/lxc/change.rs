//! What becomes of a container that exists: `resize`, `template`, `feature`, `DELETE`.

use std::time::Duration;

use serde_json::json;

use crate::behaviour::guest::destroy::{check_relations, destroy, named_volumes};
use crate::behaviour::guest::reading::snapshot_config;
use crate::behaviour::guest::stage::{Stage, late};
use crate::behaviour::guest::{check_protection, found};
use crate::behaviour::{Answer, Call, Data, Failure};
use crate::work::Run;
use crate::world::disk::{Disk, disks};
use crate::world::{Guest, GuestKind, option, size};

/// `PUT …/resize`: judged before there is a task.
pub(crate) fn resize(call: &mut Call<'_>) -> Answer {
    let (key, wanted) = (call.params.text("disk"), call.params.text("size"));
    let guest = found(call, GuestKind::Lxc)?;
    let vmid = guest.vmid;
    guest.check_lock()?;
    if call.params.get("digest").is_some_and(|digest| !digest.is_empty()) {
        call.check_digest(&guest.digest())?;
    }
    let mount = guest.config.get(&key).and_then(|text| Disk::parse(GuestKind::Lxc, &key, &option::text(text)));
    let Some(mount) = mount else {
        let missing = |name: &str| (name.to_string(), "property is missing and it is not optional".to_string());
        let errors =
            if key == "rootfs" { [missing("volume")].into() } else { [missing("mp"), missing("volume")].into() };
        return Err(Failure { errors, ..Failure::die("format error") });
    };
    let volid = mount.volume();
    let parsed = call.world.parse_volume(&volid)?;
    if let Some(owner) = parsed.vmid.filter(|owner| *owner != vmid) {
        return Err(Failure::die(format!("can't resize mount point owned by another container ({owner})")));
    }
    if parsed.format == "subvol" && parsed.is_base {
        return Err(Failure::die(format!("can't resize volume: {key}")));
    }
    let storage = volid.split_once(':').map(|(storage, _)| storage).unwrap_or_default();
    call.need(&format!("/storage/{storage}"), &["Datastore.AllocateSpace"])?;
    let node = call.node();
    let found = call.world.volume(&node, &volid).map(|volume| volume.size);
    let now = found.ok_or_else(|| format!("could not determine current size of volume '{volid}'"))?;
    let (more, number) = wanted.strip_prefix('+').map_or((false, wanted.as_str()), |rest| (true, rest));
    let number = size::parse(number).ok_or("invalid size string")?;
    let bytes = if more { now.saturating_add(number) } else { number };
    if bytes < now {
        return Err(Failure::die("unable to shrink disk size"));
    }
    if bytes == now {
        return Err(Failure::die("disk is already at specified size"));
    }
    let task = call.task("resize", &vmid.to_string()).lasts(Duration::from_millis(500)).begin(move |run| {
        let node = run.node.to_string();
        let lines = run.world.grow_volume(&node, &volid, bytes)?;
        run.tell_all(&lines);
        let lines = run.world.growth_lines(&volid, bytes);
        run.tell_all(&lines);
        let mut mount = mount;
        mount.set_size(bytes);
        run.guest_mut(vmid).map_err(late)?.config.insert(key, mount.print().into());
        Ok(())
    });
    call.start(task)
}

/// `POST …/template`: a worker does it, but the answer is empty.
pub(crate) fn template(call: &mut Call<'_>) -> Answer {
    let guest = found(call, GuestKind::Lxc)?;
    let vmid = guest.vmid;
    if !guest.snapshots.is_empty() {
        return Err(Failure::die("unable to create template, because CT contains snapshots"));
    }
    guest.check_lock()?;
    if guest.template() {
        return Err(Failure::die("you can't convert a template to a template"));
    }
    if guest.runs() {
        return Err(Failure::die("you can't convert a CT to template if the CT is running"));
    }
    let task = call
        .task("vztemplate", &vmid.to_string())
        .lasts(Duration::from_millis(500))
        .begin(move |run| to_template(run, vmid));
    call.start(task)?;
    Ok(Data::null())
}

fn to_template(run: &mut Run<'_>, vmid: u32) -> Result<(), String> {
    let node = run.node.to_string();
    let config = run.guest_mut(vmid).map_err(late)?.config.clone();
    let mounts = disks(GuestKind::Lxc, &config);
    for mount in &mounts {
        let volid = mount.volume();
        if !run.world.has_feature(&volid, "template", None) {
            return Err(format!("Template feature is not available for '{volid}'"));
        }
    }
    for mut mount in mounts {
        let volid = mount.volume();
        // A directory of files stays as it is: there is nothing to clone from.
        let plain =
            run.world.parse_volume(&volid).is_ok_and(|parsed| parsed.format == "subvol") && volid.ends_with(".subvol");
        if plain {
            continue;
        }
        let base = run.world.make_base(&node, &volid)?;
        run.tell_all(&base.log);
        mount.set_volume(&base.volid);
        run.guest_mut(vmid).map_err(late)?.config.insert(mount.key.clone(), mount.print().into());
    }
    run.guest_mut(vmid).map_err(late)?.config.insert("template".into(), 1.into());
    Ok(())
}

/// `GET …/feature`.
pub(crate) fn feature(call: &mut Call<'_>) -> Answer {
    let (feature, snapshot) = (call.params.text("feature"), call.params.get("snapname"));
    let guest = found(call, GuestKind::Lxc)?;
    let config = match &snapshot {
        Some(name) => snapshot_config(guest, name)?,
        None => guest.config.clone(),
    };
    let foreign = disks(GuestKind::Lxc, &config).iter().any(|mount| mount.mount_type() != "volume");
    let has = !foreign && call.world.disks_have_feature(GuestKind::Lxc, &config, &feature, snapshot.as_deref());
    Ok(json!({"hasFeature": i32::from(has)}).into())
}

/// `DELETE /nodes/{node}/lxc/{vmid}`.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    let (purge, force) = (call.params.is_on("purge"), call.params.is_on("force"));
    let unreferenced = call.params.is_on("destroy-unreferenced-disks");
    let guest = found(call, GuestKind::Lxc)?;
    let vmid = guest.vmid;
    check_protection(guest, &format!("can't remove CT {vmid}"))?;
    guest.check_lock()?;
    check_relations(call, guest, purge)?;
    if guest.runs() && !force {
        return Err(Failure::die(format!("unable to destroy CT {vmid} - container is running")));
    }
    let task = call.task("vzdestroy", &vmid.to_string()).lasts(Duration::from_millis(500)).finish(move |run| {
        let guest = run.world.guest_mut(GuestKind::Lxc, run.node, vmid)?;
        guest.check_lock()?;
        let runs = guest.runs();
        if runs && !force {
            return Err(format!("unable to destroy CT {vmid} - container is running"));
        }
        if runs {
            guest.power_off();
            run.log(format!("forced to stop CT {vmid} before destroying!"));
        }
        check_clones(run, vmid)?;
        destroy(run, vmid, purge, unreferenced);
        Ok(())
    });
    call.start(task)
}

/// Refuses while linked clones rest on a volume of the container.
fn check_clones(run: &mut Run<'_>, vmid: u32) -> Result<(), String> {
    let Some(guest): Option<&Guest> = run.world.guests.get(&vmid) else { return Ok(()) };
    for mount in named_volumes(guest) {
        let volid = mount.volume();
        let storage = volid.split_once(':').map(|(storage, _)| storage).unwrap_or_default();
        let thin = run.world.storages.get(storage).is_some_and(|found| found.plugin() == "lvmthin");
        let base = run.world.parse_volume(&volid).is_ok_and(|parsed| parsed.is_base && parsed.vmid == Some(vmid));
        if base && !thin && run.world.has_linked_clones(run.node, &volid) {
            let name = volid.split_once(':').map(|(_, name)| name).unwrap_or_default();
            return Err(format!("base volume '{name}' is still in use by linked clones"));
        }
    }
    Ok(())
}

//! Destroying guests: what refuses it, freeing volumes, forgetting.

use super::stage::Stage;
use crate::behaviour::{Call, Failure};
use crate::work::Run;
use crate::world::disk::{Disk, disks, is_unused};
use crate::world::{Guest, option};

/// Refuses while high availability or replication holds the guest.
pub(crate) fn check_relations(call: &Call<'_>, guest: &Guest, purge: bool) -> Result<(), Failure> {
    let (word, vmid) = (guest.kind.word(), guest.vmid);
    if !purge && call.world.ha_resource(vmid).is_some() {
        let text = format!("unable to remove {word} {vmid} - used in HA resources and purge parameter not set.");
        return Err(Failure::die(text));
    }
    match call.world.replication_job(vmid).filter(|_| !purge) {
        Some(job) => Err(Failure::die(format!(
            "There is a replication job '{job}' for guest '{vmid}' - Please remove that first."
        ))),
        None => Ok(()),
    }
}

/// Every volume that a guest's configuration names: active, pending, of snapshots, unused.
pub(crate) fn named_volumes(guest: &Guest) -> Vec<Disk> {
    let mut all = disks(guest.kind, &guest.config);
    all.extend(disks(guest.kind, &guest.pending));
    for snapshot in guest.snapshots.values() {
        all.extend(disks(guest.kind, &snapshot.config));
        let state = snapshot.vmstate.as_ref().and_then(|volid| Disk::parse(guest.kind, "unused0", volid));
        all.extend(state);
    }
    let unused = guest.config.iter().filter(|(key, _)| is_unused(key) || *key == "vmstate");
    all.extend(unused.filter_map(|(_, value)| Disk::parse(guest.kind, "unused0", &option::text(value))));
    let mut seen = Vec::new();
    all.retain(|disk| {
        let volid = disk.volume();
        let first = !seen.contains(&volid);
        seen.push(volid);
        first
    });
    all
}

/// Frees a guest's volumes and forgets it. A volume that cannot be freed is a warning.
pub(crate) fn destroy(run: &mut Run<'_>, vmid: u32, purge: bool, unreferenced: bool) {
    let Some(guest) = run.world.guests.get(&vmid).cloned() else { return };
    let node = guest.node.clone();
    let word = guest.kind.word();
    for disk in named_volumes(&guest).into_iter().filter(|disk| !disk.is_cdrom(true)) {
        let volid = disk.volume();
        if !volid.contains(':') || volid.starts_with('/') {
            continue;
        }
        if !run.world.owns_volume(vmid, &volid) {
            if guest.kind == crate::world::GuestKind::Lxc {
                run.log(format!("ignore deletion of '{volid}', {word} {vmid} isn't the owner!"));
            }
            continue;
        }
        match run.world.free_volume(&node, &volid) {
            Ok(lines) => run.tell_all(&lines),
            Err(error) => run.warn(&format!("Could not remove disk '{volid}', check manually: {error}")),
        }
    }
    if unreferenced {
        for volid in run.world.volumes_of_guest(&node, vmid) {
            match run.world.free_volume(&node, &volid) {
                Ok(lines) => run.tell_all(&lines),
                Err(error) => run.warn(&error),
            }
        }
    }
    let lines = run.world.forget_guest(vmid, purge);
    run.tell_all(&lines);
    run.world.guests.remove(&vmid);
}

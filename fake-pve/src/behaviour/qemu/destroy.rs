//! `DELETE /nodes/{node}/qemu/{vmid}`.

use std::time::Duration;

use crate::behaviour::guest::destroy::{check_relations, destroy, named_volumes};
use crate::behaviour::guest::{check_protection, check_skiplock, found};
use crate::behaviour::{Answer, Call, Failure};
use crate::work::Run;
use crate::world::GuestKind;

/// Refuses what cannot be destroyed; the lock and linked clones are the worker's business.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    check_skiplock(call)?;
    let (purge, skiplock) = (call.params.is_on("purge"), call.params.is_on("skiplock"));
    let unreferenced = call.params.is_on("destroy-unreferenced-disks");
    let guest = found(call, GuestKind::Vm)?;
    let vmid = guest.vmid;
    check_protection(guest, &format!("can't remove VM {vmid}"))?;
    check_relations(call, guest, purge)?;
    if guest.runs() {
        return Err(Failure::die(format!("VM {vmid} is running - destroy failed")));
    }
    let task = call
        .task("qmdestroy", &vmid.to_string())
        .lasts(Duration::from_millis(500))
        .begin(move |run| check_late(run, vmid, skiplock))
        .finish(move |run| {
            check_late(run, vmid, skiplock)?;
            destroy(run, vmid, purge, unreferenced);
            Ok(())
        });
    call.start(task)
}

fn check_late(run: &mut Run<'_>, vmid: u32, skiplock: bool) -> Result<(), String> {
    let guest = run.world.guest(GuestKind::Vm, run.node, vmid)?;
    if !skiplock && guest.lock().as_deref() != Some("suspended") {
        guest.check_lock()?;
    }
    if guest.runs() {
        return Err(format!("VM {vmid} is running - destroy failed"));
    }
    if guest.template() {
        for disk in named_volumes(guest).iter().filter(|disk| !disk.is_cdrom(true)) {
            let volid = disk.volume();
            let linked = run.world.owns_volume(vmid, &volid) && run.world.has_linked_clones(run.node, &volid);
            let by_name = run.world.parse_volume(&volid).is_ok_and(|parsed| parsed.is_base);
            if linked && by_name && !volid_is_thin(run, &volid) {
                return Err(format!("base volume '{volid}' is still in use by linked cloned"));
            }
        }
    }
    Ok(())
}

/// LVM-thin keeps no trace of where a clone came from.
fn volid_is_thin(run: &Run<'_>, volid: &str) -> bool {
    let storage = volid.split_once(':').map(|(storage, _)| storage).unwrap_or_default();
    run.world.storages.get(storage).is_some_and(|found| found.plugin() == "lvmthin")
}

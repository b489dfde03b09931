//! `POST …/template`: a machine becomes a template, its disks base volumes.

use std::time::Duration;

use super::drives::drive;
use crate::behaviour::guest::found;
use crate::behaviour::guest::stage::{Stage, late};
use crate::behaviour::{Answer, Call, Failure};
use crate::world::GuestKind;
use crate::world::disk::disks;

/// `POST …/template`.
pub(crate) fn template(call: &mut Call<'_>) -> Answer {
    let only = call.params.get("disk");
    let guest = found(call, GuestKind::Vm)?;
    check(guest, only.as_deref())?;
    let vmid = guest.vmid;
    let node = call.node();
    let task = call.task("qmtemplate", &vmid.to_string()).lasts(Duration::from_millis(500)).begin(move |run| {
        check(run.world.guest(GuestKind::Vm, &node, vmid)?, only.as_deref()).map_err(late)?;
        run.guest_mut(vmid).map_err(late)?.config.insert("template".into(), 1.into());
        to_bases(run, vmid, only.as_deref())
    });
    call.start(task)
}

fn check(guest: &crate::world::Guest, only: Option<&str>) -> Result<(), Failure> {
    guest.check_lock()?;
    if !guest.snapshots.is_empty() {
        return Err(Failure::die("unable to create template, because VM contains snapshots"));
    }
    if guest.template() && only.is_none() {
        return Err(Failure::die("you can't convert a template to a template"));
    }
    if guest.runs() {
        return Err(Failure::die("you can't convert a VM to template if VM is running"));
    }
    Ok(())
}

/// Makes a machine's disks (or one of them) base volumes, where their storage can.
///
/// # Errors
/// A volume that is not there.
pub(crate) fn to_bases(stage: &mut dyn Stage, vmid: u32, only: Option<&str>) -> Result<(), String> {
    let node = stage.at();
    let config = stage.guest_mut(vmid).map_err(late)?.config.clone();
    for disk in disks(GuestKind::Vm, &config) {
        let wanted = only.is_none_or(|only| only == disk.key);
        let volid = disk.volume();
        if !wanted || disk.is_cdrom(false) || !stage.world().has_feature(&volid, "template", None) {
            continue;
        }
        let base = stage.world_mut().make_base(&node, &volid)?;
        stage.tell_all(&base.log);
        let Some(mut disk) = drive(&disk.key, &config[&disk.key]) else { continue };
        disk.set_volume(&base.volid);
        let text = disk.print();
        stage.guest_mut(vmid).map_err(late)?.config.insert(disk.key, text.into());
    }
    Ok(())
}

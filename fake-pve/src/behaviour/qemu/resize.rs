//! `PUT …/resize`: everything is judged by the worker.

use std::time::Duration;

use super::drives::drive;
use crate::behaviour::guest::check_skiplock;
use crate::behaviour::guest::stage::{Stage, late};
use crate::behaviour::{Answer, Call};
use crate::work::Run;
use crate::world::{GuestKind, size};

/// `PUT …/resize`.
pub(crate) fn resize(call: &mut Call<'_>) -> Answer {
    check_skiplock(call)?;
    let vmid = call.vmid();
    let (disk, wanted) = (call.params.text("disk"), call.params.text("size"));
    let digest = call.params.get("digest").filter(|digest| !digest.is_empty());
    let skiplock = call.params.is_on("skiplock");
    let task = call
        .task("resize", &vmid.to_string())
        .lasts(Duration::from_millis(500))
        .begin(move |run| grow(run, vmid, &disk, &wanted, digest.as_deref(), skiplock));
    call.start(task)
}

fn grow(
    run: &mut Run<'_>,
    vmid: u32,
    key: &str,
    wanted: &str,
    digest: Option<&str>,
    skiplock: bool,
) -> Result<(), String> {
    let node = run.node.to_string();
    let guest = run.world.guest(GuestKind::Vm, &node, vmid)?;
    if digest.is_some_and(|digest| digest != guest.digest()) {
        return Err("checksum mismatch (file change by other user?)".into());
    }
    if !skiplock {
        guest.check_lock()?;
    }
    let runs = guest.runs();
    let value = guest.config.get(key).ok_or_else(|| format!("disk '{key}' does not exist"))?;
    let mut disk = drive(key, value).filter(|disk| !disk.volume().is_empty());
    let disk = disk.as_mut().ok_or_else(|| format!("disk '{key}' has no associated volume"))?;
    if disk.is_cdrom(false) {
        return Err("you can't resize a cdrom".into());
    }
    let volid = disk.volume();
    let storage = volid.split_once(':').map(|(storage, _)| storage).unwrap_or_default();
    run.need(&format!("/storage/{storage}"), &["Datastore.AllocateSpace"]).map_err(late)?;
    let found = run.world.volume(&node, &volid).map(|volume| volume.size);
    let now = found.ok_or_else(|| format!("Could not determine current size of volume '{volid}'"))?;
    let (more, number) = wanted.strip_prefix('+').map_or((false, wanted), |rest| (true, rest));
    let number = size::parse(number).ok_or("invalid size string")?;
    let bytes = if more { now.saturating_add(number) } else { number };
    if bytes < now {
        return Err("shrinking disks is not supported".into());
    }
    if bytes == now {
        return Ok(());
    }
    let lines = run.world.grow_volume(&node, &volid, bytes)?;
    if !runs || !lines.iter().any(|line| line == "Image resized.") {
        run.tell_all(&lines);
    }
    disk.set_size(bytes);
    let guest = run.guest_mut(vmid).map_err(late)?;
    guest.config.insert(key.into(), disk.print().into());
    Ok(())
}

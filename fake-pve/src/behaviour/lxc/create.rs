//! `POST /nodes/{node}/lxc`: a new container from a template, or one restored from a backup.

mod make;
mod restore;

use std::time::Duration;

use serde_json::{Map, json};

use super::permission::{self, Subject};
use crate::behaviour::guest::autostart::Afterwards;
use crate::behaviour::guest::network::{is_net, stored};
use crate::behaviour::guest::stage::{Stage, late};
use crate::behaviour::guest::{access, check_pool, check_protection, check_quorum, check_unused, tags};
use crate::behaviour::{Answer, Call, Failure};
use crate::world::disk::{Disk, is_mount};
use crate::world::{Guest, GuestKind, option};

use make::Wish;

/// Parameters that are no options.
const ASIDE: [&str; 15] = [
    "node",
    "vmid",
    "bwlimit",
    "force",
    "ha-managed",
    "ignore-unpack-errors",
    "ostemplate",
    "password",
    "pool",
    "restore",
    "ssh-public-keys",
    "start",
    "storage",
    "unique",
    "unprivileged",
];

/// `POST /nodes/{node}/lxc`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    let (vmid, node) = (call.vmid(), call.node());
    let restore = call.params.is_on("restore");
    let mut param = Map::new();
    for (name, _) in call.params.iter().filter(|(name, _)| !ASIDE.contains(name)) {
        param.insert(name.into(), call.params.text(name).into());
    }
    check_quorum(call)?;
    let unprivileged = call.params.flag("unprivileged").or((!restore).then_some(true));
    if unprivileged == Some(false) {
        call.need("/", &["Sys.Modify"])?;
    }
    check_vmid(call, vmid, restore && call.params.is_on("force"))?;
    if let Some(keys) = call.params.get("ssh-public-keys") {
        access::check_ssh_keys(&keys)?;
    }
    let pool = call.params.get("pool");
    check_pool(call, pool.as_deref())?;
    may_create(call, vmid, pool.as_deref())?;
    let subject =
        Subject { vmid, pool: pool.as_deref(), before: &Map::new(), unprivileged: unprivileged.unwrap_or(true) };
    permission::check(call, &subject, &param, &[])?;
    let template = call.params.text("ostemplate");
    access::check_volume(call, vmid, &template, Some(if restore { "backup" } else { "vztmpl" }))?;
    let storage = call.params.get("storage");
    check_storage(call, &mut param, storage.as_deref(), restore)?;
    permission::check_mounts(call, vmid, &param)?;
    permission::check_devices(call, &param)?;
    if let Some(tags) = param.get("tags").map(option::text) {
        param.insert("tags".into(), tags::stored(call, &tags).into());
    }
    let nets: Vec<String> = param.keys().filter(|key| is_net(key)).cloned().collect();
    for key in nets {
        let net = stored(call, GuestKind::Lxc, &key, &option::text(&param[&key]), false);
        param.insert(key, net.into());
    }
    let wish = Wish {
        vmid,
        template,
        param,
        storage,
        unprivileged,
        unique: call.params.is_on("unique"),
        password: call.params.get("password"),
        keys: call.params.get("ssh-public-keys"),
    };
    let kept = call.world.guests.get(&vmid).cloned();
    let guest = Guest::new(GuestKind::Lxc, vmid, &node, json!({"lock": "create"}));
    let guest = call.world.guests.entry(vmid).or_insert(guest);
    guest.config.insert("lock".into(), "create".into());
    let afterwards = Afterwards { pool, start: call.params.is_on("start"), ha: call.params.is_on("ha-managed") };
    let (worker_type, word) = if restore { ("vzrestore", "restore") } else { ("vzcreate", "create") };
    let task = call
        .task(worker_type, &vmid.to_string())
        .lasts(Duration::from_millis(900))
        .finish(move |run| {
            let made = if restore { restore::restore(run, &wish) } else { make::make(run, &wish) };
            made.map_err(|failure| format!("unable to {word} CT {vmid} - {}", late(failure)))?;
            afterwards.follow(run, GuestKind::Lxc, vmid);
            Ok(())
        })
        .undo(move |run| {
            match kept {
                Some(guest) => run.world.guests.insert(vmid, guest),
                None => run.world.guests.remove(&vmid),
            };
            Ok(())
        });
    call.start(task)
}

/// A free id, or, for a restore with force, a container that may be written over.
fn check_vmid(call: &Call<'_>, vmid: u32, over: bool) -> Result<(), Failure> {
    let node = call.node();
    let existing = call.world.guests.get(&vmid).filter(|guest| guest.kind == GuestKind::Lxc && guest.node == node);
    let Some(guest) = existing.filter(|_| over) else { return check_unused(call, vmid) };
    if guest.runs() {
        return Err(Failure::die("can't overwrite running container"));
    }
    check_protection(guest, &format!("unable to restore CT {vmid}"))?;
    Ok(())
}

fn may_create(call: &Call<'_>, vmid: u32, pool: Option<&str>) -> Result<(), Failure> {
    let by_pool = pool.is_some_and(|pool| call.holds(&format!("/pool/{pool}"), &["VM.Allocate"]));
    let over = call.params.is_on("force") && call.params.is_on("restore") && call.world.guests.contains_key(&vmid);
    let by_backup = over && call.holds(&format!("/vms/{vmid}"), &["VM.Backup"]);
    if by_pool || by_backup || call.holds(&format!("/vms/{vmid}"), &["VM.Allocate"]) {
        return Ok(());
    }
    Err(Failure::new(403, "Permission check failed"))
}

/// The storage of volumes that name none, and a root file system of 4 GiB where nobody asks for one.
fn check_storage(
    call: &Call<'_>,
    param: &mut Map<String, serde_json::Value>,
    storage: Option<&str>,
    restore: bool,
) -> Result<(), Failure> {
    let default = storage.unwrap_or("local");
    let mounts: Vec<String> = param.keys().filter(|key| is_mount(key)).cloned().collect();
    if !mounts.is_empty() && !param.contains_key("rootfs") {
        return Err(Failure::die("mount points configured, but 'rootfs' not set - aborting"));
    }
    // With a root file system of its own the default storage is not looked at, whatever it is.
    let needs_default = !param.contains_key("rootfs") && (!restore || storage.is_some());
    for key in mounts {
        let Some(mut mount) = Disk::parse(GuestKind::Lxc, &key, &option::text(&param[&key])) else { continue };
        if let Some((None, _)) = mount.wants_new() {
            let size = mount.volume();
            mount.set_volume(&format!("{default}:{size}"));
        }
        param.insert(key, mount.print().into());
    }
    if needs_default {
        call.need(&format!("/storage/{default}"), &["Datastore.AllocateSpace"])?;
        let found = call.world.usable_storage(&call.node(), default)?;
        if !found.holds("rootdir") {
            let text = format!("storage '{default}' does not support container directories");
            return Err(Failure::param("storage", text));
        }
    }
    if !restore && !param.contains_key("rootfs") {
        param.insert("rootfs".into(), format!("{default}:4").into());
    }
    Ok(())
}

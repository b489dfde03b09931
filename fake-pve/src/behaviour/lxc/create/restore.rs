//! The worker that restores a container from a backup.

use serde_json::Value;

use super::make::{self, Wish};
use crate::behaviour::Failure;
use crate::behaviour::guest::network::{is_net, stored};
use crate::behaviour::guest::stage::Stage;
use crate::work::Run;
use crate::world::disk::{disks, is_mount, is_unused};
use crate::world::{Guest, GuestKind, option, size};

/// Frees what the container had, makes the backup's volumes anew, and joins the backup's options with the given ones.
pub(super) fn restore(run: &mut Run<'_>, wish: &Wish) -> Result<(), Failure> {
    let node = run.node.to_string();
    let volid = &wish.template;
    let backup = run.world.volume(&node, volid).cloned();
    let backup = backup.ok_or_else(|| format!("volume '{volid}' does not exist"))?;
    let held: Option<Guest> = backup.payload.and_then(|payload| serde_json::from_value(payload).ok());
    let held = held.ok_or_else(|| format!("could not find any configuration in archive '{volid}'"))?;
    run.log(format!("recovering backed-up configuration from '{volid}'"));
    let mut config = held.config.clone();
    config.retain(|key, _| !is_unused(key) && !matches!(key.as_str(), "lock" | "parent" | "template" | "digest"));
    let wanted: Vec<&String> = wish.param.keys().filter(|key| is_mount(key)).collect();
    for mount in disks(GuestKind::Lxc, &held.config).into_iter().filter(|mount| mount.mount_type() == "volume") {
        let mut mount = mount;
        let of_backup = mount.volume().split_once(':').map(|(storage, _)| storage.to_string()).unwrap_or_default();
        let storage = wish.storage.clone().unwrap_or(of_backup);
        let bytes = mount.size().unwrap_or(0);
        let gib = bytes as f64 / (1u64 << 30) as f64;
        mount.set_volume(&format!("{storage}:{gib}"));
        config.insert(mount.key.clone(), mount.print().into());
    }
    if !wanted.is_empty() {
        config.retain(|key, _| !is_mount(key));
    }
    for (key, value) in &wish.param {
        config.insert(key.clone(), value.clone());
    }
    let before = run.world.guests.get(&wish.vmid).map(|guest| guest.config.clone()).unwrap_or_default();
    for mount in disks(GuestKind::Lxc, &before) {
        if run.world.owns_volume(wish.vmid, &mount.volume()) {
            let freed = run.world.free_volume(&node, &mount.volume())?;
            run.tell_all(&freed);
        }
    }
    let mut made = Vec::new();
    if let Err(failure) = make::volumes(run, wish, &mut config, &mut made) {
        make::discard(run, made);
        return Err(failure);
    }
    run.log(format!("restoring '{volid}' now.."));
    run.log(format!("extracting archive '{}'", run.world.volume_path(volid).unwrap_or_default()));
    run.log(format!("Total bytes read: {} ({}, 190MiB/s)", backup.size, size::readable(backup.size).replace(' ', "")));
    run.log("merging backed-up and given configuration..");
    match wish.unprivileged {
        Some(true) => config.insert("unprivileged".into(), 1.into()),
        Some(false) => config.shift_remove("unprivileged"),
        None => None,
    };
    if wish.unique {
        let nets: Vec<String> = config.keys().filter(|key| is_net(key)).cloned().collect();
        for key in nets {
            let net = stored(run, GuestKind::Lxc, &key, &option::text(&config[&key]), true);
            config.insert(key, net.into());
        }
    }
    let raw: Option<Value> = config.shift_remove("lxc");
    make::store(run, wish, &config)?;
    let guest = run.guest_mut(wish.vmid)?;
    guest.disk_used = held.disk_used;
    if let Some(raw) = raw {
        guest.config.insert("lxc".into(), raw);
    }
    Ok(())
}

//! The worker of a change: notes every change as pending, then applies what can be applied.

use serde_json::{Map, Value};

use super::{Changes, hotplug};
use crate::behaviour::Failure;
use crate::behaviour::guest::network::{is_net, numbered};
use crate::behaviour::guest::stage::Stage;
use crate::behaviour::guest::{access, check_protection, tags};
use crate::behaviour::qemu::drives::{self, drive};
use crate::behaviour::qemu::{cloudinit, machine, permission};
use crate::world::disk::{is_drive, is_unused};
use crate::world::{Guest, GuestKind, crypt, option};

/// Makes a change of a machine's configuration. What was noted before an error stays noted, as in Proxmox.
///
/// # Errors
/// Permissions that depend on old values, values that cannot be stored, changes that cannot be applied.
pub(crate) fn apply(stage: &mut dyn Stage, vmid: u32, changes: &Changes) -> Result<(), Failure> {
    let boot = stage.guest_mut(vmid)?.option("boot");
    let mut order = boot.as_deref().and_then(boot_order).unwrap_or_default();
    let mut touched: Vec<String> = Vec::new();
    for key in &changes.delete {
        touched.push(key.clone());
        delete_one(stage, vmid, key, changes.force, &mut order, &mut touched)?;
    }
    let mut keys: Vec<&String> = changes.param.keys().collect();
    // The boot order is judged when the devices that it names are there.
    keys.sort_by_key(|key| (key.as_str() == "boot", key.as_str()));
    for key in keys {
        touched.push(key.clone());
        change_one(stage, vmid, key, &changes.param[key], changes, &mut order, &mut touched)?;
    }
    let guest = stage.guest_mut(vmid)?;
    guest.clean_pending();
    guest.written();
    if guest.pending.is_empty() && guest.pending_delete.is_empty() {
        return Ok(());
    }
    let errors = if guest.runs() {
        hotplug::apply(stage, vmid, &touched)
    } else {
        let fresh = cloudinit::waiting_drive(guest);
        let now = stage.time();
        let errors = stage.world_mut().apply_pending(now, vmid);
        if fresh {
            cloudinit::generate(stage, vmid);
        }
        errors
    };
    if errors.is_empty() { Ok(()) } else { Err(Failure::params(errors)) }
}

/// The devices of `order=scsi0;net0`.
pub(crate) fn boot_order(boot: &str) -> Option<Vec<String>> {
    let order = boot.split(',').find_map(|part| part.trim().strip_prefix("order="))?;
    Some(order.split(';').filter(|device| !device.is_empty()).map(str::to_string).collect())
}

/// Writes a boot order.
pub(crate) fn print_order(order: &[String]) -> String {
    if order.is_empty() { String::new() } else { format!("order={}", order.join(";")) }
}

fn delete_one(
    stage: &mut dyn Stage,
    vmid: u32,
    key: &str,
    force: bool,
    order: &mut Vec<String>,
    touched: &mut Vec<String>,
) -> Result<(), Failure> {
    let guest = stage.guest_mut(vmid)?;
    let pending = guest.pending.shift_remove(key);
    let Some(text) = guest.config.get(key).or(pending.as_ref()).map(option::text) else {
        stage.tell(&format!("cannot delete '{key}' - not set in current configuration!"));
        return Ok(());
    };
    if order.iter().any(|device| device == key) {
        order.retain(|device| device != key);
        guest.pending.insert("boot".into(), print_order(order).into());
        touched.push("boot".into());
    }
    if is_unused(key) || key == "vmstate" {
        return free_now(stage, vmid, key, &text);
    }
    if is_drive(key) {
        check_protection(guest, &format!("can't remove drive '{key}'"))?;
        permission::check_drive(stage, vmid, key, &text)?;
        if pending.is_some()
            && let Some(disk) = drive(key, &Value::from(text))
        {
            stage.world_mut().leave_disk(vmid, &disk)?;
        }
    } else if numbered(key, "serial") {
        permission::check_serial(stage, vmid, None, key, [Some(&text), None], "delete")?;
    } else if key == "tags" {
        tags::check(stage, vmid, &text, "")?;
        stage.guest_mut(vmid)?.config.shift_remove(key);
        return Ok(());
    } else if is_net(key) {
        access::check_bridge(stage, &text)?;
    } else {
        permission::check_device(stage, vmid, None, key, &text)?;
    }
    stage.guest_mut(vmid)?.delete_later(key, force);
    Ok(())
}

/// An unused disk or a saved state goes at once, with its volume.
fn free_now(stage: &mut dyn Stage, vmid: u32, key: &str, text: &str) -> Result<(), Failure> {
    let Some(disk) = drive(if key == "vmstate" { "unused0" } else { key }, &text.into()) else { return Ok(()) };
    let volid = disk.volume();
    let what = if key == "vmstate" { "vmstate" } else { "unused disk" };
    check_protection(stage.guest_mut(vmid)?, &format!("can't remove {what} '{volid}'"))?;
    stage.need(&format!("/vms/{vmid}"), &["VM.Config.Disk"])?;
    if let Some((storage, _)) = volid.split_once(':').filter(|_| stage.world().owns_volume(vmid, &volid)) {
        stage.need(&format!("/storage/{storage}"), &["Datastore.AllocateSpace"])?;
    }
    let lines = stage.world_mut().free_disk(vmid, &disk)?;
    stage.tell_all(&lines);
    stage.guest_mut(vmid)?.config.shift_remove(key);
    Ok(())
}

fn change_one(
    stage: &mut dyn Stage,
    vmid: u32,
    key: &str,
    value: &Value,
    changes: &Changes,
    order: &mut Vec<String>,
    touched: &mut Vec<String>,
) -> Result<(), Failure> {
    let text = option::text(value);
    let guest = stage.guest_mut(vmid)?;
    let before = guest.option(key);
    let noted = guest.pending.get(key).map(option::text);
    if noted.as_ref() == Some(&text) {
        return Ok(());
    }
    let mut store = text.clone();
    if is_drive(key) {
        if let Some(before) = &before {
            permission::check_drive(stage, vmid, key, before)?;
        }
        permission::check_drive(stage, vmid, key, &text)?;
        if let Some(disk) = noted.and_then(|noted| drive(key, &noted.into())) {
            stage.world_mut().leave_disk(vmid, &disk)?;
        }
        store = make_drive(stage, vmid, key, value)?;
        let cdrom = drive(key, value).is_some_and(|disk| disk.is_cdrom(true));
        if !order.is_empty() && cdrom && !order.iter().any(|device| device == key) {
            order.push(key.into());
            stage.guest_mut(vmid)?.pending.insert("boot".into(), print_order(order).into());
            touched.push("boot".into());
        }
    } else if numbered(key, "serial") {
        permission::check_serial(stage, vmid, None, key, [before.as_deref(), Some(&text)], "modify")?;
    } else if key == "tags" {
        tags::check(stage, vmid, &before.unwrap_or_default(), &text)?;
        store = tags::stored(stage, &text);
    } else if is_net(key) {
        before.map_or(Ok(()), |before| access::check_bridge(stage, &before))?;
    } else if key == "machine" {
        machine::check(&text)?;
    } else if key == "cipassword" {
        return set_password(stage, vmid, &text);
    } else if key == "boot" {
        check_boot(stage.guest_mut(vmid)?, &text, changes)?;
        *order = boot_order(&text).unwrap_or_default();
    } else {
        for value in before.iter().chain([&text]) {
            permission::check_device(stage, vmid, None, key, value)?;
        }
    }
    let value = option::typed(GuestKind::Vm, key, &store)?;
    stage.guest_mut(vmid)?.set_pending(key, value);
    Ok(())
}

fn make_drive(stage: &mut dyn Stage, vmid: u32, key: &str, value: &Value) -> Result<String, Failure> {
    let guest = stage.guest_mut(vmid)?;
    let (mut present, template) = (guest.config.clone(), guest.template());
    for (other, value) in &guest.pending {
        present.entry(other.clone()).or_insert_with(|| value.clone());
    }
    let owner = drives::Owner { vmid, present: &present, default_storage: None, template };
    let wanted: Map<String, Value> = [(key.to_string(), value.clone())].into_iter().collect();
    let made = drives::create(stage, &owner, &wanted)?;
    Ok(made.get(key).map(option::text).unwrap_or_default())
}

/// A password goes into the active configuration at once, hashed unless it is already.
fn set_password(stage: &mut dyn Stage, vmid: u32, text: &str) -> Result<(), Failure> {
    let guest = stage.guest_mut(vmid)?;
    let windows = guest.option("ostype").is_some_and(|ostype| ostype.starts_with('w'));
    let stored =
        if windows || is_hash(text) { text.to_string() } else { crypt::make(&mut stage.world_mut().random, text) };
    stage.guest_mut(vmid)?.config.insert("cipassword".into(), stored.into());
    Ok(())
}

/// `$5$salt$hash` and its kin.
fn is_hash(text: &str) -> bool {
    ["$1$", "$5$", "$6$", "$2a$", "$2y$"].iter().any(|method| text.starts_with(method))
        && text.matches('$').count() >= 3
}

fn check_boot(guest: &Guest, text: &str, changes: &Changes) -> Result<(), Failure> {
    for device in boot_order(text).unwrap_or_default() {
        let there = guest.config.contains_key(&device)
            || guest.pending.contains_key(&device)
            || changes.param.contains_key(&device);
        if !there || changes.delete.contains(&device) {
            return Err(Failure::die(format!("invalid bootorder: device '{device}' does not exist'")));
        }
    }
    Ok(())
}

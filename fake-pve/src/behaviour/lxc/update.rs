//! `PUT …/config` of a container.

mod hotplug;

use serde_json::{Map, Value, json};

use super::permission::{self, Subject};
use crate::behaviour::guest::network::{is_net, stored};
use crate::behaviour::guest::stage::Stage;
use crate::behaviour::guest::{access, check_protection, tags};
use crate::behaviour::{Answer, Call, Data, Failure};
use crate::world::disk::{Disk, is_mount, is_unused};
use crate::world::{Guest, GuestKind, option};

/// Options that a container cannot be without.
const REQUIRED: [&str; 3] = ["memory", "rootfs", "ostype"];

/// Parameters that are no options.
const ASIDE: [&str; 5] = ["node", "vmid", "digest", "delete", "revert"];

/// `PUT …/config`.
pub(crate) fn put(call: &mut Call<'_>) -> Answer {
    let mut param = Map::new();
    for (name, _) in call.params.iter().filter(|(name, _)| !ASIDE.contains(name)) {
        param.insert(name.into(), call.params.text(name).into());
    }
    let (delete, revert) = (call.params.list("delete"), call.params.list("revert"));
    if param.is_empty() && !call.params.has("delete") && !call.params.has("revert") {
        return Err(Failure::die("no options specified"));
    }
    check_lists(&param, &delete, &revert)?;
    let vmid = call.vmid();
    let node = call.node();
    let before = call.world.guest(GuestKind::Lxc, &node, vmid).map(|guest| guest.config.clone()).unwrap_or_default();
    let unprivileged = before.get("unprivileged").map(option::text).as_deref() == Some("1");
    let subject = Subject { vmid, pool: None, before: &before, unprivileged };
    permission::check(call, &subject, &Map::new(), &delete)?;
    permission::check(call, &subject, &param, &[])?;
    permission::check_mounts(call, vmid, &param)?;
    if let Some(script) = param.get("hookscript").map(option::text) {
        access::check_hookscript(call, &script)?;
    }
    let guest = call.world.guest(GuestKind::Lxc, &node, vmid)?;
    guest.check_lock()?;
    if call.params.get("digest").is_some_and(|digest| !digest.is_empty()) {
        call.check_digest(&guest.digest())?;
    }
    for key in &revert {
        if let Some(value) = guest.config.get(key).filter(|_| guest.pending.contains_key(key)) {
            param.insert(key.clone(), option::text(value).into());
        }
    }
    let reverted: Vec<String> = revert.iter().filter(|key| !before.contains_key(*key)).cloned().collect();
    take_back(call, vmid, &revert)?;
    note(call, vmid, &param, &delete)?;
    apply(call, vmid, &param, &delete, &reverted)
}

fn check_lists(param: &Map<String, Value>, delete: &[String], revert: &[String]) -> Result<(), Failure> {
    let known = |list: &str, key: &String| {
        if option::exists(GuestKind::Lxc, key) {
            return Ok(());
        }
        Err(Failure::param(list, format!("unknown option '{key}'")))
    };
    for key in revert {
        known("revert", key)?;
        if param.contains_key(key) {
            let text = format!("you can't use '-{key}' and '-revert {key}' at the same time");
            return Err(Failure::param("revert", text));
        }
    }
    for key in delete {
        if param.contains_key(key) {
            let text = format!("you can't use '-{key}' and -delete {key}' at the same time");
            return Err(Failure::param("delete", text));
        }
        if revert.contains(key) {
            let text = format!("you can't use '-delete {key}' and -revert {key}' at the same time");
            return Err(Failure::param("revert", text));
        }
        known("delete", key)?;
    }
    Ok(())
}

fn take_back(call: &mut Call<'_>, vmid: u32, revert: &[String]) -> Result<(), Failure> {
    let guest = call.guest_mut(vmid)?;
    for key in revert {
        guest.pending.shift_remove(key);
        guest.pending_delete.remove(key);
    }
    Ok(())
}

/// Notes deletions and new values as pending, in the order in which Proxmox looks at them.
fn note(call: &mut Call<'_>, vmid: u32, param: &Map<String, Value>, delete: &[String]) -> Result<(), Failure> {
    for key in delete {
        let guest = call.guest_mut(vmid)?;
        if !guest.config.contains_key(key) && !guest.pending.contains_key(key) {
            continue;
        }
        if REQUIRED.contains(&key.as_str()) {
            return Err(Failure::die(format!("unable to delete required option '{key}'")));
        }
        if key == "unprivileged" {
            return Err(Failure::die("unable to delete read-only option: 'unprivileged'"));
        }
        if is_mount(key) {
            check_protection(guest, &format!("can't remove CT {vmid} drive '{key}'"))?;
        } else if is_unused(key) {
            let volid = guest.option(key).unwrap_or_default();
            check_protection(guest, &format!("can't remove CT {vmid} drive '{key}'"))?;
            if guest.snapshots_with(&volid) {
                let text = format!("unable to delete '{volid}' - volume is still in use (snapshot?)");
                return Err(Failure::die(text));
            }
        }
        guest.delete_later(key, false);
    }
    let mut keys: Vec<&String> = param.keys().collect();
    keys.sort();
    permission::check_devices(call, param)?;
    for key in keys {
        let text = option::text(&param[key]);
        let store = prepared(call, vmid, key, &text)?;
        let value = option::typed(GuestKind::Lxc, key, &store)?;
        call.guest_mut(vmid)?.set_pending(key, value);
    }
    Ok(())
}

/// A value as it is stored.
fn prepared(call: &mut Call<'_>, vmid: u32, key: &str, text: &str) -> Result<String, Failure> {
    if key == "unprivileged" {
        return Err(Failure::die("unable to modify read-only option: 'unprivileged'"));
    }
    if is_net(key) {
        return Ok(stored(call, GuestKind::Lxc, key, text, false));
    }
    if key == "tags" {
        return Ok(tags::stored(call, text));
    }
    if is_mount(key) {
        let guest = call.guest_mut(vmid)?;
        if guest.config.contains_key(key) {
            check_protection(guest, &format!("can't update CT {vmid} drive '{key}'"))?;
        }
        let parsed = Disk::parse(GuestKind::Lxc, key, text).filter(|_| key != "rootfs");
        let Some(mut mount) = parsed else { return Ok(text.into()) };
        let volid = mount.volume();
        if mount.mount_type() == "volume" && mount.wants_new().is_none() {
            let node = call.node();
            if let Some(size) = call.world.volume(&node, &volid).map(|volume| volume.size) {
                mount.set_size(size);
            }
        }
        return Ok(mount.print());
    }
    Ok(text.to_string())
}

/// Applies what can be applied, then looks whether bridges are there: what is written stays written.
fn apply(call: &mut Call<'_>, vmid: u32, param: &Map<String, Value>, delete: &[String], reverted: &[String]) -> Answer {
    let now = call.now();
    let guest = call.guest_mut(vmid)?;
    guest.clean_pending();
    for key in reverted {
        guest.pending.shift_remove(key);
    }
    let touched: Vec<String> = param.keys().chain(delete).cloned().collect();
    let errors = if guest.runs() { hotplug::apply(call, vmid, &touched) } else { call.world.apply_pending(now, vmid) };
    let guest = call.guest_mut(vmid)?;
    raw_lines(guest);
    guest.written();
    check_bridges(call, vmid)?;
    if errors.is_empty() { Ok(Data::null()) } else { Err(Failure::params(errors)) }
}

/// Environment variables are lines of the container runtime in the file.
pub(crate) fn raw_lines(guest: &mut Guest) {
    let Some(env) = guest.config.shift_remove("env").map(|env| option::text(&env)) else { return };
    let mut pairs: Vec<Value> = guest.config.get("lxc").and_then(Value::as_array).cloned().unwrap_or_default();
    pairs.retain(|pair| pair[0] != "lxc.environment.runtime");
    pairs.extend(env.split('\0').filter(|part| !part.is_empty()).map(|part| json!(["lxc.environment.runtime", part])));
    guest.config.insert("lxc".into(), pairs.into());
}

/// Refuses when a network device hangs on a bridge that the node does not have.
fn check_bridges(call: &mut Call<'_>, vmid: u32) -> Result<(), Failure> {
    let node = call.node();
    let config = call.guest_mut(vmid)?.config.clone();
    let mut nets: Vec<(&String, &Value)> = config.iter().filter(|(key, _)| is_net(key)).collect();
    nets.sort_by_key(|(key, _)| key.as_str());
    for (_, net) in nets {
        let text = option::text(net);
        let bridge = text.split(',').find_map(|part| part.strip_prefix("bridge=")).unwrap_or_default();
        if !call.world.has_bridge(&node, bridge) {
            return Err(Failure::die(format!("bridge '{bridge}' does not exist")));
        }
    }
    Ok(())
}

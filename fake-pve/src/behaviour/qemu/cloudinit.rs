//! Cloud-init: what is waiting to be written to the drive, writing it, and showing the text.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::behaviour::guest::found;
use crate::behaviour::guest::network::{is_net, numbered};
use crate::behaviour::guest::stage::Stage;
use crate::behaviour::qemu::drives::drive;
use crate::behaviour::qemu::permission::is_cloudinit_option;
use crate::behaviour::{Answer, Call, Data};
use crate::world::disk::disks;
use crate::world::{Guest, GuestKind, option};

/// `GET …/cloudinit`: options with the value on the drive and the one that it will get.
pub(crate) fn pending(call: &mut Call<'_>) -> Answer {
    let guest = found(call, GuestKind::Vm)?;
    if !has_drive(guest) || guest.cloudinit.is_empty() {
        return Ok(json!([]).into());
    }
    let (now, then) = (relevant(guest), &guest.cloudinit);
    let shown = |key: &str, value: &Value| if key == "cipassword" { json!("**********") } else { value.clone() };
    let mut items = Vec::new();
    for (key, value) in then {
        let mut item = json!({"key": key, "value": shown(key, value)});
        match now.get(key) {
            None => item["delete"] = json!(1),
            Some(new) if option::text(new) != option::text(value) => item["pending"] = shown(key, new),
            Some(_) => {}
        }
        items.push(item);
    }
    for (key, value) in now.iter().filter(|(key, _)| !then.contains_key(*key)) {
        items.push(json!({"key": key, "pending": shown(key, value)}));
    }
    Ok(Data::from(items))
}

/// `PUT …/cloudinit`: writes the drive anew.
pub(crate) fn regenerate(call: &mut Call<'_>) -> Answer {
    let guest = found(call, GuestKind::Vm)?;
    guest.check_lock()?;
    let vmid = guest.vmid;
    generate(call, vmid);
    Ok(Data::null())
}

/// `GET …/cloudinit/dump`.
pub(crate) fn dump(call: &mut Call<'_>) -> Answer {
    let guest = found(call, GuestKind::Vm)?;
    let config = guest.merged();
    let text = match call.params.text("type").as_str() {
        "network" => network_data(&config),
        "meta" => {
            let all = user_data(guest.vmid, &config) + &network_data(&config);
            let digest: String =
                Sha256::digest(all.as_bytes()).iter().take(20).map(|byte| format!("{byte:02x}")).collect();
            format!("instance-id: {digest}\n")
        }
        _ => user_data(guest.vmid, &config),
    };
    Ok(Value::from(text).into())
}

/// Whether the machine has a cloud-init drive.
pub(crate) fn has_drive(guest: &Guest) -> bool {
    disks(GuestKind::Vm, &guest.config).iter().any(|disk| disk.is_cloudinit())
}

/// Whether a cloud-init drive waits to be put in.
pub(crate) fn waiting_drive(guest: &Guest) -> bool {
    guest.pending.iter().any(|(key, value)| drive(key, value).is_some_and(|disk| disk.is_cloudinit()))
}

/// Writes the drive: from now on it holds the options as they are.
pub(crate) fn generate(stage: &mut dyn Stage, vmid: u32) {
    let Ok(guest) = stage.guest_mut(vmid) else { return };
    if !has_drive(guest) {
        return;
    }
    guest.cloudinit = relevant(guest);
    stage.tell("generating cloud-init ISO");
}

/// The options that end up on the drive.
fn relevant(guest: &Guest) -> Map<String, Value> {
    let on_drive = |key: &str| is_cloudinit_option(key) || key == "name" || is_net(key);
    let options = guest.config.iter().filter(|(key, _)| on_drive(key));
    options.map(|(key, value)| (key.clone(), value.clone())).collect()
}

fn user_data(vmid: u32, config: &Map<String, Value>) -> String {
    let value = |key: &str| config.get(key).map(option::text);
    let name = value("name").unwrap_or_else(|| format!("VM{vmid}"));
    let (hostname, fqdn) = match (name.split_once('.'), value("searchdomain")) {
        (Some((short, _)), _) => (short.to_string(), name.clone()),
        (None, Some(domain)) => (name.clone(), format!("{name}.{domain}")),
        (None, None) => (name.clone(), name.clone()),
    };
    let mut out = format!("#cloud-config\nhostname: {hostname}\nmanage_etc_hosts: true\nfqdn: {fqdn}\n");
    let user = value("ciuser");
    if let Some(user) = &user {
        out.push_str(&format!("user: {user}\n"));
    }
    if user.as_deref() == Some("root") {
        out.push_str("disable_root: False\n");
    }
    if let Some(password) = value("cipassword") {
        out.push_str(&format!("password: {password}\n"));
    }
    if let Some(keys) = value("sshkeys") {
        let keys = percent_encoding::percent_decode_str(&keys).decode_utf8_lossy().into_owned();
        out.push_str("ssh_authorized_keys:\n");
        for key in keys.lines().filter(|line| !line.trim().is_empty()) {
            out.push_str(&format!("  - {key}\n"));
        }
    }
    out.push_str("chpasswd:\n  expire: False\n");
    if user.as_deref() != Some("root") {
        out.push_str("users:\n  - default\n");
    }
    if value("ciupgrade").is_none_or(|upgrade| upgrade != "0") {
        out.push_str("package_upgrade: true\n");
    }
    out
}

fn network_data(config: &Map<String, Value>) -> String {
    let mut out = String::from("version: 1\nconfig:\n");
    let mut numbers: Vec<u32> = config
        .keys()
        .filter(|key| numbered(key, "net"))
        .filter_map(|key| key.trim_start_matches("net").parse().ok())
        .collect();
    numbers.sort_unstable();
    for number in numbers {
        let net = config.get(&format!("net{number}")).map(option::text).unwrap_or_default();
        let Some(setup) = config.get(&format!("ipconfig{number}")).map(option::text) else { continue };
        let mac = net.split(',').next().and_then(|first| first.rsplit('=').next()).unwrap_or_default().to_lowercase();
        out.push_str(&format!(
            "    - type: physical\n      name: eth{number}\n      mac_address: '{mac}'\n      subnets:\n"
        ));
        let part = |key: &str| setup.split(',').find_map(|part| part.trim().strip_prefix(key).map(str::to_string));
        for (key, gateway, automatic) in [("ip=", "gw=", "dhcp4"), ("ip6=", "gw6=", "dhcp6")] {
            out.push_str(&subnet(part(key), part(gateway), automatic));
        }
    }
    let servers: Vec<String> = list(config, "nameserver");
    let domains: Vec<String> = list(config, "searchdomain");
    if !servers.is_empty() || !domains.is_empty() {
        out.push_str("    - type: nameserver\n");
        for (key, items) in [("address", servers), ("search", domains)] {
            if !items.is_empty() {
                out.push_str(&format!("      {key}:\n"));
                items.iter().for_each(|item| out.push_str(&format!("      - '{item}'\n")));
            }
        }
    }
    out
}

fn list(config: &Map<String, Value>, key: &str) -> Vec<String> {
    crate::behaviour::params::split_list(&config.get(key).map(option::text).unwrap_or_default())
}

fn subnet(address: Option<String>, gateway: Option<String>, automatic: &str) -> String {
    let Some(address) = address else { return String::new() };
    match address.as_str() {
        "dhcp" => format!("      - type: {automatic}\n"),
        "auto" => "      - type: ipv6_slaac\n".into(),
        _ => {
            let (ip, bits) = address.split_once('/').unwrap_or((&address, ""));
            let mut out = match bits.parse::<u32>().ok().filter(|bits| *bits <= 32 && !ip.contains(':')) {
                Some(bits) => {
                    let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
                    let mask = std::net::Ipv4Addr::from(mask);
                    format!("      - type: static\n        address: '{ip}'\n        netmask: '{mask}'\n")
                }
                None => format!("      - type: static6\n        address: '{address}'\n"),
            };
            if let Some(gateway) = gateway {
                out.push_str(&format!("        gateway: '{gateway}'\n"));
            }
            out
        }
    }
}

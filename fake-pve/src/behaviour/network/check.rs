//! Whether interfaces make sense: by themselves, and together.

use std::net::Ipv6Addr;

use serde_json::{Map, Value};

use crate::behaviour::Failure;
use crate::behaviour::params::word;
use crate::world::interfaces::Interfaces;

/// A node has one default gateway of each version.
pub(super) fn gateways(given: &Map<String, Value>, name: &str, interfaces: &Interfaces) -> Result<(), Failure> {
    for key in ["gateway", "gateway6"] {
        if word(given, key).is_empty() {
            continue;
        }
        if let Some((other, _)) = interfaces.iter().find(|(other, iface)| *other != name && iface.contains_key(key)) {
            return Err(Failure::param(key, format!("Default gateway already exists on interface '{other}'.")));
        }
    }
    Ok(())
}

/// An IPv6 address must be one that a host can have.
pub(super) fn address6(given: &Map<String, Value>) -> Result<(), Failure> {
    let address = word(given, "address6");
    let Ok(parsed) = address.parse::<Ipv6Addr>() else { return Ok(()) };
    let kind = match parsed.segments() {
        [0x2001, 0x0db8, ..] => "DOCUMENTATION",
        [0, 0, 0, 0, 0, 0, 0, 0] => "UNSPECIFIED",
        [0, 0, 0, 0, 0, 0, 0, 1] => "LOOPBACK",
        [first, ..] if first >> 8 == 0xff => "MULTICAST",
        _ => return Ok(()),
    };
    let text = format!("{address} with type '{kind}', cannot be used as host IPv6 address.");
    Err(Failure::param("address", text))
}

/// The whole configuration, as Proxmox judges it before it writes.
pub(super) fn all(interfaces: &Interfaces) -> Result<(), Failure> {
    let mut used: Vec<(&str, &str)> = Vec::new();
    for (name, iface) in interfaces {
        match word(iface, "type").as_str() {
            "vlan" => vlan(name, iface, interfaces)?,
            "bond" => bond(name, iface, interfaces)?,
            "bridge" => bridge(name, iface, interfaces)?,
            _ => {}
        }
        for key in ["bridge_ports", "slaves"] {
            for port in iface.get(key).and_then(Value::as_str).unwrap_or_default().split_whitespace() {
                if let Some((_, other)) = used.iter().find(|(known, _)| *known == port) {
                    return Err(Failure::die(format!("port '{port}' is already used on interface '{other}'")));
                }
                used.push((port, name));
            }
        }
    }
    Ok(())
}

fn vlan(name: &str, iface: &Map<String, Value>, interfaces: &Interfaces) -> Result<(), Failure> {
    let die = |text: String| Err(Failure::die(text));
    let place = "/usr/share/perl5/PVE/Network/Interfaces.pm line";
    let parent = match name.rsplit_once('.') {
        Some((parent, _)) => parent.to_string(),
        None if !iface.contains_key("vlan-raw-device") => {
            return die(format!("missing vlan-raw-device option at {place} 954."));
        }
        None => word(iface, "vlan-raw-device"),
    };
    let told = name.strip_prefix("vlan").is_some_and(|id| id.parse::<u16>().is_ok()) || name.contains('.');
    if !told && !iface.contains_key("vlan-id") {
        return die(format!("missing vlan-id option at {place} 961."));
    }
    let Some(below) = interfaces.get(&parent) else {
        return die(format!("vlan '{name}' - unable to find parent '{parent}'"));
    };
    mtu((&parent, below), (name, iface))
}

fn bond(name: &str, iface: &Map<String, Value>, interfaces: &Interfaces) -> Result<(), Failure> {
    let slaves = word(iface, "slaves");
    for slave in slaves.split([' ', ',', ';']).filter(|slave| !slave.is_empty()) {
        let kind = interfaces.get(slave).map(|below| word(below, "type")).unwrap_or_default();
        if !matches!(kind.as_str(), "eth" | "bond") {
            return Err(Failure::die(format!(
                "bond '{name}' - wrong interface type on slave '{slave}' ('{kind}' != 'eth or bond')"
            )));
        }
        if let Some(below) = interfaces.get(slave) {
            mtu((slave, below), (name, iface))?;
        }
    }
    Ok(())
}

fn bridge(name: &str, iface: &Map<String, Value>, interfaces: &Interfaces) -> Result<(), Failure> {
    let ports = word(iface, "bridge_ports");
    for port in ports.split([' ', ',', ';']).filter(|port| !port.is_empty()) {
        let Some(below) = interfaces.get(port) else {
            return Err(Failure::die(format!("bridge '{name}' - unable to find bridge port '{port}'")));
        };
        mtu((port, below), (name, iface))?;
    }
    Ok(())
}

/// What lies below carries at least what lies on top.
fn mtu(below: (&str, &Map<String, Value>), above: (&str, &Map<String, Value>)) -> Result<(), Failure> {
    let of = |iface: &Map<String, Value>| word(iface, "mtu").parse::<u32>().ok();
    let lower = of(below.1).unwrap_or(1500);
    match of(above.1).filter(|upper| *upper > lower) {
        Some(upper) => Err(Failure::die(format!(
            "interface '{}' - mtu {lower} is lower than '{}' - mtu {upper}",
            below.0, above.0
        ))),
        None => Ok(()),
    }
}

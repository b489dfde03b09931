//! Zones.

use serde_json::{Map, Value, json};

use super::section::{Options, Section};
use super::{VNETS, ZONES, is_true, text};
use crate::behaviour::{Answer, Call, Failure};

const ZONE: Section = Section {
    path: ZONES,
    id: "zone",
    noun: "sdn zone",
    types: &[
        Options {
            name: "evpn",
            required: &["controller", "vrf-vxlan"],
            optional: &[
                "advertise-subnets",
                "bridge-disable-mac-learning",
                "disable-arp-nd-suppression",
                "dns",
                "dnszone",
                "exitnodes",
                "exitnodes-local-routing",
                "exitnodes-primary",
                "ipam",
                "mac",
                "mtu",
                "nodes",
                "reversedns",
                "rt-import",
                "secondary-controllers",
                "vxlan-port",
            ],
        },
        Options {
            name: "faucet",
            required: &["dp-id"],
            optional: &["dns", "dnszone", "ipam", "mtu", "nodes", "reversedns"],
        },
        Options {
            name: "qinq",
            required: &["bridge", "tag"],
            optional: &[
                "bridge-disable-mac-learning",
                "dns",
                "dnszone",
                "ipam",
                "mtu",
                "nodes",
                "reversedns",
                "vlan-protocol",
            ],
        },
        Options {
            name: "simple",
            required: &[],
            optional: &["dhcp", "dns", "dnszone", "ipam", "mtu", "nodes", "reversedns"],
        },
        Options {
            name: "vlan",
            required: &["bridge"],
            optional: &["bridge-disable-mac-learning", "dns", "dnszone", "ipam", "mtu", "nodes", "reversedns"],
        },
        Options {
            name: "vxlan",
            required: &[],
            optional: &["dns", "dnszone", "fabric", "ipam", "mtu", "nodes", "peers", "reversedns", "vxlan-port"],
        },
    ],
};

/// `GET /cluster/sdn/zones`.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    ZONE.list(call, |id, _| format!("/sdn/zones/{id}"))
}

/// `GET /cluster/sdn/zones/{zone}`.
pub(crate) fn get(call: &mut Call<'_>) -> Answer {
    ZONE.get(call)
}

/// `POST /cluster/sdn/zones`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    let kind = call.params.text("type");
    ZONE.create(call, &kind, check)
}

/// `PUT /cluster/sdn/zones/{zone}`.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    ZONE.update(call, check)
}

/// `DELETE /cluster/sdn/zones/{zone}`.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    ZONE.delete(call, "delete sdn zone object failed", unused)
}

fn unused(call: &Call<'_>, zone: &str) -> Result<(), Failure> {
    let user = call.world.documents.list(VNETS).iter().rfind(|(_, vnet)| text(vnet, "zone") == zone);
    match user {
        Some((vnet, _)) => Err(Failure::die(format!(
            "zone {zone} is used by vnet {vnet} at /usr/share/perl5/PVE/Network/SDN/Zones/Plugin.pm line 149."
        ))),
        None => Ok(()),
    }
}

fn check(
    call: &mut Call<'_>,
    zone: &str,
    old: Option<&Map<String, Value>>,
    object: &mut Map<String, Value>,
) -> Result<(), Failure> {
    let before = old.map(|old| text(old, "ipam"));
    let has_subnets = || super::subnets::all(call.world).iter().any(|subnet| subnet.zone == zone);
    if before.is_some_and(|before| before != text(object, "ipam")) && has_subnets() {
        return Err(Failure::param("ipam", "can't change ipam if a subnet is already defined in this zone"));
    }
    servers(call, object)?;
    match text(object, "type").as_str() {
        "vxlan" => one_underlay(object),
        "evpn" => evpn(call, object),
        _ => Ok(()),
    }
}

/// DNS servers and the IPAM that a zone names exist.
fn servers(call: &Call<'_>, object: &Map<String, Value>) -> Result<(), Failure> {
    let documents = &call.world.documents;
    for name in ["dns", "reversedns"] {
        let server = text(object, name);
        if is_true(object, name) && documents.get("/cluster/sdn/dns", &server).is_none() {
            return Err(Failure::param(name, format!("{server} don't exist")));
        }
    }
    if is_true(object, "dnszone") && !is_true(object, "dns") {
        return Err(Failure::param("dnszone", "missing dns server"));
    }
    let ipam = text(object, "ipam");
    let known = ipam == "pve" || documents.get("/cluster/sdn/ipams", &ipam).is_some();
    if is_true(object, "ipam") && !known {
        return Err(Failure::param("ipam", format!("{ipam} not existing")));
    }
    Ok(())
}

fn one_underlay(object: &Map<String, Value>) -> Result<(), Failure> {
    if is_true(object, "peers") != is_true(object, "fabric") {
        return Ok(());
    }
    let text = "must have exactly one of peers / fabric defined".to_string();
    Err(Failure::params([("fabric".to_string(), text.clone()), ("peers".to_string(), text)].into()))
}

/// The controller exists; a gateway address for all nodes is made up when none is given.
fn evpn(call: &mut Call<'_>, object: &mut Map<String, Value>) -> Result<(), Failure> {
    let controller = text(object, "controller");
    if call.world.documents.get("/cluster/sdn/controllers", &controller).is_none() {
        let place = "/usr/share/perl5/PVE/Network/SDN/Zones/EvpnPlugin.pm line 354.";
        return Err(Failure::die(format!("controller {controller} don't exist at {place}")));
    }
    if !object.contains_key("mac") {
        object.insert("mac".into(), json!(call.world.random.mac("BC:24:11")));
    }
    Ok(())
}

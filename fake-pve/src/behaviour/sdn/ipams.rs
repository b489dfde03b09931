//! IPAMs: the built-in one, which is always there, and servers that are asked before they are believed.

use std::net::IpAddr;

use serde_json::{Map, Value, json};

use super::section::{Options, Section, nothing};
use super::{address, subnets, text, view};
use crate::behaviour::{Answer, Call, Data, Failure};
use crate::world::World;
use crate::world::document::Collection;

const IPAM: Section = Section {
    path: "/cluster/sdn/ipams",
    id: "ipam",
    noun: "sdn ipam",
    types: &[
        Options { name: "netbox", required: &["url", "token"], optional: &["fingerprint"] },
        Options { name: "phpipam", required: &["section", "token", "url"], optional: &["fingerprint"] },
        Options { name: "pve", required: &[], optional: &[] },
    ],
};

/// `GET /cluster/sdn/ipams`.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    with_built_in(call, |call| IPAM.list(call, |id, _| format!("/sdn/ipams/{id}")))
}

/// `GET /cluster/sdn/ipams/{ipam}`.
pub(crate) fn get(call: &mut Call<'_>) -> Answer {
    with_built_in(call, |call| IPAM.get(call))
}

/// `POST /cluster/sdn/ipams`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    let kind = call.params.text("type");
    with_written(call, |call| IPAM.create(call, &kind, check))
}

/// `PUT /cluster/sdn/ipams/{ipam}`.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    with_written(call, |call| IPAM.update(call, check))
}

/// `DELETE /cluster/sdn/ipams/{ipam}`: the prefix is Proxmox's own slip.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    with_written(call, |call| {
        IPAM.delete(call, "delete sdn zone object failed", |call, ipam| {
            let zones = call.world.documents.list(super::ZONES).iter();
            match zones.into_iter().find(|(_, zone)| text(zone, "ipam") == ipam && ipam != "pve") {
                Some((zone, _)) => Err(Failure::die(format!(
                    "ipam {ipam} is used by {zone} at /usr/share/perl5/PVE/Network/SDN/Ipams/Plugin.pm line 76."
                ))),
                None => Ok(()),
            }
        })
    })
}

/// `GET /cluster/sdn/ipams/{ipam}/status`: addresses in applied networks that the caller may see.
pub(crate) fn status(call: &mut Call<'_>) -> Answer {
    if call.params.text("ipam") != "pve" {
        return Err(Failure::die("currently only ipam pve is supported"));
    }
    let mut items = Vec::new();
    for subnet in subnets::running(call.world) {
        let path = format!("/sdn/zones/{}/{}", subnet.zone, subnet.vnet);
        if !call.may(&path, &["SDN.Audit", "SDN.Allocate"]) {
            continue;
        }
        let of_zone = call.world.sdn.addresses.get(&subnet.zone);
        for (ip, known) in of_zone.and_then(|zone| zone.get(&subnet.cidr)).into_iter().flatten() {
            let mut item = known.clone();
            item.insert("ip".into(), json!(ip));
            item.insert("subnet".into(), json!(subnet.cidr));
            item.insert("vnet".into(), json!(subnet.vnet));
            item.insert("zone".into(), json!(subnet.zone));
            items.push(Value::Object(item));
        }
    }
    Ok(Data::from(items))
}

/// The built-in one is shown even when no file has it.
fn with_built_in(call: &mut Call<'_>, show: fn(&Call<'_>) -> Answer) -> Answer {
    let digest = view::digest(call, IPAM.path);
    let before = call.world.documents.collections.get(IPAM.path).cloned();
    put_built_in(call.world);
    let mut answer = show(call);
    restore(call.world, before);
    if let Ok(data) = &mut answer {
        match &mut data.value {
            Value::Array(items) => items.iter_mut().for_each(|item| item["digest"] = json!(digest)),
            item => item["digest"] = json!(digest),
        }
    }
    answer
}

/// A change writes the built-in one into the file, too; a refusal writes nothing.
fn with_written(call: &mut Call<'_>, change: impl FnOnce(&mut Call<'_>) -> Answer) -> Answer {
    let given = call.params.get("digest").unwrap_or_default();
    let before = call.world.documents.collections.get(IPAM.path).cloned();
    if !given.is_empty() && given == view::digest(call, IPAM.path) {
        call.params.0.shift_remove("digest");
    }
    put_built_in(call.world);
    let answer = change(call);
    if answer.is_err() {
        restore(call.world, before);
    }
    answer
}

fn restore(world: &mut World, before: Option<Collection>) {
    match before {
        Some(objects) => drop(world.documents.collections.insert(IPAM.path.into(), objects)),
        None => drop(world.documents.collections.remove(IPAM.path)),
    }
}

fn put_built_in(world: &mut World) {
    if world.documents.get(IPAM.path, "pve").is_none() {
        let built_in = Map::from_iter([("type".to_string(), json!("pve"))]);
        world.documents.put(IPAM.path, "pve", built_in);
    }
}

fn check(
    call: &mut Call<'_>,
    id: &str,
    old: Option<&Map<String, Value>>,
    object: &mut Map<String, Value>,
) -> Result<(), Failure> {
    let kind = text(object, "type");
    match unreachable(call.world, &text(object, "url")).filter(|_| kind != "pve") {
        Some(error) => Err(Failure::die(format!("Can't connect to {kind} api: Invalid response from server: {error}"))),
        None => nothing(call, id, old, object),
    }
}

/// Why a server does not answer. In the world of the fake every server does, except beneath an address that is no URL
/// and in the networks kept for documentation, where only the nodes themselves are.
pub(super) fn unreachable(world: &World, url: &str) -> Option<String> {
    if url.is_empty() {
        return Some("400 URL missing".into());
    }
    let Some((scheme, rest)) = url.split_once("://") else { return Some("400 URL must be absolute".into()) };
    let host = rest.split('/').next().unwrap_or_default();
    let (name, port) = host.rsplit_once(':').unwrap_or((host, if scheme == "https" { "443" } else { "80" }));
    let reserved =
        ["192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"].iter().any(|cidr| address::contains(cidr, name));
    let of_node = world.nodes.values().any(|node| node.ip == name);
    let known = name.parse::<IpAddr>().is_err() || !reserved || of_node;
    (!known).then(|| format!("500 Can't connect to {name}:{port} (No route to host)"))
}

/// Whether the built-in IPAM keeps the addresses of a zone.
pub(super) fn is_built_in(world: &World, zone: &str) -> bool {
    world.documents.get(super::ZONES, zone).is_some_and(|zone| text(zone, "ipam") == "pve")
}

/// The network of an applied zone that holds an address.
pub(super) fn subnet_of(world: &World, zone: &str, vnet: &str, ip: &str) -> Option<subnets::Subnet> {
    let all = subnets::running(world).into_iter();
    let mut fitting = all.filter(|subnet| subnet.zone == zone && (vnet.is_empty() || subnet.vnet == vnet));
    fitting.find(|subnet| address::contains(&subnet.cidr, ip))
}

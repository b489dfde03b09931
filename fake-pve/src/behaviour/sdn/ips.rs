//! Addresses that the built-in IPAM hands out, kept by hand.

use serde_json::{Map, Value, json};

use super::{VNETS, ipams, text};
use crate::behaviour::{Answer, Call, Data, Failure};

/// `POST /cluster/sdn/vnets/{vnet}/ips`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    let Some((zone, cidr)) = network(call)? else { return Ok(Data::null()) };
    let ip = call.params.text("ip");
    let known = facts(call);
    let network = call.world.sdn.addresses.entry(zone).or_default().entry(cidr).or_default();
    if network.contains_key(&ip) {
        return Err(Failure::die(format!("IP '{ip}' already exist")));
    }
    network.insert(ip, known);
    Ok(Data::null())
}

/// `PUT /cluster/sdn/vnets/{vnet}/ips`.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    let Some((zone, cidr)) = network(call)? else { return Ok(Data::null()) };
    let ip = call.params.text("ip");
    let known = facts(call);
    let network = call.world.sdn.addresses.entry(zone).or_default().entry(cidr).or_default();
    let mac = text(&known, "mac");
    if !mac.is_empty() {
        network.retain(|_, other| text(other, "mac") != mac);
    }
    network.insert(ip, known);
    Ok(Data::null())
}

/// `DELETE /cluster/sdn/vnets/{vnet}/ips`: Proxmox ends the line of its refusals twice here.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    let gone = network(call).and_then(|place| {
        let Some((zone, cidr)) = place else { return Ok(()) };
        let ip = call.params.text("ip");
        let network = call.world.sdn.addresses.get_mut(&zone).and_then(|networks| networks.get_mut(&cidr));
        let removed = network.and_then(|network| network.remove(&ip));
        removed.map(drop).ok_or_else(|| Failure::die(format!("IP '{ip}' does not exist in IPAM DB")))
    });
    gone.map_err(|failure| Failure::die(format!("{}\n", failure.message)))?;
    Ok(Data::null())
}

/// Zone and network of the address; `None` where no IPAM keeps addresses.
fn network(call: &Call<'_>) -> Result<Option<(String, String)>, Failure> {
    let (vnet, ip) = (call.params.text("vnet"), call.params.text("ip"));
    let found = call.world.documents.get(VNETS, &vnet).map(|vnet| text(vnet, "zone"));
    let zone = found.ok_or_else(|| Failure::die("no sdn zone ID specified"))?;
    let subnet = ipams::subnet_of(call.world, &zone, &vnet, &ip).ok_or_else(|| {
        let place = "/usr/share/perl5/PVE/Network/SDN/Subnets.pm line 115.";
        Failure::die(format!("can't find any subnet for ip {ip} at {place}"))
    })?;
    Ok(ipams::is_built_in(call.world, &zone).then_some((zone, subnet.cidr)))
}

fn facts(call: &Call<'_>) -> Map<String, Value> {
    let mut known = Map::new();
    if let Some(mac) = call.params.get("mac") {
        known.insert("mac".into(), json!(mac));
    }
    if let Some(vmid) = call.params.get("vmid") {
        let name = vmid.parse().ok().and_then(|vmid: u32| call.world.guests.get(&vmid)).map(|guest| guest.name());
        known.insert("vmid".into(), json!(vmid));
        if let Some(name) = name {
            known.insert("hostname".into(), json!(name));
        }
    }
    known
}

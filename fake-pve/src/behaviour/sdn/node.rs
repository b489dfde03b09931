//! What a node has made of the applied networks.

use serde_json::{Map, Value, json};

use super::{VNETS, ZONES, text, vnets};
use crate::behaviour::{Answer, Call, Data, Failure};
use crate::world::sdn::on_node;

/// `GET /nodes/{node}/sdn/zones`.
pub(crate) fn zones(call: &mut Call<'_>) -> Answer {
    let node = call.node();
    let zones = call.world.sdn.running(ZONES).iter();
    let here = zones.filter(|(id, zone)| on_node(zone, &node) && call.may(&format!("/sdn/zones/{id}"), &["SDN.Audit"]));
    let status = if call.world.sdn.is_loaded(&node) { "available" } else { "pending" };
    let items = here.map(|(id, _)| json!({"zone": id, "status": status}));
    Ok(Data::from(items.collect::<Vec<_>>()))
}

/// `GET /nodes/{node}/sdn/zones/{zone}/content`.
pub(crate) fn content(call: &mut Call<'_>) -> Answer {
    let (node, zone) = (call.node(), call.params.text("zone"));
    let sdn = &call.world.sdn;
    let items = vnets_of(call, &node, &zone).into_iter().map(|id| {
        if sdn.is_loaded(&node) {
            return json!({"vnet": id, "status": "available"});
        }
        let state = if sdn.loaded.contains_key(&node) { "too old" } else { "not yet generated" };
        let message = format!("local sdn network configuration is {state}, please reload");
        json!({"vnet": id, "status": "pending", "statusmsg": message})
    });
    Ok(Data::from(items.collect::<Vec<_>>()))
}

/// `GET /nodes/{node}/sdn/zones/{zone}/bridges`: each network with the guests that are on it and run.
pub(crate) fn bridges(call: &mut Call<'_>) -> Answer {
    let (node, zone) = (call.node(), call.params.text("zone"));
    known_zone(call, &zone)?;
    let items = vnets_of(call, &node, &zone).into_iter().map(|id| {
        let aware = call.world.sdn.get_running(VNETS, &id).map(|vnet| text(vnet, "vlanaware")).unwrap_or_default();
        let filtering = if aware == "1" { "1" } else { "0" };
        json!({"name": id, "vlan_filtering": filtering, "ports": ports(call, &node, &id)})
    });
    Ok(Data::from(items.collect::<Vec<_>>()))
}

/// `GET /nodes/{node}/sdn/zones/{zone}/ip-vrf`: nothing was learned.
pub(crate) fn ip_vrf(call: &mut Call<'_>) -> Answer {
    known_zone(call, &call.params.text("zone"))?;
    Ok(Data::from(Vec::new()))
}

/// `GET /nodes/{node}/sdn/vnets/{vnet}`.
pub(crate) fn vnet(call: &mut Call<'_>) -> Answer {
    vnets::allowed(call, &call.params.text("vnet"), &["SDN.Audit"])?;
    Ok(Data::from(vec![json!({"subdir": "mac-vrf"})]))
}

/// `GET /nodes/{node}/sdn/vnets/{vnet}/mac-vrf`: nothing was learned.
pub(crate) fn mac_vrf(call: &mut Call<'_>) -> Answer {
    let vnet = call.params.text("vnet");
    vnets::allowed(call, &vnet, &["SDN.Audit"])?;
    match call.world.sdn.get_running(VNETS, &vnet) {
        Some(_) => Ok(Data::from(Vec::new())),
        None => Err(Failure::param("vnet", "vnet does not exist")),
    }
}

/// `GET /nodes/{node}/sdn/fabrics/{fabric}/interfaces`.
pub(crate) fn fabric_interfaces(call: &mut Call<'_>) -> Answer {
    let interfaces = member(call).and_then(|member| member.get("interfaces").and_then(Value::as_array).cloned());
    let names = interfaces.into_iter().flatten().filter_map(|text| {
        let text = text.as_str()?.split(',').find_map(|part| part.strip_prefix("name="))?.to_string();
        Some(json!({"name": text, "type": "Point-To-Point", "state": "up"}))
    });
    Ok(Data::from(names.collect::<Vec<_>>()))
}

/// `GET /nodes/{node}/sdn/fabrics/{fabric}/neighbors`: the other members.
pub(crate) fn fabric_neighbors(call: &mut Call<'_>) -> Answer {
    let others = others(call).into_iter();
    let items = others.map(|(node, _)| json!({"neighbor": node, "status": "Up", "uptime": "1d00h00m"}));
    Ok(Data::from(items.collect::<Vec<_>>()))
}

/// `GET /nodes/{node}/sdn/fabrics/{fabric}/routes`: one to each other member.
pub(crate) fn fabric_routes(call: &mut Call<'_>) -> Answer {
    let others = others(call).into_iter().filter(|(_, member)| !text(member, "ip").is_empty());
    let items = others.map(|(node, member)| json!({"route": format!("{}/32", text(&member, "ip")), "via": [node]}));
    Ok(Data::from(items.collect::<Vec<_>>()))
}

fn known_zone(call: &Call<'_>, zone: &str) -> Result<(), Failure> {
    match call.world.sdn.get_running(ZONES, zone) {
        Some(_) => Ok(()),
        None => Err(Failure::param("zone", "zone does not exist")),
    }
}

fn vnets_of(call: &Call<'_>, node: &str, zone: &str) -> Vec<String> {
    let vnets = call.world.sdn.vnets_on(node).into_iter();
    vnets.filter(|(_, vnet)| text(vnet, "zone") == zone).map(|(id, _)| id.to_string()).collect()
}

/// Network devices of running guests on a bridge.
fn ports(call: &Call<'_>, node: &str, bridge: &str) -> Vec<Value> {
    let mut ports = Vec::new();
    for guest in call.world.guests.values().filter(|guest| guest.node == node && guest.runs()) {
        for (key, value) in &guest.config {
            let index = key.strip_prefix("net").filter(|index| index.bytes().all(|byte| byte.is_ascii_digit()));
            let on_it =
                value.as_str().is_some_and(|text| text.split(',').any(|part| part == format!("bridge={bridge}")));
            if let Some(index) = index.filter(|_| on_it) {
                let prefix = if guest.kind == crate::world::GuestKind::Vm { "tap" } else { "veth" };
                ports.push(json!({
                    "name": format!("{prefix}{}i{index}", guest.vmid), "vmid": guest.vmid, "index": key,
                }));
            }
        }
    }
    ports
}

fn members(call: &Call<'_>) -> Vec<(String, Map<String, Value>)> {
    let fabric = call.params.text("fabric");
    call.world.sdn.running(&format!("/cluster/sdn/fabrics/node/{fabric}")).to_vec()
}

fn member(call: &Call<'_>) -> Option<Map<String, Value>> {
    let node = call.node();
    members(call).into_iter().find(|(name, _)| *name == node).map(|(_, member)| member)
}

/// The other members that answer, when the node itself is one.
fn others(call: &Call<'_>) -> Vec<(String, Map<String, Value>)> {
    let node = call.node();
    if member(call).is_none() {
        return Vec::new();
    }
    let online = |name: &str| call.world.nodes.get(name).is_some_and(|node| node.online);
    members(call).into_iter().filter(|(name, _)| *name != node && online(name)).collect()
}

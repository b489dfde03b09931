//! Subnets of virtual networks. Their id is made of the zone and the network: `zone1-10.0.0.0-24`.

use serde_json::{Map, Value, json};

use super::section::Options;
use super::vnets::{allowed, unknown as unknown_vnet};
use super::{VNETS, address, check_lock, check_quorum, ipams, is_true, text, view, wrapped};
use crate::behaviour::params::stored;
use crate::behaviour::{Answer, Call, Data, Failure};
use crate::world::World;

/// A subnet with what its id and its network tell.
#[derive(Clone, Debug)]
pub(super) struct Subnet {
    pub id: String,
    pub zone: String,
    pub vnet: String,
    /// `10.0.0.0/24`.
    pub cidr: String,
}

const OPTIONS: Options = Options {
    name: "subnet",
    required: &[],
    optional: &["dhcp-dns-server", "dhcp-range", "dnszoneprefix", "gateway", "snat", "vnet"],
};

/// `GET /cluster/sdn/vnets/{vnet}/subnets`.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let vnet = call.params.text("vnet");
    allowed(call, &vnet, &["SDN.Audit", "SDN.Allocate"])?;
    let objects = view::objects(call, &path(&vnet));
    Ok(Data::from(objects.into_iter().map(|(id, subnet)| shown(&vnet, &id, subnet)).collect::<Vec<_>>()))
}

/// `GET /cluster/sdn/vnets/{vnet}/subnets/{subnet}`.
pub(crate) fn get(call: &mut Call<'_>) -> Answer {
    let (vnet, id) = (call.params.text("vnet"), call.params.text("subnet"));
    allowed(call, &vnet, &["SDN.Audit", "SDN.Allocate"])?;
    let subnet = view::object(call, &path(&vnet), &id).ok_or_else(|| missing(call, &vnet, &id))?;
    Ok(shown(&vnet, &id, subnet).into())
}

/// `POST /cluster/sdn/vnets/{vnet}/subnets`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    check_quorum(call)?;
    let vnet = call.params.text("vnet");
    let config = allowed(call, &vnet, &["SDN.Allocate"])?;
    let made = put_new(call, &vnet, &config);
    wrapped("create sdn subnet object failed", made)?;
    Ok(Data::null())
}

fn put_new(call: &mut Call<'_>, vnet: &str, config: &Map<String, Value>) -> Result<(), Failure> {
    check_lock(call)?;
    let id = format!("{}-{}", text(config, "zone"), call.params.text("subnet").replace('/', "-"));
    if all(call.world).iter().any(|subnet| subnet.id == id) {
        return Err(Failure::die(format!("sdn subnet object ID '{id}' already defined")));
    }
    let subnet = given(call)?;
    let place = Subnet::of(vnet, &id);
    if is_true(config, "vlanaware") {
        return Err(Failure::param("vnet", "you can't add a subnet on a vlanaware vnet"));
    }
    check(&place, &subnet)?;
    keep_addresses(call.world, &place, &subnet, None);
    call.world.documents.put(&path(vnet), &id, subnet);
    Ok(())
}

/// `PUT /cluster/sdn/vnets/{vnet}/subnets/{subnet}`.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    let vnet = call.params.text("vnet");
    allowed(call, &vnet, &["SDN.Allocate"])?;
    let changed = put_changed(call, &vnet);
    wrapped("update sdn subnet object failed", changed)?;
    Ok(Data::null())
}

fn put_changed(call: &mut Call<'_>, vnet: &str) -> Result<(), Failure> {
    check_lock(call)?;
    let id = call.params.text("subnet");
    let old = call.world.documents.get(&path(vnet), &id).cloned().ok_or_else(|| missing(call, vnet, &id))?;
    call.check_digest(&view::digest(call, &path(vnet)))?;
    let mut subnet = old.clone();
    for name in call.params.list("delete") {
        if !OPTIONS.optional.contains(&name.as_str()) {
            return Err(Failure::die(format!("no such option '{name}'")));
        }
        subnet.shift_remove(&name);
    }
    subnet.extend(given(call)?);
    let place = Subnet::of(vnet, &id);
    check(&place, &subnet)?;
    keep_addresses(call.world, &place, &subnet, Some(&old));
    call.world.documents.put(&path(vnet), &id, subnet);
    Ok(())
}

/// `DELETE /cluster/sdn/vnets/{vnet}/subnets/{subnet}`.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    let (vnet, id) = (call.params.text("vnet"), call.params.text("subnet"));
    allowed(call, &vnet, &["SDN.Allocate"])?;
    let gone = check_lock(call).and_then(|()| {
        let found = call.world.documents.get(&path(&vnet), &id);
        let gateway = found.map(|subnet| text(subnet, "gateway")).ok_or_else(|| missing(call, &vnet, &id))?;
        forget_addresses(call.world, &Subnet::of(&vnet, &id), &gateway)
    });
    wrapped("delete sdn subnet object failed", gone)?;
    call.world.documents.remove(&path(&vnet), &id);
    Ok(Data::null())
}

impl Subnet {
    fn of(vnet: &str, id: &str) -> Subnet {
        let mut parts = id.split('-');
        let mut part = || parts.next().unwrap_or_default();
        let zone = part().to_string();
        Subnet { id: id.into(), zone, vnet: vnet.into(), cidr: format!("{}/{}", part(), part()) }
    }
}

/// Every subnet that was asked for.
pub(super) fn all(world: &World) -> Vec<Subnet> {
    let paths = world.documents.collections.iter();
    paths.flat_map(|(path, objects)| of_path(path, objects)).collect()
}

/// Every applied subnet.
pub(super) fn running(world: &World) -> Vec<Subnet> {
    let paths = world.sdn.applied.iter().flatten();
    paths.flat_map(|(path, objects)| of_path(path, objects)).collect()
}

fn of_path(path: &str, objects: &[(String, Map<String, Value>)]) -> Vec<Subnet> {
    let rest = path.strip_prefix(VNETS).and_then(|rest| rest.strip_prefix('/'));
    let Some(vnet) = rest.and_then(|rest| rest.strip_suffix("/subnets")) else { return Vec::new() };
    objects.iter().map(|(id, _)| Subnet::of(vnet, id)).collect()
}

fn path(vnet: &str) -> String {
    format!("{VNETS}/{vnet}/subnets")
}

fn missing(call: &Call<'_>, vnet: &str, id: &str) -> Failure {
    if call.world.documents.get(VNETS, vnet).is_none() {
        return unknown_vnet(vnet);
    }
    match all(call.world).iter().find(|subnet| subnet.id == id) {
        Some(subnet) if subnet.vnet != vnet => Failure::param("vnet", "wrong vnet"),
        _ => Failure::die(format!("sdn subnet '{id}' does not exist")),
    }
}

fn given(call: &Call<'_>) -> Result<Map<String, Value>, Failure> {
    let without = ["vnet", "subnet", "type", "delete", "digest", "lock-token"].map(String::from);
    let mut given = stored(call.method, &call.params, &without);
    if let Some(Value::String(range)) = given.get("dhcp-range").cloned() {
        given.insert("dhcp-range".into(), json!([range]));
    }
    given.retain(|name, value| name != "dhcp-range" || value.as_array().is_some_and(|ranges| !ranges.is_empty()));
    Ok(given)
}

/// With what the id tells, and ranges taken apart.
fn shown(vnet: &str, id: &str, mut subnet: Map<String, Value>) -> Value {
    let place = Subnet::of(vnet, id);
    let (network, mask) = place.cidr.split_once('/').unwrap_or_default();
    let ranges = subnet.get("dhcp-range").and_then(Value::as_array).cloned().unwrap_or_default();
    let ranges: Vec<Value> = ranges.iter().filter_map(Value::as_str).map(range).collect();
    let facts = json!({
        "id": id, "subnet": id, "type": "subnet", "vnet": vnet, "zone": place.zone,
        "cidr": place.cidr, "network": network, "mask": mask, "dhcp-range": ranges,
    });
    subnet.extend(facts.as_object().cloned().unwrap_or_default());
    Value::Object(subnet)
}

fn range(text: &str) -> Value {
    let parts = text.split(',').filter_map(|part| part.split_once('='));
    Value::Object(parts.map(|(key, value)| (key.to_string(), json!(value))).collect())
}

fn check(place: &Subnet, subnet: &Map<String, Value>) -> Result<(), Failure> {
    let cidr = &place.cidr;
    let gateway = text(subnet, "gateway");
    let alone = cidr.ends_with("/32") || cidr.ends_with("/128");
    if is_true(subnet, "gateway") && !alone && !address::contains(cidr, &gateway) {
        return Err(Failure::param("gateway", format!("{gateway} is not in subnet {cidr}")));
    }
    let ranges = subnet.get("dhcp-range").and_then(Value::as_array).into_iter().flatten();
    for range in ranges.filter_map(Value::as_str).map(range) {
        let (start, end) = (range["start-address"].as_str().unwrap_or(""), range["end-address"].as_str().unwrap_or(""));
        let number = |text: &str| text.parse().map(address::number).unwrap_or_default();
        let refuse = |text: String| Err(Failure::param("dhcp-range", text));
        if number(start) > number(end) {
            return refuse(format!("start-address {start} must be smaller than end-address {end}"));
        }
        for (name, address) in [("start-address", start), ("end-address", end)] {
            if !address::contains(cidr, address) {
                return refuse(format!("{name} {address} is not in subnet {cidr}"));
            }
        }
    }
    Ok(())
}

/// The built-in IPAM knows the network and its gateway from the moment on at which it is asked for.
fn keep_addresses(world: &mut World, place: &Subnet, new: &Map<String, Value>, old: Option<&Map<String, Value>>) {
    let (before, gateway) = (old.map(|old| text(old, "gateway")), text(new, "gateway"));
    if !ipams::is_built_in(world, &place.zone) || before.as_ref() == Some(&gateway) {
        return;
    }
    let network = world.sdn.addresses.entry(place.zone.clone()).or_default().entry(place.cidr.clone()).or_default();
    network.remove(&before.unwrap_or_default());
    if !gateway.is_empty() {
        network.insert(gateway, Map::from_iter([("gateway".to_string(), json!(1))]));
    }
}

fn forget_addresses(world: &mut World, place: &Subnet, gateway: &str) -> Result<(), Failure> {
    if !ipams::is_built_in(world, &place.zone) {
        return Ok(());
    }
    let Subnet { zone, cidr, .. } = place;
    let networks = world.sdn.addresses.get_mut(zone);
    let networks = networks.ok_or_else(|| Failure::die(format!("zone '{zone}' doesn't exist in IPAM DB")))?;
    let network = networks.get_mut(cidr);
    let network = network.ok_or_else(|| Failure::die(format!("subnet '{cidr}' doesn't exist in IPAM DB")))?;
    if network.keys().any(|ip| ip != gateway) {
        return Err(Failure::die(format!("cannot delete subnet '{cidr}', not empty")));
    }
    networks.remove(cidr);
    Ok(())
}

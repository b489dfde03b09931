//! Virtual networks.

use serde_json::{Map, Value, json};

use super::section::{Options, Section};
use super::{VNETS, ZONES, check_quorum, text, view, wrapped};
use crate::behaviour::{Answer, Call, Data, Failure};

const VNET: Section = Section {
    path: VNETS,
    id: "vnet",
    noun: "sdn vnet",
    types: &[Options { name: "vnet", required: &["zone"], optional: &["alias", "isolate-ports", "tag", "vlanaware"] }],
};

/// `GET /cluster/sdn/vnets`.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let shown = view::objects(call, VNETS).into_iter().filter(|(id, vnet)| {
        let zone = zone_of(vnet);
        call.may(&format!("/sdn/zones/{zone}/{id}"), &["SDN.Audit", "SDN.Allocate"])
    });
    Ok(Data::from(shown.map(|(id, vnet)| shown_vnet(id, vnet)).collect::<Vec<_>>()))
}

/// `GET /cluster/sdn/vnets/{vnet}`.
pub(crate) fn get(call: &mut Call<'_>) -> Answer {
    let vnet = call.params.text("vnet");
    allowed(call, &vnet, &["SDN.Audit", "SDN.Allocate"])?;
    let object = view::object(call, VNETS, &vnet).ok_or_else(|| unknown(&vnet))?;
    Ok(shown_vnet(vnet, object).into())
}

/// `POST /cluster/sdn/vnets`: everything is checked within the lock.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    check_quorum(call)?;
    let made = VNET.object(call, "vnet").and_then(|object| VNET.put_new(call, without_type(object), check));
    wrapped("create sdn vnet object failed", made)?;
    Ok(Data::null())
}

/// `PUT /cluster/sdn/vnets/{vnet}`.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    let vnet = call.params.text("vnet");
    allowed(call, &vnet, &["SDN.Allocate"])?;
    VNET.update(call, check)
}

/// `DELETE /cluster/sdn/vnets/{vnet}`.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    let vnet = call.params.text("vnet");
    allowed(call, &vnet, &["SDN.Allocate"])?;
    VNET.delete(call, "delete sdn vnet object failed", |call, vnet| {
        match call.world.documents.list(&format!("{VNETS}/{vnet}/subnets")) {
            [] => Ok(()),
            _ => Err(Failure::param("vnet", "Can't delete vnet if subnets exists")),
        }
    })
}

/// The virtual network as asked for, which must exist and be the caller's to see or change.
pub(super) fn allowed(call: &Call<'_>, vnet: &str, privileges: &[&str]) -> Result<Map<String, Value>, Failure> {
    let running = call.world.sdn.get_running(VNETS, vnet);
    let found = call.world.documents.get(VNETS, vnet).or(running).cloned().ok_or_else(|| unknown(vnet))?;
    let path = format!("/sdn/zones/{}/{vnet}", text(&found, "zone"));
    if !call.may(&path, privileges) {
        return Err(Failure::denied(&format!("{path}, {}", privileges.join("|"))));
    }
    Ok(found)
}

/// `sdn vnet 'x' does not exist`.
pub(super) fn unknown(vnet: &str) -> Failure {
    Failure::die(format!("sdn vnet '{vnet}' does not exist"))
}

fn shown_vnet(id: String, mut vnet: Map<String, Value>) -> Value {
    vnet.insert("type".into(), json!("vnet"));
    VNET.shown(id, vnet)
}

/// The zone of a network, applied or waiting.
fn zone_of(vnet: &Map<String, Value>) -> String {
    let waiting = vnet.get("pending").and_then(|pending| pending.get("zone")).and_then(Value::as_str);
    vnet.get("zone").and_then(Value::as_str).or(waiting).unwrap_or_default().to_string()
}

fn without_type(mut object: Map<String, Value>) -> Map<String, Value> {
    object.shift_remove("type");
    object
}

fn check(
    call: &mut Call<'_>,
    id: &str,
    old: Option<&Map<String, Value>>,
    vnet: &mut Map<String, Value>,
) -> Result<(), Failure> {
    let zone = text(vnet, "zone");
    if let Some(old) = old {
        if zone.is_empty() {
            return Err(Failure::param("zone", "cannot delete zone"));
        }
        let has_subnets = !call.world.documents.list(&format!("{VNETS}/{id}/subnets")).is_empty();
        if text(old, "zone") != zone && has_subnets {
            return Err(Failure::param("zone", "can't change zone if subnets exist"));
        }
    }
    let Some(config) = call.world.documents.get(ZONES, &zone) else {
        let place = "/usr/share/perl5/PVE/API2/Network/SDN/Vnets.pm line 326.";
        return Err(Failure::die(format!("cannot lookup undefined type! at {place}")));
    };
    let tag = vnet.get("tag").and_then(Value::as_i64);
    let refuse = |text: String| Err(Failure::param("tag", text));
    let (word, most) = match text(config, "type").as_str() {
        "vlan" | "qinq" => ("vlan", 4096),
        "vxlan" | "evpn" => ("vxlan", 16_777_216),
        "simple" if tag.is_some() => return refuse("vlan tag is not allowed on simple zone".into()),
        _ => return Ok(()),
    };
    let Some(tag) = tag else { return refuse(format!("missing {word} tag")) };
    if tag > most {
        return refuse(format!("{word} tag max value is {most}"));
    }
    let twin = call.world.documents.list(VNETS).iter().find(|(other, object)| {
        other != id && text(object, "zone") == zone && object.get("tag").and_then(Value::as_i64) == Some(tag)
    });
    match twin {
        Some((other, _)) => refuse(format!("tag {tag} already exist in vnet {other}")),
        None => Ok(()),
    }
}

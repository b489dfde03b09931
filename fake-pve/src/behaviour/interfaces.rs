//! `GET /nodes/{node}/lxc/{vmid}/interfaces`: what a running container's network looks like from inside.

use serde_json::{Map, Value, json};

use super::status::Target;
use super::{Answer, Call, Data};
use crate::world::address::{Interface, interfaces};

/// The interfaces of a running container; `null` when it is off, or not there.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    match Target::of(call).guest(call.world) {
        Ok(guest) if guest.runs() => Ok(Data::from(interfaces(guest).iter().map(item).collect::<Vec<_>>())),
        _ => Ok(Data::null()),
    }
}

fn item(interface: &Interface) -> Value {
    let mut item = Map::new();
    item.insert("name".into(), json!(interface.name));
    item.insert("hwaddr".into(), json!(interface.mac));
    item.insert("hardware-address".into(), json!(interface.mac));
    let mut addresses = Vec::new();
    for (family, address) in [("inet", &interface.inet), ("inet6", &interface.inet6)] {
        if let Some((address, prefix)) = address {
            item.insert(family.into(), json!(format!("{address}/{prefix}")));
            addresses.push(json!({"ip-address": address, "prefix": prefix, "ip-address-type": family}));
        }
    }
    item.insert("ip-addresses".into(), Value::Array(addresses));
    Value::Object(item)
}

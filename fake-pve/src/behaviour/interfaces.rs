//! `GET /nodes/{node}/lxc/{vmid}/interfaces`: what a running container's network looks like from inside.

use serde_json::{Map, Value, json};

use super::status::Target;
use super::{Answer, Call, Data};
use crate::world::address::{Interface, interfaces};

/// The interfaces of a running container; `null` when it is off.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let target = Target::of(call);
    let guest = target.guest(call.world)?;
    if !guest.runs() {
        return Ok(Data::null());
    }
    Ok(Data::from(interfaces(guest).iter().map(item).collect::<Vec<_>>()))
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

//! `GET /nodes/{node}/lxc` and what a container's path holds.

use serde_json::Value;

use crate::behaviour::status::ct_fields;
use crate::behaviour::{Answer, Call, Data};
use crate::world::GuestKind;

/// The containers of a node that the caller may audit.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let (node, now) = (call.node(), call.now());
    let guests = call.world.guests.values().filter(|guest| guest.kind == GuestKind::Lxc && guest.node == node);
    let visible = guests.filter(|guest| call.may(&format!("/vms/{}", guest.vmid), &["VM.Audit"]));
    Ok(Data::from(visible.map(|guest| Value::Object(ct_fields(call.world, guest, now))).collect::<Vec<_>>()))
}

//! `GET /nodes/{node}/qemu` and what a machine's path holds.

use serde_json::Value;

use crate::behaviour::status::vm_fields;
use crate::behaviour::{Answer, Call, Data};
use crate::world::GuestKind;

/// The machines of a node that the caller may audit.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let (node, full, now) = (call.node(), call.params.is_on("full"), call.now());
    let guests = call.world.guests.values().filter(|guest| guest.kind == GuestKind::Vm && guest.node == node);
    let visible = guests.filter(|guest| call.may(&format!("/vms/{}", guest.vmid), &["VM.Audit"]));
    Ok(Data::from(visible.map(|guest| Value::Object(vm_fields(call.world, guest, now, full))).collect::<Vec<_>>()))
}

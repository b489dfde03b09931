//! `GET /nodes/{node}/qemu` and what a machine's path holds.

use serde_json::{Value, json};

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

/// What can be asked of a machine; whether it exists is not looked at.
pub(crate) fn index(_call: &mut Call<'_>) -> Answer {
    const CHILDREN: [&str; 20] = [
        "config",
        "cloudinit",
        "pending",
        "status",
        "unlink",
        "vncproxy",
        "termproxy",
        "migrate",
        "resize",
        "move",
        "rrd",
        "rrddata",
        "monitor",
        "agent",
        "snapshot",
        "spiceproxy",
        "sendkey",
        "firewall",
        "mtunnel",
        "remote_migrate",
    ];
    Ok(Data::from(CHILDREN.map(|name| json!({"subdir": name})).to_vec()))
}

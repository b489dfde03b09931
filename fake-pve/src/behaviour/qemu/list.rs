//! `GET /nodes/{node}/qemu` and what a machine's path holds.

use serde_json::{Value, json};

use crate::behaviour::status::vm_fields;
use crate::behaviour::{Answer, Call, Data};
use crate::world::disk::{Disk, is_drive};
use crate::world::{Guest, GuestKind, option};

/// The version of QEMU that machines run.
pub(crate) const QEMU: &str = "11.0.0";

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

/// Size in bytes of the disk that is booted first; 0 where none is named.
pub(crate) fn boot_disk_size(guest: &Guest) -> u64 {
    let boot = guest.option("boot").unwrap_or_default();
    let order = boot.split(',').find_map(|part| part.trim().strip_prefix("order=").map(str::to_string));
    let keys: Vec<String> = match order {
        Some(order) => order.split(';').map(str::to_string).collect(),
        None => guest.option("bootdisk").into_iter().collect(),
    };
    let drives = keys.iter().filter(|key| is_drive(key)).filter_map(|key| Some((key, guest.config.get(key)?)));
    let mut disks = drives.filter_map(|(key, value)| Disk::parse(GuestKind::Vm, key, &option::text(value)));
    disks.find(|disk| !disk.is_cdrom(false)).and_then(|disk| disk.size()).unwrap_or(0)
}

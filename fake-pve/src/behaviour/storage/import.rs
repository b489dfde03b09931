//! `GET /nodes/{node}/storage/{storage}/import-metadata`: a machine elsewhere as the parameters to create it here.

use serde_json::json;

use super::volume::check_access;
use crate::behaviour::{Answer, Call, Failure};

/// `GET /nodes/{node}/storage/{storage}/import-metadata`.
pub(crate) fn metadata(call: &mut Call<'_>) -> Answer {
    let (node, id, name) = (call.node(), call.params.text("storage"), call.params.text("volume"));
    let volid = format!("{id}:{name}");
    crate::world::volume::name::split(&volid)?;
    check_access(call, None, &volid, None)?;
    let parsed = call.world.parse_volume(&volid)?;
    if parsed.content != "import" {
        return Err(Failure::die(format!("invalid content type '{}'", parsed.content)));
    }
    if !matches!(parsed.format.as_str(), "ova" | "ovf") {
        return Err(Failure::die("invalid format"));
    }
    call.world.usable_storage(&node, &id)?;
    let Some(volume) = call.world.volume(&node, &volid) else {
        let path = call.world.volume_path(&volid)?;
        return Err(Failure::die(format!("open '{path}' failed: No such file or directory")));
    };
    if let Some(known) = volume.payload.as_ref().filter(|payload| payload.get("create-args").is_some()) {
        return Ok(known.clone().into());
    }
    let stem = parsed.name.split('.').next().unwrap_or_default();
    let machine: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let disk = if parsed.format == "ova" {
        format!("{volid}/{stem}-disk1.vmdk")
    } else {
        format!("{id}:import/{stem}-disk1.vmdk")
    };
    let warnings = if parsed.format == "ova" { json!([{"type": "ova-needs-extracting"}]) } else { json!([]) };
    Ok(json!({
        "type": "vm", "source": name,
        "create-args": {
            "name": machine, "cores": 2, "sockets": 1, "memory": 2048, "ostype": "l26", "scsihw": "pvscsi", "bios": "seabios",
        },
        "disks": {"scsi0": disk}, "net": {"net0": {"model": "e1000"}}, "warnings": warnings,
    })
    .into())
}

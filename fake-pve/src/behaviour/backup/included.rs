//! What backup jobs include, and which guests none of them includes.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{PATH, unknown};
use crate::behaviour::vzdump::{included, reason};
use crate::behaviour::{Answer, Call};
use crate::world::{Guest, GuestKind, disk, option};

/// `GET /cluster/backup/{id}/included_volumes`: guests of a job with their disks, as a tree.
pub(crate) fn volumes(call: &mut Call<'_>) -> Answer {
    let id = call.params.text("id");
    let job = call.world.documents.get(PATH, &id).cloned().ok_or_else(|| unknown(&id))?;
    let by_node = included(call.world, &job)?;
    let vmids: BTreeSet<u32> = by_node.into_values().flatten().collect();
    let visible = vmids.into_iter().filter(|vmid| call.may(&format!("/vms/{vmid}"), &["VM.Audit"]));
    let children = visible.map(|vmid| match call.world.guests.get(&vmid) {
        Some(guest) => branch(guest),
        None => json!({"id": vmid, "type": "unknown", "leaf": 1}),
    });
    Ok(json!({"children": children.collect::<Vec<Value>>()}).into())
}

fn branch(guest: &Guest) -> Value {
    let vmid = guest.vmid;
    let disks = disk::disks(guest.kind, &guest.config);
    let disks = disks.iter().filter(|disk| !disk.is_cdrom(false) && !disk.is_cloudinit());
    let leaves: Vec<Value> = disks
        .map(|disk| {
            json!({
                "id": format!("{vmid}:{}", disk.key), "name": disk.volume(), "leaf": 1,
                "included": i32::from(super::super::vzdump::is_included(disk)), "reason": reason(disk),
            })
        })
        .collect();
    let name = guest.config.get(if guest.kind == GuestKind::Vm { "name" } else { "hostname" }).map(option::text);
    json!({
        "id": vmid, "type": guest.kind.noun(), "name": name, "leaf": i32::from(leaves.is_empty()), "children": leaves,
    })
}

/// `GET /cluster/backup-info/not-backed-up`: guests that no job includes.
pub(crate) fn missing(call: &mut Call<'_>) -> Answer {
    let mut covered = BTreeSet::new();
    for (_, job) in call.world.documents.list(PATH) {
        covered.extend(included(call.world, job).unwrap_or_default().into_values().flatten());
    }
    let left = call.world.guests.values().filter(|guest| !covered.contains(&guest.vmid));
    let visible = left.filter(|guest| call.may(&format!("/vms/{}", guest.vmid), &["VM.Audit"]));
    let items = visible.map(|guest| {
        let mut item = json!({"vmid": guest.vmid, "type": guest.kind.noun()});
        let key = if guest.kind == GuestKind::Vm { "name" } else { "hostname" };
        if let Some(name) = guest.option(key) {
            item["name"] = json!(name);
        }
        item
    });
    Ok(items.collect::<Vec<Value>>().into())
}

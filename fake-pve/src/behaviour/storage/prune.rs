//! `/nodes/{node}/storage/{storage}/prunebackups`: which backups a retention removes, and their removal.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::volume::subtype;
use crate::behaviour::{Answer, Call};
use crate::world::World;
use crate::world::retention::{Mark, Retention};

/// A backup and what becomes of it.
#[derive(Clone, Debug)]
pub(crate) struct Pruned {
    pub volid: String,
    pub kind: &'static str,
    pub vmid: Option<u32>,
    pub ctime: i64,
    /// `keep`, `remove`, `protected`, `renamed`.
    pub mark: &'static str,
}

/// What to prune: all guests of the storage, or one; one kind, or both.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    pub storage: String,
    pub vmid: Option<u32>,
    pub kind: Option<String>,
    /// `None` is the storage's own retention.
    pub retention: Option<Retention>,
}

impl Scope {
    fn of(call: &Call<'_>) -> Scope {
        Scope {
            storage: call.params.text("storage"),
            vmid: call.params.int("vmid").and_then(|vmid| u32::try_from(vmid).ok()),
            kind: call.params.get("type"),
            retention: call.params.get("prune-backups").map(|text| Retention::parse(&text)),
        }
    }
}

/// `GET /nodes/{node}/storage/{storage}/prunebackups`: what would be removed.
pub(crate) fn preview(call: &mut Call<'_>) -> Answer {
    let marked = marked(call.world, &call.node(), &Scope::of(call))?;
    let items = marked.into_iter().map(|backup| {
        let mut item = json!({
            "volid": backup.volid, "ctime": backup.ctime, "mark": backup.mark, "type": backup.kind,
        });
        if let Some(vmid) = backup.vmid {
            item["vmid"] = json!(vmid);
        }
        item
    });
    Ok(items.collect::<Vec<Value>>().into())
}

/// `DELETE /nodes/{node}/storage/{storage}/prunebackups`.
pub(crate) fn remove(call: &mut Call<'_>) -> Answer {
    let scope = Scope::of(call);
    let path = format!("/storage/{}", scope.storage);
    match scope.vmid {
        Some(vmid) => {
            call.require(&path, &["Datastore.AllocateSpace"])?;
            call.require(&format!("/vms/{vmid}"), &["VM.Backup"])?;
        }
        None => call.require(&path, &["Datastore.Allocate"])?,
    }
    let id = scope.vmid.map_or_else(|| scope.storage.clone(), |vmid| format!("{vmid}@{}", scope.storage));
    let task = call.task("prunebackups", &id).finish(move |run| {
        let node = run.node.to_string();
        for line in prune(run.world, &node, &scope)?.1 {
            run.log(line);
        }
        Ok(())
    });
    call.start(task)
}

/// Removes what the retention does not keep; how many, and the lines for the log.
///
/// # Errors
/// The storage holds no backups, has no retention, or cannot be used.
pub(crate) fn prune(world: &mut World, node: &str, scope: &Scope) -> Result<(usize, Vec<String>), String> {
    let marked = marked(world, node, scope)?;
    let gone: Vec<String> =
        marked.into_iter().filter(|backup| backup.mark == "remove").map(|backup| backup.volid).collect();
    for volid in &gone {
        world.take_volume(node, volid);
    }
    let lines = gone.iter().map(|volid| format!("removing backup '{volid}'")).collect();
    Ok((gone.len(), lines))
}

fn marked(world: &World, node: &str, scope: &Scope) -> Result<Vec<Pruned>, String> {
    let id = &scope.storage;
    let storage = world.storages.get(id).ok_or_else(|| format!("storage '{id}' does not exist"))?;
    if !storage.holds("backup") {
        return Err(format!("storage '{id}' does not support backups"));
    }
    let own = storage.option("prune-backups").map(|text| Retention::parse(&text));
    let retention = scope.retention.clone().or(own);
    let retention = retention.ok_or_else(|| format!("no prune-backups options configured for storage '{id}'"))?;
    world.usable_storage(node, id)?;
    let mut marked = Vec::new();
    let mut groups: BTreeMap<(&str, u32), Vec<usize>> = BTreeMap::new();
    for volume in world.volumes_of(node, id).filter(|volume| volume.content == "backup") {
        let kind = subtype(&volume.volid);
        let other_kind = scope.kind.as_ref().is_some_and(|wanted| wanted != kind);
        if other_kind || (scope.vmid.is_some() && volume.vmid != scope.vmid) {
            continue;
        }
        let standard = has_standard_name(&volume.volid);
        if let Some(vmid) = volume.vmid.filter(|_| standard) {
            groups.entry((kind, vmid)).or_default().push(marked.len());
        }
        let mark = if volume.protected { "protected" } else { "renamed" };
        let (volid, vmid, ctime) = (volume.volid.clone(), volume.vmid, volume.ctime);
        marked.push(Pruned { volid, kind, vmid, ctime, mark });
    }
    for group in groups.values() {
        let times: Vec<(i64, bool)> =
            group.iter().map(|at| (marked[*at].ctime, marked[*at].mark == "protected")).collect();
        for (at, mark) in group.iter().zip(retention.mark(&times)) {
            marked[*at].mark = match mark {
                Mark::Keep => "keep",
                Mark::Remove => "remove",
                Mark::Protected => "protected",
            };
        }
    }
    Ok(marked)
}

/// Names that Proxmox gives itself: only those are ever removed.
fn has_standard_name(volid: &str) -> bool {
    let Some((_, name)) = volid.split_once("backup/") else { return false };
    if name.contains('/') {
        return true;
    }
    let Some((stem, _)) = name.split_once('.') else { return false };
    let mut parts = stem.split('-');
    let shape = |text: Option<&str>, lengths: &[usize]| {
        let pieces: Vec<&str> = text.unwrap_or_default().split('_').collect();
        pieces.len() == lengths.len()
            && pieces
                .iter()
                .zip(lengths)
                .all(|(piece, length)| piece.len() == *length && piece.bytes().all(|byte| byte.is_ascii_digit()))
    };
    parts.next() == Some("vzdump")
        && parts.next().is_some()
        && parts.next().is_some_and(|vmid| vmid.parse::<u32>().is_ok())
        && shape(parts.next(), &[4, 2, 2])
        && shape(parts.next(), &[2, 2, 2])
        && parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::has_standard_name;

    #[test]
    fn names_of_proxmox_are_known() {
        assert!(has_standard_name("local:backup/vzdump-qemu-100-2024_01_02-03_04_05.vma.zst"));
        assert!(!has_standard_name("local:backup/vzdump-qemu-100-2024_01_02-03_04_05-keep.vma.zst"));
        assert!(!has_standard_name("local:backup/mine.tar"));
    }
}

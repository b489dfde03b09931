//! `GET …/feature`: whether a machine can be snapshotted, cloned, copied.

use serde_json::{Map, Value, json};

use crate::behaviour::guest::found;
use crate::behaviour::guest::reading::snapshot_config;
use crate::behaviour::{Answer, Call};
use crate::world::disk::disks;
use crate::world::{GuestKind, World};

/// `GET …/feature`.
pub(crate) fn feature(call: &mut Call<'_>) -> Answer {
    let (feature, snapshot) = (call.params.text("feature"), call.params.get("snapname"));
    let guest = found(call, GuestKind::Vm)?;
    let config = match &snapshot {
        Some(name) => snapshot_config(guest, name)?,
        None => guest.config.clone(),
    };
    let has = call.world.disks_have_feature(GuestKind::Vm, &config, &feature, snapshot.as_deref());
    let nodes: Vec<&String> =
        call.world.nodes.keys().filter(|name| reachable(call.world, &guest.node, name, &config)).collect();
    Ok(json!({"hasFeature": i32::from(has), "nodes": nodes}).into())
}

/// Whether a node sees every volume of a machine: its own node does, others when the storages are shared.
fn reachable(world: &World, home: &str, node: &str, config: &Map<String, Value>) -> bool {
    node == home
        || disks(GuestKind::Vm, config).iter().filter(|disk| disk.volume().contains(':')).all(|disk| {
            let volid = disk.volume();
            let storage = volid.split_once(':').map(|(storage, _)| storage).unwrap_or_default();
            world.usable_storage(node, storage).is_ok_and(|found| found.shared())
        })
}

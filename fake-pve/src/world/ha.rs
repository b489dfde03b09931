//! Which guests the HA manager looks after. Its resources are documents under `/cluster/ha/resources`.

use serde_json::{Map, Value};

use super::{GuestKind, World};

const RESOURCES: &str = "/cluster/ha/resources";

/// The id of a guest as a service: `vm:100`, `ct:200`.
pub fn sid(kind: GuestKind, vmid: u32) -> String {
    let word = if kind == GuestKind::Vm { "vm" } else { "ct" };
    format!("{word}:{vmid}")
}

/// The resource of a guest, also when it was made by the bare number.
pub fn resource(world: &World, kind: GuestKind, vmid: u32) -> Option<&Map<String, Value>> {
    let documents = &world.documents;
    documents.get(RESOURCES, &sid(kind, vmid)).or_else(|| documents.get(RESOURCES, &vmid.to_string()))
}

/// The state that is asked for: `started` unless it says otherwise.
pub fn wanted(resource: &Map<String, Value>) -> &str {
    resource.get("state").and_then(Value::as_str).unwrap_or("started")
}

/// Whether calls on a guest become requests to the HA manager: a resource that is not ignored.
pub fn managed(world: &World, vmid: u32) -> bool {
    world.ha_resource(vmid).is_some_and(|resource| wanted(resource) != "ignored")
}

/// Asks for a state.
pub fn request(world: &mut World, vmid: u32, state: &str) {
    let kind = world.guests.get(&vmid).map_or(GuestKind::Vm, |guest| guest.kind);
    let id = sid(kind, vmid);
    let id = if world.documents.get(RESOURCES, &id).is_some() { id } else { vmid.to_string() };
    if let Some(resource) = world.documents.get_mut(RESOURCES, &id) {
        resource.insert("state".into(), state.into());
    }
}

//! Which guests the HA manager looks after. Its resources are documents under `/cluster/ha/resources`.

use serde_json::{Map, Value};

use super::World;

const RESOURCES: &str = "/cluster/ha/resources";

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
    let id = world.ha_sid(vmid);
    let id = if world.documents.get(RESOURCES, &id).is_some() { id } else { vmid.to_string() };
    if let Some(resource) = world.documents.get_mut(RESOURCES, &id) {
        resource.insert("state".into(), state.into());
    }
}

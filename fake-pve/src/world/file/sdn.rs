//! The JSON files of software-defined networks: what is applied, and who has which address.

use serde_json::{Map, Value, json};

use crate::world::World;

/// `sdn/.running-config`; `None` before something was applied.
pub(super) fn running(world: &World) -> Option<String> {
    let applied = world.sdn.applied.as_ref()?;
    let mut file = Map::from_iter([("version".to_string(), json!(world.sdn.version))]);
    for section in ["controllers", "fabrics", "subnets", "vnets", "zones"] {
        let mut ids = Map::new();
        for (path, objects) in applied {
            if let Some((name, rest)) = place(path)
                && name == section
            {
                ids.extend(objects.iter().map(|(id, object)| entry(section, rest, id, object)));
            }
        }
        file.insert(section.into(), json!({"ids": ids}));
    }
    Some(Value::Object(file).to_string())
}

/// The section of a collection, and what its objects hang on.
fn place(path: &str) -> Option<(&'static str, &str)> {
    let rest = path.strip_prefix("/cluster/sdn/")?;
    Some(match rest.split('/').collect::<Vec<_>>().as_slice() {
        ["controllers"] => ("controllers", ""),
        ["zones"] => ("zones", ""),
        ["vnets"] => ("vnets", ""),
        ["vnets", vnet, "subnets"] => ("subnets", vnet),
        ["fabrics", "fabric"] => ("fabrics", ""),
        ["fabrics", "node", fabric] => ("fabrics", fabric),
        _ => return None,
    })
}

fn entry(section: &str, parent: &str, id: &str, object: &Map<String, Value>) -> (String, Value) {
    let mut object = object.clone();
    let mut id = id.to_string();
    match section {
        "vnets" => drop(object.insert("type".into(), json!("vnet"))),
        "subnets" => {
            object.insert("type".into(), json!("subnet"));
            object.insert("vnet".into(), json!(parent));
        }
        "fabrics" => {
            let protocol = object.shift_remove("protocol").and_then(|protocol| protocol.as_str().map(str::to_string));
            let kind = if parent.is_empty() { "fabric" } else { "node" };
            if !parent.is_empty() {
                id = format!("{parent}_{id}");
            }
            object.insert("type".into(), json!(format!("{}_{kind}", protocol.unwrap_or_default())));
            object.insert("id".into(), json!(id));
        }
        "zones" => {
            if let Some(nodes) = object.get("nodes").and_then(Value::as_str).map(str::to_string) {
                let nodes: Map<String, Value> = nodes.split(',').map(|node| (node.to_string(), json!(1))).collect();
                object.insert("nodes".into(), Value::Object(nodes));
            }
        }
        _ => {}
    }
    (id, Value::Object(object))
}

/// `sdn/pve-ipam-state.json`; `None` before the built-in IPAM knows a network.
pub(super) fn addresses(world: &World) -> Option<String> {
    if world.sdn.addresses.is_empty() {
        return None;
    }
    let mut zones = Map::new();
    for (zone, networks) in &world.sdn.addresses {
        let networks: Map<String, Value> =
            networks.iter().map(|(cidr, addresses)| (cidr.clone(), json!({"ips": addresses}))).collect();
        zones.insert(zone.clone(), json!({"subnets": networks}));
    }
    Some(json!({"zones": zones}).to_string())
}

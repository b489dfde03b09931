//! Fabrics and their nodes. The part of Proxmox behind them is Rust: empty texts as results, digests of 64 digits.

use serde_json::{Map, Value, json};

use super::{address, check_lock, text, view, wrapped};
use crate::behaviour::params::stored;
use crate::behaviour::{Answer, Call, Data, Failure};
use crate::world::digest;

const FABRICS: &str = "/cluster/sdn/fabrics/fabric";
const NODES: &str = "/cluster/sdn/fabrics/node";
const SEE: &[&str] = &["SDN.Audit", "SDN.Allocate"];

/// Parameters that are no properties of a fabric or a node.
const OTHERS: [&str; 6] = ["id", "fabric_id", "node_id", "delete", "digest", "lock-token"];

/// `GET /cluster/sdn/fabrics/all`.
pub(crate) fn all(call: &mut Call<'_>) -> Answer {
    let ids: Vec<String> = view::objects(call, FABRICS).into_iter().map(|(id, _)| id).collect();
    let fabrics = shown_fabrics(call);
    let nodes: Vec<Value> = ids.iter().flat_map(|fabric| shown_nodes(call, fabric)).collect();
    Ok(json!({"fabrics": fabrics, "nodes": nodes}).into())
}

/// `GET /cluster/sdn/fabrics/fabric`: without digests, as Proxmox does it.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let mut fabrics = shown_fabrics(call);
    for fabric in fabrics.iter_mut().filter_map(Value::as_object_mut) {
        fabric.shift_remove("digest");
    }
    Ok(Data::from(fabrics))
}

/// `GET /cluster/sdn/fabrics/fabric/{id}`.
pub(crate) fn get(call: &mut Call<'_>) -> Answer {
    let id = call.params.text("id");
    let fabric = view::object(call, FABRICS, &id).ok_or_else(|| unknown(&id))?;
    Ok(shown_fabric(call, &id, fabric).into())
}

/// `POST /cluster/sdn/fabrics/fabric`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    let id = call.params.text("id");
    let made = check_lock(call).and_then(|()| {
        if call.world.documents.get(FABRICS, &id).is_some() {
            return Err(Failure::die(format!("fabric '{id}' already exists in config")));
        }
        let fabric = given(call);
        check_fabric(&id, &fabric)?;
        Ok(fabric)
    });
    let fabric = wrapped("adding fabric failed", made)?;
    call.world.documents.put(FABRICS, &id, fabric);
    Ok(json!("").into())
}

/// `PUT /cluster/sdn/fabrics/fabric/{id}`.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    let id = call.params.text("id");
    let changed = check_lock(call).and_then(|()| {
        let mut fabric = call.world.documents.get(FABRICS, &id).cloned().ok_or_else(|| unknown(&id))?;
        call.check_digest(&digest64(call))?;
        change(call, &mut fabric);
        check_fabric(&id, &fabric)?;
        for (node, config) in call.world.documents.list(&nodes_of(&id)) {
            check_node(&fabric, &id, node, config)?;
        }
        Ok(fabric)
    });
    let fabric = wrapped("updating fabric failed", changed)?;
    call.world.documents.put(FABRICS, &id, fabric);
    Ok(json!("").into())
}

/// `DELETE /cluster/sdn/fabrics/fabric/{id}`: with its nodes.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    let id = call.params.text("id");
    let there = call.world.documents.get(FABRICS, &id).map(drop).ok_or_else(|| unknown(&id));
    wrapped("deleting fabric failed", check_lock(call).and(there))?;
    call.world.documents.remove(FABRICS, &id);
    call.world.documents.forget_beneath(&nodes_of(&id));
    Ok(json!("").into())
}

/// `GET /cluster/sdn/fabrics/node`: by the name of the node, so that of a node in several fabrics the last is shown.
pub(crate) fn nodes(call: &mut Call<'_>) -> Answer {
    let ids: Vec<String> = view::objects(call, FABRICS).into_iter().map(|(id, _)| id).collect();
    let mut shown: Vec<Value> = Vec::new();
    for node in ids.iter().flat_map(|fabric| shown_nodes(call, fabric)) {
        shown.retain(|other| other["node_id"] != node["node_id"]);
        shown.push(node);
    }
    Ok(Data::from(shown))
}

/// `GET /cluster/sdn/fabrics/node/{fabric_id}`.
pub(crate) fn nodes_of_fabric(call: &mut Call<'_>) -> Answer {
    let id = call.params.text("fabric_id");
    known(call, &id)?;
    Ok(Data::from(shown_nodes(call, &id)))
}

/// `GET /cluster/sdn/fabrics/node/{fabric_id}/{node_id}`.
pub(crate) fn node(call: &mut Call<'_>) -> Answer {
    let (id, node) = (call.params.text("fabric_id"), call.params.text("node_id"));
    known(call, &id)?;
    let found = call.world.documents.get(&nodes_of(&id), &node).cloned();
    let config = found.ok_or_else(|| unknown_node(&id, &node))?;
    Ok(shown_node(call, &id, &node, config).into())
}

/// `POST /cluster/sdn/fabrics/node/{fabric_id}`.
pub(crate) fn add_node(call: &mut Call<'_>) -> Answer {
    let (id, node) = (call.params.text("fabric_id"), call.params.text("node_id"));
    let made = check_lock(call).and_then(|()| {
        let fabric = known(call, &id)?;
        if call.world.documents.get(&nodes_of(&id), &node).is_some() {
            return Err(Failure::die(format!("node '{node}' already exists in config for fabric {id}")));
        }
        let config = given(call);
        check_node(&fabric, &id, &node, &config)?;
        Ok(config)
    });
    let config = wrapped("adding node failed", made)?;
    call.world.documents.put(&nodes_of(&id), &node, config);
    Ok(json!("").into())
}

/// `PUT /cluster/sdn/fabrics/node/{fabric_id}/{node_id}`.
pub(crate) fn update_node(call: &mut Call<'_>) -> Answer {
    let (id, node) = (call.params.text("fabric_id"), call.params.text("node_id"));
    let changed = check_lock(call).and_then(|()| {
        let fabric = known(call, &id)?;
        let found = call.world.documents.get(&nodes_of(&id), &node).cloned();
        let mut config = found.ok_or_else(|| unknown_node(&id, &node))?;
        call.check_digest(&digest64(call))?;
        change(call, &mut config);
        check_node(&fabric, &id, &node, &config)?;
        Ok(config)
    });
    let config = wrapped("updating node failed", changed)?;
    call.world.documents.put(&nodes_of(&id), &node, config);
    Ok(json!("").into())
}

/// `DELETE /cluster/sdn/fabrics/node/{fabric_id}/{node_id}`.
pub(crate) fn delete_node(call: &mut Call<'_>) -> Answer {
    let (id, node) = (call.params.text("fabric_id"), call.params.text("node_id"));
    let judged = check_lock(call).and_then(|()| {
        known(call, &id)?;
        let found = call.world.documents.get(&nodes_of(&id), &node).map(drop);
        found.ok_or_else(|| unknown_node(&id, &node))
    });
    wrapped("deleting node failed", judged)?;
    call.world.documents.remove(&nodes_of(&id), &node);
    Ok(json!("").into())
}

fn nodes_of(fabric: &str) -> String {
    format!("{NODES}/{fabric}")
}

/// A fabric; other views than the plain one know only what is applied.
fn known(call: &Call<'_>, id: &str) -> Result<Map<String, Value>, Failure> {
    let other_view = call.params.is_on("pending") || call.params.is_on("running");
    let applied = || call.world.sdn.get_running(FABRICS, id);
    let found = if other_view { applied() } else { call.world.documents.get(FABRICS, id) };
    found.cloned().ok_or_else(|| unknown(id))
}

fn unknown(id: &str) -> Failure {
    Failure::die(format!("fabric '{id}' does not exist in configuration"))
}

fn unknown_node(fabric: &str, node: &str) -> Failure {
    Failure::die(format!("node '{node}' does not exist in fabric {fabric}"))
}

/// What the call gives; intervals are whole numbers, though they are declared as any.
fn given(call: &Call<'_>) -> Map<String, Value> {
    let mut given = stored(call.method, &call.params, &OTHERS.map(String::from));
    for value in given.values_mut() {
        if let Some(number) = value.as_f64().filter(|number| number.fract() == 0.0) {
            *value = json!(number as i64);
        }
    }
    given
}

fn change(call: &Call<'_>, object: &mut Map<String, Value>) {
    for name in call.params.list("delete") {
        object.shift_remove(&name);
    }
    object.extend(given(call));
}

/// Each protocol has a property without which its configuration cannot be read.
fn check_fabric(id: &str, fabric: &Map<String, Value>) -> Result<(), Failure> {
    let protocol = text(fabric, "protocol");
    if protocol == "ospf" && !fabric.contains_key("area") {
        return Err(Failure::die("missing field `area`"));
    }
    let has_prefix = fabric.contains_key("ip_prefix") || fabric.contains_key("ip6_prefix");
    if matches!(protocol.as_str(), "openfabric" | "ospf") && !has_prefix {
        return Err(Failure::die(format!("fabric '{id}' does not have an IP prefix configured")));
    }
    Ok(())
}

fn check_node(fabric: &Map<String, Value>, id: &str, node: &str, config: &Map<String, Value>) -> Result<(), Failure> {
    for (prefix, ip) in [("ip_prefix", "ip"), ("ip6_prefix", "ip6")] {
        let (prefix, ip) = (text(fabric, prefix), text(config, ip));
        if prefix.is_empty() {
            continue;
        }
        if ip.is_empty() {
            return Err(Failure::die(format!(
                "node '{id}_{node}' does not have an IP configured for this fabric prefix {prefix}"
            )));
        }
        if !address::contains(&prefix, &ip) {
            return Err(Failure::die(format!("node IP {ip} is outside the IP prefix {prefix} of the fabric")));
        }
    }
    Ok(())
}

fn shown_fabrics(call: &Call<'_>) -> Vec<Value> {
    let fabrics = view::objects(call, FABRICS).into_iter();
    let allowed = fabrics.filter(|(id, _)| call.may(&format!("/sdn/fabrics/{id}"), SEE));
    allowed.map(|(id, fabric)| shown_fabric(call, &id, fabric)).collect()
}

fn shown_fabric(call: &Call<'_>, id: &str, mut fabric: Map<String, Value>) -> Value {
    fabric.insert("id".into(), json!(id));
    with_digest(call, fabric)
}

/// The nodes of a fabric that the caller may see, and the fabric as well.
fn shown_nodes(call: &Call<'_>, fabric: &str) -> Vec<Value> {
    if !call.may(&format!("/sdn/fabrics/{fabric}"), SEE) {
        return Vec::new();
    }
    let nodes = view::objects(call, &nodes_of(fabric)).into_iter();
    let allowed = nodes.filter(|(node, _)| call.may(&format!("/nodes/{node}"), &["Sys.Audit", "Sys.Modify"]));
    allowed.map(|(node, config)| shown_node(call, fabric, &node, config)).collect()
}

fn shown_node(call: &Call<'_>, fabric: &str, node: &str, mut config: Map<String, Value>) -> Value {
    config.insert("fabric_id".into(), json!(fabric));
    config.insert("node_id".into(), json!(node));
    config.entry("interfaces").or_insert_with(|| json!([]));
    with_digest(call, config)
}

fn with_digest(call: &Call<'_>, mut object: Map<String, Value>) -> Value {
    let views = call.params.is_on("pending") || call.params.is_on("running");
    if !views {
        object.insert("digest".into(), json!(digest64(call)));
    }
    Value::Object(object)
}

/// The digest of fabrics and nodes: 64 hexadecimal digits.
fn digest64(call: &Call<'_>) -> String {
    let all = call.world.documents.collections.iter().filter(|(path, _)| path.starts_with("/cluster/sdn/fabrics"));
    let all = serde_json::to_value(all.collect::<Vec<_>>()).unwrap_or_default();
    let mut text = digest(&all) + &digest(&json!([all]));
    text.truncate(64);
    text
}

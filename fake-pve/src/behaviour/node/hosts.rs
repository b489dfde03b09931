//! `/nodes/{node}/hosts`: the names that a node knows by itself.

use std::net::IpAddr;

use serde_json::json;

use super::dns;
use crate::behaviour::{Answer, Call, Data, Failure};
use crate::world::{World, digest_of};

/// `GET /nodes/{node}/hosts`.
pub(crate) fn get(call: &mut Call<'_>) -> Answer {
    let data = of(call.world, &call.node());
    Ok(json!({"digest": digest_of(&data), "data": data}).into())
}

/// `POST /nodes/{node}/hosts`.
pub(crate) fn post(call: &mut Call<'_>) -> Answer {
    let name = call.node();
    call.check_digest(&digest_of(&of(call.world, &name)))?;
    let data = call.params.text("data");
    for line in data.lines().map(str::trim_start).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let address = line.split_whitespace().next().unwrap_or_default();
        if address.parse::<IpAddr>().is_err() {
            return Err(Failure::param("data", format!("Invalid IP '{address}'")));
        }
    }
    if let Some(node) = call.world.nodes.get_mut(&name) {
        node.state.insert("hosts".into(), json!(data));
    }
    Ok(Data::null())
}

/// The file: what was written, or the nodes of the cluster.
pub(crate) fn of(world: &World, name: &str) -> String {
    let written = world.nodes.get(name).and_then(|node| node.state.get("hosts"));
    if let Some(data) = written.and_then(|hosts| hosts.as_str()) {
        return data.to_string();
    }
    let nodes =
        world.nodes.iter().map(|(node, config)| format!("{} {} {node}\n", config.ip, dns::full_name(world, node)));
    format!("127.0.0.1 localhost\n{}", nodes.collect::<String>())
}

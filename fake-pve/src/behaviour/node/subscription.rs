//! `/nodes/{node}/subscription`: whether a node has one. No key of the fake is sold by anybody; any of the right form counts.

use serde_json::{Value, json};

use crate::behaviour::{Answer, Call, Data, Failure};
use crate::world::digest;

/// Where it is kept in a node's state.
const STATE: &str = "subscription";

/// `GET /nodes/{node}/subscription`.
pub(crate) fn get(call: &mut Call<'_>) -> Answer {
    let node = call.node();
    let kept = call.world.nodes.get(&node).and_then(|node| node.state.get(STATE)).cloned();
    let shown = kept.unwrap_or_else(|| {
        json!({
            "status": "notfound", "message": "There is no subscription key",
            "url": "https://www.proxmox.com/en/proxmox-virtual-environment/pricing",
        })
    });
    let Value::Object(mut shown) = shown else { return Ok(Data::null()) };
    shown.insert("serverid".into(), json!(server_id(&node)));
    if !call.may(&format!("/nodes/{node}"), &["Sys.Audit"]) {
        for secret in ["key", "serverid"] {
            shown.shift_remove(secret);
        }
    }
    Ok(Value::Object(shown).into())
}

/// `PUT /nodes/{node}/subscription`: takes a key over.
pub(crate) fn put(call: &mut Call<'_>) -> Answer {
    let (name, key, now) = (call.node(), call.params.text("key").trim().to_string(), call.now());
    let words: Vec<&str> = key.split('-').collect();
    let level = words.first().and_then(|word| word.strip_prefix("pve")).unwrap_or_default();
    let (sockets, level) = level.split_at(level.find(|c: char| !c.is_ascii_digit()).unwrap_or(level.len()));
    let product = match level {
        "c" => "Community",
        "b" => "Basic",
        "s" => "Standard",
        "p" => "Premium",
        _ => return Err(Failure::param("key", "value does not match the regex pattern")),
    };
    let due = jiff::Timestamp::from_second(now + 365 * 86_400).unwrap_or_default();
    let begun = jiff::Timestamp::from_second(now).unwrap_or_default();
    let subscription = json!({
        "status": "active", "key": key, "level": level, "sockets": sockets.parse::<u32>().unwrap_or(1),
        "productname": format!("Proxmox VE {product} Subscription"), "checktime": now,
        "regdate": begun.strftime("%Y-%m-%d 00:00:00").to_string(),
        "nextduedate": due.strftime("%Y-%m-%d").to_string(),
        "url": "https://www.proxmox.com/en/proxmox-virtual-environment/pricing",
    });
    if let Some(node) = call.world.nodes.get_mut(&name) {
        node.state.insert(STATE.into(), subscription);
    }
    Ok(Data::null())
}

/// `POST /nodes/{node}/subscription`: asks again whether the key counts.
pub(crate) fn post(call: &mut Call<'_>) -> Answer {
    let (name, now) = (call.node(), call.now());
    let kept = call.world.nodes.get_mut(&name).and_then(|node| node.state.get_mut(STATE));
    if let Some(subscription) = kept {
        subscription["checktime"] = json!(now);
    }
    Ok(Data::null())
}

/// `DELETE /nodes/{node}/subscription`.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    let name = call.node();
    if let Some(node) = call.world.nodes.get_mut(&name) {
        node.state.remove(STATE);
    }
    Ok(Data::null())
}

/// 32 digits that stay the same.
fn server_id(node: &str) -> String {
    digest(&json!([node, "server"]))[..32].to_uppercase()
}

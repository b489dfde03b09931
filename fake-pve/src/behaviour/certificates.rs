//! `/nodes/{node}/certificates`: what a node presents, its own certificate or one of the user's.

pub(crate) mod acme;
mod der;

use serde_json::{Map, Value, json};

use super::{Answer, Call, Data, Failure, node};
use crate::world::World;

/// Where a certificate of the user's is kept, in a node's state: `certificates` and `key` as PEM.
const CUSTOM: &str = "certificate";

/// Where the certificate is that the server of the entry node really presents, with that of its authority.
pub(crate) const SERVED: &str = "certificate-served";

/// `GET …/info`.
pub(crate) fn info(call: &mut Call<'_>) -> Answer {
    let node = call.node();
    let state = call.world.nodes.get(&node).map(|node| &node.state);
    let served = state.and_then(|state| state.get(SERVED));
    let mut items = Vec::new();
    for (filename, key) in [("pve-root-ca.pem", "ca"), ("pve-ssl.pem", "certificate")] {
        let pem = served.and_then(|served| served[key].as_str());
        let shown = pem.and_then(|pem| shown(filename, pem));
        items.push(shown.unwrap_or_else(|| invented(call, &node, filename)));
    }
    let custom = state.and_then(|state| state.get(CUSTOM)).and_then(|custom| custom["certificates"].as_str());
    items.extend(custom.and_then(|pem| shown("pveproxy-ssl.pem", pem)));
    Ok(Data::from(items))
}

/// `POST …/custom`.
pub(crate) fn upload(call: &mut Call<'_>) -> Answer {
    let (name, pem) = (call.node(), call.params.text("certificates"));
    let old = call.world.nodes.get(&name).and_then(|node| node.state.get(CUSTOM)).cloned();
    refuse_existing(call, old.is_some())?;
    let key = call.params.get("key").map(Value::from).or_else(|| old.map(|old| old["key"].clone()));
    let Some(key) = key else {
        return Err(Failure::param("key", "Attempted to upload custom certificate without (existing) key."));
    };
    let Some(shown) = shown("pveproxy-ssl.pem", &pem) else {
        return Err(Failure::die("unable to parse certificate"));
    };
    keep(call.world, &name, &pem, &key);
    Ok(shown.into())
}

/// `DELETE …/custom`.
pub(crate) fn remove(call: &mut Call<'_>) -> Answer {
    let name = call.node();
    if let Some(node) = call.world.nodes.get_mut(&name) {
        node.state.remove(CUSTOM);
    }
    Ok(Data::null())
}

fn refuse_existing(call: &Call<'_>, exists: bool) -> Result<(), Failure> {
    if exists && !call.params.is_on("force") {
        return Err(Failure::param("force", "Custom certificate exists but 'force' is not set."));
    }
    Ok(())
}

fn keep(world: &mut World, name: &str, certificates: &str, key: &Value) {
    if let Some(node) = world.nodes.get_mut(name) {
        node.state.insert(CUSTOM.into(), json!({"certificates": certificates, "key": key}));
    }
}

/// What the first certificate of a PEM text says.
fn shown(filename: &str, pem: &str) -> Option<Value> {
    let certificate = der::Certificate::of_pem(pem)?;
    Some(json!({
        "filename": filename, "fingerprint": certificate.fingerprint, "subject": certificate.subject,
        "issuer": certificate.issuer, "notbefore": certificate.notbefore, "notafter": certificate.notafter,
        "pem": certificate.pem, "san": certificate.san, "public-key-type": certificate.key_type,
        "public-key-bits": certificate.key_bits,
    }))
}

/// The certificate of a node that no server stands behind: everything but the text itself.
fn invented(call: &Call<'_>, name: &str, filename: &str) -> Value {
    let booted = call.world.nodes.get(name).and_then(|node| node.booted).unwrap_or_default();
    let authority = "/CN=Proxmox Virtual Environment/O=PVE Cluster Manager CA";
    let full = node::dns::full_name(call.world, name);
    let own = filename == "pve-ssl.pem";
    // The authority lasts ten years, what it signs two.
    let days = if own { 700 } else { 3650 };
    let mut item = Map::new();
    let facts = json!({
        "filename": filename, "issuer": authority, "notbefore": booted - 30 * 86_400, "notafter": booted + days * 86_400,
        "fingerprint": node::fingerprint(if own { name } else { "authority" }),
        "subject": if own { format!("/OU=PVE Cluster Node/O=Proxmox Virtual Environment/CN={full}") } else { authority.into() },
        "san": if own { vec!["127.0.0.1".to_string(), "localhost".into(), name.to_string(), full] } else { Vec::new() },
        "public-key-type": "rsaEncryption", "public-key-bits": if own { 2048 } else { 4096 },
    });
    item.extend(facts.as_object().cloned().unwrap_or_default());
    Value::Object(item)
}

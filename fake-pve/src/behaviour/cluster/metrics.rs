//! `/cluster/metrics`: where statistics are sent, and their export.

use std::net::IpAddr;

use serde_json::{Map, Value, json};

use crate::behaviour::params::stored;
use crate::behaviour::{Answer, Call, Data, Failure, lock};
use crate::world::section_type::{SectionType, forget_empty};

const PATH: &str = "/cluster/metrics/server";

const TYPES: [SectionType; 3] = [
    SectionType {
        name: "graphite",
        required: &["server", "port"],
        optional: &["comment", "disable", "mtu", "path", "proto", "timeout"],
        fixed: &[],
    },
    SectionType {
        name: "influxdb",
        required: &["server", "port"],
        optional: &[
            "api-path-prefix",
            "bucket",
            "comment",
            "disable",
            "influxdbproto",
            "max-body-size",
            "mtu",
            "organization",
            "timeout",
            "token",
            "verify-certificate",
        ],
        fixed: &[],
    },
    SectionType {
        name: "opentelemetry",
        required: &["server", "port"],
        optional: &[
            "comment",
            "disable",
            "otel-compression",
            "otel-headers",
            "otel-max-body-size",
            "otel-path",
            "otel-protocol",
            "otel-resource-attributes",
            "otel-timeout",
            "otel-verify-ssl",
        ],
        fixed: &[],
    },
];

/// `GET /cluster/metrics`.
pub(crate) fn index(_call: &mut Call<'_>) -> Answer {
    Ok(json!([{"name": "server"}]).into())
}

/// `GET /cluster/metrics/server`: the essentials of each.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let items = call.world.documents.list(PATH).iter().map(|(id, server)| {
        let disable = i32::from(is_on(server.get("disable")));
        json!({"id": id, "type": server["type"], "server": server["server"], "port": server["port"], "disable": disable})
    });
    Ok(Data::from(items.collect::<Vec<_>>()))
}

/// `GET /cluster/metrics/server/{id}`.
pub(crate) fn show(call: &mut Call<'_>) -> Answer {
    let id = call.params.text("id");
    let server = call.world.documents.get(PATH, &id);
    let mut server = server.cloned().ok_or_else(|| format!("status server entry '{id}' does not exist"))?;
    server.shift_remove("token");
    if !is_on(server.get("disable")) {
        server.shift_remove("disable");
    }
    Ok(Value::Object(server).into())
}

/// `POST /cluster/metrics/server/{id}`: the server is tried, unless it is switched off.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    lock::plain(call, "status_cfg", |call| {
        let (id, kind) = (call.params.text("id"), call.params.text("type"));
        if call.world.documents.get(PATH, &id).is_some() {
            return Err(Failure::die(format!("Metric server '{id}' already exists")));
        }
        let types = section_type(&kind)?;
        let mut server = given(call);
        types.check_new(&server)?;
        server.insert("type".into(), json!(kind));
        keep_token(call, types, &mut server);
        store(call, &id, server)
    })
}

/// `PUT /cluster/metrics/server/{id}`.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    lock::plain(call, "status_cfg", |call| {
        let id = call.params.text("id");
        call.check_digest(&call.world.documents.digest(PATH))?;
        let server = call.world.documents.get(PATH, &id);
        let mut server = server.cloned().ok_or_else(|| format!("no such server '{id}'"))?;
        let types = section_type(server.get("type").and_then(Value::as_str).unwrap_or_default())?;
        let given = given(call);
        types.check_change(&given)?;
        types.delete(&mut server, &call.params.list("delete"), &given)?;
        server.extend(given);
        keep_token(call, types, &mut server);
        store(call, &id, server)
    })
}

/// `DELETE /cluster/metrics/server/{id}`.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    lock::plain(call, "status_cfg", |call| {
        let id = call.params.text("id");
        match call.world.documents.remove(PATH, &id) {
            Some(_) => Ok(Data::null()),
            None => Err(Failure::die(
                "cannot lookup undefined type! at /usr/share/perl5/PVE/API2/Cluster/MetricServer.pm line 295.",
            )),
        }
    })
}

/// `GET /cluster/metrics/export`: the present values of nodes, guests and storages.
pub(crate) fn export(call: &mut Call<'_>) -> Answer {
    let asked = call.params.list("node-list");
    let unknown: Vec<&str> =
        asked.iter().filter(|node| !call.world.nodes.contains_key(*node)).map(String::as_str).collect();
    if !unknown.is_empty() {
        let text = format!("Requested node-list contains unknown nodes - {}", unknown.join(", "));
        return Err(Failure::die(text));
    }
    let now = call.now();
    if call.params.int("start-time").is_some_and(|start| start > now) {
        return Ok(json!({"data": []}).into());
    }
    let world = &*call.world;
    let wanted = |node: &str| asked.is_empty() || asked.iter().any(|name| name == node);
    let mut data = Vec::new();
    let mut point = |id: &str, metric: &str, kind: &str, value: Value| {
        data.push(json!({"timestamp": now, "id": id, "metric": metric, "type": kind, "value": value}));
    };
    for (name, node) in world.nodes.iter().filter(|(name, node)| node.online && wanted(name)) {
        let id = format!("node/{name}");
        point(&id, "cpu_current", "gauge", json!(node.cpu));
        point(&id, "mem_total", "gauge", json!(node.memory));
        point(&id, "mem_used", "gauge", json!(node.memory_used));
        point(&id, "uptime", "gauge", json!(node.booted.map_or(0, |booted| now - booted)));
        for (storage_id, storage) in world.storages.iter().filter(|(_, storage)| storage.on_node(name)) {
            let id = format!("storage/{name}/{storage_id}");
            point(&id, "disk_total", "gauge", json!(storage.size));
            point(&id, "disk_used", "gauge", json!(world.used(name, storage_id)));
        }
        for guest in world.guests.values().filter(|guest| guest.node == *name) {
            let id = format!("{}/{}", guest.kind.noun(), guest.vmid);
            point(&id, "cpu_current", "gauge", json!(guest.cpu));
            point(&id, "mem_total", "gauge", json!(guest.max_memory()));
            point(&id, "mem_used", "gauge", json!(guest.memory_used));
            point(&id, "uptime", "gauge", json!(guest.uptime(now)));
        }
    }
    Ok(json!({"data": data}).into())
}

fn section_type(kind: &str) -> Result<&'static SectionType, Failure> {
    SectionType::named(&TYPES, kind).ok_or_else(|| Failure::die(format!("unknown section type '{kind}'")))
}

/// The properties of the call; the token is kept apart and fits any type.
fn given(call: &Call<'_>) -> Map<String, Value> {
    stored(call.method, &call.params, &["id", "type", "token", "delete", "digest"].map(str::to_string))
}

fn keep_token(call: &Call<'_>, types: &SectionType, server: &mut Map<String, Value>) {
    if let Some(token) = call.params.get("token").filter(|_| types.knows("token")) {
        server.insert("token".into(), json!(token));
    }
}

fn store(call: &mut Call<'_>, id: &str, mut server: Map<String, Value>) -> Answer {
    if !is_on(server.get("disable")) {
        try_connection(&server)?;
    }
    forget_empty(&mut server);
    call.world.documents.put(PATH, id, server);
    Ok(Data::null())
}

fn is_on(value: Option<&Value>) -> bool {
    value.and_then(crate::behaviour::params::scalar).is_some_and(|text| text == "1")
}

/// Nothing leaves the fake: addresses that no network has are unreachable, names that look like broken addresses are
/// unknown, everything else counts as reached.
fn try_connection(server: &Map<String, Value>) -> Result<(), Failure> {
    let text = |key: &str| server.get(key).and_then(crate::behaviour::params::scalar).unwrap_or_default();
    let (host, port) = (text("server"), text("port"));
    let digits = !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_digit());
    let dotted = host.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let reason = match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) if address.octets()[0] == 0 => "Network is unreachable",
        Ok(_) => return Ok(()),
        Err(_) if digits => "Network is unreachable",
        Err(_) if dotted => "Name or service not known",
        Err(_) => return Ok(()),
    };
    match text("type").as_str() {
        "graphite" => Err(Failure::die(format!("couldn't create carbon socket [{host}]:{port} - {reason}"))),
        "influxdb" if !text("influxdbproto").starts_with("http") => {
            Err(Failure::die(format!("couldn't create influxdb socket [{host}]:{port} - {reason}")))
        }
        _ => Err(Failure::die(format!("Connection test failed: 500 Can't connect to {host}:{port} ({reason})"))),
    }
}

//! `/cluster/config`: the cluster's own configuration, founding, joining, leaving.

use std::time::Duration;

use serde_json::{Value, json};

use crate::behaviour::{Answer, Call, Data, Failure, node};
use crate::world::{Node, World, digest};

/// Where the running number of the configuration stands among the world's documents.
const PATH: &str = "/cluster/config";

/// `GET /cluster/config`.
pub(crate) fn index(_call: &mut Call<'_>) -> Answer {
    let names = ["nodes", "totem", "join", "qdevice", "apiversion"];
    Ok(names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>().into())
}

/// `GET /cluster/config/apiversion`.
pub(crate) fn apiversion(_call: &mut Call<'_>) -> Answer {
    Ok(json!("1").into())
}

/// `GET /cluster/config/qdevice`: there is none.
pub(crate) fn qdevice(_call: &mut Call<'_>) -> Answer {
    Ok(json!({}).into())
}

/// `GET /cluster/config/nodes`.
pub(crate) fn nodes(call: &mut Call<'_>) -> Answer {
    let world = &*call.world;
    let members = world.cluster.iter().flat_map(|_| &world.nodes);
    let items = members.map(|(name, node)| {
        let mut item = member(name, node);
        item["node"] = json!(name);
        item
    });
    Ok(Data::from(items.collect::<Vec<_>>()))
}

/// `GET /cluster/config/totem`.
pub(crate) fn totem(call: &mut Call<'_>) -> Answer {
    Ok(totem_of(call.world).into())
}

/// `GET /cluster/config/join`: what a new node needs to know.
pub(crate) fn join_info(call: &mut Call<'_>) -> Answer {
    let preferred = call.params.get("node").unwrap_or_else(|| call.node());
    let world = &*call.world;
    if world.cluster.is_none() {
        return Err(Failure::new(424, "node is not in a cluster, no join info available!"));
    }
    if !world.nodes.contains_key(&preferred) {
        return Err(Failure::die(format!("unknown node '{preferred}'")));
    }
    let list = world.nodes.iter().map(|(name, node)| {
        let mut item = member(name, node);
        item["pve_addr"] = json!(node.ip);
        item["pve_fp"] = json!(node::fingerprint(name));
        item
    });
    let list: Vec<Value> = list.collect();
    let totem = totem_of(world);
    Ok(json!({
        "config_digest": digest(&json!([list, totem])), "nodelist": list, "preferred_node": preferred, "totem": totem,
    })
    .into())
}

/// `POST /cluster/config`: founds a cluster on a node that is alone.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    if call.world.cluster.is_some() {
        return Err(Failure::die("cluster config '/etc/pve/corosync.conf' already exists"));
    }
    let name = call.params.text("clustername");
    let task = call
        .task("clustercreate", &name)
        .lasts(Duration::from_secs(2))
        .line("Corosync Cluster Engine Authentication key generator.")
        .line("Gathering 2048 bits for key from /dev/urandom.")
        .line("Writing corosync key to /etc/corosync/authkey.")
        .line("Writing corosync config to /etc/pve/corosync.conf")
        .line("Restart corosync and cluster filesystem")
        .finish(move |run| {
            run.world.cluster = Some(name);
            count(run.world);
            Ok(())
        });
    call.start(task)
}

/// `POST /cluster/config/join`: a node of a cluster cannot join, nor one with guests; another becomes one of the cluster
/// that answers at the address.
pub(crate) fn join(call: &mut Call<'_>) -> Answer {
    if call.world.cluster.is_some() {
        return Err(Failure::die(
            "detected the following error(s):\n* authentication key '/etc/corosync/authkey' already exists\n\
             * cluster config '/etc/pve/corosync.conf' already exists\n\
             * corosync is already running, is this node already in a cluster?!\n\nCheck if node may join a cluster failed!",
        ));
    }
    if !call.world.guests.is_empty() {
        return Err(Failure::die(
            "detected the following error(s):\n* this host already contains virtual guests\n\n\
             Check if node may join a cluster failed!",
        ));
    }
    let host = call.params.text("hostname");
    let line = format!("Establishing API connection with host '{host}'");
    let task = call.task("clusterjoin", "").lasts(Duration::from_secs(2)).line(line).finish(move |run| {
        let found = run.world.servers.get(&host).and_then(|server| server.cluster.clone());
        let Some(found) = found else { return Err(format!("500 Can't connect to {host}:8006 (Connection refused)")) };
        for line in ["Login succeeded.", "check cluster join API version", "Request addition of this node"] {
            run.log(line);
        }
        let world = &mut *run.world;
        world.cluster = Some(found.name);
        if let Some(own) = world.nodes.get_mut(&world.entry) {
            own.nodeid = 2;
        }
        world.nodes.insert(found.node, Node { nodeid: 1, ip: host, ..Node::default() });
        count(world);
        run.log("Join request OK, finishing setup locally");
        run.log(format!("successfully added node '{}' to cluster.", run.node));
        Ok(())
    });
    call.start(task)
}

/// `POST /cluster/config/nodes/{node}`: what a joining node asks for. It counts as a member from now on, and is not
/// there yet.
pub(crate) fn add_node(call: &mut Call<'_>) -> Answer {
    let name = call.params.text("node");
    if call.world.cluster.is_none() || call.world.no_quorum {
        return Err(Failure::die("cluster not ready - no quorum?"));
    }
    if call.world.nodes.contains_key(&name) && !call.params.is_on("force") {
        return Err(Failure::die(format!("can't add existing node '{name}'")));
    }
    let free = (1..).find(|id| call.world.nodes.values().all(|node| node.nodeid != *id)).unwrap_or(1);
    let nodeid = call.params.int("nodeid").and_then(|id| u32::try_from(id).ok()).unwrap_or(free);
    let ip = call.params.get("new_node_ip").or_else(|| call.params.get("link0")).unwrap_or_default();
    let ip = ip.split(',').next().unwrap_or_default().trim_start_matches("address=").to_string();
    call.world.nodes.entry(name).or_insert(Node { online: false, nodeid, ip, ..Node::default() });
    count(call.world);
    let key = call.world.random.hex(64);
    Ok(json!({"corosync_authkey": key, "corosync_conf": corosync_conf(call.world), "warnings": []}).into())
}

/// `DELETE /cluster/config/nodes/{node}`.
pub(crate) fn delete_node(call: &mut Call<'_>) -> Answer {
    let name = call.params.text("node");
    if call.world.cluster.is_none() || call.world.no_quorum {
        return Err(Failure::die("cluster not ready - no quorum?"));
    }
    if !call.world.nodes.contains_key(&name) {
        return Err(Failure::die(format!("Node/IP: {name} is not a known host of the cluster.")));
    }
    if name == call.world.entry {
        return Err(Failure::die("Cannot delete myself from cluster!"));
    }
    call.world.nodes.remove(&name);
    count(call.world);
    Ok(Data::null())
}

fn member(name: &str, node: &Node) -> Value {
    json!({
        "name": name, "nodeid": node.nodeid.to_string(), "quorum_votes": "1", "ring0_addr": node.ip,
    })
}

fn totem_of(world: &World) -> Value {
    let Some(name) = &world.cluster else { return json!({}) };
    json!({
        "cluster_name": name, "config_version": version(world).to_string(), "interface": {"0": {"linknumber": "0"}},
        "ip_version": "ipv4-6", "link_mode": "passive", "secauth": "on", "version": "2",
    })
}

/// How often the configuration was changed: once for each node, as long as nothing else is known.
pub(crate) fn version(world: &World) -> u64 {
    let stored = world.documents.options.get(PATH).and_then(|options| options.get("config_version")?.as_u64());
    stored.unwrap_or(world.nodes.len() as u64)
}

fn count(world: &mut World) {
    let next = version(world) + 1;
    world.documents.options.entry(PATH.into()).or_default().insert("config_version".into(), json!(next));
}

/// The text of the configuration file.
fn corosync_conf(world: &World) -> String {
    let nodes = world.nodes.iter().map(|(name, node)| {
        format!(
            "  node {{\n    name: {name}\n    nodeid: {}\n    quorum_votes: 1\n    ring0_addr: {}\n  }}\n\n",
            node.nodeid, node.ip
        )
    });
    format!(
        "logging {{\n  debug: off\n  to_syslog: yes\n}}\n\nnodelist {{\n{}}}\n\nquorum {{\n  provider: corosync_votequorum\n}}\n\n\
         totem {{\n  cluster_name: {}\n  config_version: {}\n  interface {{\n    linknumber: 0\n  }}\n  ip_version: ipv4-6\n  \
         link_mode: passive\n  secauth: on\n  version: 2\n}}\n\n",
        nodes.collect::<String>(),
        world.cluster.as_deref().unwrap_or_default(),
        version(world)
    )
}

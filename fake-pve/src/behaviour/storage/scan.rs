//! `/nodes/{node}/scan`: what servers on the network and the node itself have to offer.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::behaviour::{Answer, Call, Data, Failure};
use crate::world::Server;
use crate::world::server::host;

/// `GET /nodes/{node}/scan`.
pub(crate) fn index(_call: &mut Call<'_>) -> Answer {
    let methods = ["cifs", "iscsi", "lvm", "nfs", "pbs", "zfs"].map(|method| json!({"method": method}));
    Ok(Vec::from(methods).into())
}

/// The server of a call; `None` is one that does not answer.
fn server<'c>(call: &'c Call<'_>, address: &str) -> Result<Option<&'c Server>, Failure> {
    let found = call.world.servers.get(host(address));
    let numeric = address.parse::<std::net::IpAddr>().is_ok() || address.bytes().all(|byte| byte.is_ascii_digit());
    if found.is_none() && !numeric {
        return Err(Failure::die(format!("unable to resolve address for server '{address}'")));
    }
    Ok(found)
}

fn list(items: impl Iterator<Item = Value>) -> Answer {
    Ok(Data::from(items.collect::<Vec<_>>()))
}

/// `GET /nodes/{node}/scan/nfs`.
pub(crate) fn nfs(call: &mut Call<'_>) -> Answer {
    let address = call.params.text("server");
    let found = server(call, &address)?.ok_or_else(|| {
        Failure::die(format!("command '/sbin/showmount --no-headers --exports {address}' failed: exit code 1"))
    })?;
    list(found.exports.iter().map(|(path, clients)| json!({"path": path, "options": clients})))
}

/// `GET /nodes/{node}/scan/cifs`: a server that does not answer has no shares.
pub(crate) fn cifs(call: &mut Call<'_>) -> Answer {
    let address = call.params.text("server");
    let Some(found) = server(call, &address)? else { return Ok(Vec::new().into()) };
    list(found.shares.iter().map(|(share, description)| json!({"share": share, "description": description})))
}

/// `GET /nodes/{node}/scan/iscsi`.
pub(crate) fn iscsi(call: &mut Call<'_>) -> Answer {
    let portal = call.params.text("portal");
    let Some(found) = call.world.servers.get(host(&portal)) else {
        return Err(Failure::param("portal", format!("unable to resolve portal address '{portal}'")));
    };
    let address = if portal.contains(':') { portal.clone() } else { format!("{portal}:3260") };
    list(found.targets.iter().map(|target| json!({"target": target, "portal": address})))
}

/// `GET /nodes/{node}/scan/pbs`.
pub(crate) fn pbs(call: &mut Call<'_>) -> Answer {
    let address = call.params.text("server");
    let port = call.params.get("port").unwrap_or_else(|| "8007".into());
    let Some(found) = call.world.servers.get(host(&address)) else {
        let text = format!("error fetching datastores - 500 Can't connect to {address}:{port} (No route to host)");
        return Err(Failure::die(text));
    };
    list(found.datastores.iter().map(|(store, comment)| json!({"store": store, "comment": comment})))
}

/// `GET /nodes/{node}/scan/lvm`: volume groups of the node.
pub(crate) fn lvm(call: &mut Call<'_>) -> Answer {
    list(of_node(call, "vgname").into_iter().map(|group| json!({"vg": group})))
}

/// `GET /nodes/{node}/scan/lvmthin`: thin pools of a volume group.
pub(crate) fn lvmthin(call: &mut Call<'_>) -> Answer {
    let (node, group) = (call.node(), call.params.text("vg"));
    if call.world.volume_group(&node, &group).is_none() {
        let command = format!("/sbin/lvs --separator : --noheadings --units b --unbuffered --nosuffix {group}");
        return Err(Failure::die(format!("command '{command}' failed: exit code 5")));
    }
    let storages = call.world.storages.values().filter(|storage| storage.on_node(&node));
    let of_group = storages.filter(|storage| storage.option("vgname").as_deref() == Some(&group));
    let pools: BTreeSet<String> = of_group.filter_map(|storage| storage.option("thinpool")).collect();
    list(pools.into_iter().map(|pool| json!({"lv": pool})))
}

/// `GET /nodes/{node}/scan/zfs`: pools and datasets of the node.
pub(crate) fn zfs(call: &mut Call<'_>) -> Answer {
    let mut datasets = BTreeSet::new();
    for dataset in of_node(call, "pool") {
        let root = dataset.split('/').next().unwrap_or_default().to_string();
        datasets.extend([root, dataset]);
    }
    let node = call.node();
    let size = |dataset: &str| call.world.zfs_pool(&node, dataset.split('/').next().unwrap_or_default());
    list(datasets.iter().filter_map(|dataset| size(dataset).map(|_| json!({"pool": dataset}))))
}

/// Values of an option of the storages that work on the node.
fn of_node(call: &Call<'_>, key: &str) -> BTreeSet<String> {
    let node = call.node();
    let wanted = if key == "pool" { "zfspool" } else { "lvm" };
    let here =
        call.world.storages.iter().filter(|(id, storage)| {
            storage.plugin().starts_with(wanted) && call.world.usable_storage(&node, id).is_ok()
        });
    here.filter_map(|(_, storage)| storage.option(key)).collect()
}

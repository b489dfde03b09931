//! The configuration of Ceph: its file, what is kept by the monitors, and single values.

use serde_json::{Map, Value, json};

use super::{inited, ready};
use crate::behaviour::{Answer, Call, Data};
use crate::world::World;

/// `GET …/cfg/raw`.
pub(crate) fn raw(call: &mut Call<'_>) -> Answer {
    inited(call)?;
    let text = sections(call.world).into_iter().map(|(section, options)| {
        let lines: String = options.iter().map(|(key, value)| format!("\t {key} = {value}\n")).collect();
        format!("[{section}]\n{lines}\n")
    });
    Ok(json!(text.collect::<String>()).into())
}

/// `GET …/cfg/db`: nothing beyond the file was set.
pub(crate) fn db(call: &mut Call<'_>) -> Answer {
    ready(call)?;
    Ok(Data::from(Vec::new()))
}

/// `GET …/cfg/value`: `section:key` pairs, in a tree.
pub(crate) fn value(call: &mut Call<'_>) -> Answer {
    inited(call)?;
    let sections = sections(call.world);
    let mut found = Map::new();
    for wanted in call.params.list("config-keys") {
        let Some((section, key)) = wanted.split_once(':') else { continue };
        let options = sections.iter().find(|(name, _)| name == section).map(|(_, options)| options);
        let same = |known: &str| known.replace(['-', ' '], "_") == key.replace(['-', ' '], "_");
        if let Some((_, value)) = options.and_then(|options| options.iter().find(|(known, _)| same(known))) {
            let section = found.entry(section).or_insert_with(|| json!({}));
            section[key] = json!(value);
        }
    }
    Ok(Value::Object(found).into())
}

/// The file, section by section.
fn sections(world: &World) -> Vec<(String, Vec<(String, String)>)> {
    let ceph = &world.ceph;
    let config = ceph.config.clone().unwrap_or_default();
    let auth = if config.cephx { "cephx" } else { "none" };
    let hosts: Vec<&str> = ceph.mons.values().map(|mon| mon.addr.as_str()).collect();
    let mut global = vec![
        ("auth_client_required", auth.to_string()),
        ("auth_cluster_required", auth.to_string()),
        ("auth_service_required", auth.to_string()),
        ("cluster_network", config.cluster_network.clone()),
        ("fsid", config.fsid.clone()),
        ("mon_allow_pool_delete", "true".to_string()),
        ("ms_bind_ipv4", "true".to_string()),
        ("osd_pool_default_min_size", config.min_size.to_string()),
        ("osd_pool_default_size", config.size.to_string()),
        ("public_network", config.network.clone()),
    ];
    if !hosts.is_empty() {
        global.push(("mon_host", hosts.join(" ")));
    }
    global.sort_unstable();
    let owned = |list: Vec<(&str, String)>| list.into_iter().map(|(key, value)| (key.to_string(), value)).collect();
    let mut sections = vec![
        ("global".to_string(), owned(global)),
        ("client".to_string(), owned(vec![("keyring", "/etc/pve/priv/$cluster.$name.keyring".into())])),
    ];
    for (id, mon) in &ceph.mons {
        sections.push((format!("mon.{id}"), owned(vec![("public_addr", mon.addr.clone())])));
    }
    for (name, mds) in &ceph.mds {
        sections.push((format!("mds.{name}"), owned(vec![("host", mds.node.clone())])));
    }
    sections
}

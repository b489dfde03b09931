//! Permissions as the engine and behaviours ask for them: glue to `pve_catalog::permission`.

use pve_catalog::Method;
use pve_catalog::permission::{AccessConfig, Request, authorize};
use serde_json::{Map, Value, json};

use crate::behaviour::Failure;

/// Judges a request on its raw parameters, values of the path included. An empty `authid` is nobody.
///
/// # Errors
/// 403, or 500 where the check itself stumbles.
pub(crate) fn check(
    access: &AccessConfig,
    method: &Method,
    authid: &str,
    params: &Map<String, Value>,
) -> Result<(), Failure> {
    let authid = (!authid.is_empty()).then_some(authid);
    authorize(method, access, &Request { authid, params }).map_err(|denied| Failure::new(denied.status, denied.message))
}

/// Whether somebody holds one of some privileges on a path.
pub(crate) fn holds_any(access: &AccessConfig, authid: &str, path: &str, privileges: &[&str]) -> bool {
    let held = access.effective(authid, path);
    privileges.iter().any(|privilege| held.contains_key(*privilege))
}

/// The first of some privileges that somebody lacks on a path.
pub(crate) fn lacks<'p>(access: &AccessConfig, authid: &str, path: &str, privileges: &[&'p str]) -> Option<&'p str> {
    let held = access.effective(authid, path);
    privileges.iter().find(|privilege| !held.contains_key(**privilege)).copied()
}

/// Paths that Proxmox always looks at when it sums up somebody's rights.
const DEFAULT_PATHS: [&str; 8] = ["/", "/access", "/access/groups", "/nodes", "/pool", "/sdn", "/storage", "/vms"];

/// The paths on which somebody may hold something: the default ones, those of rules and above them, and members of
/// pools.
pub(crate) fn paths(access: &AccessConfig) -> Vec<String> {
    let mut paths: Vec<String> = DEFAULT_PATHS.iter().map(|path| (*path).to_string()).collect();
    for path in access.acl.keys() {
        let above = path.match_indices('/').map(|(at, _)| path[..at].to_string());
        paths.extend(above.filter(|above| !above.is_empty()).chain([path.clone()]));
    }
    for pool in access.pools.values() {
        paths.extend(pool.vms.iter().map(|vmid| format!("/vms/{vmid}")));
        paths.extend(pool.storage.iter().map(|storage| format!("/storage/{storage}")));
    }
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// The `cap` object of a login: by area, the privileges that somebody holds anywhere in it.
pub(crate) fn capabilities(access: &AccessConfig, authid: &str) -> Value {
    let mut areas = json!({"vms": {}, "access": {}, "storage": {}, "nodes": {}, "sdn": {}, "dc": {}, "mapping": {}});
    let mut paths = paths(access);
    paths.extend(["/mapping".to_string()]);
    for path in paths {
        let held = access.effective(authid, &path);
        for area in areas_of(&path) {
            for privilege in held.keys().filter(|privilege| in_area(area, privilege)) {
                areas[*area][privilege] = json!(1);
            }
        }
    }
    areas
}

fn areas_of(path: &str) -> &'static [&'static str] {
    match path.split('/').nth(1).unwrap_or_default() {
        "" => &["vms", "access", "storage", "nodes", "sdn", "dc", "mapping"],
        "vms" => &["vms"],
        "access" => &["access"],
        "storage" => &["storage"],
        "nodes" => &["nodes"],
        "sdn" => &["sdn"],
        "mapping" => &["mapping"],
        "pool" => &["vms", "storage"],
        _ => &[],
    }
}

fn in_area(area: &str, privilege: &str) -> bool {
    let (prefixes, modify): (&[&str], bool) = match area {
        "vms" => (&["VM."], true),
        "access" => (&["User.", "Group."], true),
        "storage" => (&["Datastore."], true),
        "nodes" => (&["Sys."], true),
        "sdn" => (&["SDN."], true),
        "mapping" => (&["Mapping."], true),
        "dc" => (&["Sys.Audit", "Sys.Modify", "SDN."], false),
        _ => (&[], false),
    };
    prefixes.iter().any(|prefix| privilege.starts_with(prefix)) || (modify && privilege == "Permissions.Modify")
}

//! `/access/acl`: who has which role on which path.

use std::collections::BTreeMap;

use pve_catalog::permission::{Acl, Grants, NO_ACCESS, check_userid, normalise, split_token};
use serde_json::{Value, json};

use super::change;
use crate::behaviour::{Answer, Call, Data, Failure};

/// `GET /access/acl`: everything with `Sys.Audit` on `/access`, else what the caller could change.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let all = call.may("/access", &["Sys.Audit"]);
    let rules = call.world.access.config.acl.iter().filter(|(path, _)| all || may_modify(call, path));
    let config = &call.world.access.config;
    let known = |kind: &str, id: &str| match kind {
        "user" => config.has_user(id),
        "group" => config.groups.contains_key(id),
        _ => config.token(id).is_some(),
    };
    let mut items = Vec::new();
    for (path, acl) in rules {
        for (kind, table) in [("user", &acl.users), ("group", &acl.groups), ("token", &acl.tokens)] {
            let standing = table.iter().filter(|(id, _)| known(kind, id));
            items.extend(standing.flat_map(|(id, grants)| rows(path, kind, id, grants)));
        }
    }
    items.retain(|row| row["roleid"].as_str().is_some_and(|role| config.has_role(role)));
    Ok(Data::from(items))
}

fn rows(path: &str, kind: &str, id: &str, grants: &Grants) -> Vec<Value> {
    let row = |(role, propagate): (&String, &bool)| json!({"path": path, "type": kind, "ugid": id, "roleid": role, "propagate": i32::from(*propagate)});
    grants.iter().map(row).collect()
}

/// What the permission expression `perm-modify` asks: to hand out rights on a path.
pub(crate) fn may_modify(call: &Call<'_>, path: &str) -> bool {
    call.may(path, &modifiers(path))
}

/// The privileges any of which lets somebody change rules on a path.
pub(crate) fn modifiers(path: &str) -> Vec<&'static str> {
    let own = match path.split('/').nth(1).filter(|_| path.matches('/').count() > 1) {
        Some("storage") => Some("Datastore.Allocate"),
        Some("vms") => Some("VM.Allocate"),
        Some("pool") => Some("Pool.Allocate"),
        _ => None,
    };
    ["Permissions.Modify"].into_iter().chain(own).collect()
}

/// `PUT /access/acl`: gives roles, or takes them away with `delete`.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    const KEYS: [&str; 3] = ["users", "groups", "tokens"];
    if KEYS.iter().all(|key| super::truth(call.params.get(key)).is_none()) {
        let text = "either 'users', 'groups' or 'tokens' is required.";
        return Err(Failure::params(KEYS.iter().map(|key| (key.to_string(), text.to_string())).collect()));
    }
    let (given, delete) = (call.params.text("path"), call.params.is_on("delete"));
    let path = normalise(&given).filter(|path| delete || is_acl_path(path));
    let path = path.ok_or_else(|| Failure::param("path", format!("invalid ACL path '{given}'")))?;
    let propagate = call.params.flag("propagate").unwrap_or(true);
    change(call, "ACL update failed", |call| {
        let mut acl = call.world.access.config.acl.get(&path).cloned().unwrap_or_default();
        for role in call.params.list("roles") {
            check_role(call, &path, &role, propagate, delete)?;
            let grant = |table: &mut BTreeMap<String, Grants>, id: &str| match delete {
                false => {
                    table.entry(id.into()).or_default().insert(role.clone(), propagate);
                }
                true => {
                    table.entry(id.into()).or_default().remove(&role);
                }
            };
            give(call, &mut acl, &grant)?;
        }
        for table in [&mut acl.users, &mut acl.groups, &mut acl.tokens] {
            table.retain(|_, grants| !grants.is_empty());
        }
        match acl.is_empty() {
            true => call.world.access.config.acl.remove(&path),
            false => call.world.access.config.acl.insert(path, acl),
        };
        Ok(Data::null())
    })
}

/// Applies one role to everybody whom the call names; they must exist.
fn give(call: &Call<'_>, acl: &mut Acl, grant: &dyn Fn(&mut BTreeMap<String, Grants>, &str)) -> Result<(), Failure> {
    let config = &call.world.access.config;
    for group in call.params.list("groups") {
        if !config.groups.contains_key(&group) {
            return Err(Failure::die(format!("group '{group}' does not exist")));
        }
        grant(&mut acl.groups, &group);
    }
    for userid in call.params.list("users") {
        check_userid(&userid)?;
        if !config.has_user(&userid) {
            return Err(Failure::die(format!("user '{userid}' does not exist")));
        }
        grant(&mut acl.users, &userid);
    }
    for authid in call.params.list("tokens") {
        let (user, token) = split_token(&authid).ok_or_else(|| format!("no such token '{authid}'"))?;
        if !config.has_user(user) {
            return Err(Failure::die(format!("no such user ('{user}')")));
        }
        if config.token(&authid).is_none() {
            return Err(Failure::die(format!("no such token '{token}' for user '{user}'")));
        }
        grant(&mut acl.tokens, &authid);
    }
    Ok(())
}

/// Without `Permissions.Modify` only a part of one's own rights can be handed on.
fn check_role(call: &Call<'_>, path: &str, role: &str, propagate: bool, delete: bool) -> Result<(), Failure> {
    let config = &call.world.access.config;
    let privileges = config.role(role).ok_or_else(|| format!("role '{role}' does not exist"))?;
    let held = config.effective(&call.authid, path);
    if held.contains_key("Permissions.Modify") {
        return Ok(());
    }
    let verb = if delete { "remove" } else { "add" };
    for privilege in privileges {
        let Some(propagates) = held.get(privilege) else {
            let text =
                format!("Cannot {verb} role '{role}' - requires 'Permissions.Modify' or superset of privileges.");
            return Err(Failure::param("role", text));
        };
        if propagate && !propagates {
            let text = format!(
                "Cannot {verb} role '{role}' with propagation - requires 'Permissions.Modify' or propagated superset of \
                 privileges."
            );
            return Err(Failure::param("role", text));
        }
    }
    match role == NO_ACCESS {
        true => Err(Failure::param("role", format!("Cannot {verb} role '{role}' - requires 'Permissions.Modify'"))),
        false => Ok(()),
    }
}

/// Whether rules may stand on a normalised path. What it names need not exist.
fn is_acl_path(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let in_range = |text: &str, range: std::ops::RangeInclusive<u32>| {
        text.parse::<u32>().is_ok_and(|number| range.contains(&number)) && !text.starts_with('0')
    };
    match parts.as_slice() {
        []
        | ["access"]
        | ["access", "groups" | "realm"]
        | ["access", "groups" | "realm", _]
        | ["nodes" | "storage" | "mapping" | "pool" | "sdn" | "vms"]
        | ["nodes" | "storage", _]
        | ["mapping", _]
        | ["mapping", _, _]
        | ["pool", _]
        | ["pool", _, _]
        | ["pool", _, _, _] => true,
        ["vms", vmid] => in_range(vmid, 100..=999_999_999),
        ["sdn", rest @ ..] => match rest {
            ["controllers" | "dns" | "fabrics" | "ipams" | "prefix-lists" | "route-maps" | "zones"]
            | ["controllers" | "dns" | "fabrics" | "ipams" | "prefix-lists" | "route-maps" | "zones", _]
            | ["zones", _, _] => true,
            ["zones", _, _, tag] => in_range(tag, 1..=9999),
            _ => false,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_stand_on_known_paths_only() {
        for path in
            ["/", "/access", "/access/realm/pve", "/pool/a/b/c", "/vms/100", "/sdn/zones/z/v/9999", "/mapping/pci/a"]
        {
            assert!(is_acl_path(path), "{path}");
        }
        for path in ["/foo", "/vms/99", "/vms/x", "/pool/a/b/c/d", "/sdn/zones/z/v/0", "/access/users", "/nodes/a/b"] {
            assert!(!is_acl_path(path), "{path}");
        }
        assert_eq!(modifiers("/vms/100"), ["Permissions.Modify", "VM.Allocate"]);
        assert_eq!(modifiers("/vms"), ["Permissions.Modify"]);
    }
}

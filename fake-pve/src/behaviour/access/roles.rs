//! `/access/roles`: sets of privileges. Built-in ones are fixed, and so is the name space `PVE…`.

use std::collections::BTreeSet;

use pve_catalog::permission::{Role, builtin_roles};
use serde_json::{Map, Value, json};

use super::change;
use crate::behaviour::{Answer, Call, Data, Failure};

/// `GET /access/roles`.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let item = |name: &str, privileges: &BTreeSet<String>, special: i32| {
        let privs: Vec<&str> = privileges.iter().map(String::as_str).collect();
        json!({"roleid": name, "privs": privs.join(","), "special": special})
    };
    let builtin = builtin_roles().iter().map(|(name, privileges)| item(name, privileges, 1));
    let custom = call.world.access.config.roles.iter().map(|(name, role)| item(name, &role.privileges, 0));
    Ok(Data::from(builtin.chain(custom).collect::<Vec<_>>()))
}

/// `GET /access/roles/{roleid}`.
pub(crate) fn show(call: &mut Call<'_>) -> Answer {
    let roleid = call.params.text("roleid");
    let held = call.world.access.config.role(&roleid);
    let held = held.ok_or_else(|| format!("role '{roleid}' does not exist"))?;
    let object: Map<String, Value> = held.iter().map(|privilege| (privilege.clone(), json!(1))).collect();
    Ok(Value::Object(object).into())
}

/// `POST /access/roles`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    let roleid = call.params.text("roleid");
    if roleid.to_lowercase().starts_with("pve") {
        let text = "cannot use role ID starting with the (case-insensitive) 'PVE' namespace";
        return Err(Failure::param("roleid", text));
    }
    change(call, "create role failed", |call| {
        if call.world.access.config.has_role(&roleid) {
            return Err(Failure::die(format!("role '{roleid}' already exists")));
        }
        let role = Role { privileges: call.params.list("privs").into_iter().collect() };
        call.world.access.config.roles.insert(roleid, role);
        Ok(Data::null())
    })
}

/// `PUT /access/roles/{roleid}`: the privileges of the call replace the old ones, or come on top with `append`.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    let roleid = call.params.text("roleid");
    refuse_special(&roleid, "modified")?;
    change(call, "update role failed", |call| {
        let (given, append) = (call.params.list("privs"), call.params.is_on("append"));
        let role = call.world.access.config.roles.get_mut(&roleid);
        let role = role.ok_or_else(|| format!("role '{roleid}' does not exist"))?;
        if !append {
            role.privileges.clear();
        }
        role.privileges.extend(given);
        Ok(Data::null())
    })
}

/// `DELETE /access/roles/{roleid}`: with the rules that give it.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    let roleid = call.params.text("roleid");
    refuse_special(&roleid, "deleted")?;
    change(call, "delete role failed", |call| match call.world.access.config.roles.remove(&roleid) {
        Some(_) => Ok(Data::null()),
        None => Err(Failure::die(format!("role '{roleid}' does not exist"))),
    })
}

fn refuse_special(roleid: &str, what: &str) -> Result<(), Failure> {
    match builtin_roles().contains_key(roleid) {
        true => Err(Failure::die(format!("auto-generated role '{roleid}' cannot be {what}"))),
        false => Ok(()),
    }
}

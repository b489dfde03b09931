//! `/access`: users, tokens, groups, roles, rules, realms, second factors, logins.

pub(crate) mod acl;
pub(crate) mod domains;
pub(crate) mod groups;
pub(crate) mod openid;
pub(crate) mod password;
pub(crate) mod roles;
pub(crate) mod second;
pub(crate) mod sync;
pub(crate) mod tfa;
pub(crate) mod ticket;
pub(crate) mod tokens;
pub(crate) mod totp;
pub(crate) mod users;

use std::collections::BTreeSet;

use serde_json::json;

use super::{Answer, Call, Failure, lock};

/// Changes `user.cfg` under its lock: reads it again, acts, writes it.
pub(super) fn change(call: &mut Call<'_>, prefix: &str, act: impl FnOnce(&mut Call<'_>) -> Answer) -> Answer {
    lock::under(call, "user_cfg", prefix, |call| {
        call.world.access.read_again();
        let answer = act(call);
        call.world.access.forget_empty();
        answer
    })
}

/// Refuses when there is no such user.
fn known_user(call: &Call<'_>, userid: &str) -> Result<(), Failure> {
    match call.world.access.config.has_user(userid) {
        true => Ok(()),
        false => Err(Failure::die(format!("no such user ('{userid}')"))),
    }
}

/// The realm of a user id.
fn realm_of(userid: &str) -> &str {
    userid.rsplit_once('@').map_or("", |(_, realm)| realm)
}

/// The users whom the caller may see or change through one of some privileges: `None` is everybody.
fn users_within(call: &Call<'_>, privileges: &[&str]) -> Option<BTreeSet<String>> {
    if call.may("/access/groups", privileges) {
        return None;
    }
    let groups = call.world.access.config.groups.iter();
    let held = groups.filter(|(name, _)| call.may(&format!("/access/groups/{name}"), privileges));
    Some(held.flat_map(|(_, group)| group.users.iter().cloned()).chain([call.authid.clone()]).collect())
}

/// Proxmox asks whether a text is true: neither empty nor `0`.
pub(crate) fn truth(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty() && text != "0")
}

/// `GET /access`.
pub(crate) fn index(_call: &mut Call<'_>) -> Answer {
    let names = ["users", "groups", "roles", "acl", "domains", "openid", "tfa", "ticket", "password"];
    Ok(names.iter().map(|name| json!({"subdir": name})).collect::<Vec<_>>().into())
}

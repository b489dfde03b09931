//! `/access/users`: users with their groups.

use pve_catalog::permission::{ROOT, User};
use serde_json::{Map, Value, json};

use super::{change, known_user, realm_of, truth, users_within};
use crate::behaviour::{Answer, Call, Data, Failure, access::tokens};

/// `GET /access/users`: those of groups that the caller may audit, and himself.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let (full, enabled) = (call.params.is_on("full"), call.params.flag("enabled"));
    let seen = users_within(call, &["User.Modify", "Sys.Audit"]);
    let root = User { enable: true, ..User::default() };
    call.world.access.config.users.entry(ROOT.into()).or_insert(root);
    let access = &call.world.access;
    let users = access.config.users.iter().filter(|(userid, user)| {
        seen.as_ref().is_none_or(|seen| seen.contains(*userid)) && enabled.is_none_or(|wanted| wanted == user.enable)
    });
    let items = users.map(|(userid, user)| {
        let mut item = fields(user);
        item.insert("userid".into(), json!(userid));
        if let Some(realm) = access.realm(realm_of(userid)) {
            item.insert("realm-type".into(), realm["type"].clone());
        }
        if let Some(lock) = access.tfa_locks.get(userid) {
            if lock.totp_locked {
                item.insert("totp-locked".into(), json!(true));
            }
            if let Some(until) = lock.locked_until {
                item.insert("tfa-locked-until".into(), json!(until));
            }
        }
        if full {
            let groups: Vec<&str> = access.config.groups_of(userid).collect();
            item.insert("groups".into(), json!(groups.join(",")));
            let tokens = (!user.tokens.is_empty()).then(|| tokens::items(user));
            item.insert("tokens".into(), json!(tokens));
        }
        Value::Object(item)
    });
    Ok(Data::from(items.collect::<Vec<_>>()))
}

/// `GET /access/users/{userid}`.
pub(crate) fn show(call: &mut Call<'_>) -> Answer {
    let userid = call.params.text("userid");
    let config = &call.world.access.config;
    let user = config.users.get(&userid).ok_or_else(|| format!("no such user ('{userid}')"))?;
    let mut item = fields(user);
    item.insert("groups".into(), json!(config.groups_of(&userid).collect::<Vec<_>>()));
    let tokens: Map<String, Value> =
        user.tokens.iter().map(|(name, token)| (name.clone(), Value::Object(tokens::info(token)))).collect();
    item.insert("tokens".into(), if tokens.is_empty() { Value::Null } else { Value::Object(tokens) });
    Ok(Value::Object(item).into())
}

/// `POST /access/users`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    change(call, "create user failed", |call| {
        let userid = call.params.text("userid");
        if call.world.access.config.users.contains_key(&userid) {
            return Err(Failure::die(format!("user '{userid}' already exists")));
        }
        if let Some(password) = call.params.get("password") {
            call.world.access.store_password(&userid, &password)?;
        }
        let groups = wanted_groups(call)?;
        let user = User { enable: call.params.flag("enable").unwrap_or(true), ..User::default() };
        call.world.access.config.users.insert(userid.clone(), user);
        join(call, &userid, &groups);
        set_fields(call, &userid);
        Ok(Data::null())
    })
}

/// `PUT /access/users/{userid}`.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    change(call, "update user failed", |call| {
        let userid = call.params.text("userid");
        known_user(call, &userid)?;
        let groups = wanted_groups(call)?;
        if call.params.has("groups") && !call.params.is_on("append") {
            call.world.access.config.groups.values_mut().for_each(|group| {
                group.users.remove(&userid);
            });
        }
        join(call, &userid, &groups);
        let enable = call.params.flag("enable");
        let user = call.world.access.config.users.entry(userid.clone()).or_default();
        user.enable = enable.unwrap_or(user.enable);
        set_fields(call, &userid);
        Ok(Data::null())
    })
}

/// `DELETE /access/users/{userid}`: with password, second factors, memberships, tokens and rules.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    change(call, "delete user failed", |call| {
        let userid = call.params.text("userid");
        call.world.access.remove_user(&userid);
        Ok(Data::null())
    })
}

/// What Proxmox shows of a user without groups and tokens.
fn fields(user: &User) -> Map<String, Value> {
    let mut item = Map::new();
    item.insert("enable".into(), json!(i32::from(user.enable)));
    item.insert("expire".into(), json!(user.expire));
    let texts = [
        ("firstname", &user.firstname),
        ("lastname", &user.lastname),
        ("email", &user.email),
        ("comment", &user.comment),
        ("keys", &user.keys),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            item.insert(name.into(), json!(text));
        }
    }
    item
}

/// The groups of the call, all of which must exist.
fn wanted_groups(call: &Call<'_>) -> Result<Vec<String>, Failure> {
    if truth(call.params.get("groups")).is_none() {
        return Ok(Vec::new());
    }
    let groups = call.params.list("groups");
    match groups.iter().find(|group| !call.world.access.config.groups.contains_key(*group)) {
        Some(unknown) => Err(Failure::die(format!("no such group '{unknown}'"))),
        None => Ok(groups),
    }
}

fn join(call: &mut Call<'_>, userid: &str, groups: &[String]) {
    for name in groups {
        if let Some(group) = call.world.access.config.groups.get_mut(name) {
            group.users.insert(userid.into());
        }
    }
}

/// Sets what the call gives; an empty text takes the field away.
fn set_fields(call: &mut Call<'_>, userid: &str) {
    let given = call.params.clone();
    let Some(user) = call.world.access.config.users.get_mut(userid) else { return };
    if let Some(expire) = given.int("expire") {
        user.expire = u64::try_from(expire).unwrap_or(0);
    }
    let targets = [
        ("firstname", &mut user.firstname),
        ("lastname", &mut user.lastname),
        ("email", &mut user.email),
        ("comment", &mut user.comment),
        ("keys", &mut user.keys),
    ];
    for (name, target) in targets {
        if let Some(text) = given.get(name) {
            *target = Some(text);
        }
    }
}

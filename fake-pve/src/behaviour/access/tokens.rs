//! `/access/users/{userid}/token`: API tokens. Their secret is told once, when it is made.

use pve_catalog::permission::{Token, User};
use serde_json::{Map, Value, json};

use super::{change, known_user};
use crate::behaviour::{Answer, Call, Data, Failure};

/// `GET …/token`.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let userid = call.params.text("userid");
    known_user(call, &userid)?;
    let user = call.world.access.config.users.get(&userid);
    Ok(Data::from(user.map(items).unwrap_or_default()))
}

/// `GET …/token/{tokenid}`.
pub(crate) fn show(call: &mut Call<'_>) -> Answer {
    let (userid, tokenid) = ids(call);
    Ok(Value::Object(info(known(call, &userid, &tokenid)?)).into())
}

/// `POST …/token/{tokenid}`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    let (userid, tokenid) = ids(call);
    known_user(call, &userid)?;
    if known(call, &userid, &tokenid).is_ok() {
        return Err(Failure::param("tokenid", "Token already exists."));
    }
    let mut told = call.params.without(&["userid", "tokenid"]);
    told.entry("privsep").or_insert(json!(1));
    let given = call.params.clone();
    change(call, "generating token failed", |call| {
        let user = call.world.access.config.users.entry(userid.clone()).or_default();
        let mut token = Token { privsep: true, ..Token::default() };
        set(&mut token, &given);
        user.tokens.insert(tokenid.clone(), token);
        let (full_id, value) = new_secret(call, &userid, &tokenid);
        Ok(json!({"full-tokenid": full_id, "info": told, "value": value}).into())
    })
}

/// `PUT …/token/{tokenid}`: the answer shows what was changed as it was given, the rest as it is stored.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    let (userid, tokenid) = ids(call);
    known_user(call, &userid)?;
    let mut told = info(known(call, &userid, &tokenid)?);
    let given = call.params.clone();
    change(call, "updating token info failed", |call| {
        check_delete(&given.get("delete"))?;
        let user = call.world.access.config.users.entry(userid.clone()).or_default();
        let token = user.tokens.entry(tokenid.clone()).or_default();
        set(token, &given);
        told.extend(given.without(&["userid", "tokenid", "delete", "regenerate"]));
        if given.has("delete") {
            token.comment = None;
            told.shift_remove("comment");
        }
        if given.is_on("regenerate") {
            let (full_id, value) = new_secret(call, &userid, &tokenid);
            told.insert("full-tokenid".into(), json!(full_id));
            told.insert("value".into(), json!(value));
        }
        Ok(Value::Object(told).into())
    })
}

/// `DELETE …/token/{tokenid}`.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    let (userid, tokenid) = ids(call);
    known_user(call, &userid)?;
    known(call, &userid, &tokenid)?;
    change(call, "deleting token failed", |call| {
        if let Some(user) = call.world.access.config.users.get_mut(&userid) {
            user.tokens.remove(&tokenid);
        }
        call.world.access.tokens.remove(&format!("{userid}!{tokenid}"));
        Ok(Data::null())
    })
}

/// All tokens of a user, as lists show them.
pub(super) fn items(user: &User) -> Vec<Value> {
    let items = user.tokens.iter().map(|(name, token)| {
        let mut item = info(token);
        item.insert("tokenid".into(), json!(name));
        Value::Object(item)
    });
    items.collect()
}

/// One token without its name and secret.
pub(super) fn info(token: &Token) -> Map<String, Value> {
    let mut info = Map::new();
    info.insert("expire".into(), json!(token.expire));
    info.insert("privsep".into(), json!(i32::from(token.privsep)));
    if let Some(comment) = &token.comment {
        info.insert("comment".into(), json!(comment));
    }
    info
}

fn ids(call: &Call<'_>) -> (String, String) {
    (call.params.text("userid"), call.params.text("tokenid"))
}

fn known<'c>(call: &'c Call<'_>, userid: &str, tokenid: &str) -> Result<&'c Token, Failure> {
    known_user(call, userid)?;
    let token = call.world.access.config.users.get(userid).and_then(|user| user.tokens.get(tokenid));
    token.ok_or_else(|| Failure::die(format!("no such token '{tokenid}' for user '{userid}'")))
}

fn set(token: &mut Token, given: &crate::behaviour::Params) {
    if let Some(privsep) = given.flag("privsep") {
        token.privsep = privsep;
    }
    if let Some(expire) = given.int("expire") {
        token.expire = u64::try_from(expire).unwrap_or(0);
    }
    if let Some(comment) = given.get("comment") {
        token.comment = Some(comment).filter(|comment| !comment.is_empty());
    }
}

/// Only the comment can be deleted; an empty list is something that Proxmox itself stumbles over.
fn check_delete(delete: &Option<String>) -> Result<(), Failure> {
    match delete.as_deref() {
        Some("") => Err(Failure::die(
            "Can't use string (\"\") as a HASH ref while \"strict refs\" in use at /usr/share/perl5/PVE/API2/User.pm line 911.",
        )),
        Some(names) => match crate::behaviour::params::split_list(names).iter().find(|name| *name != "comment") {
            Some(unknown) => Err(Failure::param("delete", format!("unknown option '{unknown}'"))),
            None => Ok(()),
        },
        None => Ok(()),
    }
}

/// A new random secret; the full token id, and the secret.
fn new_secret(call: &mut Call<'_>, userid: &str, tokenid: &str) -> (String, String) {
    let full_id = format!("{userid}!{tokenid}");
    let value = call.world.random.uuid();
    call.world.access.tokens.insert(full_id.clone(), crate::world::access::Secret::new(&full_id, &value));
    (full_id, value)
}

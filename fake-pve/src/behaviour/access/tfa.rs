//! `/access/tfa`: second factors of users. Answers come from Rust on the real thing: real booleans, defaults left out.

use pve_catalog::permission::User;
use serde_json::{Map, Value, json};

use super::password::confirm;
use super::totp::Totp;
use super::{realm_of, second, users_within};
use crate::behaviour::{Answer, Call, Data, Failure};

/// `GET /access/tfa`: users with entries, as far as the caller may see them.
pub(crate) fn list_all(call: &mut Call<'_>) -> Answer {
    let seen = users_within(call, &["User.Modify", "Sys.Audit"]);
    let users = call
        .world
        .access
        .tfa
        .iter()
        .filter(|(userid, entries)| !entries.is_empty() && seen.as_ref().is_none_or(|seen| seen.contains(*userid)));
    let items = users.map(|(userid, entries)| {
        let mut item = json!({"userid": userid, "entries": entries.iter().map(shown).collect::<Vec<_>>()});
        if let Some(lock) = call.world.access.tfa_locks.get(userid) {
            if lock.totp_locked {
                item["totp-locked"] = json!(true);
            }
            if let Some(until) = lock.locked_until {
                item["tfa-locked-until"] = json!(until);
            }
        }
        item
    });
    Ok(Data::from(items.collect::<Vec<_>>()))
}

/// `GET /access/tfa/{userid}`.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    Ok(Data::from(entries(call).iter().map(shown).collect::<Vec<_>>()))
}

/// `GET /access/tfa/{userid}/{id}`.
pub(crate) fn show(call: &mut Call<'_>) -> Answer {
    let id = call.params.text("id");
    match entries(call).iter().find(|entry| has_id(entry, &id)) {
        Some(entry) => Ok(shown(entry).into()),
        None => Err(Failure::new(404, format!("No such tfa entry '{id}'")).bare()),
    }
}

/// `POST /access/tfa/{userid}`: recovery codes are told once; an authenticator is proved by one of its passwords.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    let userid = call.params.text("userid");
    confirm(call, &userid, "password")?;
    let kind = call.params.text("type");
    if kind == "yubico" {
        let realm = realm_of(&userid);
        return Err(Failure::die(format!("no yubico otp configuration available for realm {realm}")));
    }
    mark(call, &userid, true);
    match kind.as_str() {
        "totp" => add_totp(call, &userid),
        "recovery" => add_recovery(call, &userid),
        "u2f" => Err(Failure::die("no u2f configuration available")),
        _ => Err(Failure::die("no webauthn configuration available")),
    }
}

/// `PUT /access/tfa/{userid}/{id}`: description and whether it counts. Recovery codes have neither.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    let (userid, id) = (call.params.text("userid"), call.params.text("id"));
    confirm(call, &userid, "password")?;
    let (description, enable) = (call.params.get("description"), call.params.flag("enable"));
    let mut entries = call.world.access.tfa.get_mut(&userid).into_iter().flatten();
    let entry = entries.find(|entry| has_id(entry, &id) && id != "recovery").ok_or("no such entry")?;
    if let Some(description) = description {
        entry.insert("description".into(), json!(description));
    }
    if let Some(enable) = enable {
        entry.insert("enable".into(), json!(enable));
    }
    Ok(Data::null())
}

/// `DELETE /access/tfa/{userid}/{id}`.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    let (userid, id) = (call.params.text("userid"), call.params.text("id"));
    confirm(call, &userid, "password")?;
    let entries = call.world.access.tfa.get_mut(&userid).ok_or("no such entry")?;
    let at = entries.iter().position(|entry| has_id(entry, &id)).ok_or("no such entry")?;
    entries.remove(at);
    if entries.is_empty() {
        call.world.access.tfa.remove(&userid);
        call.world.access.tfa_locks.remove(&userid);
        mark(call, &userid, false);
    }
    Ok(Data::null())
}

/// `GET /access/users/{userid}/tfa`: which kinds a user has.
pub(crate) fn types(call: &mut Call<'_>) -> Answer {
    let userid = call.params.text("userid");
    let mut answer = Map::new();
    let realm = call.world.access.realm(realm_of(&userid)).unwrap_or_default();
    if let Some(kind) = realm.get("tfa").and_then(Value::as_str).and_then(super::domains::tfa_type) {
        answer.insert("realm".into(), json!(kind));
    }
    let kinds: Vec<&str> = entries(call).iter().filter_map(|entry| entry.get("type")?.as_str()).collect();
    if call.params.is_on("multiple") {
        answer.insert("types".into(), json!(kinds));
    } else if kinds.contains(&"totp") {
        answer.insert("user".into(), json!("oath"));
    } else if kinds.contains(&"u2f") {
        answer.insert("user".into(), json!("u2f"));
    }
    Ok(Value::Object(answer).into())
}

/// `PUT /access/users/{userid}/unlock-tfa`: whether there was a lock.
pub(crate) fn unlock(call: &mut Call<'_>) -> Answer {
    let userid = call.params.text("userid");
    if !call.world.access.tfa.contains_key(&userid) {
        return Err(Failure::die("no such user"));
    }
    let lock = call.world.access.tfa_locks.remove(&userid);
    let was_locked = lock.is_some_and(|lock| lock.totp_locked || lock.locked_until.is_some());
    Ok(json!(was_locked).into())
}

fn entries<'c>(call: &'c Call<'_>) -> &'c [Map<String, Value>] {
    call.world.access.tfa.get(&call.params.text("userid")).map_or(&[], Vec::as_slice)
}

fn has_id(entry: &Map<String, Value>, id: &str) -> bool {
    entry.get("id").and_then(Value::as_str) == Some(id)
}

/// An entry without its secret; an empty description and `enable: true` are not told.
fn shown(entry: &Map<String, Value>) -> Value {
    let told = |name: &str, value: &Value| match name {
        "id" | "type" | "created" => true,
        "description" => value.as_str() != Some(""),
        "enable" => value == &json!(false),
        _ => false,
    };
    let kept = entry.iter().filter(|(name, value)| told(name, value));
    Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// Marks in the user's own entry whether he has second factors.
fn mark(call: &mut Call<'_>, userid: &str, on: bool) {
    call.world.access.read_again();
    let user =
        call.world.access.config.users.entry(userid.into()).or_insert_with(|| User { enable: true, ..User::default() });
    user.keys = on.then(|| "x".to_string());
    call.world.access.forget_empty();
}

fn add(call: &mut Call<'_>, userid: &str, entry: Value) {
    if let Value::Object(entry) = entry {
        call.world.access.tfa.entry(userid.into()).or_default().push(entry);
    }
}

fn add_totp(call: &mut Call<'_>, userid: &str) -> Answer {
    let params = &call.params;
    if params.has("challenge") {
        return Err(Failure::die("'challenge' parameter is invalid for 'totp' entries"));
    }
    let description = params.get("description").ok_or("'description' is required for new entries")?;
    let (Some(url), Some(value)) = (params.get("totp"), params.get("value")) else {
        return Err(Failure::die("'totp' type requires both 'totp' and 'value' parameters"));
    };
    let now = call.now();
    if Totp::parse(&url)?.step_of(&value, now).is_none() {
        return Err(Failure::die("failed to verify TOTP challenge"));
    }
    let id = call.world.random.uuid();
    let entry = json!({"id": id, "type": "totp", "description": description, "created": now, "secret": url});
    add(call, userid, entry);
    Ok(json!({"id": id}).into())
}

fn add_recovery(call: &mut Call<'_>, userid: &str) -> Answer {
    if ["totp", "value", "challenge"].iter().any(|name| call.params.has(name)) {
        return Err(Failure::die("generating recovery tokens does not allow additional parameters"));
    }
    if entries(call).iter().any(|entry| has_id(entry, "recovery")) {
        return Err(Failure::die("user already has recovery keys"));
    }
    let codes: Vec<String> = (0..10)
        .map(|_| {
            let hex = call.world.random.hex(16);
            format!("{}-{}-{}-{}", &hex[..4], &hex[4..8], &hex[8..12], &hex[12..])
        })
        .collect();
    let hidden: Vec<Value> = codes.iter().map(|code| second::hidden(userid, code)).collect();
    let entry =
        json!({"id": "recovery", "type": "recovery", "description": "", "created": call.now(), "secret": hidden});
    add(call, userid, entry);
    Ok(json!({"id": "recovery", "recovery": codes}).into())
}

//! `/access`: logins and what the caller may do.

use serde_json::{Map, Value, json};

use super::{Answer, Call, Data, Failure};
use crate::access::{capabilities, paths};
use crate::auth::TICKET_LIFETIME;

/// `GET /access/ticket`: only there so that a browser may ask.
pub(crate) fn no_ticket(_call: &mut Call<'_>) -> Answer {
    Ok(Data::null())
}

/// `POST /access/ticket`: a login, or the renewal of a ticket.
pub(crate) fn ticket(call: &mut Call<'_>) -> Answer {
    let refused = || Failure::new(401, "authentication failure");
    let mut userid = call.params.text("username");
    if let Some(realm) = call.params.get("realm").filter(|realm| !userid.ends_with(&format!("@{realm}"))) {
        userid = format!("{userid}@{realm}");
    }
    let now = call.now();
    let password = call.params.text("password");
    if !userid.contains('@') || call.world.access.check_user(&userid, now).is_err() {
        return Err(refused());
    }
    let by_ticket = call.keys.opened("PVE", &password, "", now, TICKET_LIFETIME, 300);
    let right = match by_ticket {
        Some(owner) => owner == userid || owner == pve_catalog::permission::ROOT,
        None => call.world.access.passwords.get(&userid).is_some_and(|secret| secret.is(&password)),
    };
    if !right {
        return Err(refused());
    }
    let access = &call.world.access.config;
    let cap = capabilities(access, &userid);
    if let Some(path) = call.params.get("path") {
        let privileges = call.params.list("privs");
        let held = access.effective(&userid, &path);
        if privileges.iter().any(|privilege| !held.contains_key(privilege)) {
            return Err(refused());
        }
        return Ok(json!({"username": userid, "cap": cap}).into());
    }
    let mut login = json!({
        "username": userid, "ticket": call.keys.ticket(&userid, now), "CSRFPreventionToken": call.keys.csrf(&userid, now),
        "cap": cap,
    });
    let audits = access.effective(&userid, "/").contains_key("Sys.Audit");
    if let Some(name) = call.world.cluster.as_ref().filter(|_| audits) {
        login["clustername"] = json!(name);
    }
    let (entry, user) = (call.world.entry.clone(), userid.clone());
    call.world.say(now, &entry, &user, "pvedaemon", format!("successful auth for user '{userid}'"));
    Ok(login.into())
}

/// `GET /access/permissions`: one's own or somebody's privileges, by path.
pub(crate) fn permissions(call: &mut Call<'_>) -> Answer {
    let whose = call.params.get("userid").unwrap_or_else(|| call.authid.clone());
    let own = whose == call.authid || whose.split('!').next() == Some(call.authid.as_str());
    if !own {
        call.require("/access", &["Sys.Audit"])?;
    }
    let access = &call.world.access.config;
    let only = call.params.get("path");
    let asked = only.clone().map_or_else(|| paths(access), |path| vec![path]);
    let mut all = Map::new();
    for path in asked {
        let held: Map<String, Value> =
            access.effective(&whose, &path).into_iter().map(|(name, on)| (name, json!(i32::from(on)))).collect();
        if !held.is_empty() || only.is_some() {
            all.insert(path, Value::Object(held));
        }
    }
    Ok(Value::Object(all).into())
}

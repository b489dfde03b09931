//! Logins: tickets, their second step, their verification, and what somebody may do.

use pve_catalog::permission::{ROOT, normalise};
use serde_json::{Map, Value, json};

use super::{realm_of, second};
use crate::access::{capabilities, paths};
use crate::auth::TICKET_LIFETIME;
use crate::behaviour::{Answer, Call, Data, Failure};

/// What a password, or a ticket in its place, has proved.
enum Proof {
    /// Everything that is needed.
    Whole,
    /// The password only; this is asked next.
    Half(Value),
}

/// `GET /access/ticket`: only there so that a browser may ask.
pub(crate) fn no_ticket(_call: &mut Call<'_>) -> Answer {
    Ok(Data::null())
}

/// `POST /access/ticket`: a login in one or two steps, the renewal of a ticket, or with a path the question whether
/// somebody with this password or ticket holds privileges there.
pub(crate) fn ticket(call: &mut Call<'_>) -> Answer {
    let mut userid = call.params.text("username");
    if let Some(realm) = call.params.get("realm").filter(|realm| !userid.ends_with(&format!("@{realm}"))) {
        userid = format!("{userid}@{realm}");
    }
    let now = call.now();
    if !userid.contains('@') || call.world.access.check_user(&userid, now).is_err() {
        return Err(refused());
    }
    if call.params.has("path") {
        return verified(call, &userid);
    }
    let proof = prove(call, &userid).ok_or_else(refused)?;
    let csrf = call.keys.csrf(&userid, now);
    let mut login = json!({"username": userid, "CSRFPreventionToken": csrf});
    match proof {
        Proof::Whole => {
            login["ticket"] = json!(call.keys.ticket(&userid, now));
            login["cap"] = capabilities(&call.world.access.config, &userid);
        }
        Proof::Half(challenge) => {
            login["ticket"] = json!(call.keys.signed("PVE", &format!("!tfa!{challenge}"), now, &userid));
            login["NeedTFA"] = json!(1);
        }
    }
    name_cluster(call, &userid, &mut login);
    let (entry, user) = (call.world.entry.clone(), userid.clone());
    call.world.say(now, &entry, &user, "pvedaemon", format!("successful auth for user '{userid}'"));
    Ok(login.into())
}

fn refused() -> Failure {
    Failure::new(401, "authentication failure")
}

/// The cluster's name is told to those who may audit.
fn name_cluster(call: &Call<'_>, userid: &str, login: &mut Value) {
    let audits = call.world.access.config.effective(userid, "/").contains_key("Sys.Audit");
    if let Some(name) = call.world.cluster.as_ref().filter(|_| audits) {
        login["clustername"] = json!(name);
    }
}

/// A ticket of the same user or of root in place of the password renews; an answer to a challenge completes; a password
/// begins.
fn prove(call: &mut Call<'_>, userid: &str) -> Option<Proof> {
    let (now, password) = (call.now(), call.params.text("password"));
    let (otp, begun) = (call.params.get("otp"), call.params.get("tfa-challenge"));
    if otp.is_some() && begun.is_some() {
        return None;
    }
    if let Some(owner) = call.keys.check_ticket(&password, now) {
        return (owner == userid || owner == ROOT).then_some(Proof::Whole);
    }
    if let Some(begun) = begun {
        let challenge = call.keys.opened("PVE", &begun, userid, now, TICKET_LIFETIME, 300)?;
        let right = challenge.starts_with("!tfa!") && second::verify(&mut call.world.access, userid, &password, now);
        return right.then_some(Proof::Whole);
    }
    if !call.world.access.is_password(userid, &password) {
        return None;
    }
    match (second::challenge(&call.world.access, userid), otp) {
        (None, _) if realm_asks(call, userid) => None,
        (None, _) => Some(Proof::Whole),
        (Some(challenge), None) => Some(Proof::Half(challenge)),
        (Some(_), Some(otp)) => second::verify(&mut call.world.access, userid, &otp, now).then_some(Proof::Whole),
    }
}

/// Whether the realm lets nobody in without a second factor.
fn realm_asks(call: &Call<'_>, userid: &str) -> bool {
    call.world.access.realm(realm_of(userid)).is_some_and(|realm| realm.contains_key("tfa"))
}

/// Who asks with a path gets no ticket, only whether the privileges are there.
fn verified(call: &mut Call<'_>, userid: &str) -> Answer {
    let (path, password, now) = (call.params.text("path"), call.params.text("password"), call.now());
    let path = normalise(&path).ok_or_else(refused)?;
    let by_ticket = call.keys.check_ticket(&password, now).is_some_and(|owner| owner == userid);
    let by_console_ticket = call.keys.check_vnc_ticket(&password, userid, &path, None, now);
    if !by_ticket && !by_console_ticket && !call.world.access.is_password(userid, &password) {
        return Err(refused());
    }
    holds_all(call, userid, &path)?;
    let mut answer = json!({"username": userid, "cap": capabilities(&call.world.access.config, userid)});
    name_cluster(call, userid, &mut answer);
    Ok(answer.into())
}

/// `POST /access/vncticket`: whether a console ticket is good for a path, a port and privileges.
pub(crate) fn vncticket(call: &mut Call<'_>) -> Answer {
    let (authid, ticket, now) = (call.params.text("authid"), call.params.text("vncticket"), call.now());
    let path = normalise(&call.params.text("path")).ok_or_else(refused)?;
    let userid = authid.split('!').next().unwrap_or_default();
    let port = call.params.int("port");
    let good = call.world.access.check_user(userid, now).is_ok()
        && call.keys.check_vnc_ticket(&ticket, &authid, &path, port, now);
    if !good {
        return Err(refused());
    }
    holds_all(call, &authid, &path)?;
    Ok(Data::null())
}

fn holds_all(call: &Call<'_>, authid: &str, path: &str) -> Result<(), Failure> {
    let privileges = call.params.list("privs");
    let held = call.world.access.config.effective(authid, path);
    match privileges.is_empty() || privileges.iter().any(|privilege| !held.contains_key(privilege)) {
        true => Err(refused()),
        false => Ok(()),
    }
}

/// `GET /access/permissions`: one's own or somebody's privileges, by path.
pub(crate) fn permissions(call: &mut Call<'_>) -> Answer {
    let whose = call.params.get("userid").unwrap_or_else(|| call.authid.clone());
    let own = whose == call.authid || whose.split('!').next() == Some(call.authid.as_str());
    if !own {
        call.require("/access", &["Sys.Audit"])?;
    }
    let access = &call.world.access.config;
    let only = super::truth(call.params.get("path"));
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

//! `/access/domains`: realms of every type. `pam` and `pve` are always there.

use serde_json::{Map, Value, json};

use crate::behaviour::params::stored;
use crate::behaviour::{Answer, Call, Data, Failure, lock};
use crate::world::digest;
use crate::world::section_type::{SectionType, forget_empty};

const LDAP_OPTIONAL: &[&str] = &[
    "bind_dn",
    "capath",
    "case-sensitive",
    "cert",
    "certkey",
    "comment",
    "default",
    "filter",
    "group_classes",
    "group_dn",
    "group_filter",
    "group_name_attr",
    "mode",
    "password",
    "port",
    "secure",
    "server2",
    "sslversion",
    "sync-defaults-options",
    "sync_attributes",
    "tfa",
    "user_classes",
    "verify",
];

/// What each type of realm may hold.
const TYPES: [SectionType; 5] = [
    SectionType {
        name: "ad",
        required: &["domain", "server1"],
        optional: &[
            "base_dn",
            "bind_dn",
            "capath",
            "case-sensitive",
            "cert",
            "certkey",
            "comment",
            "default",
            "filter",
            "group_classes",
            "group_dn",
            "group_filter",
            "group_name_attr",
            "mode",
            "password",
            "port",
            "secure",
            "server2",
            "sslversion",
            "sync-defaults-options",
            "sync_attributes",
            "tfa",
            "user_attr",
            "user_classes",
            "verify",
        ],
        fixed: &[],
    },
    SectionType { name: "ldap", required: &["server1", "base_dn", "user_attr"], optional: LDAP_OPTIONAL, fixed: &[] },
    SectionType {
        name: "openid",
        required: &["issuer-url", "client-id"],
        optional: &[
            "acr-values",
            "audiences",
            "autocreate",
            "client-key",
            "comment",
            "default",
            "groups-autocreate",
            "groups-claim",
            "groups-overwrite",
            "prompt",
            "query-userinfo",
            "scopes",
            "username-claim",
        ],
        fixed: &["username-claim"],
    },
    SectionType { name: "pam", required: &[], optional: &["comment", "default", "tfa"], fixed: &[] },
    SectionType { name: "pve", required: &[], optional: &["comment", "default", "tfa"], fixed: &[] },
];

/// `GET /access/domains`: for everybody, a login form needs it.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let items = call.world.access.all_realms().into_iter().map(|(name, realm)| {
        let mut item = json!({"realm": name, "type": realm["type"]});
        if let Some(comment) = realm.get("comment") {
            item["comment"] = comment.clone();
        }
        if is_set(realm.get("default")) {
            item["default"] = json!(1);
        }
        if let Some(tfa) = realm.get("tfa").and_then(Value::as_str).and_then(tfa_type) {
            item["tfa"] = json!(tfa);
        }
        item
    });
    Ok(Data::from(items.collect::<Vec<_>>()))
}

/// `GET /access/domains/{realm}`.
pub(crate) fn show(call: &mut Call<'_>) -> Answer {
    let name = call.params.text("realm");
    let mut realm = call.world.access.realm(&name).ok_or_else(|| format!("domain '{name}' does not exist"))?;
    realm.shift_remove("password");
    realm.insert("digest".into(), json!(file_digest(call)));
    Ok(Value::Object(realm).into())
}

/// `POST /access/domains`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    lock::under(call, "domains_cfg", "add auth server failed", |call| {
        let (name, kind) = (call.params.text("realm"), call.params.text("type"));
        let mut given = given(call);
        if call.world.access.realm(&name).is_some() {
            return Err(Failure::die(format!("domain '{name}' already exists")));
        }
        let types = section_type(&kind)?;
        if ["pam", "pve"].contains(&kind.as_str()) {
            return Err(Failure::die(format!("unable to create builtin type '{kind}'")));
        }
        check_connection(call, &kind)?;
        types.check_new(&given)?;
        if is_set(given.get("default")) {
            forget_default(call);
        }
        given.extend(password(call, types));
        given.insert("type".into(), json!(kind));
        forget_empty(&mut given);
        call.world.access.realms.insert(name, given);
        Ok(Data::null())
    })
}

/// `PUT /access/domains/{realm}`. Deleting an unknown option is fine here, deleting a required one is not.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    lock::under(call, "domains_cfg", "update auth server failed", |call| {
        let name = call.params.text("realm");
        call.check_digest(&file_digest(call))?;
        let (given, delete) = (given(call), call.params.list("delete"));
        let connection = call.params.has("check-connection");
        if given.is_empty() && delete.is_empty() && !call.params.has("password") && !connection {
            return Err(Failure::die("no options specified"));
        }
        let Some(mut realm) = call.world.access.realm(&name) else {
            return Err(Failure::die(
                "cannot lookup undefined type! at /usr/share/perl5/PVE/API2/Domains.pm line 261.",
            ));
        };
        let kind = realm["type"].as_str().unwrap_or_default().to_string();
        let types = section_type(&kind)?;
        check_connection(call, &kind)?;
        types.check_change(&given)?;
        for option in &delete {
            realm.shift_remove(option);
        }
        if is_set(given.get("default")) {
            forget_default(call);
        }
        realm.extend(given);
        realm.extend(password(call, types));
        if let Some(missing) = types.required.iter().find(|option| !realm.contains_key(**option)) {
            let text = format!("section '{name}' - missing value for required option '{missing}'");
            return Err(Failure::die(text));
        }
        forget_empty(&mut realm);
        call.world.access.realms.insert(name, realm);
        Ok(Data::null())
    })
}

/// `DELETE /access/domains/{realm}`: a built-in one goes back to its defaults.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    lock::under(call, "domains_cfg", "delete auth server failed", |call| {
        let name = call.params.text("realm");
        if call.world.access.realm(&name).is_none() {
            return Err(Failure::die(format!("authentication domain '{name}' does not exist")));
        }
        call.world.access.realms.remove(&name);
        Ok(Data::null())
    })
}

/// The digest of the file that holds all realms.
fn file_digest(call: &Call<'_>) -> String {
    let mut realms = call.world.access.all_realms();
    realms.iter_mut().for_each(|(_, realm)| drop(realm.shift_remove("password")));
    digest(&json!(realms))
}

/// The properties of the call as the file keeps them; the password is kept elsewhere.
fn given(call: &Call<'_>) -> Map<String, Value> {
    let without = ["realm", "type", "password", "delete", "digest", "check-connection"].map(str::to_string);
    stored(call.method, &call.params, &without)
}

/// The password with which the realm binds, a file of its own; other types have none and ignore it.
fn password(call: &Call<'_>, types: &SectionType) -> Option<(String, Value)> {
    let password = call.params.get("password").filter(|_| types.knows("password"))?;
    Some(("password".into(), password.into()))
}

fn section_type(kind: &str) -> Result<&'static SectionType, Failure> {
    SectionType::named(&TYPES, kind).ok_or_else(|| Failure::die(format!("unknown section type '{kind}'")))
}

fn check_connection(call: &Call<'_>, kind: &str) -> Result<(), Failure> {
    match call.params.has("check-connection") && !["ad", "ldap"].contains(&kind) {
        true => Err(Failure::die("'check-connection' parameter can only be set for realms of type 'ldap' or 'ad'")),
        false => Ok(()),
    }
}

fn forget_default(call: &mut Call<'_>) {
    for realm in call.world.access.realms.values_mut() {
        realm.shift_remove("default");
    }
}

/// Whether a stored boolean is on.
pub(super) fn is_set(value: Option<&Value>) -> bool {
    value.and_then(crate::behaviour::params::scalar).is_some_and(|text| text == "1")
}

/// `type=oath,digits=6` -> `oath`.
pub(super) fn tfa_type(config: &str) -> Option<String> {
    config.split(',').find_map(|part| part.trim().strip_prefix("type=").map(str::to_string))
}

//! `/access/openid`: logins through an identity provider. There is none to talk to, so only the refusals are real.

use serde_json::Value;

use crate::behaviour::{Answer, Call, Failure};

/// `POST /access/openid/auth-url`.
pub(crate) fn auth_url(call: &mut Call<'_>) -> Answer {
    let name = call.params.text("realm");
    let Some(realm) = call.world.access.realm(&name) else {
        return Err(Failure::die(format!("authentication domain '{name}' does not exist")));
    };
    let kind = realm["type"].as_str().unwrap_or_default();
    if kind != "openid" {
        return Err(Failure::die(format!("wrong realm type ({kind} != openid)")));
    }
    let issuer = realm.get("issuer-url").and_then(Value::as_str).unwrap_or_default();
    let url = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
    Err(Failure::die(format!("http error: error sending request for url ({url})")))
}

/// `POST /access/openid/login`: no login was begun that a code could end.
pub(crate) fn login(_call: &mut Call<'_>) -> Answer {
    Err(Failure::new(401, "authentication failure"))
}

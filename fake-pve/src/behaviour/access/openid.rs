//! `/access/openid`: logins through an identity provider. Only one whose description is known among the files of the
//! Internet answers, and nobody ever logs in there.

use serde_json::{Value, json};

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
    let issuer = issuer.trim_end_matches('/');
    let url = format!("{issuer}/.well-known/openid-configuration");
    if call.world.web.contains_key(&url) {
        let option = |key: &str| realm.get(key).and_then(Value::as_str).unwrap_or_default();
        let scopes = Some(option("scopes")).filter(|scopes| !scopes.is_empty()).unwrap_or("email profile");
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("response_type", "code").append_pair("client_id", option("client-id"));
        query.append_pair("state", &call.world.random.hex(32));
        query.append_pair("redirect_uri", &call.params.text("redirect-url"));
        query.append_pair("scope", &format!("openid {scopes}")).append_pair("nonce", &call.world.random.hex(22));
        return Ok(json!(format!("{issuer}/authorize?{}", query.finish())).into());
    }
    Err(Failure::die(format!("http error: error sending request for url ({url})")))
}

/// `POST /access/openid/login`: no login was begun that a code could end.
pub(crate) fn login(_call: &mut Call<'_>) -> Answer {
    Err(Failure::new(401, "authentication failure"))
}

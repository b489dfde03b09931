//! `/nodes/{node}/config`: options of a node, kept as they were given.

use serde_json::{Map, Value, json};

use crate::behaviour::{Answer, Call, Data, Failure};
use crate::world::digest_of;

/// `GET /nodes/{node}/config`: nothing at all before something was set, else with a description, even an empty one.
pub(crate) fn get(call: &mut Call<'_>) -> Answer {
    let Some(options) = call.world.documents.options.get(&path(call)) else { return Ok(json!({}).into()) };
    let mut shown: Map<String, Value> = options.iter().map(|(key, value)| (key.clone(), text(value))).collect();
    shown.entry("description").or_insert_with(|| json!(""));
    shown.insert("digest".into(), json!(digest(call)));
    match call.params.get("property").filter(|property| property != "all") {
        Some(property) => {
            let value = shown.shift_remove(&property);
            Ok(Value::Object(value.into_iter().map(|value| (property.clone(), value)).collect()).into())
        }
        None => Ok(Value::Object(shown).into()),
    }
}

/// `PUT /nodes/{node}/config`. A digest counts only when there is a file.
pub(crate) fn put(call: &mut Call<'_>) -> Answer {
    let path = path(call);
    if call.world.documents.options.contains_key(&path) {
        call.check_digest(&digest(call))?;
    }
    let mut options = call.world.documents.options.get(&path).cloned().unwrap_or_default();
    for name in call.params.list("delete") {
        options.shift_remove(&name);
    }
    for (name, value) in call.params.without(&["node", "delete", "digest"]) {
        let Some(value) = crate::behaviour::params::scalar(&value) else { continue };
        if name != "description" && value.contains('\n') {
            return Err(Failure::die(format!("detected invalid newline inside property '{name}'")));
        }
        options.insert(name, json!(value));
    }
    check_domains(&options)?;
    call.world.documents.options.insert(path, options);
    Ok(Data::null())
}

fn path(call: &Call<'_>) -> String {
    format!("/nodes/{}/config", call.node())
}

fn digest(call: &Call<'_>) -> String {
    digest_of(&call.world.file(&format!("nodes/{}/config", call.node())).unwrap_or_default())
}

fn text(value: &Value) -> Value {
    json!(crate::behaviour::params::scalar(value).unwrap_or_default())
}

/// A domain stands in one place only.
fn check_domains(options: &Map<String, Value>) -> Result<(), Failure> {
    let domains = domains(options);
    match domains.iter().enumerate().find(|(at, domain)| domains[..*at].contains(domain)) {
        Some((_, domain)) => Err(Failure::die(format!("duplicate domain '{domain}' in ACME config"))),
        None => Ok(()),
    }
}

/// The domains that a node wants a certificate for.
pub(crate) fn domains(options: &Map<String, Value>) -> Vec<String> {
    let word = |key: &str| options.get(key).and_then(Value::as_str).unwrap_or_default().to_string();
    let acme = word("acme");
    let listed = acme.split(',').filter_map(|part| part.strip_prefix("domains=")).flat_map(|list| list.split(';'));
    let mut domains: Vec<String> = listed.filter(|domain| !domain.is_empty()).map(str::to_string).collect();
    for number in 0..6 {
        let entry = word(&format!("acmedomain{number}"));
        let first = entry.split(',').find(|part| !part.contains('=') || part.starts_with("domain="));
        let domain = first.map(|part| part.trim_start_matches("domain=")).unwrap_or_default();
        if !domain.is_empty() {
            domains.push(domain.to_string());
        }
    }
    domains
}

//! `/cluster/notifications`: targets, matchers and their built-in ones. Answers come from Rust on the real thing: real
//! booleans and lists, 400 and 404 where other calls say 500.

pub(crate) mod endpoints;
pub(crate) mod matchers;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::params::scalar;
use super::{Answer, Call, Data, Failure};
use crate::world::World;

/// The types of endpoints, which are the last words of their paths.
const TYPES: [&str; 4] = ["gotify", "sendmail", "smtp", "webhook"];

/// What one kind of entity holds.
struct Shape {
    /// Path of its collection.
    path: &'static str,
    /// Word in `… 'x' not found`.
    noun: &'static str,
    /// What `delete` may name, in the order in which a refusal lists it.
    deletable: &'static [&'static str],
    booleans: &'static [&'static str],
    lists: &'static [&'static str],
}

/// `GET /cluster/notifications/targets`.
pub(crate) fn targets(call: &mut Call<'_>) -> Answer {
    let mut items = Vec::new();
    for kind in TYPES {
        for (name, endpoint) in entities(call.world, &endpoints::path(kind)) {
            let mut item =
                json!({"name": name, "type": kind, "origin": origin(&endpoints::path(kind), &name, &endpoint)});
            for key in ["comment", "disable"] {
                if let Some(value) = endpoint.get(key) {
                    item[key] = value.clone();
                }
            }
            items.push(item);
        }
    }
    Ok(Data::from(items))
}

/// `POST /cluster/notifications/targets/{name}/test`: there is nobody to send to, so it counts as sent.
pub(crate) fn test(call: &mut Call<'_>) -> Answer {
    let name = call.params.text("name");
    match is_target(call.world, &name) {
        true => Ok(Data::null()),
        false => Err(Failure::new(404, format!("endpoint '{name}' does not exist"))),
    }
}

/// `GET /cluster/notifications/matcher-fields`.
pub(crate) fn fields(_call: &mut Call<'_>) -> Answer {
    Ok(json!([{"name": "type"}, {"name": "hostname"}, {"name": "job-id"}]).into())
}

/// `GET /cluster/notifications/matcher-field-values`: what fields may hold in this cluster.
pub(crate) fn field_values(call: &mut Call<'_>) -> Answer {
    let types = ["package-updates", "fencing", "replication", "vzdump", "system-mail"];
    let mut items: Vec<Value> = types.iter().map(|kind| json!({"field": "type", "value": kind})).collect();
    for (id, job) in call.world.documents.list("/cluster/backup") {
        items.push(json!({"field": "job-id", "value": id, "comment": job.get("comment")}));
    }
    items.extend(call.world.nodes.keys().map(|node| json!({"field": "hostname", "value": node})));
    Ok(Data::from(items))
}

/// The entities that a new installation has: path, name and content.
fn builtins() -> [(&'static str, &'static str, Map<String, Value>); 2] {
    let object = |value: Value| value.as_object().cloned().unwrap_or_default();
    let mail = json!({"comment": "Send mails to root@pam's email address", "mailto-user": ["root@pam"]});
    let matcher =
        json!({"comment": "Route all notifications to mail-to-root", "mode": "all", "target": ["mail-to-root"]});
    [
        ("/cluster/notifications/endpoints/sendmail", "mail-to-root", object(mail)),
        ("/cluster/notifications/matchers", "default-matcher", object(matcher)),
    ]
}

/// Every change writes the whole file, built-in entities among the others.
fn write_builtins(world: &mut World) {
    for (path, name, object) in builtins() {
        if world.documents.get(path, name).is_none() {
            world.documents.put(path, name, object);
        }
    }
}

fn builtin(path: &str, name: &str) -> Option<Map<String, Value>> {
    builtins().into_iter().find(|(at, id, _)| *at == path && *id == name).map(|(_, _, object)| object)
}

/// The entities of a collection, built-in ones among them.
fn entities(world: &World, path: &str) -> Vec<(String, Map<String, Value>)> {
    let mut all = world.documents.list(path).to_vec();
    for (at, name, object) in builtins() {
        if at == path && all.iter().all(|(id, _)| id != name) {
            all.push((name.into(), object));
        }
    }
    for (_, object) in &mut all {
        for key in ["disable", "invert-match"] {
            if let Some(value) = object.get_mut(key) {
                *value = json!(scalar(value).is_some_and(|text| text == "1" || text == "true"));
            }
        }
    }
    all
}

fn entity(world: &World, path: &str, name: &str) -> Option<Map<String, Value>> {
    entities(world, path).into_iter().find(|(id, _)| id == name).map(|(_, object)| object)
}

fn origin(path: &str, name: &str, object: &Map<String, Value>) -> &'static str {
    match builtin(path, name) {
        Some(original) if original == *object => "builtin",
        Some(_) => "modified-builtin",
        None => "user-created",
    }
}

fn is_target(world: &World, name: &str) -> bool {
    TYPES.iter().any(|kind| entity(world, &endpoints::path(kind), name).is_some())
}

/// Names are unique among endpoints and matchers.
fn is_taken(world: &World, name: &str) -> bool {
    is_target(world, name) || entity(world, matchers::SHAPE.path, name).is_some()
}

/// The digest of the file: 64 hexadecimal digits.
fn file_digest(world: &World) -> String {
    let mut hash = Sha256::new();
    for path in TYPES.iter().map(|kind| endpoints::path(kind)).chain([matchers::SHAPE.path.to_string()]) {
        hash.update(json!(entities(world, &path)).to_string());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The digest of a call is decoded before it is compared.
fn check_digest(call: &Call<'_>) -> Result<(), Failure> {
    let Some(given) = call.params.get("digest") else { return Ok(()) };
    if given.len() % 2 == 1 {
        return Err(Failure::new(400, "invalid digest: Odd number of digits"));
    }
    if let Some((at, wrong)) = given.char_indices().find(|(_, c)| !c.is_ascii_hexdigit()) {
        return Err(Failure::new(400, format!("invalid digest: Invalid character {wrong:?} at position {at}")));
    }
    match given.to_lowercase() == file_digest(call.world) {
        true => Ok(()),
        false => Err(Failure::new(400, "detected modified configuration - file changed by other user? Try again.")),
    }
}

/// What `delete` names must be deletable.
fn check_delete(call: &Call<'_>, shape: &Shape) -> Result<Vec<String>, Failure> {
    let names = call.params.list("delete");
    let Some(unknown) = names.iter().find(|name| !shape.deletable.contains(&name.as_str())) else { return Ok(names) };
    let quoted: Vec<String> = shape.deletable.iter().map(|name| format!("`{name}`")).collect();
    let expected = match quoted.as_slice() {
        [first, second] => format!("{first} or {second}"),
        _ => format!("one of {}", quoted.join(", ")),
    };
    Err(Failure::die(format!("unknown variant `{unknown}`, expected {expected}")))
}

/// The properties of the call in their types; an empty list is none.
fn given(call: &Call<'_>, shape: &Shape) -> Map<String, Value> {
    let mut given = Map::new();
    for (name, value) in call.params.without(&["name", "delete", "digest"]) {
        let typed = match name.as_str() {
            key if shape.lists.contains(&key) => json!(call.params.list(key)),
            key if shape.booleans.contains(&key) => json!(call.params.is_on(key)),
            "port" => json!(call.params.int("port")),
            _ => json!(scalar(&value)),
        };
        given.insert(name, typed);
    }
    given
}

fn drop_empty_lists(object: &mut Map<String, Value>) {
    object.retain(|_, value| value.as_array().is_none_or(|list| !list.is_empty()));
}

/// A changed entity is checked again when the file is written: no control characters, and what its own rules say.
fn check_written(name: &str, object: &Map<String, Value>, secrets: &[&str]) -> Result<(), Failure> {
    let broken = |file: &str, text: String| {
        Failure::die(format!("could not serialize configuration: writing \"{file}\" failed: {text}"))
    };
    let mut wrong = Vec::new();
    if object.get("comment").and_then(Value::as_str).is_some_and(|text| text.chars().any(char::is_control)) {
        wrong.push("'comment': value does not match the regex pattern");
    }
    let is_url = |url: &str| url.starts_with("http://") || url.starts_with("https://");
    if object.get("url").and_then(Value::as_str).is_some_and(|url| !is_url(url)) {
        wrong.push("'url': value does not match the regex pattern");
    }
    let texts = match wrong.as_slice() {
        [] => None,
        [one] => Some(format!(" - {one}")),
        several => Some(format!(":\n- {}", several.join("\n- "))),
    };
    if let Some(texts) = texts {
        let text = format!("verify section '{name}' failed - parameter verification failed{texts}");
        return Err(broken("notifications.cfg", text));
    }
    let is_broken =
        |(_, value): &(&String, &Value)| value.as_str().is_some_and(|text| text.chars().any(char::is_control));
    if let Some((key, _)) = object.iter().find(is_broken) {
        let file = if secrets.contains(&key.as_str()) { "priv/notifications.cfg" } else { "notifications.cfg" };
        return Err(broken(file, format!("detected unexpected control character in section '{name}' key '{key}'")));
    }
    Ok(())
}

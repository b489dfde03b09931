//! `/cluster/notifications/endpoints`: where notifications go, by type. Secrets go in and never come out.

use serde_json::{Map, Value, json};

use super::{
    Shape, builtin, check_delete, check_digest, check_written, drop_empty_lists, entities, entity, file_digest, given,
    is_taken, matchers, origin, write_builtins,
};
use crate::behaviour::{Answer, Call, Data, Failure, lock};

const MAIL_LISTS: &[&str] = &["mailto", "mailto-user"];

const SHAPES: [Shape; 4] = [
    Shape {
        path: "/cluster/notifications/endpoints/gotify",
        noun: "endpoint",
        deletable: &["comment", "disable"],
        booleans: &["disable"],
        lists: &[],
    },
    Shape {
        path: "/cluster/notifications/endpoints/sendmail",
        noun: "endpoint",
        deletable: &["author", "comment", "disable", "from-address", "mailto", "mailto-user"],
        booleans: &["disable"],
        lists: MAIL_LISTS,
    },
    Shape {
        path: "/cluster/notifications/endpoints/smtp",
        noun: "endpoint",
        deletable: &["author", "comment", "disable", "mailto", "mailto-user", "password", "port", "username"],
        booleans: &["disable"],
        lists: MAIL_LISTS,
    },
    Shape {
        path: "/cluster/notifications/endpoints/webhook",
        noun: "endpoint",
        deletable: &["comment", "disable", "header", "body", "secret"],
        booleans: &["disable"],
        lists: &["header", "secret"],
    },
];

/// Properties that are kept in a file of their own.
const SECRETS: [&str; 3] = ["password", "secret", "token"];

/// The path of a type.
pub(super) fn path(kind: &str) -> String {
    format!("/cluster/notifications/endpoints/{kind}")
}

/// `GET /cluster/notifications/endpoints/{type}`.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let shape = shape(call);
    let items = entities(call.world, shape.path).into_iter().map(|(name, object)| shown(shape, &name, &object));
    Ok(Data::from(items.map(Value::Object).collect::<Vec<_>>()))
}

/// `GET /cluster/notifications/endpoints/{type}/{name}`.
pub(crate) fn show(call: &mut Call<'_>) -> Answer {
    let (shape, name) = (shape(call), call.params.text("name"));
    let object = entity(call.world, shape.path, &name).ok_or_else(|| not_found(shape, &name))?;
    let mut item = shown(shape, &name, &object);
    item.insert("digest".into(), json!(file_digest(call.world)));
    Ok(Value::Object(item).into())
}

/// `POST /cluster/notifications/endpoints/{type}`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    lock::plain(call, "notifications_cfg", |call| {
        let (shape, name) = (shape(call), call.params.text("name"));
        let given = given(call, shape);
        check_pairs(&given)?;
        if is_taken(call.world, &name) {
            let text = format!("Cannot create '{name}', an entity with the same name already exists");
            return Err(Failure::new(400, text));
        }
        store(call, shape, &name, given)
    })
}

/// `PUT /cluster/notifications/endpoints/{type}/{name}`.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    lock::plain(call, "notifications_cfg", |call| {
        let (shape, name) = (shape(call), call.params.text("name"));
        let given = given(call, shape);
        let delete = check_delete(call, shape)?;
        check_pairs(&given)?;
        check_digest(call)?;
        let mut object = entity(call.world, shape.path, &name).ok_or_else(|| not_found(shape, &name))?;
        object.retain(|key, _| !delete.contains(key));
        object.extend(given);
        store(call, shape, &name, object)
    })
}

/// `DELETE /cluster/notifications/endpoints/{type}/{name}`: not while a matcher names it; a built-in one goes back to
/// what it was.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    lock::plain(call, "notifications_cfg", |call| {
        let (shape, name) = (shape(call), call.params.text("name"));
        entity(call.world, shape.path, &name).ok_or_else(|| not_found(shape, &name))?;
        let users = matchers::naming(call.world, &name);
        if builtin(shape.path, &name).is_none() && !users.is_empty() {
            let text = format!("cannot delete '{name}', referenced by: {}", users.join(", "));
            return Err(Failure::new(400, text));
        }
        call.world.documents.remove(shape.path, &name);
        write_builtins(call.world);
        Ok(Data::null())
    })
}

fn shape(call: &Call<'_>) -> &'static Shape {
    let fits = |shape: &&Shape| call.method.path.trim_end_matches("/{name}") == shape.path;
    SHAPES.iter().find(fits).unwrap_or(&SHAPES[0])
}

fn not_found(shape: &Shape, name: &str) -> Failure {
    Failure::new(404, format!("{} '{name}' not found", shape.noun))
}

/// Without secrets: of a webhook's, the names are told.
fn shown(shape: &Shape, name: &str, object: &Map<String, Value>) -> Map<String, Value> {
    let mut item = object.clone();
    for key in ["password", "token"] {
        item.shift_remove(key);
    }
    if let Some(Value::Array(secrets)) = item.get_mut("secret") {
        for secret in secrets {
            let text = secret.as_str().unwrap_or_default();
            let named = text.split(',').find(|part| part.starts_with("name=")).unwrap_or_default().to_string();
            *secret = json!(named);
        }
    }
    item.insert("name".into(), json!(name));
    item.insert("origin".into(), json!(origin(shape.path, name, object)));
    item
}

/// Headers and secrets of a webhook are property strings with a name and a value.
fn check_pairs(given: &Map<String, Value>) -> Result<(), Failure> {
    let values = ["header", "secret"].iter().filter_map(|key| given.get(*key)?.as_array()).flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let bare = |value: &String| value.split(',').any(|part| !part.trim().is_empty() && !part.contains('='));
    match values.map(text).any(|value| bare(&value)) {
        true => Err(Failure::die("value without key, but schema does not define a default key")),
        false => Ok(()),
    }
}

fn store(call: &mut Call<'_>, shape: &Shape, name: &str, mut object: Map<String, Value>) -> Answer {
    drop_empty_lists(&mut object);
    let mails = shape.lists.contains(&"mailto");
    if mails && !object.contains_key("mailto") && !object.contains_key("mailto-user") {
        let text = "must at least provide one recipient, either in mailto or in mailto-user";
        return Err(Failure::new(400, text));
    }
    check_written(name, &object, &SECRETS)?;
    call.world.documents.put(shape.path, name, object);
    write_builtins(call.world);
    Ok(Data::null())
}

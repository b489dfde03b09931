//! `/cluster/notifications/matchers`: which notifications go to which targets.

use serde_json::{Map, Value, json};

use super::{
    Shape, check_delete, check_digest, check_written, drop_empty_lists, entities, entity, file_digest, given, is_taken,
    is_target, origin, write_builtins,
};
use crate::behaviour::{Answer, Call, Data, Failure, lock};
use crate::world::World;

/// What a matcher holds.
pub(super) const SHAPE: Shape = Shape {
    path: "/cluster/notifications/matchers",
    noun: "matcher",
    deletable: &[
        "comment",
        "disable",
        "invert-match",
        "match-calendar",
        "match-field",
        "match-severity",
        "mode",
        "target",
    ],
    booleans: &["disable", "invert-match"],
    lists: &["match-calendar", "match-field", "match-severity", "target"],
};

/// `GET /cluster/notifications/matchers`.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let items = entities(call.world, SHAPE.path).into_iter().map(|(name, object)| Value::Object(shown(&name, &object)));
    Ok(Data::from(items.collect::<Vec<_>>()))
}

/// `GET /cluster/notifications/matchers/{name}`.
pub(crate) fn show(call: &mut Call<'_>) -> Answer {
    let name = call.params.text("name");
    let object = entity(call.world, SHAPE.path, &name).ok_or_else(|| not_found(&name))?;
    let mut item = shown(&name, &object);
    item.insert("digest".into(), json!(file_digest(call.world)));
    Ok(Value::Object(item).into())
}

/// `POST /cluster/notifications/matchers`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    lock::plain(call, "notifications_cfg", |call| {
        let name = call.params.text("name");
        let given = given(call, &SHAPE);
        check_conditions(&given)?;
        if is_taken(call.world, &name) {
            let text = format!("Cannot create '{name}', an entity with the same name already exists");
            return Err(Failure::new(400, text));
        }
        store(call, &name, given)
    })
}

/// `PUT /cluster/notifications/matchers/{name}`.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    lock::plain(call, "notifications_cfg", |call| {
        let name = call.params.text("name");
        let given = given(call, &SHAPE);
        let delete = check_delete(call, &SHAPE)?;
        check_conditions(&given)?;
        check_digest(call)?;
        let mut object = entity(call.world, SHAPE.path, &name).ok_or_else(|| not_found(&name))?;
        object.retain(|key, _| !delete.contains(key));
        object.extend(given);
        store(call, &name, object)
    })
}

/// `DELETE /cluster/notifications/matchers/{name}`: a built-in one goes back to what it was.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    lock::plain(call, "notifications_cfg", |call| {
        let name = call.params.text("name");
        entity(call.world, SHAPE.path, &name).ok_or_else(|| not_found(&name))?;
        call.world.documents.remove(SHAPE.path, &name);
        write_builtins(call.world);
        Ok(Data::null())
    })
}

/// The matchers that name a target.
pub(super) fn naming(world: &World, target: &str) -> Vec<String> {
    let names = |object: &Map<String, Value>| {
        let targets = object.get("target").and_then(Value::as_array);
        targets.into_iter().flatten().any(|name| name == target)
    };
    entities(world, SHAPE.path).into_iter().filter(|(_, object)| names(object)).map(|(name, _)| name).collect()
}

fn not_found(name: &str) -> Failure {
    Failure::new(404, format!("{} '{name}' not found", SHAPE.noun))
}

fn shown(name: &str, object: &Map<String, Value>) -> Map<String, Value> {
    let mut item = object.clone();
    item.insert("name".into(), json!(name));
    item.insert("origin".into(), json!(origin(SHAPE.path, name, object)));
    item
}

/// Conditions are read before anything is looked up.
fn check_conditions(given: &Map<String, Value>) -> Result<(), Failure> {
    let texts = |key: &str| -> Vec<String> {
        let list = given.get(key).and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_string).collect()
    };
    for statement in texts("match-field") {
        let condition = statement.strip_prefix("exact:").or_else(|| statement.strip_prefix("regex:"));
        if !condition.is_some_and(|condition| condition.contains('=')) {
            return Err(Failure::die(format!("could not apply filter: invalid match-field statement: {statement}")));
        }
    }
    for list in texts("match-severity") {
        const KNOWN: [&str; 5] = ["info", "notice", "warning", "error", "unknown"];
        if let Some(unknown) = list.split(',').map(str::trim).find(|word| !KNOWN.contains(word)) {
            return Err(Failure::die(format!("invalid severity {unknown}")));
        }
    }
    for duration in texts("match-calendar") {
        if !is_daily_duration(&duration) {
            return Err(Failure::die(format!(
                "could not parse schedule: unable to parse daily duration at '{duration}' - Context(\"weekday\")"
            )));
        }
    }
    Ok(())
}

/// `mon..fri 8:00-17:30`, the days may be left out.
fn is_daily_duration(text: &str) -> bool {
    const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    let is_day = |day: &str| DAYS.iter().any(|short| day.to_lowercase().starts_with(short));
    let is_time = |time: &str| {
        let (hours, minutes) = time.trim().split_once(':').unwrap_or((time.trim(), "0"));
        hours.parse::<u8>().is_ok_and(|hours| hours < 24) && minutes.parse::<u8>().is_ok_and(|minutes| minutes < 60)
    };
    let (days, times) = match text.trim().rsplit_once(' ') {
        Some((days, times)) => (Some(days), times),
        None => (None, text.trim()),
    };
    let days_fit = days.is_none_or(|days| days.split([',', ' ']).flat_map(|part| part.split("..")).all(is_day));
    days_fit && times.split_once('-').is_some_and(|(from, to)| is_time(from) && is_time(to))
}

fn store(call: &mut Call<'_>, name: &str, mut object: Map<String, Value>) -> Answer {
    drop_empty_lists(&mut object);
    let targets = object.get("target").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    if let Some(unknown) = targets.into_iter().find(|target| !is_target(call.world, target)) {
        return Err(Failure::new(404, format!("endpoint '{unknown}' does not exist")));
    }
    check_written(name, &object, &[])?;
    call.world.documents.put(SHAPE.path, name, object);
    write_builtins(call.world);
    Ok(Data::null())
}

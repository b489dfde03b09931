//! `/cluster/backup`: regular backups as jobs, and what they include.

pub(crate) mod included;
pub(crate) mod schedule;

use pve_catalog::property;
use pve_catalog::verify::parameter;
use serde_json::{Map, Value, json};

use super::vzdump::options::{check_rights, check_root_only, verified};
use super::{Answer, Call, Data, Failure, lock};
use crate::behaviour::params::stored;
use crate::world::calendar::Calendar;
use crate::world::retention::Retention;
use crate::world::{World, option};

/// Where jobs are kept.
pub(crate) const PATH: &str = "/cluster/backup";

/// Where jobs of the other kind are kept: both lie in one file.
const REALM_SYNC: &str = "/cluster/jobs/realm-sync";

/// Property strings that answers take apart.
const OBJECTS: [&str; 3] = ["prune-backups", "fleecing", "performance"];

/// Days of the week; all of them are none.
const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// `GET /cluster/backup`: jobs in the order in which they were made, with their next run.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let now = call.now();
    let jobs = call.world.documents.list(PATH).iter().map(|(id, job)| {
        let mut item = shown(id, job);
        let schedule = job.get("schedule").map(option::text).unwrap_or_default();
        if let Some(next) = Calendar::parse(&schedule).and_then(|calendar| calendar.next(now)) {
            item.insert("next-run".into(), json!(next));
        }
        Value::Object(item)
    });
    Ok(Data::from(jobs.collect::<Vec<_>>()))
}

/// `GET /cluster/backup/{id}`.
pub(crate) fn show(call: &mut Call<'_>) -> Answer {
    let id = call.params.text("id");
    let job = call.world.documents.get(PATH, &id).ok_or_else(|| unknown(&id))?;
    Ok(Value::Object(shown(&id, job)).into())
}

/// A job as answers show it: some property strings taken apart.
fn shown(id: &str, job: &Map<String, Value>) -> Map<String, Value> {
    let mut item = job.clone();
    item.insert("id".into(), json!(id));
    item.insert("type".into(), json!("vzdump"));
    item.entry("enabled").or_insert(json!(1));
    for value in item.values_mut() {
        let number = value.as_str().and_then(|text| text.strip_prefix('+')?.parse::<i64>().ok());
        if let Some(number) = number {
            *value = json!(number);
        }
    }
    for key in OBJECTS {
        let Some(text) = item.get(key).map(option::text) else { continue };
        let mut object = Map::new();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or(("enabled", part));
            let value = if name == "enabled" { json!(i32::from(value == "1")) } else { json!(value) };
            object.insert(name.to_string(), value);
        }
        item.insert(key.into(), Value::Object(object));
    }
    item
}

/// `POST /cluster/backup`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    check_access(call)?;
    let mut job = given(call);
    set_schedule(call, &mut job, true)?;
    job.entry("enabled").or_insert(json!(1));
    check_line_feeds(call)?;
    let id = call.params.get("id").unwrap_or_else(|| call.world.random.uuid());
    lock::plain(call, "jobs_cfg", |call| {
        if exists(call, &id) {
            return Err(Failure::die(format!("Job '{id}' already exists")));
        }
        let job = verified(&job, true).map_err(as_text)?;
        put(call, &id, job);
        Ok(Data::null())
    })
}

/// `PUT /cluster/backup/{id}`.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    check_access(call)?;
    let mut new = given(call);
    if new.is_empty() && !call.params.has("delete") && !call.params.has("starttime") {
        return Err(Failure::die("no options specified"));
    }
    set_schedule(call, &mut new, false)?;
    check_line_feeds(call)?;
    let id = call.params.text("id");
    lock::plain(call, "jobs_cfg", |call| {
        let job = call.world.documents.get(PATH, &id).cloned();
        let mut job = job.ok_or_else(|| Failure::die("no such vzdump job"))?;
        for key in call.params.list("delete") {
            if !deletable(call, &key) {
                return Err(as_text(Failure::param("delete", format!("unknown option '{key}'"))));
            }
            job.shift_remove(&key);
        }
        let on = |key: &str| new.get(key).map(option::text).is_some_and(|value| !value.is_empty() && value != "0");
        let replaced: &[&str] = match () {
            () if new.contains_key("vmid") => &["all", "exclude", "pool"],
            () if on("all") => &["vmid", "pool"],
            () if on("pool") => &["vmid", "all", "exclude"],
            () => &[],
        };
        job.retain(|key, _| !replaced.contains(&key.as_str()));
        job.extend(new.clone());
        let job = verified(&job, true).map_err(as_text)?;
        put(call, &id, job);
        Ok(Data::null())
    })
}

/// `DELETE /cluster/backup/{id}`.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    let id = call.params.text("id");
    lock::plain(call, "vzdump_cron", |call| match call.world.documents.remove(PATH, &id) {
        Some(_) => Ok(Data::null()),
        None => Err(as_text(unknown(&id))),
    })
}

fn put(call: &mut Call<'_>, id: &str, mut job: Map<String, Value>) {
    job.retain(|_, value| value.as_str() != Some(""));
    call.world.documents.put(PATH, id, job);
    write_out(call.world);
}

/// Jobs are on unless they say otherwise, and written so when their file is written anew.
pub(crate) fn write_out(world: &mut World) {
    for path in [PATH, REALM_SYNC] {
        for (_, job) in world.documents.collections.get_mut(path).into_iter().flatten() {
            job.entry("enabled").or_insert(json!(1));
        }
    }
}

/// Jobs of all kinds share their ids.
fn exists(call: &Call<'_>, id: &str) -> bool {
    let documents = &call.world.documents;
    documents.get(PATH, id).is_some() || documents.get(REALM_SYNC, id).is_some()
}

/// A job as it is kept: numbers typed, property strings in their canonical form.
fn given(call: &Call<'_>) -> Map<String, Value> {
    let mut job = stored(call.method, &call.params, &["id", "delete", "starttime", "dow"].map(str::to_string));
    // A sign is kept until the file is read again.
    for (key, value) in &mut job {
        let text = call.params.text(key);
        if text.starts_with('+') {
            *value = json!(text);
        }
    }
    for key in OBJECTS {
        let Some(text) = job.get(key).map(option::text).filter(|text| !text.is_empty()) else { continue };
        if key == "prune-backups" && Retention::parse(&text).keeps_everything() {
            job.insert(key.into(), json!("keep-all=1"));
            continue;
        }
        let keys = parameter(call.method.parameters(), key).and_then(property::keys);
        let printed = keys.and_then(|keys| property::print(keys, &property::parse(keys, &text).ok()?).ok());
        if let Some(printed) = printed {
            job.insert(key.into(), json!(printed));
        }
    }
    job
}

fn check_access(call: &Call<'_>) -> Result<(), Failure> {
    if let Some(pool) = call.params.get("pool").filter(|pool| !pool.is_empty()) {
        if !call.world.access.config.pools.contains_key(&pool) {
            return Err(Failure::denied(&format!("pool '{pool}' does not exist")));
        }
        call.require(&format!("/pool/{pool}"), &["VM.Backup"])?;
    }
    const ROOT_ONLY: [&str; 3] = ["tmpdir", "dumpdir", "script"];
    check_root_only(call, &ROOT_ONLY)?;
    let deleted = call.params.list("delete");
    match deleted.iter().find(|key| ROOT_ONLY.contains(&key.as_str())) {
        Some(key) if !call.is_root() => Err(Failure::param(key, "Only root may set this option.")),
        _ => check_rights(call, &call.params.0),
    }
}

/// A start time and days of the week become a schedule.
fn set_schedule(call: &Call<'_>, job: &mut Map<String, Value>, required: bool) -> Result<(), Failure> {
    match (call.params.has("schedule"), call.params.get("starttime")) {
        (true, Some(_)) => Err(Failure::param("starttime", "'starttime' and 'schedule' cannot both be set")),
        (false, None) if required => Err(Failure::param("schedule", "neither 'starttime' nor 'schedule' were set")),
        (false, Some(time)) => {
            let days = call.params.list("dow");
            let every_day = days.is_empty() || DAYS.iter().all(|day| days.iter().any(|given| given == day));
            let schedule = if every_day { time } else { format!("{} {time}", days.join(",")) };
            job.insert("schedule".into(), json!(schedule));
            Ok(())
        }
        _ => Ok(()),
    }
}

fn check_line_feeds(call: &Call<'_>) -> Result<(), Failure> {
    let feeds = |value: &Value| option::text(value).contains('\n');
    match call.params.iter().any(|(key, value)| key != "id" && feeds(value)) {
        true => Err(Failure::die("property contains a line feed")),
        false => Ok(()),
    }
}

/// Only options of a backup can be deleted, and the comment.
fn deletable(call: &Call<'_>, key: &str) -> bool {
    const KEPT: [&str; 6] = ["id", "delete", "enabled", "schedule", "starttime", "dow"];
    !KEPT.contains(&key) && parameter(call.method.parameters(), key).is_some()
}

/// Under a lock, refusals become plain text.
fn as_text(failure: Failure) -> Failure {
    Failure::die(failure.into_text())
}

pub(super) fn unknown(id: &str) -> Failure {
    Failure::param("id", format!("No such job '{id}'"))
}

//! `/cluster/jobs`: regular synchronisations of realms, and what a schedule means.

use serde_json::{Map, Value, json};

use crate::behaviour::params::stored;
use crate::behaviour::{Answer, Call, Data, Failure, lock};
use crate::world::calendar::Calendar;
use crate::world::section_type::{SectionType, forget_empty};

const PATH: &str = "/cluster/jobs/realm-sync";

const TYPE: SectionType = SectionType {
    name: "realm-sync",
    required: &["scope", "realm", "schedule"],
    optional: &["comment", "enable-new", "enabled", "remove-vanished"],
    fixed: &["realm"],
};

/// `GET /cluster/jobs`.
pub(crate) fn index(_call: &mut Call<'_>) -> Answer {
    Ok(json!([{"subdir": "schedule-analyze"}, {"subdir": "realm-sync"}]).into())
}

/// `GET /cluster/jobs/schedule-analyze`: the next moments of a schedule.
pub(crate) fn analyze(call: &mut Call<'_>) -> Answer {
    let iterations = call.params.int("iterations").and_then(|count| usize::try_from(count).ok()).unwrap_or(10);
    let start = call.params.int("starttime").unwrap_or_else(|| call.now());
    let calendar = Calendar::parse(&call.params.text("schedule"));
    let following = |after: &i64| calendar.as_ref().and_then(|calendar| calendar.next(*after));
    let moments = std::iter::successors(following(&start), following).take(iterations);
    let items = moments.map(|moment| {
        let utc = jiff::Timestamp::from_second(moment).unwrap_or_default();
        json!({"timestamp": moment, "utc": utc.strftime("%a %b %e %H:%M:%S %Y").to_string()})
    });
    Ok(Data::from(items.collect::<Vec<_>>()))
}

/// `GET /cluster/jobs/realm-sync`.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let now = call.now();
    let jobs = call.world.documents.list(PATH).iter().map(|(id, job)| {
        let mut item = shown(id, job);
        item.insert("last-run".into(), Value::Null);
        let schedule = job.get("schedule").and_then(Value::as_str).unwrap_or_default();
        if let Some(next) = Calendar::parse(schedule).and_then(|calendar| calendar.next(now)) {
            item.insert("next-run".into(), json!(next));
        }
        Value::Object(item)
    });
    Ok(Data::from(jobs.collect::<Vec<_>>()))
}

/// `GET /cluster/jobs/realm-sync/{id}`.
pub(crate) fn show(call: &mut Call<'_>) -> Answer {
    let id = call.params.text("id");
    match call.world.documents.get(PATH, &id) {
        Some(job) => Ok(Value::Object(shown(&id, job)).into()),
        None => Err(unknown(&id)),
    }
}

/// `POST /cluster/jobs/realm-sync/{id}`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    lock::plain(call, "jobs_cfg", |call| {
        let id = call.params.text("id");
        if let Some(realm) = call.params.get("realm").filter(|_| call.params.has("scope")) {
            check_realm(call, &realm)?;
        }
        if call.world.documents.get(PATH, &id).is_some() || call.world.documents.get("/cluster/backup", &id).is_some() {
            return Err(Failure::die(format!("Job '{id}' already exists")));
        }
        let mut job = given(call);
        TYPE.check_new(&job)?;
        forget_empty(&mut job);
        // A new job is written as it was given; what was read before is on unless it says otherwise, and written so.
        crate::behaviour::backup::write_out(call.world);
        call.world.documents.put(PATH, &id, job);
        Ok(Data::null())
    })
}

/// `PUT /cluster/jobs/realm-sync/{id}`.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    lock::plain(call, "jobs_cfg", |call| {
        let id = call.params.text("id");
        let given = given(call);
        if given.is_empty() && !call.params.has("delete") {
            return Err(Failure::die("no job options specified"));
        }
        TYPE.check_change(&given)?;
        let job = call.world.documents.get(PATH, &id).cloned();
        let mut job = job.ok_or("no such realm-sync job")?;
        if call.params.get("delete").as_deref() == Some("") {
            return Err(Failure::die(super::EMPTY_DELETE));
        }
        TYPE.delete(&mut job, &call.params.list("delete"), &given)?;
        job.extend(given);
        job.entry("enabled").or_insert(json!(1));
        forget_empty(&mut job);
        call.world.documents.put(PATH, &id, job);
        Ok(Data::null())
    })
}

/// `DELETE /cluster/jobs/realm-sync/{id}`.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    lock::plain(call, "jobs_cfg", |call| {
        let id = call.params.text("id");
        match call.world.documents.remove(PATH, &id) {
            Some(_) => Ok(Data::null()),
            None => Err(Failure::die(unknown(&id).into_text())),
        }
    })
}

fn unknown(id: &str) -> Failure {
    Failure::param("id", format!("No such job '{id}'"))
}

fn check_realm(call: &Call<'_>, name: &str) -> Result<(), Failure> {
    match call.world.access.realm(name) {
        None => Err(Failure::param("realm", format!("No such realm '{name}'"))),
        Some(realm) if realm["type"] != "ldap" && realm["type"] != "ad" => {
            Err(Failure::param("realm", "Only LDAP/AD realms can be synced."))
        }
        Some(_) => Ok(()),
    }
}

fn given(call: &Call<'_>) -> Map<String, Value> {
    stored(call.method, &call.params, &["id", "delete", "digest"].map(str::to_string))
}

fn shown(id: &str, job: &Map<String, Value>) -> Map<String, Value> {
    let mut item = job.clone();
    item.insert("id".into(), json!(id));
    item.insert("type".into(), json!("realm-sync"));
    item.entry("enabled").or_insert(json!(1));
    item
}

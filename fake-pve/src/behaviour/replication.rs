//! `/cluster/replication` and `/nodes/{node}/replication`: jobs, and what became of them.

use serde_json::{Map, Value, json};

use super::{Answer, Call, Data, Failure, lock};
use crate::behaviour::params::stored;
use crate::world::replication::{self, JOBS};
use crate::world::section_type::{SectionType, forget_empty};

const TYPE: SectionType = SectionType {
    name: "local",
    required: &["target"],
    optional: &["comment", "disable", "rate", "remove_job", "schedule", "source"],
    fixed: &["target"],
};

/// Who looks sees what has become due; in automatic time the clock runs to what waits.
fn look(call: &mut Call<'_>) {
    let now = call.now();
    if let Some(moment) = replication::waits_until(call.world, now) {
        call.look_at_moment(moment * 1000);
    }
    let now = call.now();
    replication::catch_up(call.world, now);
}

/// Guest and number of `100-0`.
fn parts(id: &str) -> (u32, u32) {
    let (guest, number) = id.split_once('-').unwrap_or((id, "0"));
    (guest.parse().unwrap_or(0), number.parse().unwrap_or(0))
}

fn shown(id: &str, job: &Map<String, Value>) -> Map<String, Value> {
    let (guest, number) = parts(id);
    let mut item = job.clone();
    item.insert("id".into(), json!(id));
    item.insert("type".into(), json!("local"));
    item.insert("guest".into(), json!(guest));
    item.insert("jobnum".into(), json!(number));
    item
}

/// `GET /cluster/replication`: jobs of guests that the caller may see.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    look(call);
    let jobs = call.world.documents.list(JOBS).iter();
    let visible = jobs.filter(|(id, _)| call.may(&format!("/vms/{}", parts(id).0), &["VM.Audit"]));
    let mut items: Vec<(&String, Value)> = visible.map(|(id, job)| (id, Value::Object(shown(id, job)))).collect();
    items.sort_by_key(|(id, _)| (*id).clone());
    Ok(items.into_iter().map(|(_, item)| item).collect::<Vec<_>>().into())
}

/// `GET /cluster/replication/{id}`.
pub(crate) fn show(call: &mut Call<'_>) -> Answer {
    let id = call.params.text("id");
    let job = call.world.documents.get(JOBS, &id).ok_or_else(|| unknown(&id))?;
    let mut item = shown(&id, job);
    item.insert("digest".into(), json!(call.world.documents.digest(JOBS)));
    check_may(call, &id, "VM.Audit")?;
    Ok(Value::Object(item).into())
}

fn unknown(id: &str) -> Failure {
    Failure::die(format!("no such replication job '{id}'"))
}

fn check_may(call: &Call<'_>, id: &str, privilege: &str) -> Result<(), Failure> {
    let path = format!("/vms/{}", parts(id).0);
    call.require(&path, &[privilege])
}

/// `POST /cluster/replication`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    let (id, target) = (call.params.text("id"), call.params.text("target"));
    check_may(call, &id, "VM.Replicate")?;
    look(call);
    let vmid = parts(&id).0;
    let guest = call.world.guests.get(&vmid).cloned();
    let guest = guest.ok_or_else(|| Failure::die(format!("Guest '{vmid}' does not exist.")))?;
    let source = call.params.get("source").unwrap_or_else(|| guest.node.clone());
    if !call.world.nodes.contains_key(&target) {
        return Err(Failure::die(format!("Target '{target}' does not exist.")));
    }
    if source == target {
        return Err(Failure::die("Source and target must not be identical"));
    }
    if source != guest.node {
        let text = format!("Source '{source}' does not match current node of guest '{vmid}' ({})", guest.node);
        return Err(Failure::die(text));
    }
    if replication::volumes(call.world, &guest)?.is_empty() {
        return Err(Failure::die("No replicatable volumes found"));
    }
    let mut job = given(call);
    TYPE.check_new(&job)?;
    job.insert("source".into(), json!(source));
    forget_empty(&mut job);
    lock::plain(call, "replication_cfg", |call| {
        if call.world.documents.get(JOBS, &id).is_some() {
            return Err(Failure::die(format!("replication job '{id}' already exists")));
        }
        let same = |(other, job): &(String, Map<String, Value>)| {
            parts(other).0 == vmid && job.get("target").and_then(Value::as_str) == Some(&target)
        };
        if call.world.documents.list(JOBS).iter().any(same) {
            let text = format!("replication job for guest '{vmid}' to target 'local/{target}' already exists");
            return Err(Failure::die(text));
        }
        call.world.documents.put(JOBS, &id, job);
        let now = call.now();
        replication::run_soon(call.world, &id, now);
        Ok(Data::null())
    })
}

fn given(call: &Call<'_>) -> Map<String, Value> {
    stored(call.method, &call.params, &["id", "type", "delete", "digest"].map(str::to_string))
}

/// `PUT /cluster/replication/{id}`.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    let id = call.params.text("id");
    check_may(call, &id, "VM.Replicate")?;
    lock::plain(call, "replication_cfg", |call| {
        call.check_digest(&call.world.documents.digest(JOBS))?;
        let job = call.world.documents.get(JOBS, &id).cloned();
        let mut job = job.ok_or_else(|| Failure::die(format!("no such job '{id}'")))?;
        let given = given(call);
        TYPE.check_change(&given)?;
        TYPE.delete(&mut job, &call.params.list("delete"), &given)?;
        job.extend(given);
        forget_empty(&mut job);
        call.world.documents.put(JOBS, &id, job);
        Ok(Data::null())
    })
}

/// `DELETE /cluster/replication/{id}`: marks the job, which the scheduler then removes; `force` removes it at once.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    let id = call.params.text("id");
    check_may(call, &id, "VM.Replicate")?;
    let (force, keep) = (call.params.is_on("force"), call.params.is_on("keep"));
    if force && keep {
        return Err(Failure::param("keep", "conflicts with parameter 'force'"));
    }
    lock::plain(call, "replication_cfg", |call| {
        if force {
            replication::forget(call.world, &id);
            return Ok(Data::null());
        }
        let now = call.now();
        let job = call.world.documents.get_mut(JOBS, &id);
        let job = job.ok_or_else(|| Failure::die(format!("no such job '{id}'")))?;
        job.insert("remove_job".into(), json!(if keep { "local" } else { "full" }));
        replication::run_soon(call.world, &id, now);
        Ok(Data::null())
    })
}

/// A job as its node tells it; `None` when its guest is not there.
fn on_node(call: &Call<'_>, id: &str) -> Option<Map<String, Value>> {
    let job = call.world.documents.get(JOBS, id)?;
    let guest = call.world.guests.get(&parts(id).0).filter(|guest| guest.node == call.node())?;
    let state = replication::state(call.world, id);
    let mut item = shown(id, job);
    item.insert("source".into(), json!(guest.node));
    item.insert("vmtype".into(), json!(guest.kind.noun()));
    item.insert("next_sync".into(), json!(replication::next_sync(job, &state)));
    for key in ["last_sync", "last_try", "fail_count"] {
        item.insert(key.into(), state.get(key).cloned().unwrap_or(json!(0)));
    }
    for key in ["duration", "error"] {
        if let Some(value) = state.get(key) {
            item.insert(key.into(), value.clone());
        }
    }
    Some(item)
}

/// `GET /nodes/{node}/replication`: jobs of the node's guests with what became of them.
pub(crate) fn node_list(call: &mut Call<'_>) -> Answer {
    look(call);
    let only = call.params.int("guest").and_then(|guest| u32::try_from(guest).ok());
    let mut ids: Vec<String> = call.world.documents.list(JOBS).iter().map(|(id, _)| id.clone()).collect();
    ids.sort();
    ids.retain(|id| only.is_none_or(|only| only == parts(id).0) && check_may(call, id, "VM.Audit").is_ok());
    let items = ids.iter().filter_map(|id| on_node(call, id)).map(Value::Object);
    Ok(items.collect::<Vec<_>>().into())
}

/// `GET /nodes/{node}/replication/{id}/status`.
pub(crate) fn status(call: &mut Call<'_>) -> Answer {
    look(call);
    let id = call.params.text("id");
    let item = on_node(call, &id).ok_or_else(|| unknown(&id))?;
    check_may(call, &id, "VM.Audit")?;
    Ok(Value::Object(item).into())
}

/// `GET /nodes/{node}/replication/{id}/log`: the lines of the last run.
pub(crate) fn log(call: &mut Call<'_>) -> Answer {
    look(call);
    let id = call.params.text("id");
    on_node(call, &id).ok_or_else(|| unknown(&id))?;
    if !call.may(&format!("/nodes/{}", call.node()), &["Sys.Audit"]) {
        check_may(call, &id, "VM.Audit")?;
    }
    let state = replication::state(call.world, &id);
    let Some(lines) = state.get("log").and_then(Value::as_array) else {
        let line = json!({"n": 1, "t": "unable to open file - No such file or directory"});
        return Ok(Data::from(vec![line]).with_total(1));
    };
    let number = |key: &str| call.params.int(key).and_then(|number| usize::try_from(number).ok());
    let limit = number("limit").filter(|limit| *limit > 0).unwrap_or(50);
    let numbered = lines.iter().enumerate().skip(number("start").unwrap_or(0)).take(limit);
    let page: Vec<Value> = numbered.map(|(at, text)| json!({"n": at + 1, "t": text})).collect();
    Ok(Data::from(page).with_total(lines.len()))
}

/// `POST /nodes/{node}/replication/{id}/schedule_now`.
pub(crate) fn schedule_now(call: &mut Call<'_>) -> Answer {
    let id = call.params.text("id");
    on_node(call, &id).ok_or_else(|| unknown(&id))?;
    check_may(call, &id, "VM.Replicate")?;
    let now = call.now();
    replication::run_soon(call.world, &id, now);
    Ok(json!("").into())
}

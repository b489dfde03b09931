//! Prefix lists and their entries, which are ordered by their number.

use pve_catalog::property;
use pve_catalog::verify::parameter;
use serde_json::{Map, Value, json};

use super::{check_lock, view};
use crate::behaviour::params::stored;
use crate::behaviour::{Answer, Call, Data, Failure};

const LISTS: &str = "/cluster/sdn/prefix-lists";

/// Distance of numbers that are made up, as in the routing daemon.
const STEP: i64 = 5;

/// `GET /cluster/sdn/prefix-lists`: entries only when they are asked for.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let verbose = call.params.is_on("verbose");
    let lists = view::objects(call, LISTS)
        .into_iter()
        .filter(|(id, _)| call.may(&format!("/sdn/prefix-lists/{id}"), &["SDN.Audit", "SDN.Allocate"]));
    let shown = lists.map(|(id, mut list)| {
        if !verbose && !call.params.is_on("pending") {
            list.shift_remove("entries");
        }
        shown(&id, list)
    });
    Ok(Data::from(shown.collect::<Vec<_>>()))
}

/// `GET /cluster/sdn/prefix-lists/{id}`.
pub(crate) fn get(call: &mut Call<'_>) -> Answer {
    let id = call.params.text("id");
    let list = view::object(call, LISTS, &id).ok_or_else(|| unknown(&id))?;
    Ok(shown(&id, list).into())
}

/// `POST /cluster/sdn/prefix-lists`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    check_lock(call)?;
    let id = call.params.text("id");
    if call.world.documents.get(LISTS, &id).is_some() {
        return Err(Failure::die(format!("prefix list '{id}' already exists in config")));
    }
    let entries = given_entries(call)?;
    keep(call, &id, entries)
}

/// `PUT /cluster/sdn/prefix-lists/{id}`.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    check_lock(call)?;
    let id = call.params.text("id");
    let mut entries = entries_of(call, &id)?;
    call.check_digest(&view::digest(call, LISTS))?;
    if call.params.list("delete").iter().any(|name| name == "entries") {
        entries.clear();
    }
    if call.params.has("entries") {
        entries = given_entries(call)?;
    }
    keep(call, &id, entries)
}

/// `DELETE /cluster/sdn/prefix-lists/{id}`: not while a fabric or a route map names it.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    check_lock(call)?;
    let id = call.params.text("id");
    entries_of(call, &id)?;
    let fabrics = call.world.documents.list("/cluster/sdn/fabrics/fabric").iter();
    if let Some((fabric, _)) = fabrics.into_iter().find(|(_, fabric)| super::text(fabric, "route_filter") == id) {
        return Err(Failure::die(format!("prefix list '{id}' is used by fabric '{fabric}'")));
    }
    call.world.documents.remove(LISTS, &id);
    Ok(Data::null())
}

/// `GET /cluster/sdn/prefix-lists/{id}/entries`.
pub(crate) fn entries(call: &mut Call<'_>) -> Answer {
    let entries = entries_of(call, &call.params.text("id"))?;
    Ok(Data::from(entries.into_iter().map(Value::Object).collect::<Vec<_>>()))
}

/// `GET /cluster/sdn/prefix-lists/{id}/entries/{url_seq}`.
pub(crate) fn entry(call: &mut Call<'_>) -> Answer {
    let entries = entries_of(call, &call.params.text("id"))?;
    let at = position(call, &entries)?;
    Ok(Value::Object(entries[at].clone()).into())
}

/// `POST /cluster/sdn/prefix-lists/{id}/entries`.
pub(crate) fn add_entry(call: &mut Call<'_>) -> Answer {
    check_lock(call)?;
    let id = call.params.text("id");
    let mut entries = entries_of(call, &id)?;
    entries.push(given(call));
    keep(call, &id, numbered(entries)?)
}

/// `PUT /cluster/sdn/prefix-lists/{id}/entries/{url_seq}`.
pub(crate) fn update_entry(call: &mut Call<'_>) -> Answer {
    check_lock(call)?;
    let id = call.params.text("id");
    let mut entries = entries_of(call, &id)?;
    call.check_digest(&view::digest(call, LISTS))?;
    let at = position(call, &entries)?;
    for name in call.params.list("delete") {
        entries[at].shift_remove(&name);
    }
    entries[at].extend(given(call));
    keep(call, &id, numbered(entries)?)
}

/// `DELETE /cluster/sdn/prefix-lists/{id}/entries/{url_seq}`.
pub(crate) fn delete_entry(call: &mut Call<'_>) -> Answer {
    check_lock(call)?;
    let id = call.params.text("id");
    let mut entries = entries_of(call, &id)?;
    let at = position(call, &entries)?;
    entries.remove(at);
    keep(call, &id, entries)
}

fn keep(call: &mut Call<'_>, id: &str, entries: Vec<Map<String, Value>>) -> Answer {
    let lines: Vec<Value> = entries.iter().map(|entry| json!(line(entry))).collect();
    let mut list = Map::new();
    if !lines.is_empty() {
        list.insert("entries".into(), Value::Array(lines));
    }
    call.world.documents.put(LISTS, id, list);
    Ok(Data::null())
}

/// An entry as the file holds it.
fn line(entry: &Map<String, Value>) -> String {
    let mut keys: Vec<&String> = entry.keys().collect();
    keys.sort_unstable();
    keys.into_iter().map(|key| format!("{key}={}", super::text(entry, key))).collect::<Vec<_>>().join(",")
}

fn entries_of(call: &Call<'_>, id: &str) -> Result<Vec<Map<String, Value>>, Failure> {
    let list = call.world.documents.get(LISTS, id).ok_or_else(|| unknown(id))?;
    let lines = list.get("entries").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    Ok(lines.map(read).collect())
}

fn read(line: &str) -> Map<String, Value> {
    let parts = line.split(',').filter_map(|part| part.split_once('='));
    let number = |text: &str| text.parse::<i64>().map_or_else(|_| json!(text), Value::from);
    parts.map(|(key, value)| (key.to_string(), number(value))).collect()
}

/// The entries of the call, each a property string that verification has accepted.
fn given_entries(call: &Call<'_>) -> Result<Vec<Map<String, Value>>, Failure> {
    let schema = parameter(call.method.parameters(), "entries").and_then(|schema| schema.items.as_deref());
    let keys = schema.and_then(property::keys);
    let texts = match call.params.0.get("entries") {
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).map(str::to_string).collect(),
        Some(Value::String(text)) => vec![text.clone()],
        _ => Vec::new(),
    };
    let parsed = texts.iter().map(|text| match keys {
        Some(keys) => property::parse(keys, text).map_err(|_| Failure::param("entries", "invalid format")),
        None => Ok(read(text)),
    });
    numbered(parsed.collect::<Result<_, _>>()?)
}

fn given(call: &Call<'_>) -> Map<String, Value> {
    stored(call.method, &call.params, &["id", "url_seq", "delete", "digest", "lock-token"].map(String::from))
}

/// Gives numbers to entries without one, refuses doubles, and sorts.
fn numbered(mut entries: Vec<Map<String, Value>>) -> Result<Vec<Map<String, Value>>, Failure> {
    let seq = |entry: &Map<String, Value>| entry.get("seq").and_then(Value::as_i64).unwrap_or(0);
    let mut last = entries.iter().map(seq).max().unwrap_or(0);
    for entry in entries.iter_mut().filter(|entry| !entry.contains_key("seq")) {
        last += STEP;
        entry.insert("seq".into(), json!(last));
    }
    entries.sort_by_key(seq);
    match entries.windows(2).find(|pair| seq(&pair[0]) == seq(&pair[1])) {
        Some(pair) => Err(Failure::die(format!("entry with sequence number {} already exists", seq(&pair[0])))),
        None => Ok(entries),
    }
}

fn position(call: &Call<'_>, entries: &[Map<String, Value>]) -> Result<usize, Failure> {
    let wanted = call.params.int("url_seq");
    let at = entries.iter().position(|entry| entry.get("seq").and_then(Value::as_i64) == wanted);
    at.ok_or_else(|| {
        Failure::die(format!("prefix list entry with sequence number {} does not exist", call.params.text("url_seq")))
    })
}

fn shown(id: &str, mut list: Map<String, Value>) -> Value {
    list.insert("id".into(), json!(id));
    Value::Object(list)
}

fn unknown(id: &str) -> Failure {
    Failure::die(format!("prefix list '{id}' does not exist in configuration"))
}

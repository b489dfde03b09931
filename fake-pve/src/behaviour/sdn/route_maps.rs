//! Route maps: there is one as long as it has an entry.

use serde_json::{Map, Value, json};

use super::{check_lock, view};
use crate::behaviour::params::stored;
use crate::behaviour::{Answer, Call, Data, Failure};

const ENTRIES: &str = "/cluster/sdn/route-maps/entries";
const SEE: &[&str] = &["SDN.Audit", "SDN.Allocate"];

/// `GET /cluster/sdn/route-maps`.
pub(crate) fn list(call: &mut Call<'_>) -> Answer {
    let shown = maps(call).into_iter().filter(|id| !view::objects(call, &path(id)).is_empty());
    Ok(Data::from(shown.map(|id| json!({"id": id})).collect::<Vec<_>>()))
}

/// `GET /cluster/sdn/route-maps/entries`.
pub(crate) fn all(call: &mut Call<'_>) -> Answer {
    let entries = maps(call).into_iter().flat_map(|id| shown_entries(call, &id));
    Ok(Data::from(entries.collect::<Vec<_>>()))
}

/// `GET /cluster/sdn/route-maps/entries/{route-map-id}`.
pub(crate) fn of_map(call: &mut Call<'_>) -> Answer {
    let id = call.params.text("route-map-id");
    if !maps(call).contains(&id) {
        return Err(Failure::die(format!("route map '{id}' does not exist in configuration")));
    }
    Ok(Data::from(shown_entries(call, &id)))
}

/// `GET /cluster/sdn/route-maps/entries/{route-map-id}/entry/{order}`.
pub(crate) fn get(call: &mut Call<'_>) -> Answer {
    let (id, order) = place(call);
    let entry = view::object(call, &path(&id), &order).ok_or_else(|| unknown(&id, &order))?;
    Ok(shown(&id, &order, entry).into())
}

/// `POST /cluster/sdn/route-maps/entries`.
pub(crate) fn create(call: &mut Call<'_>) -> Answer {
    check_lock(call)?;
    let (id, order) = place(call);
    if call.world.documents.get(&path(&id), &order).is_some() {
        return Err(Failure::die(format!("route map entry '{id}' with order {order} already exists in config")));
    }
    let entry = given(call);
    call.world.documents.put(&path(&id), &order, entry);
    Ok(Data::null())
}

/// `PUT /cluster/sdn/route-maps/entries/{route-map-id}/entry/{order}`.
pub(crate) fn update(call: &mut Call<'_>) -> Answer {
    check_lock(call)?;
    let (id, order) = place(call);
    let found = call.world.documents.get(&path(&id), &order).cloned();
    let mut entry = found.ok_or_else(|| unknown(&id, &order))?;
    call.check_digest(&view::digest(call, &path(&id)))?;
    for name in call.params.list("delete") {
        entry.shift_remove(&name);
    }
    entry.extend(given(call));
    call.world.documents.put(&path(&id), &order, entry);
    Ok(Data::null())
}

/// `DELETE /cluster/sdn/route-maps/entries/{route-map-id}/entry/{order}`.
pub(crate) fn delete(call: &mut Call<'_>) -> Answer {
    check_lock(call)?;
    let (id, order) = place(call);
    match call.world.documents.remove(&path(&id), &order) {
        Some(_) => Ok(Data::null()),
        None => Err(unknown(&id, &order)),
    }
}

fn path(id: &str) -> String {
    format!("{ENTRIES}/{id}")
}

fn place(call: &Call<'_>) -> (String, String) {
    (call.params.text("route-map-id"), call.params.int("order").unwrap_or_default().to_string())
}

/// Every route map that the caller may see, asked for or applied.
fn maps(call: &Call<'_>) -> Vec<String> {
    let applied = call.world.sdn.applied.iter().flat_map(|applied| applied.keys());
    let paths = call.world.documents.collections.keys().chain(applied);
    let ids = paths.filter_map(|path| path.strip_prefix(ENTRIES)?.strip_prefix('/'));
    let mut ids: Vec<String> = ids.filter(|id| !id.contains('/')).map(str::to_string).collect();
    ids.sort_unstable();
    ids.dedup();
    ids.retain(|id| call.may(&format!("/sdn/route-maps/{id}"), SEE));
    ids
}

fn shown_entries(call: &Call<'_>, id: &str) -> Vec<Value> {
    let mut entries = view::objects(call, &path(id));
    entries.sort_by_key(|(order, _)| order.parse::<i64>().unwrap_or_default());
    entries.into_iter().map(|(order, entry)| shown(id, &order, entry)).collect()
}

fn shown(id: &str, order: &str, mut entry: Map<String, Value>) -> Value {
    entry.insert("route-map-id".into(), json!(id));
    entry.insert("order".into(), json!(order.parse::<i64>().unwrap_or_default()));
    Value::Object(entry)
}

fn given(call: &Call<'_>) -> Map<String, Value> {
    let mut entry = stored(
        call.method,
        &call.params,
        &["route-map-id", "order", "delete", "digest", "lock-token"].map(String::from),
    );
    for name in ["match", "set"] {
        if let Some(Value::String(one)) = entry.get(name).cloned() {
            entry.insert(name.into(), json!([one]));
        }
    }
    entry
}

fn unknown(id: &str, order: &str) -> Failure {
    Failure::die(format!("route map entry '{id}' with order {order} does not exist in configuration"))
}

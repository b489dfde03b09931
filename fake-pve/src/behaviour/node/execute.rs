//! `POST /nodes/{node}/execute`: several calls to one node in one, each with an outcome of its own.

use pve_catalog::{Catalog, Verb};
use serde_json::{Map, Value, json};

use crate::access;
use crate::behaviour::{Answer, Call, Data, Failure, Params, table};
use crate::{engine, generic};

/// Runs the commands in order. What one of them meets does not stop the next.
pub(crate) fn batch(call: &mut Call<'_>) -> Answer {
    let given = match call.params.0.get("commands") {
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_default(),
        Some(other) => other.clone(),
        None => Value::Null,
    };
    let commands = given.as_array().cloned().unwrap_or_default();
    let outcomes = commands.iter().map(|command| match run(call, command) {
        Ok(data) => json!({"status": 200, "data": data.value}),
        Err(failure) => {
            let mut outcome = json!({"status": failure.status, "message": format!("{}\n", failure.message)});
            if !failure.errors.is_empty() {
                outcome["errors"] = json!(failure.errors);
            }
            outcome
        }
    });
    Ok(Data::from(outcomes.collect::<Vec<_>>()))
}

fn run(call: &mut Call<'_>, command: &Value) -> Answer {
    let word = |key: &str| command[key].as_str().unwrap_or_default();
    let path = format!("/nodes/{}/{}", call.node(), word("path").trim_start_matches('/'));
    let found = word("method").parse::<Verb>().ok().and_then(|verb| Catalog::embedded().find(verb, &path));
    let Some(found) = found else {
        return Err(Failure::die(format!("no handler for '{}'", path.trim_start_matches('/'))));
    };
    let mut given: Map<String, Value> =
        found.values.iter().map(|(name, value)| ((*name).to_string(), json!(value))).collect();
    for (name, value) in command["args"].as_object().into_iter().flatten() {
        if given.insert(name.clone(), value.clone()).is_some() {
            return Err(Failure::param(name, "duplicate parameter"));
        }
    }
    access::check(&call.world.access.config, found.method, &call.authid, &given)?;
    let params = engine::verified(found.method, given)?;
    let mut inner = Call {
        world: &mut *call.world,
        method: found.method,
        params: Params(params),
        authid: call.authid.clone(),
        path: path.clone(),
        upload: None,
        clock: &mut *call.clock,
        workers: &mut *call.workers,
        keys: call.keys,
    };
    match table::find(&found.method.key()) {
        Some(behaviour) => behaviour(&mut inner),
        None => generic::answer(&mut inner, generic::level(found.method)),
    }
}

//! Configurations as `config` and `pending` show them.

use serde_json::{Map, Value, json};

use super::found;
use crate::behaviour::{Answer, Call, Data, Failure};
use crate::world::{Guest, GuestKind, option};

/// What stands for a password.
const HIDDEN: &str = "**********";

/// `GET …/config`: with pending changes, as it runs now (`current`), or of a snapshot.
pub(crate) fn config(call: &mut Call<'_>, kind: GuestKind) -> Answer {
    let (current, snapshot) = (call.params.is_on("current"), call.params.get("snapshot"));
    if current && snapshot.is_some() {
        let text = "cannot use 'snapshot' parameter with 'current'".to_string();
        return Err(Failure::params(["snapshot", "current"].map(|name| (name.to_string(), text.clone())).into()));
    }
    let guest = found(call, kind)?;
    let config = match snapshot {
        Some(name) => snapshot_config(guest, &name)?,
        None if current => guest.config.clone(),
        None => guest.merged(),
    };
    let options = call.may(&format!("/vms/{}", guest.vmid), &["VM.Config.Options"]);
    Ok(Value::Object(shown(guest, config, options)).into())
}

/// A snapshot's section.
///
/// # Errors
/// `snapshot '…' does not exist`.
pub(crate) fn snapshot_config(guest: &Guest, name: &str) -> Result<Map<String, Value>, String> {
    let snapshot = guest.snapshots.get(name).ok_or_else(|| format!("snapshot '{name}' does not exist"))?;
    let mut config = snapshot.config.clone();
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            config.insert(key.into(), value);
        }
    };
    set("description", snapshot.description.clone().map(Value::from));
    set("parent", snapshot.parent.clone().map(Value::from));
    set("snaptime", Some(snapshot.snaptime.into()));
    set("vmstate", snapshot.vmstate.clone().map(Value::from));
    set("snapstate", snapshot.snapstate.clone().map(Value::from));
    Ok(config)
}

/// A configuration as it goes out: with digest, without passwords.
pub(crate) fn shown(guest: &Guest, config: Map<String, Value>, options: bool) -> Map<String, Value> {
    let mut shown = config;
    if shown.get("cipassword").is_some_and(|password| password != "") {
        shown.insert("cipassword".into(), HIDDEN.into());
    }
    for (key, value) in &mut shown {
        *value = as_read(guest.kind, key, value);
    }
    if guest.kind == GuestKind::Lxc {
        split_raw(&mut shown, options);
    }
    shown.insert("digest".into(), guest.digest().into());
    shown
}

/// Raw lines of a container: environment variables show as `env` to whom may change options, the rest as pairs.
fn split_raw(shown: &mut Map<String, Value>, options: bool) {
    let Some(Value::Array(pairs)) = shown.shift_remove("lxc") else { return };
    let (env, rest): (Vec<Value>, Vec<Value>) =
        pairs.into_iter().partition(|pair| pair[0] == "lxc.environment.runtime");
    if !env.is_empty() && options {
        let texts: Vec<String> = env.iter().map(|pair| option::text(&pair[1])).collect();
        shown.insert("env".into(), texts.join("\0").into());
    }
    if !rest.is_empty() {
        shown.insert("lxc".into(), rest.into());
    }
}

/// An empty value of a machine reads as a blank; the notes of a container end their last line.
fn as_read(kind: GuestKind, key: &str, value: &Value) -> Value {
    match key {
        _ if kind == GuestKind::Vm && value == "" && key != "description" => " ".into(),
        "description" if kind == GuestKind::Lxc => {
            let text = option::text(value);
            if text.ends_with('\n') { text.into() } else { format!("{text}\n").into() }
        }
        _ => value.clone(),
    }
}

/// `GET …/pending`: every option with its value, pending value and pending deletion (1, or 2 when forced).
pub(crate) fn pending(call: &mut Call<'_>, kind: GuestKind) -> Answer {
    let guest = found(call, kind)?;
    let mut items = Vec::new();
    for (key, value) in &guest.config {
        let mut item = json!({"key": key, "value": hidden(key, &as_read(kind, key, value), HIDDEN)});
        if let Some(waiting) = guest.pending.get(key) {
            item["pending"] = hidden(key, waiting, "********** ");
        }
        if let Some(force) = guest.pending_delete.get(key) {
            item["delete"] = json!(if *force { 2 } else { 1 });
        }
        items.push(item);
    }
    for (key, value) in guest.pending.iter().filter(|(key, _)| !guest.config.contains_key(*key)) {
        items.push(json!({"key": key, "pending": hidden(key, value, "********** ")}));
    }
    for key in guest.pending_delete.keys().filter(|key| !guest.config.contains_key(*key)) {
        items.push(json!({"key": key, "delete": 2}));
    }
    items.push(json!({"key": "digest", "value": guest.digest()}));
    Ok(Data::from(items))
}

fn hidden(key: &str, value: &Value, stars: &str) -> Value {
    if key == "cipassword" && value != "" { stars.into() } else { value.clone() }
}

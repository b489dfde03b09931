//! A request as it may be shown, and a request that must not be sent because it carries a mask.

use pve_catalog::Method;
use pve_catalog::secrets::Judgement;
use serde_json::{Map, Value, json};

use super::fields::{judge, judge_in, value_of};
use super::{MASK, PROXMOX_MASK, text};
use crate::error::{Code, Fault};
use crate::policy::{Act, ApiCall, Effect, SshCommand};

/// The exact request, masked: `{"method": "POST", "path": "/nodes/pve1/qemu", "params": {…}}`. A repeated parameter is a list.
pub fn request(call: &ApiCall) -> Value {
    let mut params = Map::new();
    for (name, given) in call.params() {
        let shown = Value::from(param(call, name, given));
        match params.get_mut(name) {
            None => {
                params.insert(name.clone(), shown);
            }
            Some(Value::Array(list)) => list.push(shown),
            Some(first) => *first = Value::Array(vec![first.take(), shown]),
        }
    }
    json!({"method": call.verb().to_string(), "path": text(call.path()), "params": params})
}

fn param(call: &ApiCall, name: &str, given: &str) -> String {
    if given.is_empty() {
        return String::new();
    }
    if judge_in(call, name) != Judgement::Plain {
        return MASK.into();
    }
    match value_of(call, &Value::from(given)) {
        Value::String(shown) => shown,
        other => other.to_string(),
    }
}

/// The secret parameters' values: what a server may say back and nobody may read. Parts of a JSON value count too.
pub fn secret_params(call: &ApiCall) -> Vec<String> {
    let mut secrets = Vec::new();
    for (name, given) in call.params() {
        if judge_in(call, name) != Judgement::Plain {
            secrets.push(given.clone());
        } else if given.starts_with(['{', '[']) {
            // `commands` of `POST /nodes/{node}/execute` carries whole calls.
            serde_json::from_str(given).iter().for_each(|inner| collect(inner, &mut secrets));
        }
    }
    secrets.retain(|secret| !secret.is_empty());
    secrets
}

/// Secrets among the arguments of a call that was never made, because they were not acceptable: what the refusal must not
/// say back. `method` sharpens the rules where it is known.
pub fn secret_arguments(method: Option<&Method>, arguments: &Map<String, Value>) -> Vec<String> {
    let mut secrets = Vec::new();
    for (name, given) in arguments {
        if judge(method, name) == Judgement::Plain {
            collect(given, &mut secrets);
        } else {
            leaves(given, &mut secrets);
        }
    }
    secrets
}

fn leaves(given: &Value, secrets: &mut Vec<String>) {
    match given {
        Value::String(string) => secrets.push(string.clone()),
        Value::Number(number) => secrets.push(number.to_string()),
        Value::Array(list) => list.iter().for_each(|given| leaves(given, secrets)),
        Value::Object(map) => map.values().for_each(|given| leaves(given, secrets)),
        Value::Null | Value::Bool(_) => {}
    }
}

fn collect(inner: &Value, secrets: &mut Vec<String>) {
    match inner {
        Value::Array(list) => list.iter().for_each(|inner| collect(inner, secrets)),
        Value::Object(map) => map.iter().for_each(|(name, inner)| match inner {
            Value::String(string) if judge(None, name) != Judgement::Plain => secrets.push(string.clone()),
            _ => collect(inner, secrets),
        }),
        _ => {}
    }
}

/// Refuses a request that carries a mask: it would overwrite the secret that the mask stands for.
///
/// # Errors
/// `redacted_body`, naming the parameter.
pub fn refuse_masked(call: &ApiCall) -> Result<(), Fault> {
    let masked = call.params().iter().find(|(_, given)| given.contains(MASK) || given.contains(PROXMOX_MASK));
    match masked {
        None => Ok(()),
        Some((name, _)) => Err(Fault::new(
            Code::RedactedBody,
            format!("'{name}' carries a mask ({MASK} or {PROXMOX_MASK}) instead of a value: nothing was sent"),
        )
        .hint("leave the parameter out to keep what is stored, or give the real value")),
    }
}

/// Refuses a write over SSH that carries our mask: text that was read through this server and is written back would
/// overwrite the secret. (Proxmox's own mask is an ordinary line of asterisks in a file.)
///
/// # Errors
/// `redacted_body`.
pub fn refuse_masked_command(command: &SshCommand) -> Result<(), Fault> {
    let in_arguments = match command.act() {
        Act::Run(argv) => argv.iter().any(|argument| argument.contains(MASK)),
        _ => false,
    };
    let in_input = command.input().windows(MASK.len()).any(|part| part == MASK.as_bytes());
    if command.effect() == Effect::Reads || !(in_arguments || in_input) {
        return Ok(());
    }
    Err(Fault::new(
        Code::RedactedBody,
        format!("{} carries a mask ({MASK}) instead of a value: nothing was sent", command.name()),
    )
    .hint("give the real value, or change the file with a command that leaves the secret alone"))
}

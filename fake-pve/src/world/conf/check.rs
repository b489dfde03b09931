//! Values of configuration files: what Proxmox's reader makes of the text, and what it says of a wrong one.
//!
//! The reader looks at the type and the format only. Bounds, enumerations and patterns are the API's business.

use pve_catalog::schema::{Format, Kind, Schema};
use pve_catalog::verify::parameter;
use pve_catalog::{Catalog, Verb, format, property};
use serde_json::{Value, json};

use crate::world::GuestKind;

/// The typed value of an option: numbers for integers and booleans, else text.
///
/// # Errors
/// What stands after `unable to parse value of '<key>' - `, with its line end.
pub fn check(kind: GuestKind, key: &str, text: &str) -> Result<Value, String> {
    let Some(schema) = schema(kind, key) else { return internal(key, text) };
    let wrong = |word: &str| Err(format!("type check ('{word}') failed - got '{text}'\n"));
    match schema.kind {
        Kind::Boolean => match text.to_ascii_lowercase().as_str() {
            "1" | "on" | "yes" | "true" => Ok(json!(1)),
            "0" | "off" | "no" | "false" => Ok(json!(0)),
            _ => wrong("boolean"),
        },
        Kind::Integer if text.bytes().all(|byte| byte.is_ascii_digit()) => {
            Ok(text.parse::<i64>().map_or_else(|_| json!(text), Value::from))
        }
        Kind::Integer => wrong("integer"),
        Kind::Number => {
            let whole = text.split_once('.').map_or_else(|| vec![text], |(whole, part)| vec![whole, part]);
            let digits = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            if whole.iter().all(digits) { Ok(json!(text)) } else { wrong("number") }
        }
        _ => in_format(schema, text),
    }
}

fn in_format(schema: &Schema, text: &str) -> Result<Value, String> {
    match &schema.format {
        Some(Format::Named(name)) => format::check(name, text)?,
        Some(Format::Keys(keys)) => drop(property::parse(keys, text).map_err(|error| error.0)?),
        None => {
            let unquoted = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
            return Ok(json!(unquoted.unwrap_or(text)));
        }
    }
    Ok(json!(text))
}

fn schema(kind: GuestKind, key: &str) -> Option<&'static Schema> {
    let template = match kind {
        GuestKind::Vm => "/nodes/{node}/qemu/{vmid}/config",
        GuestKind::Lxc => "/nodes/{node}/lxc/{vmid}/config",
    };
    const OF_THE_CALL: [&str; 9] = [
        "node",
        "vmid",
        "delete",
        "digest",
        "revert",
        "skiplock",
        "force",
        "background_delay",
        "import-working-storage",
    ];
    let method = Catalog::embedded().get(Verb::Put, template)?;
    parameter(method.parameters(), key).filter(|_| !OF_THE_CALL.contains(&key))
}

/// Options that stand in files and in no call.
fn internal(key: &str, text: &str) -> Result<Value, String> {
    match key {
        "parent" => format::check("pve-configid", text).map(|()| json!(text)),
        "snaptime" => text.parse::<i64>().map(Value::from).map_err(|_| not_an_integer(text)),
        "meta" => meta(text).map(|()| json!(text)),
        "vmstate" | "runningmachine" | "runningcpu" | "running-nets-host-mtu" | "snapname" | "lock" => Ok(json!(text)),
        _ => Err(format!("unknown setting '{key}'\n")),
    }
}

fn not_an_integer(text: &str) -> String {
    format!("type check ('integer') failed - got '{text}'\n")
}

/// `creation-qemu=9.2.0,ctime=1700000000`.
fn meta(text: &str) -> Result<(), String> {
    for (key, value) in text.split(',').filter_map(|part| part.split_once('=')) {
        let parts: Vec<&str> = value.split('.').collect();
        let digits = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if key == "creation-qemu" && (parts.len() < 2 || !parts.iter().all(digits)) {
            return Err("format error\ncreation-qemu: value does not match the regex pattern\n".into());
        }
    }
    Ok(())
}

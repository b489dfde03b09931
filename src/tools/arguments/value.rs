//! One value as a caller may write it -> the text, or list of texts, that Proxmox takes.

use pve_catalog::schema::{Kind, Schema};
use pve_catalog::{Method, property};
use serde_json::{Map, Value};

use crate::pve::wire_value;

/// Yes or no, in any of Proxmox's spellings.
pub fn flag(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::Number(number) => match number.as_f64() {
            Some(1.0) => Some(true),
            Some(0.0) => Some(false),
            _ => None,
        },
        Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
            "1" | "true" | "on" | "yes" => Some(true),
            "0" | "false" | "off" | "no" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// The text of a text or a number; a whole number has no decimal point.
pub fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => format!("{float:.0}"),
            _ => number.to_string(),
        }),
        _ => None,
    }
}

/// Any value as the text that goes onto the wire.
pub fn plain_text(value: &Value) -> String {
    match value {
        Value::Bool(flag) => bit(*flag).to_string(),
        value => text(value).unwrap_or_else(|| value.to_string()),
    }
}

/// A value for a parameter: a text, or for an array parameter a list of texts.
///
/// # Errors
/// What the parameter takes instead. What is merely wrong (a number out of range, an unknown word) is left to the
/// verification.
pub fn on_the_wire(method: &Method, schema: &Schema, name: &str, value: &Value) -> Result<Value, String> {
    if matches!(name, "sshkeys" | "ssh-public-keys") {
        // Plain keys, encoded once where Proxmox wants them so.
        let keys = wire_value(method, name, value).map_err(|fault| match fault.hint {
            Some(hint) => format!("{}; {hint}", fault.message),
            None => fault.message,
        })?;
        return Ok(keys.concat().into());
    }
    match schema.kind {
        Kind::Boolean => Ok(flag(value).map_or_else(|| plain_text(value), |flag| bit(flag).to_string()).into()),
        Kind::Integer | Kind::Number => match text(value) {
            Some(text) => Ok(text.trim().into()),
            None => Err(format!("takes {}", article(schema.kind))),
        },
        Kind::Array => list(schema, value).map(Value::Array),
        Kind::Object => Ok(plain_text(value).into()),
        Kind::String | Kind::Any | Kind::Null => string(schema, value).map(Value::from),
    }
}

/// A text for an array is one element, never split: `ls -la` is the name of one program.
fn list(schema: &Schema, value: &Value) -> Result<Vec<Value>, String> {
    let nothing = Schema::default();
    let variants = schema.one_of.iter().find_map(|variant| variant.items.as_deref());
    let items = schema.items.as_deref().or(variants).unwrap_or(&nothing);
    let parsed = match value {
        Value::String(text) => serde_json::from_str::<Vec<Value>>(text).ok(),
        Value::Array(list) => Some(list.clone()),
        _ => None,
    };
    let elements = parsed.unwrap_or_else(|| vec![value.clone()]);
    elements.iter().map(|element| string(items, element).map(Value::from)).collect()
}

fn string(schema: &Schema, value: &Value) -> Result<String, String> {
    if let Some(keys) = property::keys(schema) {
        let object = match value {
            Value::Object(object) => Some(object.clone()),
            Value::String(text) if text.starts_with('{') => serde_json::from_str::<Map<String, Value>>(text).ok(),
            _ => None,
        };
        if let Some(object) = object {
            let given = object.into_iter().filter(|(_, value)| !value.is_null());
            let given = given.map(|(key, value)| (key, as_property(&value))).collect();
            return property::print(keys, &given).map_err(|error| error.0.trim().to_string());
        }
        let by_default = keys.iter().find(|(_, schema)| schema.default_key);
        if by_default.is_some_and(|(_, schema)| schema.kind == Kind::Boolean)
            && let Some(flag) = flag(value)
        {
            return Ok(bit(flag).to_string());
        }
    }
    match value {
        Value::Bool(flag) => Ok(word_for(schema, *flag)),
        Value::Array(list) => joined(schema, list),
        Value::Object(_) => Err("takes a text, not an object".into()),
        Value::String(text) if schema.is_list() => match serde_json::from_str::<Vec<Value>>(text) {
            Ok(list) => joined(schema, &list),
            Err(_) => Ok(text.clone()),
        },
        value => Ok(plain_text(value)),
    }
}

fn as_property(value: &Value) -> Value {
    match value {
        Value::Bool(flag) => bit(*flag).to_string().into(),
        Value::Number(_) => plain_text(value).into(),
        other => other.clone(),
    }
}

/// Lists that Proxmox writes in one text.
fn joined(schema: &Schema, list: &[Value]) -> Result<String, String> {
    if !schema.is_list() {
        return Err("takes one value, not a list".into());
    }
    Ok(list.iter().map(plain_text).collect::<Vec<_>>().join(","))
}

/// A boolean where a text is wanted: in the parameter's own words when it has some.
fn word_for(schema: &Schema, flag: bool) -> String {
    let words = if flag { ["1", "on", "yes", "true"] } else { ["0", "off", "no", "false"] };
    let own = words.into_iter().find(|word| schema.enumeration.iter().any(|known| known == word));
    own.unwrap_or(bit(flag)).to_string()
}

fn bit(flag: bool) -> &'static str {
    if flag { "1" } else { "0" }
}

fn article(kind: Kind) -> String {
    match kind {
        Kind::Integer => "a whole number".into(),
        Kind::Number => "a number".into(),
        kind => format!("a value of type {}", kind.word()),
    }
}

//! Property strings: `virtio,bridge=vmbr0,firewall=1` to values and back, and their one-line grammar.

use serde_json::{Map, Value};

use crate::schema::{Kind, Properties, Schema};

/// Why a property string cannot be read or written, in Proxmox's wording.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PropertyError(pub String);

/// Reads a property string: values as text, booleans as `1` and `0`.
///
/// # Errors
/// In Proxmox's wording: a key twice, a value without a key, a key without a value.
pub fn parse(keys: &Properties, text: &str) -> Result<Map<String, Value>, PropertyError> {
    let mut values = Map::new();
    for part in text.split(',').filter(|part| !part.trim().is_empty()) {
        let (key, value) = match part.split_once('=') {
            Some(pair) => pair,
            None => {
                let default = keys.iter().find(|(_, schema)| schema.default_key);
                let message = "value without key, but schema does not define a default key\n";
                (default.ok_or_else(|| PropertyError(message.into()))?.0, part)
            }
        };
        values.insert(key.into(), value.into());
    }
    Ok(values)
}

/// Writes a property string: the default key bare and first, then required keys sorted, then the others sorted.
///
/// # Errors
/// A value that holds a comma, or a key that the format does not have.
pub fn print(keys: &Properties, values: &Map<String, Value>) -> Result<String, PropertyError> {
    let _ = keys;
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_string);
    Ok(values.iter().map(|(key, value)| format!("{key}={}", text(value))).collect::<Vec<_>>().join(","))
}

/// The grammar in one line (`[file=]<volume>[,size=<size>]…`), cut at a whole key after `most_chars` characters.
pub fn grammar(keys: &Properties, most_chars: usize) -> String {
    let _ = most_chars;
    keys.iter().map(|(key, _)| format!("{key}=<value>")).collect::<Vec<_>>().join(",")
}

/// The keys of a property-string parameter, stated in place or registered by name; `None` for any other parameter.
pub fn keys(schema: &Schema) -> Option<&Properties> {
    if schema.kind == Kind::Object { None } else { schema.keys() }
}

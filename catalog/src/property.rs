//! Property strings: `virtio,bridge=vmbr0,firewall=1` to values and back, and their grammar in one line.

mod grammar;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::format;
use crate::schema::{Format, Kind, Properties, Schema};
use crate::verify::check::{Errors, properties as check_properties, text_of};

pub use grammar::grammar;

/// Why a property string cannot be read or written: Proxmox's message after `invalid format - `, with its line ends.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.trim_end())]
pub struct PropertyError(pub String);

/// Reads a property string and checks its values: values as text, booleans as `1` and `0`, aliases resolved.
///
/// # Errors
/// In Proxmox's wording: a key twice, a value without a key, a key without a value, or what is wrong with each value.
pub fn parse(keys: &Properties, text: &str) -> Result<Map<String, Value>, PropertyError> {
    parse_at(keys, text, "")
}

/// As [`parse`], for the parameter `path`, which the messages name (`net0.model: …`).
///
/// # Errors
/// As [`parse`].
pub fn parse_at(keys: &Properties, text: &str, path: &str) -> Result<Map<String, Value>, PropertyError> {
    let values = split(keys, text).map_err(|message| PropertyError(message + "\n"))?;
    let mut errors = Errors::default();
    check_properties(keys, Some(false), &values, path, &mut errors);
    match errors.into_lines() {
        None => Ok(values),
        Some(lines) => Err(PropertyError(format!("format error\n{lines}"))),
    }
}

/// Splits without checking values.
fn split(keys: &Properties, text: &str) -> Result<Map<String, Value>, String> {
    let mut values = Map::new();
    let mut unnamed = None;
    for part in text.split(',').filter(|part| !part.trim().is_empty()) {
        if let Some((key, value)) = key_and_value(part) {
            put(keys, key, value, &mut values)?;
        } else if part.contains('=') {
            return Err("missing key in comma-separated list property".into());
        } else if let Some(key) = unnamed {
            return Err(duplicate(key));
        } else {
            let default = keys.iter().find(|(_, schema)| schema.default_key);
            let (key, schema) = default.ok_or("value without key, but schema does not define a default key")?;
            // Perl asks whether the earlier value is true: `0` can be overwritten.
            if values.get(key).and_then(Value::as_str).is_some_and(|value| value != "0") {
                return Err(duplicate(key));
            }
            values.insert(key.to_string(), normal(schema, part).into());
            unnamed = Some(key);
        }
    }
    Ok(values)
}

/// `key=value` with both parts; a line feed is allowed at the very end only, and falls away.
fn key_and_value(part: &str) -> Option<(&str, &str)> {
    let (key, value) = part.split_once('=')?;
    let value = value.strip_suffix('\n').unwrap_or(value);
    (!key.is_empty() && !value.is_empty() && !value.contains('\n')).then_some((key, value))
}

fn put(keys: &Properties, key: &str, value: &str, values: &mut Map<String, Value>) -> Result<(), String> {
    if values.contains_key(key) {
        return Err(duplicate(key));
    }
    let mut schema = keys.get(key);
    let mut target = key;
    if let Some(alias) = schema.and_then(|schema| schema.alias.as_deref()) {
        if let Some(key_alias) = schema.and_then(|schema| schema.key_alias.as_deref()) {
            if values.contains_key(key_alias) {
                return Err(format!("key alias '{key_alias}' is already defined"));
            }
            values.insert(key_alias.to_string(), key.into());
        }
        if values.contains_key(alias) {
            return Err(format!("key '{alias}' is already defined (via alias)"));
        }
        target = alias;
        schema = keys.get(alias);
    }
    let value = schema.map_or_else(|| value.to_string(), |schema| normal(schema, value));
    values.insert(target.to_string(), value.into());
    Ok(())
}

fn duplicate(key: &str) -> String {
    format!("duplicate key in comma-separated list property: {key}")
}

/// Booleans may be written as words here, unlike in parameters.
fn normal(schema: &Schema, value: &str) -> String {
    let word = (schema.kind == Kind::Boolean).then(|| value.to_ascii_lowercase());
    match word.as_deref() {
        Some("1" | "on" | "yes" | "true") => "1".into(),
        Some("0" | "off" | "no" | "false") => "0".into(),
        _ => value.to_string(),
    }
}

/// Writes a property string: the default key bare and first, then required keys sorted, then the others sorted.
/// Values may be text, numbers or booleans; a size in bytes is written in its largest exact unit.
///
/// # Errors
/// A value with a comma, or values that the format refuses.
pub fn print(keys: &Properties, values: &Map<String, Value>) -> Result<String, PropertyError> {
    let mut texts = BTreeMap::new();
    for (key, value) in values.iter().filter(|(_, value)| !value.is_null()) {
        texts.insert(key.as_str(), printable(keys, key, value)?);
    }
    let checked: Map<String, Value> = texts.iter().map(|(key, text)| (key.to_string(), text.as_str().into())).collect();
    let mut errors = Errors::default();
    check_properties(keys, Some(false), &checked, "", &mut errors);
    if let Some(lines) = errors.into_lines() {
        return Err(PropertyError(format!("format error\n{lines}")));
    }
    let default = keys.iter().find(|(_, schema)| schema.default_key).map(|(key, _)| key);
    let required = |key: &str| keys.get(key).is_some_and(|schema| !schema.optional);
    let order = default
        .into_iter()
        .chain(texts.keys().copied().filter(|key| required(key)))
        .chain(texts.keys().copied().filter(|key| !required(key)));
    let (mut done, mut parts) = (BTreeSet::new(), Vec::new());
    for key in order {
        let Some(text) = texts.get(key).filter(|_| done.insert(key)) else { continue };
        let partner = combined(keys, key).and_then(|partner| Some((partner, texts.get(partner)?)));
        parts.push(match partner {
            // `model` and `macaddr` are written as one: `virtio=BC:24:11:00:00:01`.
            Some((partner, second)) if !done.contains(partner) => {
                done.insert(partner);
                format!("{text}={second}")
            }
            // A bare value with `=` would be read as a key, a blank one not at all.
            _ if default == Some(key) && !text.contains('=') && !text.trim().is_empty() => text.clone(),
            _ => format!("{key}={text}"),
        });
    }
    Ok(parts.join(","))
}

/// The key whose value stands behind this one's (`keyAlias`).
fn combined<'k>(keys: &'k Properties, key: &str) -> Option<&'k str> {
    let alias = keys.iter().find(|(_, schema)| schema.key_alias.as_deref() == Some(key));
    alias.and_then(|(_, schema)| schema.alias.as_deref())
}

fn printable(keys: &Properties, key: &str, value: &Value) -> Result<String, PropertyError> {
    let schema = keys.get(key);
    let text = match (value, schema) {
        (Value::Bool(true), _) => "1".to_string(),
        (Value::Bool(false), _) => "0".to_string(),
        (value, Some(schema)) => text_of(value).map(|text| normal(schema, &text)).unwrap_or_default(),
        (value, None) => text_of(value).unwrap_or_default(),
    };
    if text.is_empty() {
        return Err(PropertyError(format!("no value for {key}\n")));
    }
    if text.contains(',') {
        return Err(PropertyError(format!("illegal value with commas for {key}\n")));
    }
    if text.contains('\n') {
        return Err(PropertyError(format!("illegal value with line feeds for {key}\n")));
    }
    let size =
        matches!(schema.and_then(|schema| schema.format.as_ref()), Some(Format::Named(name)) if name == "disk-size");
    Ok(if size { in_largest_unit(&text) } else { text })
}

/// `34359738368` is `32G`; what has a unit already, or no exact one, stays.
fn in_largest_unit(text: &str) -> String {
    let Ok(mut size) = text.parse::<u64>() else { return text.to_string() };
    let mut unit = "";
    for larger in ["K", "M", "G", "T"] {
        if size == 0 || size % 1024 != 0 {
            break;
        }
        (size, unit) = (size / 1024, larger);
    }
    format!("{size}{unit}")
}

/// The keys of a property-string parameter, stated in place or registered by name; `None` for any other parameter.
pub fn keys(schema: &Schema) -> Option<&Properties> {
    match schema.format.as_ref()? {
        Format::Keys(keys) => Some(keys),
        Format::Named(name) => format::keys(name),
    }
}

//! Verified parameters and the ways to read them.

use pve_catalog::verify::parameter;
use pve_catalog::{Kind, Method, Schema};
use serde_json::{Map, Value, json};

/// Parameters of a call, those of the path included. Scalars may be text, number or boolean, as the client sent them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Params(pub Map<String, Value>);

impl Params {
    /// Whether it was given.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// A scalar as text; lists are joined by `,`.
    pub fn get(&self, name: &str) -> Option<String> {
        self.0.get(name).and_then(scalar)
    }

    /// A required scalar as text: verification has seen to it that it is there.
    pub fn text(&self, name: &str) -> String {
        self.get(name).unwrap_or_default()
    }

    /// An integer.
    pub fn int(&self, name: &str) -> Option<i64> {
        self.get(name)?.trim_start_matches('+').trim_end().parse().ok()
    }

    /// A boolean: `None` when not given.
    pub fn flag(&self, name: &str) -> Option<bool> {
        self.get(name).map(|text| text == "1")
    }

    /// A boolean that is off when not given.
    pub fn is_on(&self, name: &str) -> bool {
        self.flag(name) == Some(true)
    }

    /// A list: an array, or text that Proxmox splits at commas, semicolons, white space and NUL.
    pub fn list(&self, name: &str) -> Vec<String> {
        match self.0.get(name) {
            Some(Value::Array(items)) => items.iter().filter_map(scalar).collect(),
            Some(other) => scalar(other).map(|text| split_list(&text)).unwrap_or_default(),
            None => Vec::new(),
        }
    }

    /// Name and raw value of each.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// A copy without some names: what is left to store.
    pub fn without(&self, names: &[&str]) -> Map<String, Value> {
        let kept = self.iter().filter(|(name, _)| !names.contains(name));
        kept.map(|(name, value)| (name.to_string(), value.clone())).collect()
    }
}

/// Text of a scalar: booleans as `1` and `0`.
pub(crate) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(on) => Some(if *on { "1" } else { "0" }.into()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(items) => Some(items.iter().filter_map(scalar).collect::<Vec<_>>().join(",")),
        Value::Null | Value::Object(_) => None,
    }
}

/// Parameters as a configuration keeps them: integers and booleans become numbers, the rest stays as it was given.
pub(crate) fn stored(method: &Method, params: &Params, without: &[String]) -> Map<String, Value> {
    let kept = params.iter().filter(|(name, _)| !without.iter().any(|other| other == name));
    kept.map(|(name, value)| (name.to_string(), typed(parameter(method.parameters(), name), value))).collect()
}

fn typed(schema: Option<&Schema>, value: &Value) -> Value {
    let plain = |text: &String| !value.is_array() && !text.contains('\n');
    let Some(text) = scalar(value).filter(plain) else { return value.clone() };
    match schema.map(|schema| schema.kind) {
        Some(Kind::Integer) => text.trim().parse::<i64>().map_or(value.clone(), Value::from),
        Some(Kind::Number) => text.trim().parse::<f64>().map_or(value.clone(), Value::from),
        Some(Kind::Boolean) => json!(i32::from(text == "1")),
        _ => value.clone(),
    }
}

/// A property of an object as text; empty when it is not there.
pub(crate) fn word(object: &Map<String, Value>, key: &str) -> String {
    object.get(key).and_then(scalar).unwrap_or_default()
}

/// Splits a list in one text, as Proxmox does.
pub(crate) fn split_list(text: &str) -> Vec<String> {
    let nul = text.contains('\0');
    let separator = |c: char| if nul { c == '\0' } else { matches!(c, ',' | ';') || c.is_whitespace() };
    text.split(separator).filter(|part| !part.is_empty()).map(str::to_string).collect()
}

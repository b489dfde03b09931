//! Schemas told in lines.

use pve_catalog::Schema;
use serde_json::{Map, Value};

/// Required and optional parameters, one line each.
pub fn lines(schema: &Map<String, Value>, wanted: impl Fn(&str) -> bool) -> (Map<String, Value>, Map<String, Value>) {
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let properties = schema.get("properties").and_then(Value::as_object);
    let told = properties.into_iter().flatten().filter(|(name, _)| wanted(name));
    let told = told.map(|(name, property)| (name.clone(), Value::from(line(property))));
    told.partition(|(name, _)| required.iter().any(|other| other == name.as_str()))
}

/// `integer 16 to 4194304, default 512: …`.
pub fn line(property: &Value) -> String {
    let text = |key: &str| property.get(key).map(|value| value.as_str().map_or(value.to_string(), str::to_string));
    let words = |list: &Value| {
        let each = list.as_array().into_iter().flatten();
        each.map(|word| word.as_str().map_or(word.to_string(), str::to_string)).collect::<Vec<_>>().join("|")
    };
    let mut line = match property.get("enum") {
        Some(choices) => words(choices),
        None => match property.get("type") {
            Some(Value::String(kind)) => kind.clone(),
            Some(kinds) => words(kinds),
            None => "any".into(),
        },
    };
    match (text("minimum"), text("maximum")) {
        (Some(least), Some(most)) => line.push_str(&format!(" {least} to {most}")),
        (Some(least), None) => line.push_str(&format!(" from {least}")),
        (None, Some(most)) => line.push_str(&format!(" up to {most}")),
        (None, None) => {}
    }
    line.extend(text("maxLength").map(|most| format!(", at most {most} characters")));
    line.extend(text("default").map(|default| format!(", default {default}")));
    line.extend(text("description").filter(|words| !words.is_empty()).map(|words| format!(": {words}")));
    line
}

/// What a method answers.
pub fn returns_line(schema: &Map<String, Value>) -> String {
    let kind = |schema: &Map<String, Value>| match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.first().and_then(Value::as_str).unwrap_or("any").to_string(),
        Some(Value::String(kind)) => kind.clone(),
        _ => "nothing".into(),
    };
    let names = schema.get("properties").and_then(Value::as_object);
    let names: Vec<&str> = names.into_iter().flatten().map(|(name, _)| name.as_str()).take(40).collect();
    match (kind(schema), names.is_empty()) {
        (kind, true) => kind,
        (kind, false) => format!("{kind} with {}", names.join(", ")),
    }
}

/// A key of a property string.
pub fn key_line(schema: &Schema) -> String {
    if let Some(other) = &schema.alias {
        return format!("another name of {other}");
    }
    let mut parts = vec![match schema.enumeration.is_empty() {
        true => schema.kind.word().to_string(),
        false => schema.enumeration.join("|"),
    }];
    parts.extend((!schema.optional).then(|| "required".to_string()));
    parts.extend(schema.default_key.then(|| "may be written without its key".to_string()));
    parts.extend(schema.minimum.map(|least| format!("from {least}")));
    parts.extend(schema.maximum.map(|most| format!("up to {most}")));
    parts.extend(schema.default.as_ref().map(|default| format!("default {default}")));
    parts.extend(schema.pattern.as_ref().map(|pattern| format!("like {pattern}")));
    parts.join(", ")
}

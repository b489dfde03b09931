//! Example values: the smallest call of each method that works in the default world of the fake.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::json_schema::flat::{Flat, flatten};
use crate::schema::{Kind, Schema};
use crate::tables::ExampleRow;
use crate::{Catalog, Method, glob};

/// An example value as text, for a parameter that a call must have; `None` for others, and for a parameter that the
/// method does not have.
pub fn example(method: &Method, parameter: &str) -> Option<String> {
    let flat = flatten(method).into_iter().find(|flat| flat.name == parameter)?;
    value(method, &flat)
}

/// Everything that a call must have, path parameters included: typed values, not texts, where Proxmox wants a number, a
/// boolean or a list.
pub fn smallest_call(method: &Method) -> Map<String, Value> {
    let mut call = Map::new();
    for flat in flatten(method) {
        let given = if flat.required { value(method, &flat) } else { also(method, flat.name) };
        if let Some(text) = given {
            call.insert(flat.name.into(), typed(flat.schemas[0], &text));
        }
    }
    call
}

/// The first matching row, else the general value, else the first choice.
fn value(method: &Method, flat: &Flat<'_>) -> Option<String> {
    let first_choice = || flat.schemas.iter().find_map(|schema| schema.enumeration.first()).cloned();
    at(method, |row| &row.values, flat.name)
        .or_else(|| also(method, flat.name))
        .or_else(|| general(flat))
        .or_else(first_choice)
}

/// The general value, where the parameter has no choices of its own that exclude it.
fn general(flat: &Flat<'_>) -> Option<String> {
    let value = Catalog::tables().examples.values.get(flat.name)?;
    let fits = flat.schemas.iter().all(|schema| schema.enumeration.is_empty() || schema.enumeration.contains(value));
    fits.then(|| value.clone())
}

fn also(method: &Method, parameter: &str) -> Option<String> {
    at(method, |row| &row.also, parameter)
}

fn at(method: &Method, of: impl Fn(&ExampleRow) -> &BTreeMap<String, String>, parameter: &str) -> Option<String> {
    let rows = Catalog::tables().examples.at.iter().filter(|row| row.matches(method));
    rows.filter_map(|row| of(row).get(parameter)).next().cloned()
}

impl ExampleRow {
    /// Whether the row is about this method.
    pub fn matches(&self, method: &Method) -> bool {
        (self.verbs.is_empty() || self.verbs.contains(&method.verb)) && glob::matches(&self.path, method.path)
    }
}

fn typed(schema: &Schema, text: &str) -> Value {
    match schema.kind {
        Kind::Integer | Kind::Number => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
        Kind::Boolean => Value::Bool(text == "1"),
        Kind::Array => Value::Array(vec![text.into()]),
        _ => text.into(),
    }
}

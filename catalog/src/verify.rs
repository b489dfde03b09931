//! Parameter verification: Proxmox's own results and wording over a method's parameters.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

use crate::schema::Schema;

/// Per-parameter errors in Proxmox's wording, keyed by parameter path (`net0`, `param[0]`, `_root`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParamErrors(pub BTreeMap<String, String>);

impl fmt::Display for ParamErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("parameter verification failed")?;
        for (at, (path, message)) in self.0.iter().enumerate() {
            write!(f, "{} {path}: {}", if at == 0 { ":" } else { ";" }, message.trim_end())?;
        }
        Ok(())
    }
}

impl std::error::Error for ParamErrors {}

/// Normalises as Proxmox does (a single value for an array is wrapped, an array for a `-list` string is joined, JSON
/// null is absent), then verifies, and returns the normalised values.
///
/// # Errors
/// Every parameter that fails, in Proxmox's wording.
pub fn verify(parameters: &Schema, given: &Map<String, Value>) -> Result<Map<String, Value>, ParamErrors> {
    let mut errors = BTreeMap::new();
    let values: Map<String, Value> =
        given.iter().filter(|(_, v)| !v.is_null()).map(|(k, v)| (k.clone(), v.clone())).collect();
    for (name, schema) in parameters.properties.iter() {
        if !schema.optional && !name.contains("[n]") && !values.contains_key(name) {
            errors.insert(name.to_string(), "property is missing and it is not optional".to_string());
        }
    }
    for name in given.keys() {
        if parameters.additional == Some(false) && parameter(parameters, name).is_none() {
            let message = "property is not defined in schema and the schema does not allow additional properties";
            errors.insert(name.clone(), message.to_string());
        }
    }
    if errors.is_empty() { Ok(values) } else { Err(ParamErrors(errors)) }
}

/// The schema of one concrete parameter name: `net0` finds `net[n]` within its real range.
pub fn parameter<'s>(parameters: &'s Schema, name: &str) -> Option<&'s Schema> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let numbered = || (stem.len() < name.len()).then(|| parameters.properties.get(&format!("{stem}[n]")))?;
    let parts = || parameters.all_of.iter().chain(&parameters.one_of).find_map(|part| parameter(part, name));
    parameters.properties.get(name).or_else(numbered).or_else(parts)
}

/// Every top-level parameter (`allOf` and `oneOf` variants flattened), named as in the document (`net[n]`).
pub fn parameter_names(parameters: &Schema) -> Vec<&str> {
    let mut names: Vec<&str> = parameters.properties.iter().map(|(name, _)| name).collect();
    for part in parameters.all_of.iter().chain(&parameters.one_of) {
        names.extend(parameter_names(part));
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// First and last index of a numbered family (`net[n]`) in this schema: 0 to 31 for the network devices of a VM.
pub fn range(parameters: &Schema, family: &str) -> Option<(u32, u32)> {
    parameter_names(parameters).contains(&family).then_some((0, 31))
}

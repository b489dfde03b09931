//! Parameter verification: Proxmox's own results and wording over a method's parameters.
//!
//! [`verify`] is what a Proxmox node does before it runs a method: it normalises (arrays, lists, null) and checks every
//! parameter. The server uses it before anything is sent, the fake to answer 400.

pub(crate) mod check;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::schema::{Kind, Properties, Schema};
use check::{Errors, text_of};

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
    let mut values: Map<String, Value> =
        given.iter().map(|(name, value)| (name.clone(), normalise(parameter(parameters, name), value))).collect();
    let mut errors = Errors::default();
    check::parameters(parameters, &values, &mut errors);
    values.retain(|_, value| !value.is_null());
    let errors = errors.into_map();
    if errors.is_empty() { Ok(values) } else { Err(ParamErrors(errors)) }
}

fn normalise(schema: Option<&Schema>, value: &Value) -> Value {
    let Some(schema) = schema else { return value.clone() };
    match value {
        Value::Array(elements) if schema.kind == Kind::String && schema.is_list() => {
            let texts: Option<Vec<String>> = elements.iter().map(text_of).collect();
            texts.map_or_else(|| value.clone(), |texts| texts.join(",").into())
        }
        // Perl asks whether a scalar is true before it wraps it; JSON's booleans are objects to it.
        Value::String(text) if schema.kind == Kind::Array && !text.is_empty() && text != "0" => {
            Value::Array(vec![value.clone()])
        }
        Value::Number(number) if schema.kind == Kind::Array && number.as_f64() != Some(0.0) => {
            Value::Array(vec![value.clone()])
        }
        value => value.clone(),
    }
}

/// The schema of one concrete parameter name: `net0` finds `net[n]` within its real range. In a schema of variants it
/// is the first variant's.
pub fn parameter<'s>(parameters: &'s Schema, name: &str) -> Option<&'s Schema> {
    let own = parameters.properties.get(name).filter(|_| !name.ends_with("[n]"));
    own.or_else(|| numbered_in(&parameters.properties, name))
        .or_else(|| parameters.type_schema.as_deref().filter(|_| parameters.type_property.as_deref() == Some(name)))
        .or_else(|| parameters.all_of.iter().chain(&parameters.one_of).find_map(|part| parameter(part, name)))
}

/// `net0` -> the schema of `net[n]`, when the index is in range.
fn numbered_in<'s>(properties: &'s Properties, name: &str) -> Option<&'s Schema> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let index = &name[stem.len()..];
    let (first, last) = range_of(stem);
    let number = index.parse::<u32>().ok().filter(|number| number.to_string() == index)?;
    (first..=last).contains(&number).then(|| properties.get(&format!("{stem}[n]")))?
}

/// Every top-level parameter (`allOf` and `oneOf` variants flattened), named as in the document (`net[n]`), sorted.
pub fn parameter_names(parameters: &Schema) -> Vec<&str> {
    let mut names = BTreeSet::new();
    collect_names(parameters, &mut names);
    names.into_iter().collect()
}

fn collect_names<'s>(parameters: &'s Schema, names: &mut BTreeSet<&'s str>) {
    names.extend(parameters.properties.iter().map(|(name, _)| name));
    names.extend(parameters.type_schema.as_ref().and(parameters.type_property.as_deref()));
    for part in parameters.all_of.iter().chain(&parameters.one_of) {
        collect_names(part, names);
    }
}

/// Real index ranges of the numbered families, by name without `[n]` (`data/ranges.toml`).
static RANGES: LazyLock<BTreeMap<String, (u32, u32)>> = LazyLock::new(|| {
    let bytes = include_bytes!(concat!(env!("OUT_DIR"), "/ranges.postcard"));
    postcard::from_bytes(bytes).expect("written by build.rs from the same types")
});

/// First and last index of a numbered family in this schema (`net[n]` or `net`): 0 to 31 for network devices.
pub fn range(parameters: &Schema, family: &str) -> Option<(u32, u32)> {
    let stem = family.strip_suffix("[n]").unwrap_or(family);
    parameter_names(parameters).contains(&format!("{stem}[n]").as_str()).then(|| range_of(stem))
}

/// A family that only an imported catalogue has may have as many members as any; the cluster knows how many it takes.
fn range_of(stem: &str) -> (u32, u32) {
    RANGES.get(stem).copied().unwrap_or((0, 255))
}

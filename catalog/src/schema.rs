//! The Proxmox schema dialect as types: what a parameter or a result may be.
//!
//! The dialect is JSON Schema draft 3 with Proxmox's additions: `optional` instead of a list of required names,
//! formats by name or as a nested object (a "property string"), `requires`, `alias`, `keyAlias`, `default_key`, and
//! one-of variants chosen by another property. `from_json` reads the form of `apidoc.js` and of `data/facts.jsonl`,
//! tolerating its known quirks: numbers as text, booleans as 0 and 1, `optional: 0`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The JSON type that a value must have. Proxmox passes scalars as text, so `Integer` means "looks like one".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Any scalar.
    String,
    /// `^[+-]?\d+$`.
    Integer,
    /// A decimal number, exponent allowed.
    Number,
    /// `0` or `1`, or a JSON boolean in a JSON body.
    Boolean,
    /// A list; a single value is wrapped before verification.
    Array,
    /// A JSON object.
    Object,
    /// No value.
    Null,
    /// No type stated: everything passes.
    #[default]
    Any,
}

impl Kind {
    /// Proxmox's word for the type, as its messages use it.
    pub fn word(self) -> &'static str {
        match self {
            Kind::String => "string",
            Kind::Integer => "integer",
            Kind::Number => "number",
            Kind::Boolean => "boolean",
            Kind::Array => "array",
            Kind::Object => "object",
            Kind::Null => "null",
            Kind::Any => "any",
        }
    }
}

/// How the text of a value is checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Format {
    /// A registered format, such as `pve-vmid` or `pve-vmid-list`.
    Named(String),
    /// A property string with its keys, such as a disk or a network device.
    Keys(Properties),
}

/// Properties in the order of the official document (alphabetical there).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Properties(pub Vec<(String, Schema)>);

impl Properties {
    /// The schema of `name`, exactly as written in the document (`net[n]` for a numbered family).
    pub fn get(&self, name: &str) -> Option<&Schema> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, schema)| schema)
    }

    /// Name and schema of each property.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Schema)> {
        self.0.iter().map(|(name, schema)| (name.as_str(), schema))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn from_json(object: &Map<String, Value>) -> Self {
        Properties(object.iter().map(|(name, value)| (name.clone(), Schema::from_json(value))).collect())
    }
}

/// One parameter, one result, or one part of either.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    /// Required JSON type.
    pub kind: Kind,
    /// Whether the value may be absent.
    pub optional: bool,
    /// What Proxmox uses when the value is absent, as text; only where it fits the type.
    pub default: Option<String>,
    /// Allowed values in the document's order, as text; empty when any value goes.
    pub enumeration: Vec<String>,
    /// Named or nested format.
    pub format: Option<Format>,
    /// Perl pattern; Proxmox applies it as `^pattern$` without a group.
    pub pattern: Option<String>,
    /// Inclusive lower bound.
    pub minimum: Option<f64>,
    /// Inclusive upper bound.
    pub maximum: Option<f64>,
    /// Shortest length in characters.
    pub min_length: Option<u32>,
    /// Longest length in characters.
    pub max_length: Option<u32>,
    /// Another parameter that must be given with this one.
    pub requires: Option<String>,
    /// In a property string: this key is another name of that key.
    pub alias: Option<String>,
    /// In a property string: `thiskey=value` sets `keyAlias` to the key and `alias` to the value.
    pub key_alias: Option<String>,
    /// In a property string: a value without a key belongs here.
    pub default_key: bool,
    /// What an array holds.
    pub items: Option<Box<Schema>>,
    /// What an object holds.
    pub properties: Properties,
    /// Whether an object may hold keys that are not in `properties`; `None` when the document does not say.
    pub additional: Option<bool>,
    /// The property whose value chooses among `instance_types` or `one_of`.
    pub type_property: Option<String>,
    /// What the type property itself may be, where the document states it apart from the properties.
    pub type_schema: Option<Box<Schema>>,
    /// The values of `type_property` for which this one is meant; empty for all.
    pub instance_types: Vec<String>,
    /// Alternatives of one property by instance type.
    pub one_of: Vec<Schema>,
    /// Alternatives that all hold (parameters of section configurations).
    pub all_of: Vec<Schema>,
    /// Where an index leads: the child's key, such as `{name}`.
    pub child_key: Option<String>,
}

impl Schema {
    /// Reads the form of `apidoc.js`. Unknown keys are ignored: the document grows with Proxmox.
    pub fn from_json(value: &Value) -> Schema {
        let Some(object) = value.as_object() else { return Schema::default() };
        let kind = kind_of(object);
        let enumeration = texts(object.get("enum"));
        Schema {
            kind,
            optional: flag(object.get("optional")).unwrap_or(false),
            default: object.get("default").and_then(|value| default_text(kind, &enumeration, value)),
            format: object.get("format").and_then(format_of),
            pattern: object.get("pattern").and_then(text),
            minimum: object.get("minimum").and_then(number),
            maximum: object.get("maximum").and_then(number),
            min_length: object.get("minLength").and_then(number).map(|n| n as u32),
            max_length: object.get("maxLength").and_then(number).map(|n| n as u32),
            requires: object.get("requires").and_then(text),
            alias: object.get("alias").and_then(text),
            key_alias: object.get("keyAlias").and_then(text),
            default_key: flag(object.get("default_key")).unwrap_or(false),
            items: object.get("items").map(|items| Box::new(Schema::from_json(items))),
            properties: object
                .get("properties")
                .and_then(Value::as_object)
                .map(Properties::from_json)
                .unwrap_or_default(),
            additional: object.get("additionalProperties").map(|value| flag(Some(value)).unwrap_or(true)),
            type_property: object.get("type-property").and_then(text),
            type_schema: object.get("type-property-schema").map(|schema| Box::new(Schema::from_json(schema))),
            instance_types: instance_types(object),
            one_of: schemas(object.get("oneOf")),
            all_of: schemas(object.get("allOf")),
            child_key: object.get("links").and_then(child_key),
            enumeration,
        }
    }

    /// Whether a value of this schema is a list written in one string (`pve-vmid-list` and its kin).
    pub fn is_list(&self) -> bool {
        matches!(&self.format, Some(Format::Named(name)) if name.ends_with("-list"))
    }

    /// The keys of its property string, when the format states them in place.
    pub fn keys(&self) -> Option<&Properties> {
        match &self.format {
            Some(Format::Keys(keys)) => Some(keys),
            _ => None,
        }
    }
}

fn kind_of(object: &Map<String, Value>) -> Kind {
    match object.get("type").and_then(Value::as_str) {
        Some("string") => Kind::String,
        Some("integer") => Kind::Integer,
        Some("number") => Kind::Number,
        Some("boolean") => Kind::Boolean,
        Some("array") => Kind::Array,
        Some("object") => Kind::Object,
        Some("null") => Kind::Null,
        _ => Kind::Any,
    }
}

fn format_of(value: &Value) -> Option<Format> {
    match value {
        Value::Object(keys) => Some(Format::Keys(Properties::from_json(keys))),
        other => text(other).map(Format::Named),
    }
}

fn schemas(value: Option<&Value>) -> Vec<Schema> {
    value.and_then(Value::as_array).map(|list| list.iter().map(Schema::from_json).collect()).unwrap_or_default()
}

/// The document says `instance-types` (a list) on properties and `instance-type` (one) on whole variants.
fn instance_types(object: &Map<String, Value>) -> Vec<String> {
    match object.get("instance-type").and_then(text) {
        Some(one) => vec![one],
        None => texts(object.get("instance-types")),
    }
}

fn child_key(links: &Value) -> Option<String> {
    let links = links.as_array()?;
    let child = links.iter().find(|link| link.get("rel").and_then(Value::as_str) == Some("child"))?;
    let href = child.get("href")?.as_str()?;
    Some(href.trim_matches(|c| c == '{' || c == '}').to_string())
}

/// A default is kept only where it fits the type: several official ones are sentences.
fn default_text(kind: Kind, enumeration: &[String], value: &Value) -> Option<String> {
    let given = text(value)?;
    match kind {
        Kind::Boolean => match given.as_str() {
            "1" | "yes" | "on" | "true" => Some("1".into()),
            "0" | "no" | "off" | "false" => Some("0".into()),
            _ => None,
        },
        Kind::Integer => given.parse::<i64>().ok().map(|_| given),
        Kind::Number => given.parse::<f64>().ok().map(|_| given),
        _ if enumeration.is_empty() => (given.len() <= 64 && !given.contains(' ')).then_some(given),
        _ => enumeration.contains(&given).then_some(given),
    }
}

fn flag(value: Option<&Value>) -> Option<bool> {
    match value? {
        Value::Bool(b) => Some(*b),
        Value::Number(n) => Some(n.as_f64() != Some(0.0)),
        Value::String(s) => Some(!s.is_empty() && s != "0"),
        _ => None,
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(s) => Some(s.clone()),
        Value::Number(n) => Some(n.to_string()),
        Value::Bool(b) => Some(if *b { "1".into() } else { "0".into() }),
        _ => None,
    }
}

fn texts(value: Option<&Value>) -> Vec<String> {
    value.and_then(Value::as_array).map(|list| list.iter().filter_map(text).collect()).unwrap_or_default()
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(n) => n.as_f64(),
        Value::String(s) => s.trim().parse().ok(),
        _ => None,
    }
}

//! Parameters of tools that are written by hand: stated once, they give the schema that clients see and the check of what
//! clients send.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::error::{Code, Fault};
use crate::tools::arguments::{self, value};
use crate::tools::nearest::{nearest, question};

/// One parameter.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// Whether it must be given.
    pub required: bool,
    /// What it means, where the name does not say it; empty otherwise.
    pub says: &'static str,
}

/// What a parameter takes.
#[derive(Debug, Clone, Copy)]
pub enum Takes {
    /// A text; numbers are taken as their text.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A whole number within bounds.
    Integer(i64, i64),
    /// Yes or no, in any of Proxmox's spellings.
    Flag,
    /// A list of texts; one text with commas is split.
    Texts,
    /// An object whose keys are not fixed.
    Object,
}

impl Parameter {
    /// A text.
    pub const fn text(name: &'static str, says: &'static str) -> Parameter {
        Parameter::new(name, Takes::Text, says)
    }

    /// One of these words.
    pub const fn choice(name: &'static str, words: &'static [&'static str], says: &'static str) -> Parameter {
        Parameter::new(name, Takes::Choice(words), says)
    }

    /// A whole number from `least` to `most`.
    pub const fn integer(name: &'static str, least: i64, most: i64, says: &'static str) -> Parameter {
        Parameter::new(name, Takes::Integer(least, most), says)
    }

    /// Yes or no.
    pub const fn flag(name: &'static str, says: &'static str) -> Parameter {
        Parameter::new(name, Takes::Flag, says)
    }

    /// A list of texts.
    pub const fn texts(name: &'static str, says: &'static str) -> Parameter {
        Parameter::new(name, Takes::Texts, says)
    }

    /// An object.
    pub const fn object(name: &'static str, says: &'static str) -> Parameter {
        Parameter::new(name, Takes::Object, says)
    }

    /// The same, but it must be given.
    pub const fn required(self) -> Parameter {
        Parameter { required: true, ..self }
    }

    const fn new(name: &'static str, takes: Takes, says: &'static str) -> Parameter {
        Parameter { name, takes, required: false, says }
    }

    fn schema(&self) -> Value {
        let mut schema = match self.takes {
            Takes::Text => json!({"type": "string"}),
            Takes::Choice(words) => json!({"type": "string", "enum": words}),
            Takes::Integer(least, most) => json!({"type": "integer", "minimum": least, "maximum": most}),
            Takes::Flag => json!({"type": "boolean"}),
            Takes::Texts => json!({"type": "array", "items": {"type": "string"}}),
            Takes::Object => json!({"type": "object"}),
        };
        if !self.says.is_empty() {
            schema["description"] = self.says.into();
        }
        schema
    }

    /// The value in its plain form, or what is wrong with it.
    fn read(&self, value: &Value) -> Result<Value, String> {
        match self.takes {
            Takes::Text => value::text(value).map(Value::from).ok_or_else(|| "takes a text".into()),
            Takes::Choice(words) => {
                let given = value::text(value).unwrap_or_default();
                let found = words.iter().find(|word| word.eq_ignore_ascii_case(&given));
                found.map(|word| Value::from(*word)).ok_or_else(|| format!("takes one of {}", words.join(", ")))
            }
            Takes::Integer(least, most) => {
                let number = value::text(value).and_then(|text| text.trim().parse::<i64>().ok());
                let fits = number.filter(|number| (least..=most).contains(number));
                fits.map(Value::from).ok_or_else(|| format!("takes a whole number from {least} to {most}"))
            }
            Takes::Flag => value::flag(value).map(Value::from).ok_or_else(|| "takes true or false".into()),
            Takes::Texts => texts(value).ok_or_else(|| "takes a list of texts".into()),
            Takes::Object => object(value).ok_or_else(|| "takes an object".into()),
        }
    }
}

fn texts(given: &Value) -> Option<Value> {
    match given {
        Value::Array(list) => list.iter().map(value::text).collect::<Option<Vec<_>>>().map(Value::from),
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(list @ Value::Array(_)) => texts(&list),
            _ => Some(text.split(',').map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>().into()),
        },
        _ => None,
    }
}

fn object(given: &Value) -> Option<Value> {
    match given {
        Value::Object(_) => Some(given.clone()),
        Value::String(text) => serde_json::from_str::<Map<String, Value>>(text).ok().map(Value::Object),
        _ => None,
    }
}

/// The JSON Schema of a list of parameters: a plain object at the root.
pub fn input_schema(parameters: &[Parameter]) -> Map<String, Value> {
    let properties: Map<String, Value> = parameters.iter().map(|p| (p.name.to_string(), p.schema())).collect();
    let required: Vec<&str> = parameters.iter().filter(|p| p.required).map(|p| p.name).collect();
    let mut schema = Map::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), properties.into());
    if !required.is_empty() {
        schema.insert("required".into(), required.into());
    }
    schema.insert("additionalProperties".into(), false.into());
    schema
}

/// With several clusters, every tool says which one.
pub fn add_instance(schema: &mut Map<String, Value>, instances: &[String]) {
    let choice = json!({"type": "string", "enum": instances});
    let properties = schema.entry("properties").or_insert_with(|| Map::new().into());
    if let Some(properties) = properties.as_object_mut() {
        properties.insert("instance".into(), choice);
    }
}

/// Arguments that have been checked against a tool's parameters.
#[derive(Debug, Default, Clone)]
pub struct Given(Map<String, Value>);

impl Given {
    /// A text, or a word of a choice.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// A whole number.
    pub fn integer(&self, name: &str) -> Option<i64> {
        self.0.get(name).and_then(Value::as_i64)
    }

    /// A whole number that counts something.
    pub fn count(&self, name: &str) -> Option<usize> {
        self.integer(name).and_then(|number| usize::try_from(number).ok())
    }

    /// Yes or no.
    pub fn flag(&self, name: &str) -> Option<bool> {
        self.0.get(name).and_then(Value::as_bool)
    }

    /// A list of texts; empty when not given.
    pub fn texts(&self, name: &str) -> Vec<&str> {
        let list = self.0.get(name).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// An object; empty when not given.
    pub fn object(&self, name: &str) -> Map<String, Value> {
        self.0.get(name).and_then(Value::as_object).cloned().unwrap_or_default()
    }
}

/// Checks the arguments of `tool`: all that is wrong at once. `null` is the same as not given.
///
/// # Errors
/// `bad_argument` with one message per argument.
pub fn read(tool: &str, parameters: &[Parameter], arguments: Map<String, Value>) -> Result<Given, Fault> {
    let mut errors = BTreeMap::new();
    let mut given = Map::new();
    for (name, value) in arguments.into_iter().filter(|(_, value)| !value.is_null()) {
        match parameters.iter().find(|parameter| parameter.name == name) {
            None => {
                let near = nearest(&name, parameters.iter().map(|p| p.name), 2);
                let known = parameters.iter().map(|p| p.name).collect::<Vec<_>>().join(", ");
                let advice = question(&near).unwrap_or_else(|| match known.is_empty() {
                    true => "the tool takes no arguments".into(),
                    false => format!("the tool takes {known}"),
                });
                errors.insert(name, format!("unknown argument, {advice}"));
            }
            Some(parameter) => match parameter.read(&value) {
                Ok(value) => drop(given.insert(name, value)),
                Err(message) => drop(errors.insert(name, message)),
            },
        }
    }
    for parameter in parameters.iter().filter(|p| p.required && !given.contains_key(p.name)) {
        errors.entry(parameter.name.into()).or_insert_with(|| "must be given".into());
    }
    if errors.is_empty() { Ok(Given(given)) } else { Err(arguments::refused(tool, errors)) }
}

impl Fault {
    /// A single argument that is not acceptable.
    pub fn argument(name: &str, message: impl Into<String>) -> Fault {
        let message = message.into();
        Fault::new(Code::BadArgument, format!("{name}: {message}"))
            .detail("errors", Value::Object([(name.to_string(), message.into())].into_iter().collect()))
    }
}

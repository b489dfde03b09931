//! The checks themselves, in Proxmox's order: absent, type, elements or properties, format, pattern, lengths, bounds,
//! enumeration. The first failing step ends a property.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::format;
use crate::pattern;
use crate::property;
use crate::schema::{Format, Kind, Properties, Schema};

const MISSING: &str = "property is missing and it is not optional";
const UNKNOWN: &str = "property is not defined in schema and the schema does not allow additional properties";

/// Errors by path; two on one path are joined with the two characters `\n`, as Proxmox does.
#[derive(Debug, Default)]
pub(crate) struct Errors(BTreeMap<String, String>);

impl Errors {
    fn add(&mut self, path: &str, message: impl Into<String>) {
        let path = if path.is_empty() { "_root" } else { path };
        let message = message.into();
        match self.0.get_mut(path) {
            Some(earlier) => {
                earlier.push_str("\\n");
                earlier.push_str(&message);
            }
            None => {
                self.0.insert(path.to_string(), message);
            }
        }
    }

    pub(crate) fn into_map(self) -> BTreeMap<String, String> {
        self.0
    }

    /// `path: message` lines, each ended, as they stand inside the message of a property string; `None` without errors.
    pub(crate) fn into_lines(self) -> Option<String> {
        (!self.0.is_empty()).then(|| self.0.iter().map(|(path, message)| format!("{path}: {message}\n")).collect())
    }
}

/// Checks the parameters of a method.
pub(crate) fn parameters(schema: &Schema, values: &Map<String, Value>, errors: &mut Errors) {
    if schema.all_of.is_empty() && schema.one_of.is_empty() {
        return properties(&schema.properties, schema.additional, values, "", errors);
    }
    let mut parts = Parts::default();
    variants(schema, values, "", &mut parts, errors);
    let unknown = values.keys().filter(|name| !parts.known.contains(&name.as_str()));
    for name in unknown {
        errors.add(&below(&parts.inside, name), UNKNOWN);
    }
}

/// What a combination of schemas has defined so far, and the variant that was chosen.
#[derive(Default)]
struct Parts<'v> {
    known: Vec<&'v str>,
    inside: String,
}

/// A combination of schemas, which all hold; some of them are a choice by the value of a type property, and messages
/// about the chosen variant stand below `oneOf[<type>]`.
fn variants<'v>(
    schema: &Schema,
    values: &'v Map<String, Value>,
    path: &str,
    parts: &mut Parts<'v>,
    errors: &mut Errors,
) {
    let names = || values.keys().map(String::as_str);
    parts.known.extend(names().filter(|name| defined(&schema.properties, name).is_some()));
    properties(&schema.properties, None, values, path, errors);
    for part in &schema.all_of {
        variants(part, values, path, parts, errors);
    }
    let (Some(property), Some(kind)) = (&schema.type_property, &schema.type_schema) else { return };
    parts.known.extend(names().filter(|name| name == property));
    let given = values.get(property).filter(|value| !value.is_null());
    let before = errors.0.len();
    value(given, kind, property, errors);
    let Some(given) = given.and_then(text_of).filter(|_| errors.0.len() == before) else { return };
    let Some(variant) = schema.one_of.iter().find(|variant| variant.instance_types.contains(&given)) else {
        return errors.add(property, format!("'{given}' is not a valid oneOf variant"));
    };
    parts.inside = below(path, &format!("oneOf[{given}]"));
    variants(variant, values, &parts.inside.clone(), parts, errors);
}

fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_string() } else { format!("{path}.{name}") }
}

/// The schema of a name: its own, or that of its numbered family.
fn defined<'s>(properties: &'s Properties, name: &str) -> Option<&'s Schema> {
    properties.get(name).filter(|_| !name.ends_with("[n]")).or_else(|| super::numbered_in(properties, name))
}

/// Checks an object: what it holds, what it lacks, and what it may not hold.
pub(crate) fn properties(
    properties: &Properties,
    additional: Option<bool>,
    values: &Map<String, Value>,
    path: &str,
    errors: &mut Errors,
) {
    for (name, schema) in properties.iter().filter(|(name, _)| !name.ends_with("[n]")) {
        property_value(values.get(name), schema, values, &below(path, name), errors);
    }
    for (name, given) in values {
        let Some(schema) = defined(properties, name) else {
            if additional == Some(false) {
                errors.add(&below(path, name), UNKNOWN);
            }
            continue;
        };
        if properties.get(name).is_none() {
            value(Some(given), schema, &below(path, name), errors);
        }
        let needed = schema.requires.as_deref().filter(|needed| values.get(*needed).is_none_or(Value::is_null));
        if let Some(needed) = needed {
            errors.add(&below(path, needed), format!("missing property required by '{}'", below(path, name)));
        }
    }
}

/// One property, which may be meant for some instance types only.
fn property_value(
    given: Option<&Value>,
    schema: &Schema,
    siblings: &Map<String, Value>,
    path: &str,
    errors: &mut Errors,
) {
    let Some(property) = &schema.type_property else { return value(given, schema, path, errors) };
    let instance = siblings.get(property).and_then(text_of);
    let meant = |schema: &Schema| instance.as_ref().is_some_and(|instance| schema.instance_types.contains(instance));
    if !schema.one_of.is_empty() {
        match (instance.as_ref(), schema.one_of.iter().find(|variant| meant(variant))) {
            (None, _) => {}
            (Some(_), Some(variant)) => value(given, variant, path, errors),
            (Some(_), None) if given.is_some() => errors.add(path, UNKNOWN),
            (Some(_), None) => {}
        }
        return;
    }
    let required_here = instance.is_none() || meant(schema);
    if given.is_some_and(|given| !given.is_null()) || required_here {
        value(given, schema, path, errors);
    }
}

/// One value against its schema.
pub(crate) fn value(given: Option<&Value>, schema: &Schema, path: &str, errors: &mut Errors) {
    let Some(given) = given.filter(|given| !given.is_null()) else {
        if !schema.optional && schema.alias.is_none() && schema.kind != Kind::Null {
            errors.add(path, MISSING);
        }
        return;
    };
    if let Err(message) = kind(schema.kind, given) {
        return errors.add(path, message);
    }
    match given {
        Value::Array(elements) => {
            for (at, element) in elements.iter().enumerate() {
                if let Some(items) = &schema.items {
                    value(Some(element), items, &format!("{path}[{at}]"), errors);
                }
            }
        }
        Value::Object(object) => {
            if !schema.properties.is_empty() || schema.additional == Some(true) {
                properties(&schema.properties, schema.additional, object, path, errors);
            }
        }
        // JSON's own booleans are objects to Perl: nothing more is checked.
        Value::Bool(_) => {}
        scalar => {
            let text = text_of(scalar).unwrap_or_default();
            if let Err(message) = scalar_text(&text, schema, path) {
                errors.add(path, message);
            }
        }
    }
}

fn kind(kind: Kind, given: &Value) -> Result<(), String> {
    let word = kind.word();
    let reference = match given {
        Value::Array(_) => Some("ARRAY"),
        Value::Object(_) => Some("HASH"),
        Value::Bool(_) => Some("JSON::PP::Boolean"),
        _ => None,
    };
    let fits = match (kind, given) {
        (Kind::Any, _) | (Kind::Array, Value::Array(_)) | (Kind::Object, Value::Object(_)) => return Ok(()),
        (Kind::Boolean, Value::Bool(_)) => return Ok(()),
        (Kind::Array | Kind::Object, _) => return Err(format!("type check ('{word}') failed")),
        (Kind::Null, _) => return Err(format!("type check ('{word}') failed - value is not null")),
        (Kind::String, _) => reference.is_none(),
        (Kind::Integer, given) => text_of(given).is_some_and(|text| is_integer(&text)),
        (Kind::Number, given) => text_of(given).is_some_and(|text| is_number(&text)),
        (Kind::Boolean, given) => text_of(given).is_some_and(|text| matches!(format::chomp(&text), "0" | "1")),
    };
    if fits {
        return Ok(());
    }
    Err(match reference {
        Some(reference) => format!("type check ('{word}') failed - got {reference}"),
        None => format!("type check ('{word}') failed - got '{}'", text_of(given).unwrap_or_default()),
    })
}

fn scalar_text(text: &str, schema: &Schema, path: &str) -> Result<(), String> {
    match &schema.format {
        Some(Format::Named(name)) => format::check_at(name, text, path),
        Some(Format::Keys(keys)) => property::parse_at(keys, text, path).map(drop).map_err(|error| error.0),
        None => Ok(()),
    }
    .map_err(|message| format!("invalid format - {message}"))?;
    // What the engine cannot decide, Proxmox will.
    if schema.pattern.as_ref().is_some_and(|pattern| pattern::matches(pattern, text) == Some(false)) {
        return Err("value does not match the regex pattern".into());
    }
    let length = text.chars().count();
    if let Some(most) = schema.max_length.filter(|most| length > *most as usize) {
        return Err(format!("value may only be {most} characters long"));
    }
    if let Some(least) = schema.min_length.filter(|least| length < *least as usize) {
        return Err(format!("value must be at least {least} characters long"));
    }
    if let Some(number) = Some(text).filter(|text| is_number(text)).and_then(|text| text.trim().parse::<f64>().ok()) {
        if let Some(most) = schema.maximum.filter(|most| number > *most) {
            return Err(format!("value must have a maximum value of {}", number_text(most)));
        }
        if let Some(least) = schema.minimum.filter(|least| number < *least) {
            return Err(format!("value must have a minimum value of {}", number_text(least)));
        }
    }
    let listed = schema.enumeration.is_empty() || schema.enumeration.iter().any(|word| word == text);
    let words = || schema.enumeration.join(", ");
    if listed { Ok(()) } else { Err(format!("value '{text}' does not have a value in the enumeration '{}'", words())) }
}

fn is_integer(text: &str) -> bool {
    pattern::whole(r"[+-]?\d+", text)
}

fn is_number(text: &str) -> bool {
    pattern::whole(r"[+-]?(?:\d+\.\d+|\d+\.|\.\d+|\d+)(?:[eE][+-]?\d+)?", text)
}

/// A scalar as Perl writes it; `None` for booleans, arrays, objects and null.
pub(crate) fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(number), _, _) => number.to_string(),
            (_, Some(number), _) => number.to_string(),
            (_, _, number) => number.map(number_text).unwrap_or_default(),
        }),
        _ => None,
    }
}

/// A number with Perl's fifteen significant digits: `1.5`, `0.1`, `1e+20`.
fn number_text(number: f64) -> String {
    let scientific = format!("{number:.14e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return number.to_string() };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |text: &str| {
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text.to_string() }
    };
    if (-5..15).contains(&exponent) {
        return trim(&format!("{number:.*}", usize::try_from(14 - exponent).unwrap_or(0)));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trim(mantissa), exponent.abs())
}

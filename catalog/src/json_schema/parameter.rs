//! The JSON Schema of one parameter.

use serde_json::{Map, Value, json};

use super::flat::Flat;
use super::{Detail, LONGEST_GRAMMAR};
use crate::schema::{Format, Kind, Schema};
use crate::{Catalog, Method, property, verify};

/// More choices than this are told as ranges in a compact schema: they are numbered disks.
const MOST_CHOICES: usize = 40;

/// One entry of `properties`.
pub fn schema(method: &Method, flat: &Flat<'_>, detail: Detail) -> Map<String, Value> {
    let alternatives = alternatives(flat);
    let mut out = Map::new();
    let mut says: Vec<String> = Vec::new();
    let last = verify::range(method.parameters(), flat.name).map_or(String::new(), |(_, last)| last.to_string());
    match flat.family() {
        Some(family) if !flat.stem_taken => {
            out.insert("type".into(), "object".into());
            if detail.is_full() {
                out.insert("additionalProperties".into(), json!({"type": "string"}));
            }
            says.push(format!("{family}0…{family}{last} by index"));
        }
        Some(family) => {
            out.insert("type".into(), "string".into());
            says.push(format!("up to {family}{last}"));
        }
        None => says.extend(value(&mut out, &alternatives, detail)),
    }
    let words = words(method, flat, &alternatives).unwrap_or_default();
    let instead = words.strip_prefix('=').map(str::trim_start);
    says.push(instead.unwrap_or(words).to_string());
    if instead.is_none() || detail.is_full() {
        says.extend(alternatives.first().and_then(|schema| grammar(schema)));
    }
    let list = list(&alternatives);
    says.extend(list.filter(|_| !words.contains(',') && !words.contains("separated")).map(String::from));
    says.extend(facts(&alternatives, detail));
    let official = method.text(flat.name).filter(|_| detail == Detail::Official);
    says.extend(official.map(official_text));
    says.retain(|text| !text.is_empty());
    if !says.is_empty() {
        out.insert("description".into(), says.join("; ").into());
    }
    out
}

/// Somebody else's words, so that nobody takes them for ours.
pub fn official_text(text: &str) -> String {
    format!("Proxmox's text: {text}")
}

/// The schemas that really describe values: a property that differs by type is a list of alternatives.
fn alternatives<'s>(flat: &Flat<'s>) -> Vec<&'s Schema> {
    flat.schemas
        .iter()
        .flat_map(|schema| if schema.one_of.is_empty() { vec![*schema] } else { schema.one_of.iter().collect() })
        .collect()
}

/// Type, choices and, in full, the limits; gives back choices that are better told than listed.
fn value(out: &mut Map<String, Value>, alternatives: &[&Schema], detail: Detail) -> Option<String> {
    let first = alternatives.first()?;
    if first.kind != Kind::Any {
        out.insert("type".into(), first.kind.word().into());
    }
    if first.kind == Kind::Array {
        let items: Vec<&Schema> = alternatives.iter().filter_map(|schema| schema.items.as_deref()).collect();
        let mut item = Map::new();
        let told = value(&mut item, &items, detail);
        out.insert("items".into(), item.into());
        return told;
    }
    let choices = choices(alternatives);
    if detail == Detail::Compact && choices.len() > MOST_CHOICES {
        return Some(ranges(&choices));
    }
    if !choices.is_empty() {
        out.insert("enum".into(), choices.into());
    }
    if let (true, [only]) = (detail.is_full(), alternatives) {
        limits(out, only);
    }
    None
}

/// `mp0`, `mp1`, `mp2`, `rootfs` -> `mp0…mp2, rootfs`, cut after a while.
fn ranges(choices: &[Value]) -> String {
    let mut told: Vec<(&str, &str, &str)> = Vec::new();
    for choice in choices.iter().filter_map(Value::as_str) {
        let stem = choice.trim_end_matches(|c: char| c.is_ascii_digit());
        match told.last_mut() {
            Some((last, _, end)) if *last == stem && stem != choice => *end = choice,
            _ => told.push((stem, choice, choice)),
        }
    }
    let told = told.iter().map(|(_, start, end)| if start == end { (*start).into() } else { format!("{start}…{end}") });
    let told: Vec<String> = told.collect();
    match told.len() > MOST_CHOICES {
        true => format!("{} … ({} in all)", told[..MOST_CHOICES / 2].join(", "), choices.len()),
        false => told.join(", "),
    }
}

/// The words that any alternative allows; empty as soon as one of them allows everything.
fn choices(alternatives: &[&Schema]) -> Vec<Value> {
    let mut choices: Vec<Value> = Vec::new();
    for schema in alternatives {
        if schema.enumeration.is_empty() {
            return Vec::new();
        }
        for word in &schema.enumeration {
            let word = match schema.kind {
                Kind::Integer | Kind::Number => serde_json::from_str(word).unwrap_or_else(|_| word.as_str().into()),
                _ => Value::from(word.as_str()),
            };
            if !choices.contains(&word) {
                choices.push(word);
            }
        }
    }
    choices
}

fn limits(out: &mut Map<String, Value>, schema: &Schema) {
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            out.insert(key.into(), value);
        }
    };
    put("minimum", schema.minimum.map(number));
    put("maximum", schema.maximum.map(number));
    put("minLength", schema.min_length.map(Value::from));
    put("maxLength", schema.max_length.map(Value::from));
    put("pattern", schema.pattern.as_deref().and_then(portable).map(Value::from));
    put("default", schema.default.as_deref().map(|text| default(schema.kind, text)));
}

fn number(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < 9e15 { Value::from(number as i64) } else { Value::from(number) }
}

fn default(kind: Kind, text: &str) -> Value {
    match kind {
        Kind::Boolean => Value::Bool(text == "1"),
        Kind::Integer | Kind::Number => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
        _ => text.into(),
    }
}

/// A Perl pattern as JSON Schema understands it (unanchored there, anchored in Proxmox); `None` for what only Perl reads.
fn portable(pattern: &str) -> Option<String> {
    let perl_only = ["(?^", "(?i", "(?<", "\\A", "\\z", "\\Z", "\\Q", "[[:", "\\h", "++", "*+"];
    let plain = !perl_only.iter().any(|mark| pattern.contains(mark)) && regex::Regex::new(pattern).is_ok();
    plain.then(|| format!("^(?:{pattern})$"))
}

/// Our words: those on this parameter of this method, else on its name and type, else on its name (`net[n]` for a
/// family). Behind a `=` they stand for the grammar in a compact schema.
fn words(method: &Method, flat: &Flat<'_>, alternatives: &[&Schema]) -> Option<&'static str> {
    let glossary = &Catalog::tables().glossary;
    let name = flat.name;
    let kind = alternatives.first().map_or(Kind::Any, |schema| schema.kind).word();
    let own = glossary.get(&format!("{}#{name}", method.key()));
    let found = own.or_else(|| glossary.get(&format!("{name}:{kind}"))).or_else(|| glossary.get(name));
    found.map(String::as_str).filter(|words| !words.is_empty())
}

/// The grammar of a property string, or of those in a list.
fn grammar(schema: &Schema) -> Option<String> {
    let schema = schema.items.as_deref().filter(|_| schema.kind == Kind::Array).unwrap_or(schema);
    property::keys(schema).map(|keys| property::grammar(keys, LONGEST_GRAMMAR))
}

/// How a list is written in one text.
fn list(alternatives: &[&Schema]) -> Option<&'static str> {
    let first = alternatives.first()?;
    (first.is_list() && first.kind == Kind::String && property::keys(first).is_none()).then_some("comma-separated")
}

/// What only text can say.
fn facts(alternatives: &[&Schema], detail: Detail) -> Vec<String> {
    let mut facts = Vec::new();
    if let [only] = alternatives
        && let Some(other) = &only.requires
    {
        facts.push(format!("needs '{other}'"));
    }
    if detail.is_full() {
        let mut types: Vec<&str> =
            alternatives.iter().flat_map(|schema| &schema.instance_types).map(String::as_str).collect();
        types.dedup();
        if !types.is_empty() {
            facts.push(format!("for {}", types.join(", ")));
        }
        if let Some(Format::Named(name)) = alternatives.first().and_then(|schema| schema.format.as_ref()) {
            facts.push(format!("format {name}"));
        }
    }
    facts
}

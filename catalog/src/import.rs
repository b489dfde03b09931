//! Reads an official `apidoc.js` as data and writes it as facts: one line of JSON per method, sorted; its sentences only
//! where somebody asks for them.
//!
//! The file is never evaluated. It is a JavaScript assignment whose right side is JSON; what follows the value (the
//! viewer's code) is not looked at. Whoever wrote it is not trusted: its size, its depth and the number of its values are
//! limited before any memory is taken for them.

use serde_json::{Map, Value};

use crate::texts::{Texts, clean};

/// The largest document that is read, in bytes: 32 MiB. The real one has 2.4 million.
pub const MOST_BYTES: usize = 32 << 20;

/// Most values in a document, the keys of its objects not counted. The real one has some 60,000.
const MOST_VALUES: usize = 600_000;

/// Why a document cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// No `[` opens the schema.
    #[error("this is no apidoc.js: there is no list that could be the API schema")]
    NoSchema,
    /// The JSON is broken or cut off.
    #[error("the API schema cannot be read: {0}")]
    Json(#[from] serde_json::Error),
    /// The JSON holds no methods.
    #[error("the API schema holds no methods")]
    Empty,
    /// More than [`MOST_BYTES`].
    #[error("this is no apidoc.js: it is larger than {} MiB", MOST_BYTES >> 20)]
    TooLarge,
    /// More values than any API has.
    #[error("this is no apidoc.js: it holds more than {MOST_VALUES} values")]
    TooMany,
}

/// Keys whose values are Proxmox's sentences, or are derived from the other keys.
const NOT_FACTS: [&str; 7] =
    ["description", "verbose_description", "typetext", "format_description", "title", "renderer", "print_width"];

/// The facts of one method, as they stand in `data/facts.jsonl`.
#[derive(Debug, Clone)]
pub struct Fact {
    /// Path template, such as `/nodes/{node}/qemu`.
    pub path: String,
    /// `GET`, `POST`, `PUT` or `DELETE`.
    pub verb: String,
    /// The whole method without its texts.
    pub body: Map<String, Value>,
    /// Its texts, cleaned; none unless they were asked for.
    pub texts: Texts,
}

impl Fact {
    /// One line of `facts.jsonl`, without a line end.
    pub fn line(&self) -> String {
        let mut line = Map::new();
        line.insert("path".into(), self.path.clone().into());
        line.insert("verb".into(), self.verb.clone().into());
        line.extend(self.body.clone());
        if !self.texts.is_empty() {
            let texts = self.texts.iter().map(|(name, text)| (name.clone(), Value::from(text.as_str())));
            line.insert("texts".into(), texts.collect::<Map<String, Value>>().into());
        }
        Value::Object(line).to_string()
    }
}

/// Whether the document's own texts are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Facts only: what the project's own file of facts holds.
    Facts,
    /// Its texts too: they stay with the person who imported them.
    Texts,
}

/// Reads the text of an `apidoc.js`; methods sorted by path, then verb.
///
/// # Errors
/// When there is no schema, the JSON is broken, too deep or too large, or it describes nothing.
pub fn read(apidoc: &str, wanted: Wanted) -> Result<Vec<Fact>, ImportError> {
    if apidoc.len() > MOST_BYTES {
        return Err(ImportError::TooLarge);
    }
    // A value is preceded by one of these; some stand in texts, and are counted for nothing.
    if apidoc.bytes().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count() > MOST_VALUES {
        return Err(ImportError::TooMany);
    }
    let start = apidoc.find('[').ok_or(ImportError::NoSchema)?;
    let mut values = serde_json::Deserializer::from_str(&apidoc[start..]).into_iter::<Value>();
    let tree = values.next().ok_or(ImportError::NoSchema)??;
    let mut facts = Vec::new();
    for node in tree.as_array().into_iter().flatten() {
        collect(node, wanted, &mut facts);
    }
    if facts.is_empty() {
        return Err(ImportError::Empty);
    }
    facts.sort_by(|a, b| (&a.path, &a.verb).cmp(&(&b.path, &b.verb)));
    Ok(facts)
}

/// The whole file as text, each line ended.
pub fn to_jsonl(facts: &[Fact]) -> String {
    facts.iter().map(|fact| fact.line() + "\n").collect()
}

fn collect(node: &Value, wanted: Wanted, facts: &mut Vec<Fact>) {
    let path = node.get("path").and_then(Value::as_str).unwrap_or_default();
    for (verb, method) in node.get("info").and_then(Value::as_object).into_iter().flatten() {
        let Some(method) = method.as_object() else { continue };
        let body = without_texts(method);
        let texts = if wanted == Wanted::Texts { texts(method) } else { Texts::new() };
        facts.push(Fact { path: path.into(), verb: verb.clone(), body: without_key(body, "method"), texts });
    }
    for child in node.get("children").and_then(Value::as_array).into_iter().flatten() {
        collect(child, wanted, facts);
    }
}

/// The texts of a method, of its parameters, and of the keys of their property strings.
fn texts(method: &Map<String, Value>) -> Texts {
    let mut texts = Texts::new();
    let mut say = |name: String, of: &Value| {
        let text = of.get("description").or_else(|| of.get("verbose_description")).and_then(Value::as_str);
        let text = text.map(clean).filter(|text| !text.is_empty());
        if let Some(text) = text {
            texts.entry(name).or_insert(text);
        }
    };
    let text = method.get("description").and_then(Value::as_str).map(clean).filter(|text| !text.is_empty());
    for (name, parameter) in method.get("parameters").into_iter().flat_map(named) {
        say(name.clone(), parameter);
        let keys = parameter.get("format").and_then(Value::as_object);
        for (key, schema) in keys.into_iter().flatten() {
            say(format!("{name}.{key}"), schema);
        }
    }
    texts.extend(text.map(|text| (String::new(), text)));
    texts
}

/// The parameters of a method, those of its variants too.
fn named(schema: &Value) -> Vec<(&String, &Value)> {
    let mut found: Vec<(&String, &Value)> =
        schema.get("properties").and_then(Value::as_object).into_iter().flatten().collect();
    for key in ["allOf", "oneOf"] {
        found.extend(schema.get(key).and_then(Value::as_array).into_iter().flatten().flat_map(named));
    }
    found
}

fn without_key(mut object: Map<String, Value>, key: &str) -> Map<String, Value> {
    object.shift_remove(key);
    object
}

fn without_texts(method: &Map<String, Value>) -> Map<String, Value> {
    sorted(method.iter().filter(|(key, _)| !NOT_FACTS.contains(&key.as_str())).map(|(key, value)| {
        (key.clone(), if key == "parameters" || key == "returns" { schema(value) } else { plain(value) })
    }))
}

/// A schema object: its own texts go, the *names* of its properties stay even when one is called `description`.
fn schema(value: &Value) -> Value {
    let Some(object) = value.as_object() else { return plain(value) };
    let kept = object.iter().filter(|(key, _)| !NOT_FACTS.contains(&key.as_str()));
    Value::Object(sorted(kept.filter_map(|(key, value)| {
        let fact = match key.as_str() {
            "properties" => properties(value),
            "format" if value.is_object() => properties(value),
            "items" | "type-property-schema" => schema(value),
            "oneOf" | "allOf" => Value::Array(value.as_array()?.iter().map(schema).collect()),
            "default" if is_sentence(value) => return None,
            _ => plain(value),
        };
        Some((key.clone(), fact))
    })))
}

fn properties(value: &Value) -> Value {
    let Some(object) = value.as_object() else { return plain(value) };
    Value::Object(sorted(object.iter().map(|(name, property)| (name.clone(), schema(property)))))
}

/// Permission expressions and lists: nested values, without a `description` beside them.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let kept = object.iter().filter(|(key, _)| !NOT_FACTS.contains(&key.as_str()));
            Value::Object(sorted(kept.map(|(key, value)| (key.clone(), plain(value)))))
        }
        Value::Array(list) => Value::Array(list.iter().map(plain).collect()),
        other => other.clone(),
    }
}

/// Some official defaults explain instead of naming a value.
fn is_sentence(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.split_whitespace().count() > 2)
}

fn sorted(entries: impl Iterator<Item = (String, Value)>) -> Map<String, Value> {
    let mut entries: Vec<_> = entries.collect();
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    entries.into_iter().collect()
}

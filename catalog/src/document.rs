//! The catalogue as the official document: the tree that every node serves as `apidoc.js`, without its sentences.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::schema::{Format, Kind, Properties, Schema};
use crate::{Catalog, Method};

/// The list that an `apidoc.js` assigns to `apiSchema`.
pub fn of(catalog: &Catalog) -> Value {
    let mut root = Node::default();
    for method in catalog.methods() {
        let segments = method.path.split('/').filter(|segment| !segment.is_empty());
        let node = segments.fold(&mut root, |at, segment| at.children.entry(segment).or_default());
        node.methods.push(method);
    }
    root.children("")
}

#[derive(Default)]
struct Node<'c> {
    methods: Vec<&'c Method>,
    children: BTreeMap<&'c str, Node<'c>>,
}

impl Node<'_> {
    fn children(&self, path: &str) -> Value {
        let told = self.children.iter().map(|(segment, node)| node.told(&format!("{path}/{segment}"), segment));
        told.collect::<Vec<Value>>().into()
    }

    fn told(&self, path: &str, segment: &str) -> Value {
        let info = self.methods.iter().map(|method| (method.verb.word().to_string(), self::method(method)));
        let mut told = json!({
            "info": info.collect::<Map<String, Value>>(),
            "leaf": u8::from(self.children.is_empty()),
            "path": path,
            "text": segment,
        });
        if !self.children.is_empty() {
            told["children"] = self.children(path);
        }
        told
    }
}

fn method(method: &Method) -> Value {
    let mut told = Map::new();
    told.insert("method".into(), method.verb.word().into());
    told.insert("name".into(), method.name.into());
    told.insert("allowtoken".into(), u8::from(method.allow_token).into());
    told.extend(method.protected.then(|| ("protected".to_string(), 1.into())));
    told.extend(method.proxyto.map(|name| ("proxyto".to_string(), name.into())));
    told.extend(method.download.then(|| ("download_allowed".to_string(), 1.into())));
    if let Ok(permissions) = serde_json::from_str::<Value>(method.permissions()) {
        told.insert("permissions".into(), permissions);
    }
    told.insert("parameters".into(), schema(method.parameters()));
    told.insert("returns".into(), schema(method.returns()));
    told.into()
}

/// A schema in the document's form: [`Schema::from_json`] reads it back.
pub fn schema(schema: &Schema) -> Value {
    let mut told = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            told.insert(key.into(), value);
        }
    };
    put("type", (schema.kind != Kind::Any).then(|| schema.kind.word().into()));
    put("optional", schema.optional.then(|| 1.into()));
    put("default", schema.default.as_deref().map(|text| default(schema.kind, text)));
    put("enum", list(&schema.enumeration));
    put("format", schema.format.as_ref().map(format));
    put("pattern", text(schema.pattern.as_ref()));
    put("minimum", schema.minimum.map(number));
    put("maximum", schema.maximum.map(number));
    put("minLength", schema.min_length.map(Value::from));
    put("maxLength", schema.max_length.map(Value::from));
    put("requires", text(schema.requires.as_ref()));
    put("alias", text(schema.alias.as_ref()));
    put("keyAlias", text(schema.key_alias.as_ref()));
    put("default_key", schema.default_key.then(|| 1.into()));
    put("items", schema.items.as_deref().map(self::schema));
    put("properties", (!schema.properties.is_empty()).then(|| properties(&schema.properties)));
    put("additionalProperties", schema.additional.map(|any| u8::from(any).into()));
    put("type-property", text(schema.type_property.as_ref()));
    put("type-property-schema", schema.type_schema.as_deref().map(self::schema));
    put("instance-types", list(&schema.instance_types));
    put("oneOf", schemas(&schema.one_of));
    put("allOf", schemas(&schema.all_of));
    put("links", schema.child_key.as_ref().map(|key| json!([{"rel": "child", "href": format!("{{{key}}}")}])));
    told.into()
}

fn properties(properties: &Properties) -> Value {
    let told = properties.iter().map(|(name, property)| (name.to_string(), schema(property)));
    told.collect::<Map<String, Value>>().into()
}

fn format(format: &Format) -> Value {
    match format {
        Format::Named(name) => name.as_str().into(),
        Format::Keys(keys) => properties(keys),
    }
}

fn schemas(list: &[Schema]) -> Option<Value> {
    (!list.is_empty()).then(|| list.iter().map(schema).collect::<Vec<Value>>().into())
}

fn list(words: &[String]) -> Option<Value> {
    (!words.is_empty()).then(|| words.to_vec().into())
}

fn text(text: Option<&String>) -> Option<Value> {
    text.map(|text| text.as_str().into())
}

fn number(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < 9e15 { Value::from(number as i64) } else { Value::from(number) }
}

fn default(kind: Kind, text: &str) -> Value {
    match kind {
        Kind::Boolean | Kind::Integer | Kind::Number => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
        _ => text.into(),
    }
}

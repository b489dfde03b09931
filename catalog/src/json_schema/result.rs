//! The JSON Schema of a method's result: its top level only.

use serde_json::{Map, Value, json};

use super::Detail;
use crate::Method;
use crate::schema::{Kind, Schema};

/// What Proxmox answers in `data`, in full detail only. It describes that value, so its root can be a list or a
/// scalar: whoever wraps the value wraps the schema.
///
/// Types are as loose as Proxmox's answers: numbers also come as text, booleans as 0 and 1, and any value can be null.
pub fn output_schema(method: &Method, detail: Detail) -> Option<Map<String, Value>> {
    detail.is_full().then(|| top(method.returns()))
}

fn top(schema: &Schema) -> Map<String, Value> {
    let mut out = kind(schema.kind);
    match schema.kind {
        Kind::Object => {
            let properties: Map<String, Value> =
                schema.properties.iter().map(|(name, property)| (name.into(), kind(property.kind).into())).collect();
            if !properties.is_empty() {
                out.insert("properties".into(), properties.into());
            }
        }
        Kind::Array => {
            if let Some(items) = &schema.items {
                out.insert("items".into(), kind(items.kind).into());
            }
        }
        _ => {}
    }
    out
}

fn kind(kind: Kind) -> Map<String, Value> {
    let types = match kind {
        Kind::Any | Kind::Null => return Map::new(),
        Kind::Boolean => json!(["boolean", "integer", "string", "null"]),
        Kind::Integer | Kind::Number => json!(["number", "string", "null"]),
        Kind::String => json!(["string", "number", "null"]),
        Kind::Array => json!(["array", "null"]),
        Kind::Object => json!(["object", "null"]),
    };
    Map::from_iter([("type".to_string(), types)])
}

//! Facts -> JSON Schema of a generated tool, compact or full.
//!
//! `tools/list` is paid on every exchange, so compact says only what a model needs to write a call that works: names,
//! types, choices, which are required, the grammar of property strings, and words where a name does not speak for itself.
//! Lengths, bounds, patterns and defaults are told in `full`; either way the real check is `verify`, on Proxmox's terms.
//! The root is always a plain object without `$ref`, `anyOf` or `oneOf`, because clients drop tools that have them.

pub(crate) mod flat;
mod parameter;
mod result;

use serde_json::{Map, Value, json};

use crate::{Method, Verb};
use flat::{Flat, flatten};

pub use parameter::official_text;
pub use result::output_schema;

/// How much a schema says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// What a model needs.
    Compact,
    /// Everything that JSON Schema can say of the catalogue's facts.
    Full,
    /// The same with the official texts, where the catalogue was imported with them. Nobody here has read those.
    Official,
}

impl Detail {
    fn is_full(self) -> bool {
        self != Detail::Compact
    }
}

/// The longest grammar of a property string that stands in a schema, in characters; the rest is told on request.
pub const LONGEST_GRAMMAR: usize = 200;

/// The longest wait for a task, in seconds.
pub const LONGEST_WAIT: u32 = 3600;

/// The arguments of a method's tool: the method's parameters, those of the path included, and what the server adds
/// (`dry_run` on every write; `wait` and `wait_seconds` where a task is started).
///
/// `node` is offered but not required where the path begins with a node: it follows from `vmid`, or there is a default. A
/// numbered family (`net0` … `net31`) is one entry named `net` that takes an object by index; the flat spelling passes
/// by a pattern. Where another parameter has that name (`numa`), the first member stands for the family.
pub fn input_schema(method: &Method, detail: Detail) -> Map<String, Value> {
    let parameters = flatten(method);
    let mut properties = Map::new();
    let mut families = Vec::new();
    for flat in &parameters {
        if let Some(family) = flat.family() {
            families.push(family);
        }
        properties.insert(flat.key(), parameter::schema(method, flat, detail).into());
    }
    add_options(&mut properties, method);
    let mut schema = Map::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), properties.into());
    if !families.is_empty() {
        schema.insert("patternProperties".into(), json!({ numbered(&families): {"type": "string"} }));
    }
    let required: Vec<&str> = parameters.iter().filter(|flat| needed(method, flat)).map(|flat| flat.name).collect();
    if !required.is_empty() {
        schema.insert("required".into(), required.into());
    }
    schema.insert("additionalProperties".into(), false.into());
    schema
}

/// Whether a caller must give it: not the node that the server finds.
fn needed(method: &Method, flat: &Flat<'_>) -> bool {
    flat.required && !(flat.name == "node" && method.path.starts_with("/nodes/{node}"))
}

/// What the server adds. No method has parameters of these names; a test watches over it.
fn add_options(properties: &mut Map<String, Value>, method: &Method) {
    if method.verb != Verb::Get {
        properties.insert("dry_run".into(), json!({"type": "boolean"}));
    }
    if method.task {
        properties.insert("wait".into(), json!({"type": "boolean"}));
        properties.insert("wait_seconds".into(), json!({"type": "integer", "minimum": 0, "maximum": LONGEST_WAIT}));
    }
}

/// One pattern for the flat spelling of all families.
fn numbered(families: &[&str]) -> String {
    match families {
        [one] => format!("^{one}\\d+$"),
        several => format!("^({})\\d+$", several.join("|")),
    }
}

//! The declared shape of a result with nothing in it. Lists are empty: there are no sample rows.

use pve_catalog::{Kind, Schema};
use serde_json::{Map, Value, json};

/// The neutral value of a schema: required properties of objects, zero, the empty text, the first allowed value.
pub(crate) fn empty(schema: &Schema) -> Value {
    if let Some(first) = schema.enumeration.first() {
        return json!(first);
    }
    match schema.kind {
        Kind::Array => json!([]),
        Kind::Object => {
            let required = schema.properties.iter().filter(|(_, property)| !property.optional);
            Value::Object(required.map(|(name, property)| (name.to_string(), empty(property))).collect::<Map<_, _>>())
        }
        Kind::String => json!(schema.default.as_deref().unwrap_or_default()),
        Kind::Integer => json!(schema.minimum.map_or(0, |minimum| (minimum as i64).max(0))),
        Kind::Number => json!(schema.minimum.unwrap_or(0.0)),
        Kind::Boolean => json!(0),
        Kind::Null | Kind::Any => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use pve_catalog::{Catalog, Verb};

    use super::*;

    #[test]
    fn lists_have_no_sample_rows() {
        let reads = Catalog::embedded().methods().iter().filter(|method| method.verb == Verb::Get);
        let lists: Vec<_> = reads.filter(|method| method.returns().kind == Kind::Array).collect();
        assert!(lists.len() > 150, "{}", lists.len());
        for method in lists {
            assert_eq!(empty(method.returns()), json!([]), "{}", method.key());
        }
    }
}

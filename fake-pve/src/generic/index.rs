//! Indexes: a GET on a folder lists the names beneath it.

use pve_catalog::Catalog;
use pve_catalog::path::placeholder;
use serde_json::{Value, json};

use crate::behaviour::{Call, Data};

/// The list of a folder's children; `None` when the path is no folder of fixed names.
pub(crate) fn answer(call: &Call<'_>) -> Option<Data> {
    let key = call.method.returns().child_key.as_deref()?;
    let names = children(call.method.path);
    if names.is_empty() || key.contains('/') {
        return None;
    }
    let items: Vec<Value> = names.into_iter().map(|name| json!({ key: name })).collect();
    Some(items.into())
}

/// The fixed names one level beneath a template, sorted.
fn children(template: &str) -> Vec<&'static str> {
    let beneath = |path: &'static str| path.strip_prefix(template)?.strip_prefix('/')?.split('/').next();
    let mut names: Vec<&str> = Catalog::embedded().templates().filter_map(beneath).collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| placeholder(name).is_none());
    names
}

#[cfg(test)]
mod tests {
    use super::children;

    #[test]
    fn children_are_the_next_level() {
        assert_eq!(children("/cluster/metrics"), ["export", "server"]);
        assert_eq!(children("/nodes/{node}/tasks/{upid}"), ["log", "status"]);
        assert!(children("/nodes").is_empty());
    }
}

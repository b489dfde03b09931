//! What must be there before a method's smallest call can succeed, beyond the objects that its own path names.

use std::sync::LazyLock;

use pve_catalog::{Catalog, Method};
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    before: Vec<Before>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Before {
    /// Beginning of the path template.
    path: String,
    /// `POST /cluster/sdn/zones` and its parameters, in order.
    calls: Vec<(String, Map<String, Value>)>,
}

static FILE: LazyLock<File> = LazyLock::new(|| {
    toml::from_str(include_str!("../prerequisites.toml")).expect("prerequisites.toml has the form it says")
});

/// The calls to make before a method's own, in order.
///
/// # Panics
/// When the file names a method that does not exist: it is part of the source.
pub fn of(method: &Method) -> Vec<(&'static Method, Map<String, Value>)> {
    let rows = FILE.before.iter().filter(|before| method.path.starts_with(&before.path));
    let calls = rows.flat_map(|before| &before.calls).filter(|(key, _)| *key != method.key());
    calls.map(|(key, params)| (named(key), params.clone())).collect()
}

fn named(key: &str) -> &'static Method {
    let (verb, path) = key.split_once(' ').expect("a verb and a path");
    let verb = verb.parse().expect("a verb of the API");
    Catalog::embedded().get(verb, path).unwrap_or_else(|| panic!("prerequisites.toml: no method '{key}'"))
}

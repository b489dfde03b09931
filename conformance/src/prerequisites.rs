//! What a tool's smallest call needs beyond the objects that its own path names: a world, calls before it, arguments.

use std::sync::LazyLock;

use fake_pve::{FakePve, Scenario};
use pve_catalog::verify::parameter_names;
use pve_catalog::{Catalog, Method, Verb, example};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::cluster;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    at: Vec<Row>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    /// A path template, or the beginning of one and `*`. Some method has it.
    path: String,
    /// Empty is every verb.
    #[serde(default)]
    verbs: Vec<Verb>,
    /// A world to start from other than the default one.
    scenario: Option<String>,
    /// `POST /cluster/sdn/zones` and its parameters, in order. Where one says `{data}` or `{data.pid}`, it gets that of the
    /// answer to the last call before.
    #[serde(default)]
    before: Vec<(String, Map<String, Value>)>,
    /// Arguments on top of the smallest call, in the same language.
    #[serde(default)]
    arguments: Map<String, Value>,
}

static FILE: LazyLock<File> = LazyLock::new(|| {
    toml::from_str(include_str!("../prerequisites.toml")).expect("prerequisites.toml has the form it says")
});

/// Parameters of objects that only say something about them.
const NOTES: [&str; 3] = ["comment", "description", "comments"];

/// What the calls before found out, for the arguments.
#[derive(Debug, Default)]
pub struct Before {
    last: Value,
}

impl Row {
    fn fits(&self, method: &Method) -> bool {
        let path = match self.path.strip_suffix('*') {
            Some(beginning) => method.path.starts_with(beginning),
            None => self.path == method.path,
        };
        path && (self.verbs.is_empty() || self.verbs.contains(&method.verb))
    }
}

fn rows(method: &Method) -> impl Iterator<Item = &'static Row> {
    FILE.at.iter().filter(move |row| row.fits(method))
}

/// The world in which a method can succeed: the last row decides.
///
/// # Panics
/// When the file names a scenario that does not exist: it is part of the source.
pub fn scenario(method: &Method) -> Scenario {
    let named = rows(method).filter_map(|row| row.scenario.as_deref()).last();
    Scenario::named(named.unwrap_or("cluster")).expect("prerequisites.toml names a scenario that exists")
}

/// The smallest arguments of a method as they can be known before the calls before it were made.
pub fn arguments(method: &Method) -> Map<String, Value> {
    Before::default().arguments(method)
}

/// Makes the calls before a method's own, as `root@pam`, in order.
///
/// # Errors
/// Which one was refused, and why.
///
/// # Panics
/// When the file names a method that does not exist: it is part of the source.
pub fn make(fake: &FakePve, method: &Method) -> Result<Before, String> {
    let mut before = Before::default();
    let own = method.key();
    for (key, params) in rows(method).flat_map(|row| &row.before).filter(|(key, _)| *key != own) {
        let maker = named(key);
        let mut all = arguments(maker);
        all.extend(before.filled(params));
        all.retain(|_, value| !value.is_null());
        before.last = cluster::call(fake, maker, all).map_err(|error| format!("before it, {key}: {error}"))?;
    }
    Ok(before)
}

impl Before {
    /// The smallest arguments of a method.
    pub fn arguments(&self, method: &Method) -> Map<String, Value> {
        let mut arguments = example::smallest_call(method);
        for row in rows(method) {
            arguments.extend(self.filled(&row.arguments));
        }
        // A change of nothing shows nothing.
        let known = parameter_names(method.parameters());
        let told = NOTES.iter().find(|name| method.verb == Verb::Put && known.contains(name));
        if let Some(name) = told {
            arguments.entry(*name).or_insert_with(|| "made by a trial".into());
        }
        arguments.retain(|_, value| !value.is_null());
        arguments
    }

    fn filled(&self, params: &Map<String, Value>) -> Map<String, Value> {
        params.iter().filter_map(|(name, value)| Some((name.clone(), self.fill(value)?))).collect()
    }

    /// `{data.pid}` keeps its type, and is not there before the calls were made; `""` takes the parameter away.
    fn fill(&self, value: &Value) -> Option<Value> {
        let Value::String(text) = value else { return Some(value.clone()) };
        match text.strip_prefix("{data").and_then(|rest| rest.strip_suffix('}')) {
            Some(inner) => self.last.pointer(&inner.replace('.', "/")).filter(|found| !found.is_null()).cloned(),
            None if text.is_empty() => Some(Value::Null),
            None => Some(value.clone()),
        }
    }
}

/// Paths that no method has any more.
pub fn stale() -> Vec<&'static str> {
    let methods = Catalog::embedded().methods();
    let unused = FILE.at.iter().filter(|row| !methods.iter().any(|method| row.fits(method)));
    unused.map(|row| row.path.as_str()).collect()
}

fn named(key: &str) -> &'static Method {
    let (verb, path) = key.split_once(' ').expect("a verb and a path");
    let verb = verb.parse().expect("a verb of the API");
    Catalog::embedded().get(verb, path).unwrap_or_else(|| panic!("prerequisites.toml: no method '{key}'"))
}

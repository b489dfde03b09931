//! Collections as the catalogue tells of them, and what it does not tell.

use pve_catalog::path::{placeholder, placeholders};
use pve_catalog::verify::{parameter, parameter_names};
use pve_catalog::{Catalog, Kind, Method, Schema, Verb};
use serde::Deserialize;
use serde_json::{Map, Value, json};

pub type Object = Map<String, Value>;

/// What a collection needs that its methods do not say.
#[derive(Deserialize, Default, Clone)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    pub path: String,
    pub reason: String,
    /// Calls that are made first: `["POST /cluster/sdn/zones", { zone = "z1" }]`.
    #[serde(default)]
    pub before: Vec<(String, Object)>,
    /// Arguments of the create call, beside those that it must have.
    #[serde(default)]
    pub create: Object,
    /// The change that is made, where the methods do not let one be chosen.
    #[serde(default)]
    pub change: Object,
    /// Arguments that every change must say again.
    #[serde(default)]
    pub again: Object,
    /// Arguments of the removal, beside those that it must have.
    #[serde(default)]
    pub remove: Object,
    /// How answers show arguments, where they show them otherwise than they were given; `*` is in any form.
    #[serde(default)]
    pub shown: Object,
    /// The id in the path of the item, where the list shows another one.
    pub id: Option<String>,
    /// The collection answers nothing but this refusal.
    pub refused: Option<String>,
    /// Arguments that no answer shows.
    #[serde(default)]
    pub hidden: Vec<String>,
    /// Name of the key in the items of the list, where it is not the one of the path.
    pub key: Option<String>,
    /// The world to start from: the default one, or one with programs of Ceph (`ceph`).
    pub scenario: Option<String>,
    /// Calls without which the item cannot be removed.
    #[serde(default)]
    pub before_removal: Vec<(String, Object)>,
    /// Steps that do not hold here.
    #[serde(default)]
    pub without: Vec<Step>,
}

/// A step that a collection may leave out, with the reason in its entry.
#[derive(Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// The list is a tree, or names other things than the items: it is not looked at.
    List,
    /// The item shows no digest; a stale one is refused nevertheless.
    ShownDigest,
    /// There is nothing to change that an answer shows.
    Change,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entries {
    pub collection: Vec<Entry>,
}

/// A collection of the catalogue, and the methods on it and on its items.
pub struct Collection {
    pub parent: &'static str,
    pub child: &'static str,
    pub create: &'static Method,
    pub list: &'static Method,
    pub show: Option<&'static Method>,
    pub change: Option<&'static Method>,
    pub remove: Option<&'static Method>,
}

pub fn collections() -> Vec<Collection> {
    let catalog = Catalog::embedded();
    let one = |child: &'static str| {
        let (parent, last) = child.rsplit_once('/')?;
        placeholder(last)?;
        let parent = catalog.templates().find(|template| *template == parent)?;
        Some(Collection {
            parent,
            child,
            create: catalog.get(Verb::Post, parent).or_else(|| catalog.get(Verb::Post, child))?,
            list: catalog.get(Verb::Get, parent)?,
            show: catalog.get(Verb::Get, child),
            change: catalog.get(Verb::Put, child),
            remove: catalog.get(Verb::Delete, child),
        })
    };
    catalog.templates().filter_map(one).filter(|collection| collection.remove.is_some()).collect()
}

/// Whether a method lists fixed names that lie beneath an item, whatever the item is.
pub fn is_index(show: &Method) -> bool {
    let beneath = |path: &'static str| path.strip_prefix(show.path)?.strip_prefix('/')?.split('/').next();
    let fixed = |name: &str| placeholder(name).is_none();
    show.returns().kind == Kind::Array && Catalog::embedded().templates().filter_map(beneath).any(fixed)
}

/// A change that the schema lets one make, and take back with `delete` where there is one: a comment, else a switch, else
/// a number, else a text without a format.
pub fn chosen(method: &Method) -> Object {
    // Words that steer the call itself.
    const STEERING: [&str; 3] = ["delete", "digest", "lock-token"];
    let schema = method.parameters();
    let deletable =
        parameter(schema, "delete").and_then(|schema| schema.items.as_ref()).map(|items| &items.enumeration);
    let free = |name: &&str| {
        !placeholders(method.path).any(|other| other == *name)
            && !STEERING.contains(name)
            && deletable.is_none_or(|names| names.is_empty() || names.iter().any(|other| other == name))
    };
    let names: Vec<&str> = parameter_names(schema).into_iter().filter(free).collect();
    let of = |name: &str| parameter(schema, name).filter(|schema| schema.optional && schema.requires.is_none());
    let told = ["comment", "comments", "description"].into_iter().find(|name| names.contains(name));
    if let Some(name) = told {
        return Object::from_iter([(name.to_string(), json!("changed"))]);
    }
    let plain = |schema: &Schema| schema.format.is_none() && schema.enumeration.is_empty() && schema.pattern.is_none();
    let value = |schema: &Schema| match schema.kind {
        Kind::Boolean => Some(json!(1)),
        Kind::Integer => Some(json!(schema.minimum.unwrap_or(1.0) as i64 + 1)),
        Kind::String if plain(schema) => Some(json!("changed")),
        _ => None,
    };
    let rank =
        |schema: &Schema| [Kind::Boolean, Kind::Integer, Kind::String].iter().position(|kind| *kind == schema.kind);
    let able = names.iter().filter_map(|name| Some((rank(of(name)?)?, *name, value(of(name)?)?)));
    able.min_by_key(|(rank, _, _)| *rank).map(|(_, name, value)| (name.to_string(), value)).into_iter().collect()
}

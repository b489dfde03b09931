//! What a write did to the world: read back past the server, by rules that follow from the catalogue where they can, by a table
//! (`effects.toml`) where they cannot.

mod change;
mod seen;
mod table;

use std::collections::BTreeMap;

use fake_pve::{FakePve, World};
use pve_catalog::path::{placeholder, placeholders};
use pve_catalog::{Catalog, Method, Verb};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::cluster;
use table::Row;

pub use change::{Watch, changes};
pub use seen::sent;
pub use table::methods as in_table;

/// What shows that a write was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// What it created is in the list and can be read, with the values given.
    Created,
    /// What it removed can no longer be read.
    Removed,
    /// What it changed is read with the values given.
    Updated,
    /// A read that the table names shows it.
    Shown,
    /// No read shows it; the part of the world that the table names has changed.
    Kept,
    /// The world shows nothing, for the reason in the table, and has not changed.
    Explained,
}

/// The world before a write: its state, and the answers of the reads that may show a change.
pub struct Before {
    world: World,
    reads: BTreeMap<String, Result<Value, String>>,
}

/// Looks at the world before a write with these arguments.
pub fn before(fake: &FakePve, method: &Method, arguments: &Map<String, Value>) -> Before {
    let mut paths: Vec<String> = Places::of(method, arguments).all().cloned().collect();
    paths.extend(table::of(method).into_iter().filter_map(|row| row.read_path(arguments)));
    let reads = paths.into_iter().map(|path| {
        let answer = read(fake, &path);
        (path, answer)
    });
    let reads = reads.collect();
    Before { reads, world: fake.world(|world| world.clone()) }
}

/// What shows that a write with these arguments was done; `data` is what it answered.
///
/// # Errors
/// What should be there and is not. A write without a rule and without a row in the table is an error too.
pub fn judge(
    fake: &FakePve,
    method: &Method,
    arguments: &Map<String, Value>,
    data: &Value,
    before: &Before,
) -> Result<Kind, String> {
    fake.finish_tasks();
    let row = table::of(method);
    if let Some(kind) = row.and_then(|row| row.judge(fake, arguments, before)) {
        return kind;
    }
    let hidden = row.map(Row::hidden).unwrap_or_default();
    let places = Places::of(method, arguments);
    let told = match method.verb {
        Verb::Post => created(fake, &places, arguments, data, hidden, before),
        Verb::Put => updated(fake, &places, arguments, hidden, before),
        Verb::Delete => removed(fake, &places, before),
        Verb::Get => Err("a read changes nothing".into()),
    };
    told.map_err(|reason| {
        let changed = changes(&before.world, &fake.world(|world| world.clone()), Watch::Content);
        format!("nothing shows what it did, and effects.toml has no row: {reason}; changed: {changed:?}")
    })
}

fn read(fake: &FakePve, path: &str) -> Result<Value, String> {
    cluster::ask(fake, "GET", path, Map::new())
}

/// Where a method's object can be read.
struct Places {
    /// The list that it is in.
    list: Option<String>,
    /// The object itself, when its name is known.
    item: Option<String>,
    /// Its name.
    key: Option<String>,
    /// The names of the parameters in the path of the object: they are no values of it.
    in_path: Vec<String>,
}

impl Places {
    /// Of a POST on a list: the list and the item beneath it. Of anything on an item: that and its parent. Of a write on
    /// a path without a name (`/cluster/options`): the same path.
    fn of(method: &Method, arguments: &Map<String, Value>) -> Places {
        let catalog = Catalog::embedded();
        let readable = |template: &str| catalog.get(Verb::Get, template).is_some();
        let fill = |template: &str| cluster::split(template, arguments.clone()).0;
        let last = method.path.rsplit('/').next().and_then(placeholder);
        let beneath = catalog.methods().iter().find_map(|other| {
            let (parent, name) = other.path.rsplit_once('/')?;
            (other.verb == Verb::Get && parent == method.path).then(|| placeholder(name)).flatten()
        });
        let (template, list) = match (method.verb, last, beneath) {
            (Verb::Post, _, Some(name)) => (format!("{}/{{{name}}}", method.path), Some(method.path.to_string())),
            (_, Some(_), _) => {
                let parent = method.path.rsplit_once('/').map(|(parent, _)| parent.to_string());
                (method.path.to_string(), parent)
            }
            _ if method.verb == Verb::Post => (String::new(), Some(method.path.to_string())),
            _ => (method.path.to_string(), None),
        };
        let names: Vec<String> =
            [method.path, &template].into_iter().flat_map(placeholders).map(str::to_string).collect();
        let known = names.iter().all(|name| arguments.contains_key(name));
        let key = template.rsplit('/').next().and_then(placeholder).and_then(|name| arguments.get(name));
        Places {
            list: list.filter(|list| readable(list)).map(|list| fill(&list)),
            item: Some(&template).filter(|template| known && readable(template)).map(|template| fill(template)),
            key: key.map(cluster::text),
            in_path: names,
        }
    }

    fn all(&self) -> impl Iterator<Item = &String> {
        self.list.iter().chain(&self.item)
    }
}

/// Items of a list that are not the same as before.
fn new_items(fake: &FakePve, list: &str, before: &Before) -> Result<Vec<Value>, String> {
    let items = |answer: &Result<Value, String>| answer.as_ref().ok().and_then(Value::as_array).cloned();
    let old = before.reads.get(list).and_then(items).unwrap_or_default();
    let new = items(&read(fake, list)).ok_or_else(|| format!("GET {list} is no list"))?;
    // A digest is that of the whole file.
    let plain = |item: &Value| {
        let mut item = item.clone();
        item.as_object_mut().map(|item| item.shift_remove("digest"));
        item
    };
    let old: Vec<Value> = old.iter().map(plain).collect();
    Ok(new.iter().map(plain).filter(|item| !old.contains(item)).collect())
}

fn created(
    fake: &FakePve,
    places: &Places,
    arguments: &Map<String, Value>,
    data: &Value,
    hidden: &[String],
    before: &Before,
) -> Result<Kind, String> {
    let mut shown = Vec::new();
    if let Some(list) = &places.list {
        let new = new_items(fake, list, before)?;
        let named = |item: &&Value| match (&places.key, item.as_object()) {
            (Some(key), Some(item)) => item.values().any(|value| cluster::text(value) == *key),
            _ => true,
        };
        let found = new.iter().find(named).ok_or_else(|| format!("GET {list} has no new item of that name"))?;
        shown.push(found.clone());
    }
    // The name may be an answer.
    let told = data.as_str().filter(|name| !name.starts_with("UPID:") && places.key.is_none());
    let item = places.item.clone().or_else(|| Some(format!("{}/{}", places.list.as_ref()?, told?)));
    if let Some(item) = item {
        let old = before.reads.get(&item);
        let new = read(fake, &item).map_err(|error| format!("GET {item}: {error}"))?;
        if shown.is_empty() && old.is_some_and(|old| old.as_ref() == Ok(&new)) {
            return Err(format!("GET {item} answers as before"));
        }
        shown.push(new);
    }
    if shown.is_empty() {
        return Err("no list and no item can be read".into());
    }
    seen::all(arguments, &places.in_path, hidden, &shown).map(|()| Kind::Created)
}

fn updated(
    fake: &FakePve,
    places: &Places,
    arguments: &Map<String, Value>,
    hidden: &[String],
    before: &Before,
) -> Result<Kind, String> {
    let mut shown = Vec::new();
    let mut changed = false;
    if let Some(item) = &places.item {
        let new = read(fake, item).map_err(|error| format!("GET {item}: {error}"))?;
        changed |= before.reads.get(item).is_some_and(|old| old.as_ref() != Ok(&new));
        shown.push(new);
    }
    if let Some(list) = &places.list {
        let new = new_items(fake, list, before).unwrap_or_default();
        changed |= !new.is_empty();
        shown.extend(new);
    }
    if !changed {
        return Err("no read of it answers other than before".into());
    }
    seen::all(arguments, &places.in_path, hidden, &shown).map(|()| Kind::Updated)
}

fn removed(fake: &FakePve, places: &Places, before: &Before) -> Result<Kind, String> {
    let there = |path: &String| before.reads.get(path).is_some_and(Result::is_ok);
    if let Some(item) = places.item.as_ref().filter(|item| there(item))
        && read(fake, item).is_err()
    {
        return Ok(Kind::Removed);
    }
    let (Some(list), Some(key)) = (&places.list, &places.key) else {
        return Err("no read that succeeded before is refused now".into());
    };
    let has = |answer: &Result<Value, String>| {
        let items = answer.as_ref().ok().and_then(Value::as_array);
        let named = |item: &Value| match item {
            Value::Object(item) => item.values().any(|value| cluster::text(value) == *key),
            item => cluster::text(item) == *key,
        };
        items.is_some_and(|items| items.iter().any(named))
    };
    match (before.reads.get(list).is_some_and(has), has(&read(fake, list))) {
        (true, false) => Ok(Kind::Removed),
        (was, is) => Err(format!("in GET {list} before: {was}, after: {is}")),
    }
}

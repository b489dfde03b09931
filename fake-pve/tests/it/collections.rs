//! A walk through every collection of the catalogue: what is made stands in the list and can be read, a stale digest is
//! refused, a change and a deletion of an option are kept, what is removed is gone.
//!
//! Which collections there are, and which steps their methods offer, follows from the catalogue alone.
//! `tests/collections.toml` says what a collection needs beside that, with reasons; an entry without which the walk
//! works as well is a failure.

mod known;

use std::collections::BTreeSet;

use fake_pve::{Direct, Scenario};
use pve_catalog::example::smallest_call;
use pve_catalog::path::{placeholder, placeholders};
use pve_catalog::verify::parameter;
use pve_catalog::{Kind, Method, Verb};
use serde_json::{Value, json};

use known::{Collection, Entries, Entry, Object, Step, chosen, collections, is_index};

/// Steps that a walk took, by name.
type Steps = BTreeSet<&'static str>;

struct Walk<'c> {
    cluster: Direct,
    collection: &'c Collection,
    entry: Entry,
    /// The id as the list shows it.
    listed: String,
    steps: Steps,
}

#[test]
fn every_collection_keeps_what_is_made_in_it() {
    let entries: Entries = toml::from_str(include_str!("../collections.toml")).expect("entries");
    let collections = collections();
    let known = |entry: &Entry| collections.iter().any(|collection| collection.parent == entry.path);
    let mut wrong: Vec<String> = Vec::new();
    for entry in &entries.collection {
        assert!(!entry.reason.is_empty(), "{} has no reason", entry.path);
        if !known(entry) {
            wrong.push(format!("{}: no such collection", entry.path));
        }
    }
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for collection in &collections {
        let entry = entries.collection.iter().find(|entry| entry.path == collection.parent);
        match walked(collection, entry.cloned().unwrap_or_default()) {
            Err(error) => wrong.push(format!("{}: {error}", collection.child)),
            Ok(steps) => {
                wrong.extend(entry.iter().flat_map(|entry| needless(collection, entry)));
                for step in steps {
                    match counts.iter_mut().find(|(name, _)| *name == step) {
                        Some((_, count)) => *count += 1,
                        None => counts.push((step, 1)),
                    }
                }
            }
        }
    }
    println!("{} collections: {counts:?}", collections.len());
    assert!(wrong.is_empty(), "{} of {} fail:\n{}", wrong.len(), collections.len(), wrong.join("\n"));
}

/// What an entry says for nothing: the walk works without it.
fn needless(collection: &Collection, entry: &Entry) -> Vec<String> {
    let mut less = vec![("its entry".to_string(), Entry::default())];
    for at in 0..entry.without.len() {
        let mut fewer = entry.clone();
        fewer.without.remove(at);
        less.push((format!("its exception {at}"), fewer));
    }
    let works = |(_, entry): &(String, Entry)| walked(collection, entry.clone()).is_ok();
    let told = |(what, _): (String, Entry)| format!("{}: works without {what}", collection.parent);
    less.into_iter().filter(works).map(told).collect()
}

fn walked(collection: &Collection, entry: Entry) -> Result<Steps, String> {
    let mut scenario = Scenario::cluster();
    if entry.scenario.as_deref() == Some("ceph") {
        scenario = scenario.ceph_installed();
    }
    let cluster = Direct::new(scenario.world);
    let mut walk = Walk { cluster, collection, entry, listed: String::new(), steps: Steps::new() };
    walk.whole()?;
    Ok(walk.steps)
}

impl Walk<'_> {
    fn whole(&mut self) -> Result<(), String> {
        self.calls(&self.entry.before)?;
        let create = self.collection.create;
        let mut given = smallest_call(create);
        given.extend(self.entry.create.clone());
        if let Some(refused) = &self.entry.refused {
            let got = self.call(self.collection.list, &given);
            return if got.as_ref().is_err_and(|text| text.contains(refused)) {
                Ok(())
            } else {
                Err(format!("{got:?}"))
            };
        }
        let before = self.ids(&given)?;
        self.call(create, &given)?;
        self.steps.insert("create");
        let fresh: Vec<String> = self.ids(&given)?.into_iter().filter(|id| !before.contains(id)).collect();
        let id = match &fresh[..] {
            [id] => id.clone(),
            _ if self.leaves_out(Step::List) => given.get(self.id_name()).map(text).unwrap_or_default(),
            _ => return Err(format!("the list has {} new items after one was made: {fresh:?}", fresh.len())),
        };
        let mut place: Object = given.iter().filter(|(name, _)| self.in_path(name)).map(own).collect();
        let in_path = self.entry.id.clone().unwrap_or_else(|| id.clone());
        place.insert(self.id_name().to_string(), json!(in_path));
        self.listed = id;
        self.read_back(&place, &given)?;
        self.changed(&place, &given)?;
        self.removed(&place)
    }

    fn calls(&self, calls: &[(String, Object)]) -> Result<(), String> {
        for (call, params) in calls {
            let (verb, path) = call.split_once(' ').ok_or("a call is a verb and a path")?;
            self.told(verb, path, params.clone())?;
        }
        Ok(())
    }

    /// The item stands in the list and, where it can be asked for, in an answer of its own, with what was given.
    fn read_back(&mut self, place: &Object, given: &Object) -> Result<(), String> {
        let hidden = &self.entry.hidden;
        let shown = self.item(place)?;
        for (name, value) in given.iter().filter(|(name, _)| !self.in_path(name) && *name != "digest") {
            let found = shown.get(name);
            let value = self.entry.shown.get(name).unwrap_or(value);
            match (hidden.contains(name), found) {
                (true, None) => {}
                (true, Some(_)) => return Err(format!("'{name}' is shown, although it is hidden")),
                (false, None) => return Err(format!("'{name}' is not shown: {}", json!(shown))),
                (false, Some(found)) if found.is_object() || found.is_array() => {}
                (false, Some(found)) if text(found) == text(value) || text(value) == "*" => {}
                (false, Some(found)) => return Err(format!("'{name}' is {found} instead of {value}")),
            }
        }
        self.steps.insert("read");
        Ok(())
    }

    fn changed(&mut self, place: &Object, given: &Object) -> Result<(), String> {
        let Some(method) = self.collection.change.filter(|_| !self.leaves_out(Step::Change)) else { return Ok(()) };
        let change = if self.entry.change.is_empty() { chosen(method) } else { self.entry.change.clone() };
        if change.is_empty() {
            return Err("no change can be chosen".into());
        }
        let mut form: Object = smallest_call(method);
        let required = |name: &str| parameter(method.parameters(), name).is_some_and(|schema| !schema.optional);
        form.extend(given.iter().filter(|(name, _)| required(name)).map(own));
        form.extend(place.clone());
        form.extend(self.entry.again.clone());
        form.extend(change.clone());
        let has = |name: &str| parameter(method.parameters(), name).is_some();
        let before = self.item(place)?;
        if has("digest") {
            let mut stale = form.clone();
            stale.insert("digest".into(), json!("0".repeat(40)));
            match self.call(method, &stale) {
                Ok(_) => return Err("a stale digest is not refused".into()),
                Err(error) if error.contains("detected modified configuration") => {}
                Err(error) => return Err(format!("a stale digest is refused otherwise: {error}")),
            }
            if self.item(place)? != before {
                return Err("a refused change was made".into());
            }
            match (before.get("digest"), self.leaves_out(Step::ShownDigest)) {
                (Some(digest), false) => drop(form.insert("digest".into(), digest.clone())),
                (None, true) => {}
                (Some(_), true) => return Err("the item shows a digest".into()),
                (None, false) => return Err("no digest is shown".into()),
            }
            self.steps.insert("refuse a stale digest");
        }
        self.call(method, &form)?;
        let after = self.item(place)?;
        for (name, value) in &change {
            if after.get(name).map(text).as_deref().map(str::trim_end) != Some(&text(value)) {
                return Err(format!("'{name}' is {:?} after it was set to {value}", after.get(name)));
            }
        }
        self.steps.insert("change");
        let deletes = parameter(method.parameters(), "delete").filter(|schema| schema.kind != Kind::Boolean);
        let Some(deletes) = deletes else { return Ok(()) };
        for name in change.keys() {
            form.remove(name);
        }
        let names: Vec<String> = change.keys().cloned().collect();
        form.insert("delete".into(), if deletes.kind == Kind::Array { json!(names) } else { json!(names.join(",")) });
        if let Some(digest) = after.get("digest").filter(|_| has("digest")) {
            form.insert("digest".into(), digest.clone());
        }
        self.call(method, &form)?;
        let last = self.item(place)?;
        if let Some(name) = change.keys().find(|name| last.get(*name) == after.get(*name)) {
            return Err(format!("'{name}' is still {:?} after it was deleted", last.get(name)));
        }
        self.steps.insert("delete an option");
        Ok(())
    }

    fn removed(&mut self, place: &Object) -> Result<(), String> {
        let Some(method) = self.collection.remove else { return Ok(()) };
        let mut form = smallest_call(method);
        form.extend(place.clone());
        form.extend(self.entry.remove.clone());
        if parameter(method.parameters(), "digest").is_some() {
            let mut stale = form.clone();
            stale.insert("digest".into(), json!("0".repeat(40)));
            match self.call(method, &stale) {
                Err(error) if error.contains("detected modified configuration") => {}
                other => return Err(format!("a stale digest does not keep it from being removed: {other:?}")),
            }
            self.steps.insert("refuse to remove by a stale digest");
        }
        self.calls(&self.entry.before_removal)?;
        self.call(method, &form)?;
        self.steps.insert("remove");
        if self.ids(place)?.contains(&self.listed) {
            return Err("it is still listed after it was removed".into());
        }
        if let Some(show) = self.collection.show.filter(|show| !is_index(show))
            && let Ok(found) = self.call(show, place)
        {
            return Err(format!("it can still be read after it was removed: {found}"));
        }
        self.steps.insert("gone");
        Ok(())
    }

    /// The item as its own method shows it; as the list does where it has none, or one that leads further down.
    fn item(&self, place: &Object) -> Result<Object, String> {
        let list = self.call(self.collection.list, place)?;
        let in_list = list.as_array().into_iter().flatten().find(|item| text(&item[self.key()]) == self.listed);
        let in_list = in_list.and_then(Value::as_object).cloned();
        let mut shown = match in_list {
            Some(item) => item,
            None if self.leaves_out(Step::List) => Object::new(),
            None => return Err("it is not in the list".into()),
        };
        let Some(show) = self.collection.show else { return Ok(shown) };
        match self.call(show, place)? {
            Value::Object(own) => shown.extend(own),
            _ if show.returns().kind == Kind::Object => return Err("the item is no object".into()),
            // A list of what lies beneath.
            _ => {}
        }
        Ok(shown)
    }

    fn ids(&self, given: &Object) -> Result<Vec<String>, String> {
        let list = self.call(self.collection.list, given)?;
        if self.leaves_out(Step::List) {
            return Ok(Vec::new());
        }
        let list = list.as_array().ok_or_else(|| format!("the list is {list}"))?;
        let id = |item: &Value| item.get(self.key()).map(text).ok_or_else(|| format!("no '{}' in {item}", self.key()));
        list.iter().map(id).collect()
    }

    fn leaves_out(&self, step: Step) -> bool {
        self.entry.without.contains(&step)
    }

    /// Key of the id in the items of the list.
    fn key(&self) -> &str {
        let told = self.collection.list.returns().child_key.as_deref();
        self.entry.key.as_deref().or(told).unwrap_or_else(|| self.id_name())
    }

    /// Name of the id in the path of an item.
    fn id_name(&self) -> &'static str {
        self.collection.child.rsplit('/').next().and_then(placeholder).expect("a child ends in a placeholder")
    }

    fn in_path(&self, name: &str) -> bool {
        placeholders(self.collection.child).any(|other| other == name)
    }

    /// A call with those of the arguments that belong in its path, and, unless it reads, all that it takes.
    fn call(&self, method: &Method, given: &Object) -> Result<Value, String> {
        let value = |name: &str| match name {
            "node" if self.id_name() != "node" => Some("pve1".to_string()),
            "vmid" if method.path.contains("/lxc/{vmid}/") => Some("200".into()),
            "vmid" if method.path.contains("/qemu/{vmid}/") => Some("100".into()),
            _ => given.get(name).map(text),
        };
        let mut path = method.path.to_string();
        for name in placeholders(method.path) {
            let value = value(name).ok_or_else(|| format!("no value for {{{name}}} in {}", method.path))?;
            path = path.replace(&format!("{{{name}}}"), &value);
        }
        let takes = |name: &str| parameter(method.parameters(), name).is_some();
        let of_path = |name: &str| placeholders(method.path).any(|other| other == name);
        let reads = method.verb == Verb::Get;
        let params = given.iter().filter(|(name, _)| !reads && takes(name) && !of_path(name)).map(own).collect();
        self.told(&method.verb.to_string(), &path, params)
    }

    /// An answer; a task's end.
    fn told(&self, verb: &str, path: &str, params: Object) -> Result<Value, String> {
        let told = self.cluster.call(Some("root@pam"), verb, path, params.clone());
        if told.status != 200 {
            let text = told.message.unwrap_or_default();
            return Err(format!("{verb} {path} {}: {} {text} {:?}", json!(params), told.status, told.errors));
        }
        if let Some(upid) = told.data.as_str().filter(|text| text.starts_with("UPID:")) {
            self.cluster.finish_tasks();
            let end = self.cluster.world(|world| {
                let task = world.tasks.iter().find(|task| task.upid == upid);
                task.and_then(|task| task.exitstatus.clone()).unwrap_or_default()
            });
            if end != "OK" {
                return Err(format!("{verb} {path} {}: its task ended: {end}", json!(params)));
            }
        }
        Ok(told.data)
    }
}

fn own((name, value): (&String, &Value)) -> (String, Value) {
    (name.clone(), value.clone())
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(on) => i32::from(*on).to_string(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

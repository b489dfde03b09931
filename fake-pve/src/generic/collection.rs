//! Collections that the catalogue describes: a path with objects beneath it, each under its own id.

use pve_catalog::path::placeholder;
use pve_catalog::verify::parameter;
use pve_catalog::{Catalog, Kind, Method, Schema, Verb};
use serde_json::{Map, Value, json};

use crate::behaviour::params::scalar;
use crate::behaviour::{Answer, Call, Data, Failure, Params};

/// A collection of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Collection {
    /// Template of the collection: `/cluster/mapping/pci`.
    parent: &'static str,
    /// Template of one object: `/cluster/mapping/pci/{id}`.
    child: &'static str,
    /// Name of the id in the object's path.
    placeholder: &'static str,
    /// Name of the id among the parameters of the create call and in the object.
    id: String,
}

/// The collection that a template belongs to, as parent or as child.
pub(crate) fn of(template: &'static str) -> Option<Collection> {
    as_child(template).or_else(|| {
        let children = Catalog::embedded().templates().filter(|child| parent_of(child) == Some(template));
        children.filter_map(as_child).next()
    })
}

fn parent_of(template: &str) -> Option<&str> {
    let (parent, last) = template.rsplit_once('/')?;
    placeholder(last).map(|_| parent)
}

/// A collection needs a way to make its objects and a way to remove them, and neither may be the work of a task.
fn as_child(child: &'static str) -> Option<Collection> {
    let catalog = Catalog::embedded();
    let parent = parent_of(child)?;
    let parent = catalog.templates().find(|template| *template == parent)?;
    let placeholder = placeholder(&child[parent.len() + 1..])?;
    let create = catalog.get(Verb::Post, parent).or_else(|| catalog.get(Verb::Post, child))?;
    let remove = catalog.get(Verb::Delete, child)?;
    if create.task || remove.task || catalog.get(Verb::Get, parent).is_none() {
        return None;
    }
    let listed = catalog.get(Verb::Get, parent).and_then(|list| list.returns().child_key.clone());
    let has = |name: &str| parameter(create.parameters(), name).is_some();
    let id = match listed {
        _ if has(placeholder) => placeholder.to_string(),
        Some(key) if has(&key) => key,
        _ => return None,
    };
    Some(Collection { parent, child, placeholder, id })
}

impl Collection {
    /// Whether a method on one of its two paths is the collection's own.
    pub fn knows(&self, method: &Method) -> bool {
        method.path == self.child || matches!(method.verb, Verb::Get | Verb::Post)
    }

    /// Answers a call on the collection or one of its objects.
    pub fn answer(&self, call: &mut Call<'_>) -> Answer {
        let at_child = call.method.path == self.child;
        match call.method.verb {
            Verb::Get if at_child => self.show(call),
            Verb::Get => self.list(call),
            Verb::Post => self.create(call),
            Verb::Put => self.change(call),
            Verb::Delete => self.remove(call),
        }
    }

    /// The concrete path of the collection in a call.
    fn path(&self, call: &Call<'_>) -> String {
        fill(self.parent, &call.params)
    }

    fn list(&self, call: &Call<'_>) -> Answer {
        let path = self.path(call);
        let digest = call.world.documents.digest(&path);
        let items = call.world.documents.list(&path).iter();
        let shown = items.filter(|(_, object)| self.passes(call, object)).map(|(id, object)| {
            let mut item = self.shown(id, object);
            if list_declares(call.method, "digest") {
                item.insert("digest".into(), json!(digest));
            }
            Value::Object(item)
        });
        Ok(Data::from(shown.collect::<Vec<_>>()))
    }

    /// A query parameter that is also a property of the objects filters by equality (`type`).
    fn passes(&self, call: &Call<'_>, object: &Map<String, Value>) -> bool {
        call.params.iter().all(|(name, wanted)| match object.get(name) {
            Some(value) if !call.method.path.contains(&format!("{{{name}}}")) => scalar(value) == scalar(wanted),
            _ => true,
        })
    }

    fn show(&self, call: &Call<'_>) -> Answer {
        let (path, id) = (self.path(call), call.params.text(self.placeholder));
        let object = call.world.documents.get(&path, &id).ok_or_else(|| self.unknown(&id))?;
        let mut shown = self.shown(&id, object);
        shown.insert("digest".into(), json!(call.world.documents.digest(&path)));
        Ok(Value::Object(shown).into())
    }

    fn create(&self, call: &mut Call<'_>) -> Answer {
        let path = self.path(call);
        self.check_parents(call)?;
        let given = call.params.get(&self.id).or_else(|| call.params.get(self.placeholder));
        let id = given.unwrap_or_else(|| call.world.random.uuid());
        if call.world.documents.get(&path, &id).is_some() {
            return Err(Failure::die(format!("{} '{id}' already exists", self.noun())));
        }
        call.check_digest(&call.world.documents.digest(&path))?;
        let object = stored(call.method, &call.params, &self.not_stored());
        call.world.documents.put(&path, &id, object);
        Ok(match call.method.returns().kind {
            Kind::String => json!(id).into(),
            Kind::Object => json!({ self.id.as_str(): id }).into(),
            _ => Data::null(),
        })
    }

    fn change(&self, call: &mut Call<'_>) -> Answer {
        let (path, id) = (self.path(call), call.params.text(self.placeholder));
        let mut object = call.world.documents.get(&path, &id).cloned().ok_or_else(|| self.unknown(&id))?;
        call.check_digest(&call.world.documents.digest(&path))?;
        let new = stored(call.method, &call.params, &self.not_stored());
        apply_deletions(call, &mut object, &new)?;
        object.extend(new);
        call.world.documents.put(&path, &id, object);
        Ok(Data::null())
    }

    fn remove(&self, call: &mut Call<'_>) -> Answer {
        let (path, id) = (self.path(call), call.params.text(self.placeholder));
        call.check_digest(&call.world.documents.digest(&path))?;
        match call.world.documents.remove(&path, &id) {
            Some(_) => Ok(Data::null()),
            None => Err(self.unknown(&id)),
        }
    }

    /// A nested collection hangs on an object that must exist.
    fn check_parents(&self, call: &Call<'_>) -> Result<(), Failure> {
        let mut template = self.parent;
        while let Some((shorter, _)) = template.rsplit_once('/') {
            let at = Catalog::embedded().templates().find(|known| *known == template);
            if let Some(owner) = at.and_then(as_child) {
                let id = call.params.text(owner.placeholder);
                if call.world.documents.get(&fill(owner.parent, &call.params), &id).is_none() {
                    return Err(owner.unknown(&id));
                }
            }
            template = shorter;
        }
        Ok(())
    }

    fn shown(&self, id: &str, object: &Map<String, Value>) -> Map<String, Value> {
        let mut shown = Map::new();
        shown.insert(self.id.clone(), json!(id));
        shown.extend(object.iter().map(|(name, value)| (name.clone(), value.clone())));
        shown
    }

    /// What is no property of an object: values of the path, and the words that steer the call.
    fn not_stored(&self) -> Vec<String> {
        let of_path = self.child.split('/').filter_map(placeholder).map(str::to_string);
        of_path.chain([self.id.clone(), "delete".into(), "digest".into()]).collect()
    }

    /// The word for one object: the last word of the path.
    fn noun(&self) -> String {
        let last = self.parent.rsplit('/').find(|part| placeholder(part).is_none()).unwrap_or_default();
        last.strip_suffix('s').unwrap_or(last).replace('-', " ")
    }

    fn unknown(&self, id: &str) -> Failure {
        Failure::die(format!("no such {} '{id}'", self.noun()))
    }
}

/// Fills a template with values of the path.
pub(crate) fn fill(template: &str, params: &Params) -> String {
    let parts =
        template.split('/').map(|part| placeholder(part).map_or_else(|| part.to_string(), |name| params.text(name)));
    parts.collect::<Vec<_>>().join("/")
}

/// Parameters as a configuration keeps them: integers and booleans become numbers, the rest stays as it was given.
pub(crate) fn stored(method: &Method, params: &Params, without: &[String]) -> Map<String, Value> {
    let kept = params.iter().filter(|(name, _)| !without.iter().any(|other| other == name));
    kept.map(|(name, value)| (name.to_string(), typed(parameter(method.parameters(), name), value))).collect()
}

fn typed(schema: Option<&Schema>, value: &Value) -> Value {
    let plain = |text: &String| !value.is_array() && !text.contains('\n');
    let Some(text) = scalar(value).filter(plain) else { return value.clone() };
    match schema.map(|schema| schema.kind) {
        Some(Kind::Integer) => text.trim().parse::<i64>().map_or(value.clone(), Value::from),
        Some(Kind::Number) => text.trim().parse::<f64>().map_or(value.clone(), Value::from),
        Some(Kind::Boolean) => json!(i32::from(text == "1")),
        _ => value.clone(),
    }
}

/// Removes what `delete` names. Only properties that the call could also set may be deleted.
pub(crate) fn apply_deletions(
    call: &Call<'_>,
    object: &mut Map<String, Value>,
    new: &Map<String, Value>,
) -> Result<(), Failure> {
    for name in call.params.list("delete") {
        if parameter(call.method.parameters(), &name).is_none_or(|schema| !schema.optional) {
            return Err(Failure::die(format!("no such option '{name}'")));
        }
        if new.contains_key(&name) {
            return Err(Failure::die(format!("cannot set and delete property '{name}' at the same time!")));
        }
        object.shift_remove(&name);
    }
    Ok(())
}

fn list_declares(method: &Method, name: &str) -> bool {
    method.returns().items.as_ref().is_some_and(|items| items.properties.get(name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collections_are_found_in_the_catalogue() {
        let mapping = of("/cluster/mapping/pci").expect("a collection");
        assert_eq!((mapping.child, mapping.id.as_str()), ("/cluster/mapping/pci/{id}", "id"));
        assert_eq!(of("/cluster/mapping/pci/{id}"), Some(mapping));
        assert_eq!(of("/cluster/metrics/server").expect("made by POST on the object").id, "id");
        let entries = of("/cluster/sdn/prefix-lists/{id}/entries").expect("nested");
        assert_eq!((entries.placeholder, entries.id.as_str()), ("url_seq", "seq"));
        assert_eq!(of("/version"), None);
        assert_eq!(of("/nodes/{node}/ceph/mon"), None, "made by a task");
    }
}

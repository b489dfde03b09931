//! What zones, virtual networks, controllers, IPAMs and DNS servers share: objects of a type with options of their own.

use serde_json::{Map, Value, json};

use super::{check_lock, check_quorum, view, wrapped};
use crate::behaviour::params::scalar;
use crate::behaviour::params::stored;
use crate::behaviour::{Answer, Call, Data, Failure};

/// A kind of object.
pub(super) struct Section {
    /// Its collection: `/cluster/sdn/zones`.
    pub path: &'static str,
    /// The name of its id: `zone`.
    pub id: &'static str,
    /// The word for one in messages: `sdn zone`.
    pub noun: &'static str,
    /// The options of each type.
    pub types: &'static [Options],
}

/// The options of a type; required ones in the order in which their absence is told.
pub(super) struct Options {
    pub name: &'static str,
    pub required: &'static [&'static str],
    pub optional: &'static [&'static str],
}

/// Judges an object before it is kept, and may complete it. The old one is `None` when it is new.
pub(super) type Hook =
    fn(&mut Call<'_>, &str, Option<&Map<String, Value>>, &mut Map<String, Value>) -> Result<(), Failure>;

impl Section {
    /// The list, of one `type` if the call says so, and only of what the caller may see.
    pub fn list(&self, call: &Call<'_>, acl: impl Fn(&str, &Map<String, Value>) -> String) -> Answer {
        let wanted = call.params.get("type");
        let shown = view::objects(call, self.path).into_iter().filter(|(id, object)| {
            let type_fits = wanted.as_ref().is_none_or(|wanted| super::text(object, "type") == *wanted);
            type_fits && call.may(&acl(id, object), &["SDN.Audit", "SDN.Allocate"])
        });
        Ok(Data::from(shown.map(|(id, object)| self.shown(id, object)).collect::<Vec<_>>()))
    }

    /// One object.
    pub fn get(&self, call: &Call<'_>) -> Answer {
        let id = call.params.text(self.id);
        let object = view::object(call, self.path, &id).ok_or_else(|| unknown(&id))?;
        Ok(self.shown(id, object).into())
    }

    /// An object with its id.
    pub fn shown(&self, id: String, mut object: Map<String, Value>) -> Value {
        object.insert(self.id.into(), json!(id));
        Value::Object(object)
    }

    /// Makes an object of a type whose options are checked before the lock is taken.
    pub fn create(&self, call: &mut Call<'_>, kind: &str, hook: Hook) -> Answer {
        check_quorum(call)?;
        let object = self.object(call, kind)?;
        wrapped(&format!("create {} object failed", self.noun), self.put_new(call, object, hook))?;
        Ok(Data::null())
    }

    /// Keeps a new object, within the lock.
    pub fn put_new(&self, call: &mut Call<'_>, mut object: Map<String, Value>, hook: Hook) -> Result<(), Failure> {
        check_lock(call)?;
        let id = call.params.text(self.id);
        if call.world.documents.get(self.path, &id).is_some() {
            return Err(Failure::die(format!("{} object ID '{id}' already defined", self.noun)));
        }
        hook(call, &id, None, &mut object)?;
        call.world.documents.put(self.path, &id, written(object));
        Ok(())
    }

    /// Changes an object.
    pub fn update(&self, call: &mut Call<'_>, hook: Hook) -> Answer {
        let result = self.put_changed(call, hook);
        wrapped(&format!("update {} object failed", self.noun), result)?;
        Ok(Data::null())
    }

    fn put_changed(&self, call: &mut Call<'_>, hook: Hook) -> Result<(), Failure> {
        check_lock(call)?;
        let id = call.params.text(self.id);
        call.check_digest(&view::digest(call, self.path))?;
        let old = call.world.documents.get(self.path, &id).cloned().ok_or_else(|| unknown(&id))?;
        let options = self.options(&old);
        let given = self.given(call);
        options.check(call, &given)?;
        let mut object = old.clone();
        for name in call.params.list("delete") {
            options.check_deletion(&name)?;
            object.shift_remove(&name);
        }
        object.extend(given);
        hook(call, &id, Some(&old), &mut object)?;
        call.world.documents.put(self.path, &id, written(object));
        Ok(())
    }

    /// Takes an object away, unless the check refuses.
    pub fn delete(
        &self,
        call: &mut Call<'_>,
        prefix: &str,
        check: fn(&Call<'_>, &str) -> Result<(), Failure>,
    ) -> Answer {
        let id = call.params.text(self.id);
        let judged = check_lock(call).and_then(|()| match call.world.documents.get(self.path, &id) {
            Some(_) => check(call, &id),
            None => Err(unknown(&id)),
        });
        wrapped(prefix, judged)?;
        call.world.documents.remove(self.path, &id);
        Ok(Data::null())
    }

    /// A new object of what was given, its options checked.
    pub fn object(&self, call: &Call<'_>, kind: &str) -> Result<Map<String, Value>, Failure> {
        let given = self.given(call);
        let options = self.types.iter().find(|options| options.name == kind).unwrap_or(&NONE);
        options.check(call, &given)?;
        if let Some(missing) = options.required.iter().find(|name| !given.contains_key(**name)) {
            return Err(Failure::die(format!("missing value for required option '{missing}'")));
        }
        let mut object = Map::new();
        object.insert("type".into(), json!(kind));
        object.extend(given);
        Ok(object)
    }

    fn options(&self, object: &Map<String, Value>) -> &'static Options {
        let kind = super::text(object, "type");
        let found = self.types.iter().find(|options| options.name == kind);
        found.or(self.types.first()).unwrap_or(&NONE)
    }

    /// The options that the call gives: lists of nodes with commas, numbers as numbers.
    fn given(&self, call: &Call<'_>) -> Map<String, Value> {
        let without = [self.id, "type", "delete", "digest", "lock-token"].map(String::from);
        let mut given = stored(call.method, &call.params, &without);
        for name in ["nodes", "exitnodes"] {
            if given.contains_key(name) {
                given.insert(name.into(), json!(call.params.list(name).join(",")));
            }
        }
        given
    }
}

const NONE: Options = Options { name: "", required: &[], optional: &[] };

impl Options {
    fn knows(&self, name: &str) -> bool {
        self.required.contains(&name) || self.optional.contains(&name)
    }

    fn check(&self, call: &Call<'_>, given: &Map<String, Value>) -> Result<(), Failure> {
        if let Some(name) = given.keys().find(|name| !self.knows(name)) {
            return Err(Failure::die(format!("unexpected property '{name}'")));
        }
        let broken = given.keys().filter_map(|name| call.params.get(name)).any(|value| value.contains('\n'));
        if broken { Err(Failure::die("property contains a line feed")) } else { Ok(()) }
    }

    fn check_deletion(&self, name: &str) -> Result<(), Failure> {
        if self.required.contains(&name) {
            return Err(Failure::die(format!("unable to delete required option '{name}'")));
        }
        if self.optional.contains(&name) { Ok(()) } else { Err(Failure::die(format!("no such option '{name}'"))) }
    }
}

/// `sdn 'x' does not exist`.
pub(super) fn unknown(id: &str) -> Failure {
    Failure::die(format!("sdn '{id}' does not exist"))
}

/// No check of its own.
pub(super) fn nothing(
    _call: &mut Call<'_>,
    _id: &str,
    _old: Option<&Map<String, Value>>,
    _object: &mut Map<String, Value>,
) -> Result<(), Failure> {
    Ok(())
}

/// A file cannot hold an empty value.
fn written(object: Map<String, Value>) -> Map<String, Value> {
    object.into_iter().filter(|(_, value)| scalar(value).is_none_or(|text| !text.is_empty())).collect()
}

//! Pairs of options: GET shows and PUT changes one object at one path.

use pve_catalog::{Catalog, Kind, Method, Verb};
use serde_json::{Value, json};

use super::collection::{apply_deletions, fill, stored};
use crate::behaviour::{Answer, Call, Data};
use crate::world::digest;

/// Whether a template is such a pair.
pub(crate) fn is_pair(template: &str) -> bool {
    let catalog = Catalog::embedded();
    let object = |method: &Method| method.returns().kind == Kind::Object;
    let settled = |method: &Method| !method.task;
    catalog.get(Verb::Get, template).is_some_and(object) && catalog.get(Verb::Put, template).is_some_and(settled)
}

/// Shows, or changes.
pub(crate) fn answer(call: &mut Call<'_>) -> Answer {
    let path = fill(call.method.path, &call.params);
    let now = call.world.documents.options.get(&path).cloned().unwrap_or_default();
    let current = digest(&Value::Object(now.clone()));
    match call.method.verb {
        Verb::Get => {
            let mut shown = now;
            shown.insert("digest".into(), json!(current));
            Ok(Value::Object(shown).into())
        }
        Verb::Put | Verb::Post | Verb::Delete => {
            call.check_digest(&current)?;
            let of_path = call.method.path.split('/').filter_map(pve_catalog::path::placeholder).map(str::to_string);
            let without: Vec<String> = of_path.chain(["delete".into(), "digest".into()]).collect();
            let new = stored(call.method, &call.params, &without);
            let mut options = now;
            apply_deletions(call, &mut options, &new)?;
            options.extend(new);
            call.world.documents.options.insert(path, options);
            Ok(Data::null())
        }
    }
}

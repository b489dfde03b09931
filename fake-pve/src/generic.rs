//! Answers derived from the catalogue, for methods without a hand-written behaviour.
//!
//! Tried in this order: a [`collection`] (POST creates, GET lists and shows, PUT changes, DELETE removes), a pair of
//! [`options`] (GET and PUT on one path), an [`index`] of a path's children, and for GET only the declared [`shape`]
//! with nothing in it. What the world keeps as typed state (guests, storages, users …) is never answered from here: a
//! document beside the real thing would be a lie. A mutation that nothing models is 501.

pub(crate) mod collection;
pub(crate) mod index;
pub(crate) mod options;
pub(crate) mod shape;

use pve_catalog::{Method, Verb};

use crate::behaviour::{Answer, Call, Failure, table};
use crate::journal::Level;

/// Paths whose state is typed: only behaviours may answer, except for the firewall of a guest and plain indexes.
const TYPED: [&str; 8] = [
    "/access",
    "/nodes/{node}/disks",
    "/nodes/{node}/lxc",
    "/nodes/{node}/network",
    "/nodes/{node}/qemu",
    "/nodes/{node}/storage",
    "/pools",
    "/storage",
];

/// What answers a method.
pub(crate) fn level(method: &'static Method) -> Level {
    if table::find(&method.key()).is_some() {
        return Level::Behaviour;
    }
    let template = method.path;
    let typed = TYPED.iter().any(|path| beneath(path, template)) && !template.contains("}/firewall");
    if !typed && let Some(collection) = collection::of(template) {
        return if collection.knows(method) { Level::Collection } else { Level::Unmodelled };
    }
    if !typed && options::is_pair(template) && matches!(method.verb, Verb::Get | Verb::Put) {
        return Level::Options;
    }
    match method.verb {
        Verb::Get if index::is_folder(method) => Level::Index,
        Verb::Get if !typed => Level::Shape,
        _ => Level::Unmodelled,
    }
}

/// The answer of a level.
pub(crate) fn answer(call: &mut Call<'_>, level: Level) -> Answer {
    let method = call.method;
    match (level, collection::of(method.path)) {
        (Level::Collection, Some(collection)) => collection.answer(call),
        (Level::Options, _) => options::answer(call),
        (Level::Index, _) => index::list(call),
        (Level::Shape, _) => Ok(shape::empty(method.returns()).into()),
        _ => Err(Failure::new(501, format!("fake-pve: {} is not modelled", method.key()))),
    }
}

fn beneath(path: &str, template: &str) -> bool {
    template == path || template.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
}

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

use pve_catalog::Verb;

use crate::behaviour::{Answer, Call, Failure};
use crate::journal::Level;

/// Paths whose state is typed: only behaviours may answer, except for the firewall of a guest and plain indexes.
const TYPED: [&str; 6] =
    ["/nodes/{node}/qemu", "/nodes/{node}/lxc", "/nodes/{node}/storage", "/storage", "/access", "/pools"];

/// The answer of the generic level, and which of its parts gave it.
pub(crate) fn answer(call: &mut Call<'_>) -> (Level, Answer) {
    let template = call.method.path;
    let typed = TYPED.iter().any(|path| beneath(path, template)) && !template.contains("}/firewall");
    if !typed && let Some(collection) = collection::of(template) {
        let answer = collection.answer(call);
        return answer.map_or_else(|| unmodelled(call), |answer| (Level::Collection, answer));
    }
    if !typed && options::is_pair(template) {
        return (Level::Options, options::answer(call));
    }
    if call.method.verb != Verb::Get {
        return unmodelled(call);
    }
    if let Some(answer) = index::answer(call) {
        return (Level::Index, Ok(answer));
    }
    if typed {
        return unmodelled(call);
    }
    (Level::Shape, Ok(shape::empty(call.method.returns()).into()))
}

fn unmodelled(call: &Call<'_>) -> (Level, Answer) {
    let text = format!("fake-pve: {} is not modelled", call.method.key());
    (Level::Unmodelled, Err(Failure::new(501, text)))
}

fn beneath(path: &str, template: &str) -> bool {
    template == path || template.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
}

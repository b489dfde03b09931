//! Answers derived from the catalogue, for GET methods without a hand-written behaviour.
//!
//! An [`index`] of a path's children, else the declared [`shape`] with nothing in it. A mutation that no behaviour models
//! is 501, and so is a read of what the world keeps as typed state (guests, storages, users …): an empty answer beside the
//! real thing would be a lie.

pub(crate) mod index;
pub(crate) mod shape;

use pve_catalog::{Method, Verb};

use crate::behaviour::{Answer, Call, Failure, table};
use crate::journal::Level;

/// Paths whose state is typed: only behaviours may answer, except for plain indexes.
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
    let typed = TYPED.iter().any(|path| beneath(path, method.path));
    match method.verb {
        Verb::Get if index::is_folder(method) => Level::Index,
        Verb::Get if !typed => Level::Shape,
        _ => Level::Unmodelled,
    }
}

/// The answer of a level.
pub(crate) fn answer(call: &mut Call<'_>, level: Level) -> Answer {
    let method = call.method;
    match level {
        Level::Index => index::list(call),
        Level::Shape => Ok(shape::empty(method.returns()).into()),
        _ => Err(Failure::new(501, format!("fake-pve: {} is not modelled", method.key()))),
    }
}

fn beneath(path: &str, template: &str) -> bool {
    template == path || template.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
}

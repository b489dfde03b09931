//! `effects.toml`: what shows the effect of writes for which no rule holds.

use std::sync::LazyLock;

use fake_pve::FakePve;
use pve_catalog::Method;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Before, Kind, Watch, changes, read, seen};
use crate::cluster;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    effect: Vec<Row>,
}

/// What is known of some methods. Of `read`, `world` and `reason` there is one at most; a row with none of them only hides.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// `POST /nodes/{node}/qemu/{vmid}/status/start`.
    methods: Vec<String>,
    /// Arguments that no read shows as they were given: secrets, and what only steers the call.
    #[serde(default)]
    hidden: Vec<String>,
    /// A path template to read, with the arguments of the call.
    read: Option<String>,
    /// The part of the answer that counts; the whole without one.
    pointer: Option<String>,
    /// What is there afterwards. Without it (and without `gone`), anything other than before.
    value: Option<Value>,
    /// The read is refused afterwards, or the part of the answer is no longer there.
    #[serde(default)]
    gone: bool,
    /// The part of the world that changes: `/guests/100/locks`.
    world: Option<String>,
    /// Why the world shows nothing.
    reason: Option<String>,
}

static FILE: LazyLock<File> =
    LazyLock::new(|| toml::from_str(include_str!("../../effects.toml")).expect("effects.toml has the form it says"));

/// The row of a method.
pub fn of(method: &Method) -> Option<&'static Row> {
    let key = method.key();
    FILE.effect.iter().find(|row| row.methods.contains(&key))
}

/// Every method that is named, in the order of the file.
pub fn methods() -> impl Iterator<Item = &'static str> {
    FILE.effect.iter().flat_map(|row| &row.methods).map(String::as_str)
}

impl Row {
    /// Arguments that no read shows.
    pub fn hidden(&self) -> &[String] {
        &self.hidden
    }

    /// The path to read, for these arguments.
    pub fn read_path(&self, arguments: &Map<String, Value>) -> Option<String> {
        self.read.as_ref().map(|template| cluster::split(template, arguments.clone()).0)
    }

    /// What the row says of the world now; `None` when it leaves that to the rules.
    pub fn judge(
        &self,
        fake: &FakePve,
        arguments: &Map<String, Value>,
        before: &Before,
    ) -> Option<Result<Kind, String>> {
        if let Some(path) = self.read_path(arguments) {
            return Some(self.shown(&path, &read(fake, &path), before).map(|()| Kind::Shown));
        }
        let changed = || changes(&before.world, &fake.world(|world| world.clone()), Watch::Content);
        if let Some(part) = &self.world {
            let changed = changed();
            return Some(match changed.iter().any(|pointer| pointer.starts_with(part.as_str())) {
                true => Ok(Kind::Kept),
                false => Err(format!("{part} of the world is as before; changed: {changed:?}")),
            });
        }
        self.reason.as_ref().map(|reason| match changed() {
            changed if changed.is_empty() => Ok(Kind::Explained),
            changed => {
                Err(format!("effects.toml says that the world shows nothing ({reason}), but {changed:?} changed"))
            }
        })
    }

    fn shown(&self, path: &str, answer: &Result<Value, String>, before: &Before) -> Result<(), String> {
        let part = |answer: &Result<Value, String>| {
            let pointer = self.pointer.as_deref().unwrap_or_default();
            answer.as_ref().ok().and_then(|answer| answer.pointer(pointer).cloned())
        };
        let (old, new) = (before.reads.get(path).and_then(part), part(answer));
        let holds = match &self.value {
            Some(value) => new.as_ref().is_some_and(|new| seen::same(value, new)),
            None if self.gone => old.is_some() && new.is_none(),
            None => new.is_some() && old != new,
        };
        // What was so before shows nothing.
        match holds && old != new {
            true => Ok(()),
            false => Err(format!("GET {path} {:?} was {old:?} and is {new:?} ({answer:?})", self.pointer)),
        }
    }
}

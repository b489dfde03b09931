//! A cluster asked in process: the same pipeline from the search for the method on, without connections, logins and
//! envelopes. For tests that make a great many calls, each from a world of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use pve_catalog::Verb;
use serde_json::{Map, Value};

use crate::clock::{Clock, MANUAL_START};
use crate::engine::{self, Shared, State};
use crate::world::World;
use crate::{FakePve, Level};

/// A cluster without a network, on a manual clock. The caller says who asks; nothing is authenticated. Copies share one world.
#[derive(Clone)]
pub struct Direct {
    pub(crate) shared: Arc<Shared>,
}

/// An answer before it is put into an envelope.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    /// HTTP status.
    pub status: u16,
    /// Why it was refused, without the line end.
    pub message: Option<String>,
    /// Per-parameter texts of a refusal.
    pub errors: BTreeMap<String, String>,
    /// The result.
    pub data: Value,
    /// What stands beside the result.
    pub total: Option<u64>,
    /// Text of pending changes beside the result.
    pub changes: Option<String>,
    /// What gave the answer.
    pub level: Option<Level>,
}

impl Direct {
    /// A cluster that begins with this world, at [`MANUAL_START`]. No user or token is added.
    pub fn new(world: World) -> Direct {
        Direct::at(world, MANUAL_START)
    }

    /// As [`Direct::new`], at a moment in seconds since the epoch.
    pub fn at(mut world: World, start: i64) -> Direct {
        let clock = Clock::manual_at(start);
        crate::scenario::moments::settle(&mut world, clock.now());
        Direct { shared: Shared::new(State::new(world, clock), String::new(), "") }
    }

    /// One call by a user or token (`None` is nobody). The path stands beneath the format, decoded.
    pub fn call(&self, authid: Option<&str>, verb: &str, path: &str, params: Map<String, Value>) -> Told {
        call(&self.shared, authid, verb, path, params)
    }

    /// Runs the clock to the end of every task, and of those that they start.
    pub fn finish_tasks(&self) {
        finish_tasks(&self.shared);
    }

    /// Virtual seconds since the epoch.
    pub fn now(&self) -> i64 {
        self.shared.lock().clock.now()
    }

    /// Reads or changes the world under its lock.
    pub fn world<T>(&self, act: impl FnOnce(&mut World) -> T) -> T {
        act(&mut self.shared.lock().world)
    }
}

impl FakePve {
    /// One call in process by a user or token (`None` is nobody): nothing is authenticated, and it is not among the
    /// requests. The path stands beneath the format, decoded. For preparing a world, and for looking at it.
    pub fn call(&self, authid: Option<&str>, verb: &str, path: &str, params: Map<String, Value>) -> Told {
        call(&self.shared, authid, verb, path, params)
    }

    /// Runs the clock to the end of every task, and of those that they start.
    pub fn finish_tasks(&self) {
        finish_tasks(&self.shared);
    }
}

fn call(shared: &Shared, authid: Option<&str>, verb: &str, path: &str, params: Map<String, Value>) -> Told {
    let Ok(verb) = verb.parse::<Verb>() else { return Told { status: 501, ..Told::default() } };
    let (level, answer) = engine::call(shared, verb, path, params, authid);
    let level = Some(level);
    match answer {
        Ok(data) => {
            Told { status: 200, data: data.value, total: data.total, changes: data.changes, level, ..Told::default() }
        }
        Err(failure) => Told {
            status: failure.status,
            message: Some(failure.message),
            errors: failure.errors,
            level,
            ..Told::default()
        },
    }
}

fn finish_tasks(shared: &Shared) {
    loop {
        let mut state = shared.lock();
        let Some(ends_ms) = state.world.tasks.iter().filter(|task| task.running()).map(|task| task.ends_ms).max()
        else {
            return;
        };
        state.clock.run_to_ms(ends_ms);
    }
}

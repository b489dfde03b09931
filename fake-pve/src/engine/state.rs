//! What one lock guards: the world with the number of its state, and what keeps it up to date.

use std::ops::{Deref, DerefMut};

use super::kept::Kept;
use crate::clock::Clock;
use crate::fault::{At, Blow, Faults};
use crate::journal::Journal;
use crate::work::{Workers, due};
use crate::world::World;

/// Everything that one lock guards.
pub(crate) struct State {
    pub world: Watched,
    pub clock: Clock,
    pub workers: Workers,
    pub journal: Journal,
    pub faults: Faults,
    pub(super) kept: Kept,
    /// The state of the world that nothing is due in, and until when, in milliseconds.
    rests: Option<(u64, i64)>,
}

/// A world that counts its states: whoever takes it to change it makes a new one, changed or not.
pub(crate) struct Watched {
    world: World,
    revision: u64,
}

impl Watched {
    /// The number of the state.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// For behaviours that are known to read only: it stays the same state.
    pub(super) fn unchanged(&mut self) -> &mut World {
        &mut self.world
    }
}

impl Deref for Watched {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl DerefMut for Watched {
    fn deref_mut(&mut self) -> &mut World {
        self.revision += 1;
        &mut self.world
    }
}

impl State {
    pub fn new(world: World, clock: Clock) -> State {
        let world = Watched { world, revision: 0 };
        let (workers, journal, faults, kept) = Default::default();
        State { world, clock, workers, journal, faults, kept, rests: None }
    }

    /// Finishes what is due now. Nothing is touched when nothing is.
    pub fn catch_up(&mut self) {
        let now_ms = self.clock.now_ms();
        if self.rests.is_some_and(|(revision, until_ms)| revision == self.world.revision && now_ms < until_ms) {
            return;
        }
        let State { world, workers, clock, .. } = self;
        let world: &mut World = world;
        if let Some(end_ms) = workers.overdue(world, now_ms).filter(|_| clock.runs_to_end()) {
            clock.run_to_ms(end_ms);
        }
        workers.settle(world, clock.now_ms());
        world.tell_statistics(clock.now_ms().div_euclid(1000));
        let until_ms = due::next_ms(world);
        self.rests = Some((self.world.revision, until_ms));
    }

    /// What strikes a request here.
    pub fn strike(&mut self, at: At<'_>) -> Vec<Blow> {
        if self.faults.is_empty() { Vec::new() } else { self.faults.strike(&mut self.world, at) }
    }
}

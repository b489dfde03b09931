//! Tasks that a fault decides about.

use super::{Act, NewTask};
use crate::world::World;

/// What a fault makes of the next task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It fails at its end with this text, and nothing of its work is done.
    Fail(String),
    /// It ends with these warnings.
    Warn(Vec<String>),
}

impl NewTask {
    /// The same task as a fault would have it. What it does at its start is judged first, and not kept where nothing
    /// would take it back.
    pub(super) fn fated(mut self, fate: Option<Fate>) -> NewTask {
        match fate {
            None => {}
            Some(Fate::Fail(text)) => {
                if self.finish.is_none() && self.undo.is_none() {
                    self.begin = self.begin.take().map(tried);
                }
                self.steps.clear();
                self.lines.retain(|(after, _)| after.is_zero());
                self.finish = Some(Box::new(move |_| Err(text)));
            }
            Some(Fate::Warn(warnings)) => {
                let finish = self.finish.take();
                self.finish = Some(Box::new(move |run| {
                    finish.map_or(Ok(()), |finish| finish(run))?;
                    warnings.iter().for_each(|text| run.warn(text));
                    Ok(())
                }));
            }
        }
        self
    }
}

/// An act that may fail as always, and changes nothing but the log when it does not.
fn tried(act: Act) -> Act {
    Box::new(move |run| {
        let before = run.world.clone();
        act(run)?;
        let tasks = std::mem::take(&mut run.world.tasks);
        *run.world = World { tasks, ..before };
        run.locks.clear();
        run.spawned.clear();
        Ok(())
    })
}

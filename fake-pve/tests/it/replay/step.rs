//! One recorded call put to a world.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fake_pve::{Direct, Told, World};
use pve_catalog::Catalog;
use serde_json::{Map, Value};

use super::board::Board;
use super::compare::{self, Verdict};
use super::evidence::Evidence;
use super::{files, seed};

/// A recorded call with its outcome.
pub struct Step {
    /// File and number of the line, from 1.
    pub place: String,
    pub verb: String,
    pub path: String,
    pub params: Map<String, Value>,
    pub user: String,
    pub outcome: Value,
    pub files: Map<String, Value>,
}

/// What the fake made of it.
pub struct Played {
    pub told: Told,
    /// Exit status and log of the task that it started.
    pub task: Option<(String, Vec<String>)>,
    /// Texts of the recorded files afterwards.
    pub files: BTreeMap<String, Option<String>>,
    /// Files that changed, whether recorded or not.
    pub changed: Vec<String>,
}

impl Step {
    fn read(file: &str, number: usize, line: &Value) -> Step {
        let text = |key: &str| line[key].as_str().unwrap_or_default().to_string();
        let user = line["user"].as_str().unwrap_or("root@pam").to_string();
        Step {
            place: format!("{file}:{}", number + 1),
            verb: text("method"),
            path: text("path"),
            params: line["params"].as_object().cloned().unwrap_or_default(),
            user,
            outcome: line["outcome"].clone(),
            files: line["files_after"].as_object().cloned().unwrap_or_default(),
        }
    }

    /// `GET /nodes/{node}/qemu`, or the path itself when the catalogue knows none.
    pub fn method(&self) -> String {
        let template = Catalog::embedded().route(&self.path).map(|(template, _)| template);
        format!("{} {}", self.verb, template.unwrap_or(&self.path))
    }
}

/// Plays a transcript: every step on the world that the one before left.
pub fn in_order(file: &str, world: World, lines: &[Value], board: &mut Board) {
    let cluster = Direct::at(world, seed::MOMENT);
    for (number, line) in lines.iter().enumerate() {
        let step = Step::read(file, number, line);
        // A step outside the API only waits, in these transcripts.
        if step.verb == "SHELL" {
            cluster.finish_tasks();
            continue;
        }
        let played = if Evidence::rules().without_effect(&step) { None } else { play(&cluster, &step) };
        if board.wants(&step) {
            board.add(file, &step, judged(&step, played));
        }
    }
}

/// Plays each line on a world of its own.
pub fn each_from(file: &str, world: &World, lines: &[Value], board: &mut Board) {
    for (number, line) in lines.iter().enumerate() {
        let step = Step::read(file, number, line);
        if board.wants(&step) {
            let played = play(&Direct::at(world.clone(), seed::MOMENT), &step);
            board.add(file, &step, judged(&step, played));
        }
    }
}

fn judged(step: &Step, played: Option<Played>) -> Verdict {
    match Evidence::rules().none_in(step) {
        Some(reason) => Verdict::NoEvidence(reason),
        None => compare::verdict(step, played),
    }
}

/// `None` when the call panicked.
fn play(cluster: &Direct, step: &Step) -> Option<Played> {
    let writes = step.verb != "GET";
    let before = if writes { cluster.world(|world| files::all(world)) } else { BTreeMap::new() };
    let user = Some(step.user.as_str());
    let call = || cluster.call(user, &step.verb, &step.path, step.params.clone());
    let told = catch_unwind(AssertUnwindSafe(call)).ok()?;
    catch_unwind(AssertUnwindSafe(|| cluster.finish_tasks())).ok()?;
    Some(cluster.world(|world| {
        let after = if writes { files::all(world) } else { BTreeMap::new() };
        let task = told.data.as_str().and_then(|upid| {
            let task = world.tasks.iter().find(|task| task.upid == upid)?;
            let log = task.log.iter().map(|line| line.text.clone()).collect();
            Some((task.exitstatus.clone().unwrap_or_default(), log))
        });
        let recorded = step.files.keys().map(|path| (path.clone(), world.file(path))).collect();
        Played { task, files: recorded, changed: files::changed(&before, &after), told }
    }))
}

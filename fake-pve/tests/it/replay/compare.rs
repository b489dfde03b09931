//! A recorded outcome held against what the fake did.

use std::collections::BTreeMap;

use fake_pve::Level;
use serde_json::Value;

use super::evidence::Evidence;
use super::step::{Played, Step};
use super::{files, normal};

/// What a step is worth.
pub enum Verdict {
    Matched,
    /// Texts that say what differs.
    Differing(Vec<String>),
    /// The recording does not tell how Proxmox answers; why.
    NoEvidence(String),
}

/// Compares status, message, errors, result, the end of the task and changed files.
pub fn verdict(step: &Step, played: Option<Played>) -> Verdict {
    let Some(played) = played else { return Verdict::Differing(vec!["the call panicked".into()]) };
    if played.told.level == Some(Level::Unmodelled) {
        return Verdict::Differing(vec![format!("not modelled; recorded {}", step.outcome)]);
    }
    let mut differences = Vec::new();
    answer(step, &played, &mut differences);
    task(step, &played, &mut differences);
    changed_files(step, &played, &mut differences);
    if differences.is_empty() { Verdict::Matched } else { Verdict::Differing(differences) }
}

fn answer(step: &Step, played: &Played, differences: &mut Vec<String>) {
    let (outcome, told) = (&step.outcome, &played.told);
    let mut differ = |what: &str, recorded: String, ours: String| {
        if recorded != ours {
            differences.push(format!("{what}\n      recorded {recorded}\n      ours     {ours}"));
        }
    };
    differ("status", outcome["status"].to_string(), told.status.to_string());
    let recorded = outcome["message"].as_str().map(normal::message).unwrap_or_default();
    let ours = told.message.as_deref().map(normal::message).unwrap_or_default();
    if !both_missing(step, &recorded, &ours) {
        differ("message", recorded, ours);
    }
    differ("errors", errors(&outcome["errors"]), errors(&serde_json::to_value(&told.errors).unwrap_or_default()));
    let without = Evidence::rules().fields(step);
    if outcome.get("data").is_some() && told.status == 200 {
        let (recorded, ours) = (normal::data(&outcome["data"], &without), normal::data(&told.data, &without));
        differ("data", recorded.to_string(), ours.to_string());
        if !without.iter().any(|key| key == "total") {
            let total = told.total.filter(|total| *total > 0).map_or(Value::Null, Value::from);
            differ("total", outcome["total"].to_string(), total.to_string());
        }
    }
}

/// Of several required options that are missing, Proxmox names the one that a hash in Perl happens to hold first: the same
/// call names another one the next time. What must be equal is all but the name, and that the named one is missing.
fn both_missing(step: &Step, recorded: &str, ours: &str) -> bool {
    let named = |message: &str| {
        let (before, rest) = message.split_once("missing value for required option '")?;
        let (name, after) = rest.split_once('\'')?;
        (!step.params.contains_key(name)).then(|| format!("{before}{after}"))
    };
    named(recorded).is_some_and(|recorded| named(ours) == Some(recorded))
}

fn errors(errors: &Value) -> String {
    let texts = errors.as_object().into_iter().flatten();
    let sorted: BTreeMap<&String, String> =
        texts.map(|(key, text)| (key, normal::message(text.as_str().unwrap_or_default()))).collect();
    sorted.iter().map(|(key, text)| format!("{key}: {text:?}")).collect::<Vec<_>>().join("; ")
}

/// The log is told beside, but only the end counts.
fn task(step: &Step, played: &Played, differences: &mut Vec<String>) {
    let Some(recorded) = step.outcome["task_status"].as_str().map(normal::message) else { return };
    let Some((status, log)) = &played.task else { return };
    let ours = normal::message(status);
    if recorded != ours {
        let log = log.join("\n               ");
        differences.push(format!("task\n      recorded {recorded}\n      ours     {ours}\n      its log  {log}"));
    }
}

fn changed_files(step: &Step, played: &Played, differences: &mut Vec<String>) {
    let rules = Evidence::rules();
    for (path, text) in &step.files {
        if rules.no_file(step, path) {
            continue;
        }
        // An empty file configures as much as none.
        let comparable = |text: &str| Some(files::comparable(path, text)).filter(|text| !text.is_empty());
        let recorded = text.as_str().and_then(comparable);
        let ours = played.files.get(path).cloned().flatten().as_deref().and_then(comparable);
        if recorded != ours {
            differences.push(format!("file {path}\n{}", unlike(recorded.as_deref(), ours.as_deref())));
        }
    }
    let unexpected = played.changed.iter().filter(|path| !step.files.contains_key(*path) && !rules.no_file(step, path));
    differences.extend(unexpected.map(|path| format!("file {path}\n      changed, but not in the recording")));
}

/// Lines that only one side has.
fn unlike(recorded: Option<&str>, ours: Option<&str>) -> String {
    let (Some(recorded), Some(ours)) = (recorded, ours) else {
        let said = |text: Option<&str>| text.map_or("no such file".to_string(), |text| format!("{text:?}"));
        return format!("      recorded {}\n      ours     {}", said(recorded), said(ours));
    };
    let only = |a: &str, b: &str| -> Vec<String> {
        let mut others: Vec<&str> = b.lines().collect();
        let lines = a.lines().filter(|line| match others.iter().position(|other| other == line) {
            Some(at) => {
                others.swap_remove(at);
                false
            }
            None => true,
        });
        lines.map(str::to_string).collect()
    };
    let show = |mark: char, lines: Vec<String>| lines.into_iter().map(move |line| format!("      {mark} {line}"));
    let lines: Vec<String> = show('-', only(recorded, ours)).chain(show('+', only(ours, recorded))).collect();
    if lines.is_empty() { "      the same lines in another order".into() } else { lines.join("\n") }
}

//! What in the recording is no evidence of Proxmox: rules with reasons, read from `replay-no-evidence.toml`.

use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex};

use serde::Deserialize;

use super::step::Step;

/// All rules.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// Whole answers.
    answer: Vec<Answer>,
    /// Changed files.
    file: Vec<File>,
    /// Keys of results.
    field: Vec<Field>,
    /// Exchanges on the wire.
    exchange: Vec<Exchange>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exchange {
    reason: String,
    /// The recorder's name for it.
    label: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    reason: String,
    /// A text in the recorded outcome.
    contains: Option<String>,
    /// `GET /nodes/*/rrd**`: `*` stands for one part of the path, `**` at the end for all that follow.
    call: Option<String>,
    /// A text in the parameters of the call.
    given: Option<String>,
    /// Files and lines of the steps: `transcripts/nodes:16`.
    places: Option<Vec<String>>,
    /// Whether the call changed nothing in the recording: what follows must not see its effect.
    #[serde(default)]
    without_effect: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    reason: String,
    path: String,
    /// Only for these calls.
    call: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Field {
    reason: String,
    call: String,
    /// A text in the parameters of the call.
    given: Option<String>,
    keys: Vec<String>,
}

/// Rules that applied to something, by list and place in it.
static USED: Mutex<BTreeSet<(&str, usize)>> = Mutex::new(BTreeSet::new());

fn used(list: &'static str, at: usize) {
    USED.lock().expect("no test holds it for long").insert((list, at));
}

static RULES: LazyLock<Evidence> =
    LazyLock::new(|| toml::from_str(include_str!("../../replay-no-evidence.toml")).expect("rules"));

impl Evidence {
    pub fn rules() -> &'static Evidence {
        &RULES
    }

    /// Why a step is no evidence.
    pub fn none_in(&self, step: &Step) -> Option<String> {
        self.rule(step).map(|rule| rule.reason.clone())
    }

    /// Whether a step is no evidence and changed nothing in the recording.
    pub fn without_effect(&self, step: &Step) -> bool {
        self.rule(step).is_some_and(|rule| rule.without_effect)
    }

    fn rule(&self, step: &Step) -> Option<&Answer> {
        let call = format!("{} {}", step.verb, step.path);
        let (outcome, params) = (step.outcome.to_string(), serde_json::to_string(&step.params).unwrap_or_default());
        let applies = |rule: &Answer| {
            let contains = rule.contains.as_ref().map(|text| outcome.contains(text.as_str()));
            let of_call = rule.call.as_ref().map(|glob| fits(glob, &call));
            let given = rule.given.as_ref().map(|text| params.contains(text.as_str()));
            let there = rule.places.as_ref().map(|places| places.contains(&step.place));
            let all = [contains, of_call, given, there];
            all.iter().any(Option::is_some) && all.iter().all(|one| one.unwrap_or(true))
        };
        let at = self.answer.iter().position(applies)?;
        used("answer", at);
        self.answer.get(at)
    }

    /// Rules that no step of the whole recording needs: they hide nothing today, and would hide a fault tomorrow.
    pub fn needless(&self) -> Vec<String> {
        let used = USED.lock().expect("no test holds it for long");
        let idle = |list: &'static str, rules: Vec<&String>| {
            let idle = rules.into_iter().enumerate().filter(|(at, _)| !used.contains(&(list, *at)));
            idle.map(|(at, reason)| format!("[[{list}]] {}: {reason}", at + 1)).collect::<Vec<_>>()
        };
        let mut all = idle("answer", self.answer.iter().map(|rule| &rule.reason).collect());
        all.extend(idle("file", self.file.iter().map(|rule| &rule.reason).collect()));
        all.extend(idle("field", self.field.iter().map(|rule| &rule.reason).collect()));
        all
    }

    /// Why an exchange on the wire is no evidence.
    pub fn none_in_exchange(&self, label: &str) -> Option<String> {
        self.exchange.iter().find(|rule| rule.label == label).map(|rule| rule.reason.clone())
    }

    pub fn no_file(&self, step: &Step, path: &str) -> bool {
        let call = format!("{} {}", step.verb, step.path);
        let of_call = |rule: &File| rule.call.as_ref().is_none_or(|glob| fits(glob, &call));
        let at = self.file.iter().position(|rule| fits(&rule.path, path) && of_call(rule));
        at.inspect(|at| used("file", *at)).is_some()
    }

    /// Keys of the result that are not compared.
    pub fn fields(&self, step: &Step) -> Vec<String> {
        let call = format!("{} {}", step.verb, step.path);
        let params = serde_json::to_string(&step.params).unwrap_or_default();
        let given = |rule: &Field| rule.given.as_ref().is_none_or(|text| params.contains(text.as_str()));
        let rules = self.field.iter().enumerate().filter(|(_, rule)| fits(&rule.call, &call) && given(rule));
        let keys = rules.inspect(|(at, _)| used("field", *at)).flat_map(|(_, rule)| rule.keys.clone());
        keys.collect()
    }
}

/// `*` within a part stands for any text without `/`; `**` at the end for the rest.
fn fits(glob: &str, text: &str) -> bool {
    if let Some(beginning) = glob.strip_suffix("**") {
        return (0..=text.len()).filter(|at| text.is_char_boundary(*at)).any(|at| fits(beginning, &text[..at]));
    }
    match glob.split_once('*') {
        None => glob == text,
        Some((before, after)) => text.strip_prefix(before).is_some_and(|rest| {
            let end = rest.find('/').unwrap_or(rest.len());
            (0..=end).filter(|at| rest.is_char_boundary(*at)).any(|at| fits(after, &rest[at..]))
        }),
    }
}

#[test]
fn globs() {
    assert!(fits("GET /nodes/*/rrd", "GET /nodes/pve1/rrd") && !fits("GET /nodes/*/rrd", "GET /nodes/a/b/rrd"));
    assert!(fits("GET /nodes/*/disks**", "GET /nodes/pve1/disks/zfs") && fits("* /x", "PUT /x"));
}

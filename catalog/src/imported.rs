//! An imported catalogue: facts from outside, what is believed of them, and our decisions over them.
//!
//! It can add methods, parameters and texts. It lowers nothing: a method that we know keeps what was decided about it, one
//! that we do not know is `sensitive` or `elevated`; and whatever it says about paths, the policy also asks the embedded
//! catalogue where a path leads. Names must look like Proxmox's own, other words may hold no sentence, texts are cleaned,
//! and patterns that the embedded catalogue does not have are kept only when they are cheap to run.

mod guard;

use std::collections::HashSet;

use crate::decide::{self, Decision, Rules};
use crate::encode::{self, Fact};
use crate::import::MOST_BYTES;
use crate::schema::Kind;
use crate::{Catalog, Gate, Method, Verb, name};
use guard::Guard;

/// Most methods, ten times what Proxmox has.
const MOST_METHODS: usize = 7_000;
/// Longest tool name: with a client's prefix it stays under 64 characters.
const LONGEST_TOOL: usize = 48;

/// Why imported facts are not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportedError {
    /// More than an import may have.
    #[error("it is larger than {} MiB", MOST_BYTES >> 20)]
    TooLarge,
    /// A line is no fact.
    #[error("line {0}: {1}")]
    Line(usize, String),
    /// A method is none that Proxmox could have.
    #[error("{0}: {1}")]
    Method(String, String),
    /// There is no method in it.
    #[error("it holds no methods; 'pvemcp catalog import' makes such a file out of an apidoc.js")]
    Empty,
    /// More of something than Proxmox has.
    #[error("it holds more than {0} {1}")]
    TooMany(usize, &'static str),
    /// The same method twice.
    #[error("{0} stands there twice")]
    Twice(String),
}

/// The line that may stand before the facts: which version they are of.
fn version(line: &str) -> Option<String> {
    let header: serde_json::Value = serde_json::from_str(line).ok()?;
    let version = header.get("pve_version")?.as_str()?;
    is_version(version).then(|| version.to_string())
}

/// The line that says which version the facts are of.
///
/// # Errors
/// When the text is no version.
pub fn version_line(version: &str) -> Result<String, &'static str> {
    let line = || serde_json::json!({"pve_version": version}).to_string() + "\n";
    is_version(version).then(line).ok_or("a version looks like 9.2")
}

fn is_version(text: &str) -> bool {
    text.len() <= 16
        && text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

impl Catalog {
    /// A catalogue out of imported facts (text of a file that `pvemcp catalog import` wrote). It stays in memory until the
    /// process ends.
    ///
    /// # Errors
    /// What is wrong with the file, by line or method.
    pub fn imported(facts: &str) -> Result<&'static Catalog, ImportedError> {
        if facts.len() > MOST_BYTES {
            return Err(ImportedError::TooLarge);
        }
        let first = facts.lines().next().unwrap_or_default();
        let version = version(first);
        let skip = usize::from(version.is_some());
        let mut believed = Vec::new();
        let mut guard = Guard::new();
        for (at, line) in facts.lines().enumerate().skip(skip).filter(|(_, line)| !line.trim().is_empty()) {
            let mut fact = encode::read(line).map_err(|problem| ImportedError::Line(at + 1, problem))?;
            guard.fact(&mut fact)?;
            believed.push(fact);
            if believed.len() > MOST_METHODS {
                return Err(ImportedError::TooMany(MOST_METHODS, "methods"));
            }
        }
        if believed.is_empty() {
            return Err(ImportedError::Empty);
        }
        believed.sort_by(|a, b| (&a.path, a.verb.word()).cmp(&(&b.path, b.verb.word())));
        if let Some(pair) = believed.windows(2).find(|pair| key(&pair[0]) == key(&pair[1])) {
            return Err(ImportedError::Twice(key(&pair[0])));
        }
        let mut names = taken_names();
        let rules = Catalog::rules();
        let stored = encode::store(&believed, |fact, templates| Some(decide(rules, fact, templates, &mut names)))
            .map_err(|problem| ImportedError::Line(0, problem))?;
        let catalog = Catalog::decode(Box::leak(stored.into_boxed_slice()));
        Ok(Box::leak(Box::new(catalog.with_version(version))))
    }
}

fn key(fact: &Fact) -> String {
    format!("{} {}", fact.verb, fact.path)
}

/// Names that no method which we do not know may take.
fn taken_names() -> HashSet<String> {
    let tools = Catalog::embedded().methods().iter().filter_map(|method| method.tool);
    let reserved = Catalog::rules().reserved.values().flatten().map(String::as_str);
    let old = Catalog::rules().aliases.keys().map(String::as_str);
    tools.chain(reserved).chain(old).map(str::to_string).collect()
}

/// What was decided about a method that we know; else what the rules say about one that we do not.
fn decide(rules: &Rules, fact: &Fact, templates: &[&str], taken: &mut HashSet<String>) -> Decision {
    let ruled = rules.decide(fact.verb, &fact.path, &fact.body.returns, templates);
    if let Some(known) = Catalog::embedded().get(fact.verb, &fact.path) {
        return of_known(known, ruled.is_some_and(|ruled| ruled.task));
    }
    let named = || rules.names.name(fact.verb, &fact.path, &fact.body.returns, templates);
    let mut decision = ruled.unwrap_or_else(|| undecided(fact, named()));
    let fits = |tool: &String| {
        tool.len() <= LONGEST_TOOL && tool.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    // Without a tool it is still reached through the generic ones.
    decision.tool = decision.tool.filter(fits).filter(|tool| taken.insert(tool.clone()));
    decision
}

fn of_known(known: &Method, task: bool) -> Decision {
    Decision {
        gate: known.gate,
        stricter: known.stricter.map(str::to_string),
        domains: known.domains.iter().map(ToString::to_string).collect(),
        tool: known.tool.map(str::to_string),
        destructive: known.destructive,
        idempotent: known.idempotent,
        task,
        summary: known.summary.to_string(),
        known: true,
    }
}

/// A method outside every rule: a part of the API that is new altogether.
fn undecided(fact: &Fact, tool: String) -> Decision {
    let reads = fact.verb == Verb::Get;
    Decision {
        gate: if reads { Gate::Sensitive } else { Gate::Elevated },
        stricter: Some(decide::UNKNOWN.to_string()),
        domains: vec!["cluster".to_string()],
        summary: name::spelled_out(&tool),
        tool: Some(tool),
        destructive: !reads,
        idempotent: reads,
        task: !reads && fact.body.returns.kind == Kind::String,
        known: false,
    }
}

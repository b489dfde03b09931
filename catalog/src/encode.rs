//! Facts + decisions -> the stored catalogue. Used by `build.rs`, and at run time for an imported catalogue.

use serde_json::Value;

use crate::decide::Rules;
use crate::record::{Body, Record};
use crate::schema::Schema;
use crate::verb::Verb;

/// One line of `facts.jsonl`, read.
struct Fact {
    verb: Verb,
    path: String,
    name: String,
    protected: bool,
    proxyto: Option<String>,
    allow_token: bool,
    download: bool,
    body: Body,
}

/// What becomes of a method that `summaries.toml` does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// It is an error: our own catalogue is decided by hand, whole.
    Refused,
    /// It is taken with a stricter gate and a summary out of its name: an imported catalogue.
    Guarded,
}

/// Joins the facts (text of `facts.jsonl`) with the decisions.
///
/// # Errors
/// A sentence that names the broken line, or the method that no rule decides.
pub fn encode(facts: &str, rules: &Rules, unknown: Unknown) -> Result<Vec<u8>, String> {
    let facts = facts.lines().enumerate().map(|(at, line)| read(line).map_err(|e| format!("line {}: {e}", at + 1)));
    let facts = facts.collect::<Result<Vec<Fact>, String>>()?;
    let mut templates: Vec<&str> = facts.iter().map(|fact| fact.path.as_str()).collect();
    templates.dedup();
    let mut stored = Vec::new();
    for fact in &facts {
        let decision = rules
            .decide(fact.verb, &fact.path, &fact.body.returns, &templates)
            .filter(|decision| decision.known || unknown == Unknown::Guarded)
            .ok_or_else(|| format!("nothing is decided about {} {}", fact.verb, fact.path))?;
        let body = postcard::to_stdvec(&fact.body).map_err(|e| e.to_string())?;
        let record = Record {
            verb: fact.verb,
            path: &fact.path,
            name: &fact.name,
            tool: decision.tool.as_deref(),
            gate: decision.gate,
            stricter: decision.stricter.as_deref(),
            domains: decision.domains.iter().map(String::as_str).collect(),
            summary: &decision.summary,
            destructive: decision.destructive,
            idempotent: decision.idempotent,
            task: decision.task,
            protected: fact.protected,
            proxyto: fact.proxyto.as_deref(),
            allow_token: fact.allow_token,
            download: fact.download,
            body: &body,
        };
        stored.push(postcard::to_stdvec(&record).map_err(|e| e.to_string())?);
    }
    postcard::to_stdvec(&stored).map_err(|e| e.to_string())
}

fn read(line: &str) -> Result<Fact, String> {
    let value: Value = serde_json::from_str(line).map_err(|e| e.to_string())?;
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_string);
    let flag = |key: &str| value.get(key).is_some_and(|value| value != &Value::from(0) && value != &Value::Bool(false));
    let schema = |key: &str| value.get(key).map(Schema::from_json).unwrap_or_default();
    Ok(Fact {
        verb: text("verb").ok_or("no verb")?.parse().map_err(|e: crate::verb::UnknownVerb| e.to_string())?,
        path: text("path").ok_or("no path")?,
        name: text("name").unwrap_or_default(),
        protected: flag("protected"),
        proxyto: text("proxyto"),
        allow_token: value.get("allowtoken").is_none() || flag("allowtoken"),
        download: flag("download_allowed"),
        body: Body {
            parameters: schema("parameters"),
            returns: schema("returns"),
            permissions: value.get("permissions").map(Value::to_string).unwrap_or_default(),
        },
    })
}

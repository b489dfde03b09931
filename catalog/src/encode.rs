//! Facts + decisions -> the stored catalogue. Used by `build.rs`, and at run time for an imported catalogue.
//!
//! Every method of our own catalogue is decided by hand: one that no line of `summaries.toml` names is an error there.

use serde_json::Value;

use crate::decide::{Decision, Rules};
use crate::record::{Body, Record};
use crate::schema::Schema;
use crate::verb::Verb;

/// One line of `facts.jsonl`, read.
pub(crate) struct Fact {
    pub verb: Verb,
    pub path: String,
    pub name: String,
    pub protected: bool,
    pub proxyto: Option<String>,
    pub allow_token: bool,
    pub download: bool,
    pub body: Body,
}

/// Joins the facts (text of `facts.jsonl`) with the decisions.
///
/// # Errors
/// A sentence that names the broken line, or the method that nothing is decided about.
pub fn encode(facts: &str, rules: &Rules) -> Result<Vec<u8>, String> {
    let facts = facts.lines().enumerate().map(|(at, line)| read(line).map_err(|e| format!("line {}: {e}", at + 1)));
    let facts = facts.collect::<Result<Vec<Fact>, String>>()?;
    store(&facts, |fact, templates| {
        let decision = rules.decide(fact.verb, &fact.path, &fact.body.returns, templates);
        decision.filter(|decision| decision.known)
    })
}

/// Writes the stored form of facts that are sorted by path, then verb. `decide` is given each fact and every template.
///
/// # Errors
/// A sentence that names the method that nothing is decided about.
pub(crate) fn store(
    facts: &[Fact],
    mut decide: impl FnMut(&Fact, &[&str]) -> Option<Decision>,
) -> Result<Vec<u8>, String> {
    let mut templates: Vec<&str> = facts.iter().map(|fact| fact.path.as_str()).collect();
    templates.dedup();
    let mut stored = Vec::new();
    for fact in facts {
        let decision =
            decide(fact, &templates).ok_or_else(|| format!("nothing is decided about {} {}", fact.verb, fact.path))?;
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

/// One line of facts.
pub(crate) fn read(line: &str) -> Result<Fact, String> {
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
            texts: value.get("texts").and_then(Value::as_object).map(texts).unwrap_or_default(),
        },
    })
}

/// Texts by what they are about; whoever reads them from outside cleans them.
fn texts(object: &serde_json::Map<String, Value>) -> std::collections::BTreeMap<String, String> {
    object.iter().filter_map(|(name, text)| Some((name.clone(), text.as_str()?.to_string()))).collect()
}

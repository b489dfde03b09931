//! How a generated tool is named: `pve_<verb>_<nouns>`, from the path and the verb by one rule.
//!
//! The words (scopes, nouns, actions) and the few exceptions are in `data/names.toml`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::path::placeholder;
use crate::schema::{Kind, Schema};
use crate::verb::Verb;

/// `names.toml`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NameRules {
    /// Path prefixes and the words that stand for them.
    pub scope: Vec<Scope>,
    /// Placeholder of an item within an item -> what such items are called.
    pub within: BTreeMap<String, String>,
    /// Segment -> what it is called; empty to say nothing.
    pub words: BTreeMap<String, String>,
    /// Last segment of an acting method -> `verb_{}`.
    pub actions: BTreeMap<String, String>,
    /// `VERB /template` -> tool name.
    pub exceptions: BTreeMap<String, String>,
}

/// A path prefix and its words.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scope {
    /// Whole segments.
    pub prefix: String,
    /// Joined by `_`.
    pub words: String,
}

impl NameRules {
    /// The tool's name for one method.
    pub fn name(&self, verb: Verb, template: &str, returns: &Schema, templates: &[&str]) -> String {
        match self.exceptions.get(&format!("{verb} {template}")) {
            Some(name) => name.clone(),
            None => format!("pve_{}", self.rule(verb, template, returns, templates)),
        }
    }

    fn rule(&self, verb: Verb, template: &str, returns: &Schema, templates: &[&str]) -> String {
        let segments: Vec<&str> = template.split('/').filter(|segment| !segment.is_empty()).collect();
        let last = segments.last().copied().unwrap_or_default();
        let has_item = templates.iter().any(|other| is_item_of(other, template));
        let acts = verb != Verb::Get && placeholder(last).is_none() && !has_item;
        if acts && let Some(action) = self.actions.get(last) {
            let noun = self.nouns(&segments[..segments.len() - 1], true);
            return action.replace("{}", &noun).replace("__", "_").trim_matches('_').to_string();
        }
        let item = placeholder(last).is_some();
        // An item that has items of its own: GET lists those, POST creates one; PUT and DELETE mean the item itself.
        let inner = (item && matches!(verb, Verb::Get | Verb::Post)).then(|| self.inner(template, templates)).flatten();
        let lists = returns.kind == Kind::Array && (!item || inner.is_some());
        let word = match verb {
            Verb::Get if lists => "list",
            Verb::Get => "get",
            Verb::Post => "create",
            Verb::Put => "update",
            Verb::Delete => "delete",
        };
        let mut nouns = self.nouns(&segments, item || verb == Verb::Post);
        if let Some(inner) = inner {
            nouns = format!("{nouns}_{}", if verb == Verb::Post { singular(inner) } else { inner.to_string() });
        }
        let below = format!("{template}/");
        let is_index = lists && !item && !has_item && templates.iter().any(|other| other.starts_with(&below));
        format!("{word}_{nouns}{}", if is_index { "_index" } else { "" })
    }

    fn inner(&self, template: &str, templates: &[&str]) -> Option<&str> {
        let item = templates.iter().find(|other| is_item_of(other, template))?;
        let name = placeholder(item.rsplit('/').next()?)?;
        self.within.get(name).map(String::as_str)
    }

    /// The nouns of a path: scope first, then each literal; one that is followed by its item is said in the singular.
    fn nouns(&self, segments: &[&str], last_singular: bool) -> String {
        let (skip, scope) = self.scope_of(segments);
        let mut words: Vec<String> = Vec::new();
        if !scope.is_empty() {
            words.push(scope.to_string());
        }
        let rest = &segments[skip..];
        for (at, segment) in rest.iter().enumerate() {
            if let Some(name) = placeholder(segment) {
                let follows_item = at > 0 && placeholder(rest[at - 1]).is_some();
                words.extend(self.within.get(name).filter(|_| follows_item).map(|word| singular(word)));
                continue;
            }
            let said = self.words.get(*segment).map_or(segment.trim_start_matches("get-"), String::as_str);
            if said.is_empty() {
                continue;
            }
            let followed = rest.get(at + 1).is_some_and(|next| placeholder(next).is_some());
            let ends = at + 1 == rest.len();
            words.push(if followed || (ends && last_singular) { singular(said) } else { said.to_string() });
        }
        if rest.is_empty() && last_singular {
            words = words.iter().map(|word| singular(word)).collect();
        }
        let mut joined = words.join("_").replace('-', "_");
        if skip > 0 && rest.first().is_some_and(|first| placeholder(first).is_some()) {
            // The scope itself names the collection: `backup_jobs` + `{id}` is one backup job.
            joined = joined.replacen(&scope.replace('-', "_"), &singular(scope), 1);
        }
        joined
    }

    fn scope_of(&self, segments: &[&str]) -> (usize, &str) {
        let path = format!("/{}", segments.join("/"));
        let scope = (self.scope.iter())
            .filter(|scope| path == scope.prefix || path.starts_with(&format!("{}/", scope.prefix)))
            .max_by_key(|scope| scope.prefix.len());
        match scope {
            Some(scope) => (scope.prefix.split('/').count() - 1, scope.words.as_str()),
            None => (0, ""),
        }
    }
}

/// Whether `other` is `template` plus one placeholder.
fn is_item_of(other: &str, template: &str) -> bool {
    other.strip_prefix(template).and_then(|rest| rest.strip_prefix('/')).is_some_and(|rest| placeholder(rest).is_some())
}

/// English well enough for the API's nouns.
fn singular(word: &str) -> String {
    const SAME: [&str; 12] =
        ["status", "dns", "tos", "hosts", "metrics", "mds", "lxcs", "access", "totem", "options", "os", "address"];
    let last = word.rsplit('_').next().unwrap_or(word);
    if word == "lxcs" {
        return "lxc".into();
    }
    if SAME.contains(&last) || !word.ends_with('s') {
        return word.to_string();
    }
    match word {
        _ if word.ends_with("ies") => format!("{}y", &word[..word.len() - 3]),
        _ if word.ends_with("aliases") || word.ends_with("ses") => word[..word.len() - 2].to_string(),
        _ => word[..word.len() - 1].to_string(),
    }
}

/// A summary for a method of an imported catalogue that `data/summaries.toml` does not know: the words of its name.
pub fn spelled_out(tool: &str) -> String {
    let words = tool.trim_start_matches("pve_").replace('_', " ");
    let (first, rest) = words.split_at(words.chars().next().map_or(0, char::len_utf8));
    format!("{}{rest}", first.to_uppercase())
}

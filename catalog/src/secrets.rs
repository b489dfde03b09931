//! Which fields hold secrets: the rules of `data/secrets.toml` and how they decide.

use serde::{Deserialize, Serialize};

use crate::glob;
use crate::verb::Verb;

/// `secrets.toml`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretRules {
    /// Parts of names that make a field suspect.
    pub smell: Vec<String>,
    /// The first that names a field decides about it.
    pub rule: Vec<SecretRule>,
}

/// One judgement about some names.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretRule {
    /// Names of parameters and answer fields, compared without case; `*` is every field.
    pub names: Vec<String>,
    /// Glob over the template; none for every method.
    #[serde(default)]
    pub path: Option<String>,
    /// Verbs it holds for; empty for all.
    #[serde(default)]
    pub verbs: Vec<Verb>,
    /// What the field is.
    pub judged: Judgement,
    /// Why.
    pub reason: String,
}

/// What a field is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Judgement {
    /// A secret.
    Secret,
    /// A secret that the answer has just made.
    Fresh,
    /// No secret.
    Plain,
}

impl SecretRules {
    /// What a rule says about a field; `None` where nobody has judged it. Without a method (a path outside the catalogue, a
    /// text that comes from nowhere in particular) only the rules for every method count.
    pub fn judged(&self, method: Option<(Verb, &str)>, field: &str) -> Option<Judgement> {
        self.rule.iter().find(|rule| rule.names_field(field) && rule.holds_for(method)).map(|rule| rule.judged)
    }

    /// The same, and a name that smells is a secret until it is judged.
    pub fn judge(&self, method: Option<(Verb, &str)>, field: &str) -> Judgement {
        match self.judged(method, field) {
            Some(judged) => judged,
            None if self.smells(field) => Judgement::Secret,
            None => Judgement::Plain,
        }
    }

    /// Whether the name alone makes it suspect.
    pub fn smells(&self, field: &str) -> bool {
        let field = field.to_ascii_lowercase();
        self.smell.iter().any(|part| field.contains(part))
    }

    /// Rules whose names or paths no method has, in words; `fields` are all names of a method's parameters and answers.
    pub fn stale(&self, methods: &[(Verb, &str)], has_field: impl Fn(Verb, &str, &str) -> bool) -> Vec<String> {
        let unused = |rule: &&SecretRule| {
            !methods.iter().any(|(verb, template)| {
                rule.holds_for(Some((*verb, template)))
                    && rule.names.iter().any(|name| name == "*" || has_field(*verb, template, name))
            })
        };
        self.rule.iter().filter(unused).map(|rule| format!("secrets.toml: nothing has {:?}", rule.names)).collect()
    }
}

impl SecretRule {
    fn names_field(&self, field: &str) -> bool {
        self.names.iter().any(|name| name == "*" || name.eq_ignore_ascii_case(field))
    }

    fn holds_for(&self, method: Option<(Verb, &str)>) -> bool {
        let path_fits = match (&self.path, method) {
            (None, _) => true,
            (Some(path), Some((_, template))) => glob::matches(path, template),
            (Some(_), None) => false,
        };
        let verb_fits = self.verbs.is_empty() || method.is_some_and(|(verb, _)| self.verbs.contains(&verb));
        path_fits && verb_fits
    }
}

//! What goes wrong with a method although the call looks right (`data/advice.toml`), and what stands in for methods that
//! people look for and that do not exist.

use serde::{Deserialize, Serialize};

use crate::glob;
use crate::verb::Verb;

/// `advice.toml`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdviceRules {
    /// Advice about methods that exist.
    pub advice: Vec<Advice>,
    /// Methods that do not exist.
    pub absent: Vec<Absent>,
}

/// One line of advice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Advice {
    /// Glob over the template.
    pub path: String,
    /// Verbs it holds for; empty for every verb but GET.
    #[serde(default)]
    pub verbs: Vec<Verb>,
    /// The parameters that it is about, as the catalogue writes them (`net[n]`); empty when it is about the method.
    #[serde(default)]
    pub params: Vec<String>,
    /// Worth its place in the list of tools, behind the summary; such a line has at most 100 characters.
    #[serde(default)]
    pub listed: bool,
    /// A line in our own words, without a full stop.
    pub text: String,
}

/// A method that people look for and that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Absent {
    /// Glob over the path asked for.
    pub path: String,
    /// Verbs it holds for; empty for every verb.
    #[serde(default)]
    pub verbs: Vec<Verb>,
    /// What does it instead, as a fragment for an error.
    pub instead: String,
    /// What to say where a tool that `instead` names is not there.
    #[serde(default)]
    pub otherwise: Option<String>,
}

impl Advice {
    /// Whether it is about this method, should that have one of the parameters.
    pub fn is_about(&self, verb: Verb, template: &str) -> bool {
        let verb_fits = if self.verbs.is_empty() { verb != Verb::Get } else { self.verbs.contains(&verb) };
        verb_fits && glob::matches(&self.path, template)
    }
}

impl AdviceRules {
    /// What to do instead of a call that the API does not have; `path` as it was asked for. `holds` tells whether the
    /// tools that a text names are there.
    pub fn instead_of(&self, verb: Verb, path: &str, holds: impl Fn(&str) -> bool) -> Option<&str> {
        let absent = self.absent.iter().find(|absent| absent.names(verb, path))?;
        let texts = [Some(&absent.instead), absent.otherwise.as_ref()];
        texts.into_iter().flatten().map(String::as_str).find(|text| holds(text))
    }
}

impl Absent {
    /// Whether the call is one of these.
    pub fn names(&self, verb: Verb, path: &str) -> bool {
        (self.verbs.is_empty() || self.verbs.contains(&verb)) && glob::matches(&self.path, path)
    }
}

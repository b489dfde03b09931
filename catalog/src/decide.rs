//! What we decide about methods: gate, domains, tool name, danger. The rules are data (`data/*.toml`); this applies them.
//!
//! A decision never comes from a default: a method that no rule names is a gap, and a rule that names no method is
//! stale. Both are found by a test.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::advice::AdviceRules;
use crate::arguments::ArgumentRules;
use crate::gate::Gate;
use crate::glob;
use crate::name::{self, NameRules};
use crate::schema::{Kind, Schema};
use crate::secrets::SecretRules;
use crate::verb::Verb;

/// Every decision file, parsed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Rules {
    /// `gates.toml`.
    pub gates: GateRules,
    /// `domains.toml`.
    pub domains: DomainRules,
    /// `methods.toml`.
    pub methods: MethodRules,
    /// `names.toml`.
    pub names: NameRules,
    /// `arguments.toml`.
    pub arguments: ArgumentRules,
    /// `reserved.toml`: group -> tool names.
    pub reserved: BTreeMap<String, Vec<String>>,
    /// `secrets.toml`.
    pub secrets: SecretRules,
    /// `summaries.toml`: `VERB /template` -> one line in our own words. A method that is not here is unknown to us.
    pub summaries: BTreeMap<String, String>,
    /// `advice.toml`.
    pub advice: AdviceRules,
    /// `aliases.toml`: old name of a tool -> its name.
    pub aliases: BTreeMap<String, String>,
}

/// `gates.toml`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateRules {
    /// The first that matches decides.
    pub rule: Vec<GateRule>,
    /// Methods that we hold to a stricter gate than the rules say.
    pub stricter: Vec<Stricter>,
}

/// One rule of `gates.toml`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateRule {
    /// Where a matching method belongs.
    pub gate: Gate,
    /// Glob over the template.
    pub path: String,
    /// Verbs it holds for; empty for all.
    #[serde(default)]
    pub verbs: Vec<Verb>,
    /// Why, where the path does not say it.
    #[serde(default)]
    pub reason: String,
}

/// Methods with a stricter gate, and why.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stricter {
    /// The gate instead.
    pub gate: Gate,
    /// `VERB /template`.
    pub methods: Vec<String>,
    /// Why.
    pub reason: String,
}

/// `domains.toml`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DomainRules {
    /// The first that matches is the main domain.
    pub rule: Vec<DomainRule>,
    /// Further domains with which a method is loaded.
    pub also: Vec<DomainRule>,
}

/// One rule of `domains.toml`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DomainRule {
    /// The toolset.
    pub domain: String,
    /// Glob over the template.
    pub path: String,
}

/// `methods.toml`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MethodRules {
    /// Which strings are UPIDs.
    pub task: TaskRule,
    /// Methods without a generated tool.
    pub without_tool: Vec<WithoutTool>,
    /// What cannot be taken back.
    pub destructive: Vec<PathRule>,
    /// What can be repeated.
    pub idempotent: Vec<PathRule>,
}

/// Exceptions to "a string answered by a write is a UPID".
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskRule {
    /// `VERB /template`.
    pub not: Vec<String>,
}

/// A method without a generated tool.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WithoutTool {
    /// `VERB /template`.
    pub method: String,
    /// Why.
    pub reason: String,
}

/// A glob with verbs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathRule {
    /// Glob over the template.
    pub path: String,
    /// Verbs it holds for; empty for every verb but GET.
    #[serde(default)]
    pub verbs: Vec<Verb>,
}

impl PathRule {
    fn matches(&self, verb: Verb, template: &str) -> bool {
        let verb_fits = if self.verbs.is_empty() { verb != Verb::Get } else { self.verbs.contains(&verb) };
        verb_fits && glob::matches(&self.path, template)
    }
}

/// Why a method that nobody has looked at is held to a stricter gate.
pub const UNKNOWN: &str = "this server's own decisions do not know the method";

/// What is decided about one method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// What must be open.
    pub gate: Gate,
    /// Why the gate is stricter than the general rule, when it is.
    pub stricter: Option<String>,
    /// Main domain first.
    pub domains: Vec<String>,
    /// Name of the generated tool; `None` where there is none.
    pub tool: Option<String>,
    /// Cannot be taken back, or stops something that runs.
    pub destructive: bool,
    /// Calling it again changes nothing more.
    pub idempotent: bool,
    /// Answers a UPID.
    pub task: bool,
    /// One line in our own words; the words of the name for an unknown method.
    pub summary: String,
    /// Whether a person has looked at the method: it has a line in `summaries.toml`.
    pub known: bool,
}

impl Rules {
    /// Decides about one method; `None` where a rule is missing. `templates` are all path templates of the catalogue,
    /// because a name depends on what lies beside and below the method. An unknown method (an imported catalogue has
    /// some) is `sensitive` or `elevated` where a rule would have it `read` or `write`, and destructive unless it reads.
    pub fn decide(&self, verb: Verb, template: &str, returns: &Schema, templates: &[&str]) -> Option<Decision> {
        let key = format!("{verb} {template}");
        let rule = self.gates.rule.iter().find(|rule| {
            (rule.verbs.is_empty() || rule.verbs.contains(&verb)) && glob::matches(&rule.path, template)
        })?;
        let stricter = self.gates.stricter.iter().find(|stricter| stricter.methods.contains(&key));
        let summary = self.summaries.get(&key);
        let gate = match stricter.map_or(rule.gate, |stricter| stricter.gate) {
            Gate::Read if summary.is_none() => Gate::Sensitive,
            Gate::Write if summary.is_none() => Gate::Elevated,
            gate => gate,
        };
        let has_tool = gate != Gate::Blocked && !self.methods.without_tool.iter().any(|without| without.method == key);
        let tool = self.names.name(verb, template, returns, templates);
        // What nobody has looked at may destroy anything, and do more each time.
        let unknown = summary.is_none() && verb != Verb::Get;
        let destructive =
            unknown || verb == Verb::Delete || self.methods.destructive.iter().any(|rule| rule.matches(verb, template));
        let idempotent = !unknown
            && (matches!(verb, Verb::Get | Verb::Put)
                || self.methods.idempotent.iter().any(|rule| rule.matches(verb, template)));
        let stricter = stricter.map(|stricter| stricter.reason.as_str());
        Some(Decision {
            gate,
            stricter: stricter.or(summary.is_none().then_some(UNKNOWN)).map(str::to_string),
            domains: self.domains_of(template)?,
            destructive,
            idempotent,
            task: verb != Verb::Get && returns.kind == Kind::String && !self.methods.task.not.contains(&key),
            summary: summary.cloned().unwrap_or_else(|| name::spelled_out(&tool)),
            known: summary.is_some(),
            tool: has_tool.then_some(tool),
        })
    }

    fn domains_of(&self, template: &str) -> Option<Vec<String>> {
        let main = self.domains.rule.iter().find(|rule| glob::matches(&rule.path, template))?;
        let also = self.domains.also.iter().filter(|rule| glob::matches(&rule.path, template));
        Some(std::iter::once(main).chain(also).map(|rule| rule.domain.clone()).collect())
    }

    /// What a rule of the files names that does not exist (any more), in words; empty when all is well.
    pub fn stale(&self, methods: &[(Verb, &str)]) -> Vec<String> {
        let exists = |key: &str| methods.iter().any(|(verb, path)| format!("{verb} {path}") == key);
        let any = |path: &str, verbs: &[Verb]| {
            methods
                .iter()
                .any(|(verb, template)| (verbs.is_empty() || verbs.contains(verb)) && glob::matches(path, template))
        };
        let mut stale = Vec::new();
        let named = (self.gates.stricter.iter().flat_map(|rule| &rule.methods))
            .chain(&self.methods.task.not)
            .chain(self.methods.without_tool.iter().map(|without| &without.method))
            .chain(self.names.exceptions.keys())
            .chain(self.summaries.keys());
        stale.extend(named.filter(|key| !exists(key)).map(|key| format!("no method '{key}'")));
        for rule in &self.gates.rule {
            if !any(&rule.path, &rule.verbs) {
                stale.push(format!("gates.toml: nothing matches '{}'", rule.path));
            }
        }
        for rule in self.domains.rule.iter().chain(&self.domains.also) {
            if !any(&rule.path, &[]) {
                stale.push(format!("domains.toml: nothing matches '{}'", rule.path));
            }
        }
        for rule in self.methods.destructive.iter().chain(&self.methods.idempotent) {
            if !methods.iter().any(|(verb, template)| rule.matches(*verb, template)) {
                stale.push(format!("methods.toml: nothing matches '{}'", rule.path));
            }
        }
        stale
    }
}

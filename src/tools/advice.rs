//! The catalogue's advice, in descriptions and beside errors, as far as the tools that it names are there: nobody is sent to a
//! tool that does not exist.

use pve_catalog::{Advice, Catalog, Method, Verb};

use super::Registry;
use crate::error::{Code, Fault};

/// Most lines beside an error.
const MOST_LINES: usize = 3;

/// The names of tools in a text.
pub fn tools_in(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("pve_"))
}

/// Whether every tool that a text names is there.
pub fn holds(text: &str, is_tool: impl Fn(&str) -> bool) -> bool {
    tools_in(text).all(is_tool)
}

impl Registry {
    /// The advice about a method and its parameters.
    pub fn advice<'r>(&'r self, method: &'r Method) -> impl Iterator<Item = &'static Advice> + 'r {
        method.advice().filter(|advice| holds(&advice.text, |name| self.is_tool(name)))
    }

    /// The fault of a call with what is known to go wrong there: about the arguments that it names, else about those that
    /// were given, else about the method.
    pub fn advised(&self, method: &Method, given: &[&str], fault: Fault) -> Fault {
        if !may_be_known(fault.code) || fault.details.contains_key("advice") {
            return fault;
        }
        let named: Vec<String> = match fault.details.get("errors").and_then(|errors| errors.as_object()) {
            Some(errors) => errors.keys().cloned().collect(),
            None => Vec::new(),
        };
        let about = |names: &[&str]| -> Vec<&'static str> {
            let lines = self.advice(method).filter(|advice| names.iter().any(|name| is_about(advice, name)));
            lines.map(|advice| advice.text.as_str()).collect()
        };
        let mut lines = about(&named.iter().map(String::as_str).collect::<Vec<_>>());
        // An argument that is wrong has its own line or none; whatever else failed may have another cause.
        if fault.code != Code::BadArgument {
            lines.extend(about(given));
            lines.extend(self.advice(method).filter(|advice| advice.params.is_empty()).map(|line| line.text.as_str()));
        }
        let mut seen = std::collections::HashSet::new();
        lines.retain(|line| seen.insert(*line));
        lines.truncate(MOST_LINES);
        if lines.is_empty() { fault } else { fault.detail("advice", lines) }
    }

    /// What to do instead of a call that the API does not have.
    pub fn instead_of(&self, verb: Verb, path: &str) -> Option<&'static str> {
        Catalog::rules().advice.instead_of(verb, path, |text| holds(text, |name| self.is_tool(name)))
    }

    /// Whether there is a tool of this name, offered or not.
    pub fn is_tool(&self, name: &str) -> bool {
        self.find(name).is_some()
    }
}

/// Whether a line is about a parameter, as callers write it (`net0`, `net`, `net[n]`).
pub fn is_about(advice: &Advice, parameter: &str) -> bool {
    let bare = parameter.trim_end_matches("[n]");
    let stem = bare.trim_end_matches(|c: char| c.is_ascii_digit());
    advice.params.iter().any(|name| match name.strip_suffix("[n]") {
        Some(family) => family == stem,
        None => name == bare,
    })
}

/// Whether advice can help: not where the policy said no, nobody was reached, or the caller went away.
fn may_be_known(code: Code) -> bool {
    matches!(
        code,
        Code::BadArgument
            | Code::Forbidden
            | Code::NotFound
            | Code::GuestLocked
            | Code::GuestNotRunning
            | Code::AgentOff
            | Code::AgentNotRunning
            | Code::AgentTimeout
            | Code::Conflict
            | Code::TaskFailed
            | Code::NodeUnreachable
            | Code::Timeout
            | Code::Internal
    )
}

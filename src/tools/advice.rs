//! The catalogue's advice, as far as the tools that it names are there: nobody is sent to a tool that does not exist.

use pve_catalog::{Advice, Catalog, Method, Verb};

use super::Registry;

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

    /// What to do instead of a call that the API does not have.
    pub fn instead_of(&self, verb: Verb, path: &str) -> Option<&'static str> {
        Catalog::rules().advice.instead_of(verb, path, |text| holds(text, |name| self.is_tool(name)))
    }

    /// Whether there is a tool of this name, offered or not.
    pub fn is_tool(&self, name: &str) -> bool {
        self.find(name).is_some()
    }
}

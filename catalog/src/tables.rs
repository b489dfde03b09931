//! Small tables that are decided by hand: privileges, built-in roles, words on parameters, example values.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::verb::Verb;

/// The files of `data/` that are plain tables, as `build.rs` embeds them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Tables {
    /// `privileges.toml`: every privilege, sorted.
    pub privileges: Vec<String>,
    /// `roles.toml`: the built-in roles.
    pub roles: BTreeMap<String, RoleRow>,
    /// `glossary.toml`: words by parameter name, or by `VERB /template#parameter`.
    pub glossary: BTreeMap<String, String>,
    /// `examples.toml`.
    pub examples: Examples,
}

/// One built-in role: what it holds, or what it lacks.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleRow {
    /// What it holds.
    pub privileges: Option<Vec<String>>,
    /// What it lacks of all.
    pub all_but: Option<Vec<String>>,
}

/// Example values of parameters, as text.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Examples {
    /// By parameter name.
    pub values: BTreeMap<String, String>,
    /// For some methods; the first match counts, and comes before `values`.
    pub at: Vec<ExampleRow>,
}

/// Example values for some methods.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExampleRow {
    /// Glob over the template.
    pub path: String,
    /// Verbs it holds for; empty for all.
    #[serde(default)]
    pub verbs: Vec<Verb>,
    /// By parameter name.
    #[serde(default)]
    pub values: BTreeMap<String, String>,
    /// Values of optional parameters that the method asks for all the same.
    #[serde(default)]
    pub also: BTreeMap<String, String>,
}

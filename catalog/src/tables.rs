//! Small tables that are decided by hand: privileges, built-in roles, words on parameters, example values.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The files of `data/` that are plain tables, as `build.rs` embeds them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Tables {
    /// `privileges.toml`: every privilege, sorted.
    pub privileges: Vec<String>,
    /// `roles.toml`: the built-in roles.
    pub roles: BTreeMap<String, RoleRow>,
    /// `glossary.toml`: words by parameter name, or by `VERB /template#parameter`.
    pub glossary: BTreeMap<String, String>,
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

//! What is known not to work yet, one line each, strict both ways: an unlisted failure fails, and so does a listed pass.

use std::collections::BTreeMap;

use serde::Deserialize;

/// `not-modelled.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotModelled {
    /// Tool -> why its smallest call does not succeed against the fake.
    pub tools: BTreeMap<String, String>,
}

/// The list of this build.
///
/// # Panics
/// When the file is malformed: it is part of the source.
pub fn not_modelled() -> NotModelled {
    toml::from_str(include_str!("../not-modelled.toml")).expect("not-modelled.toml has the form it says")
}

//! What is believed of imported facts: names that look like Proxmox's, words that are no sentences, patterns that are cheap.

use std::collections::{BTreeSet, HashSet};

use super::{ImportedError, key};
use crate::encode::Fact;
use crate::schema::{Format, Properties, Schema};
use crate::{Catalog, path, pattern, texts};

/// Most patterns that the embedded catalogue does not have.
const MOST_PATTERNS: usize = 500;
/// Longest name of a parameter, key or method; longest word.
const LONGEST_NAME: usize = 64;
/// Longest path template.
const LONGEST_PATH: usize = 200;

/// What is believed of imported facts.
pub(super) struct Guard {
    /// Patterns of the embedded catalogue, and those found cheap; the others.
    cheap: BTreeSet<String>,
    dear: BTreeSet<String>,
    new: usize,
}

impl Guard {
    pub fn new() -> Guard {
        let mut cheap = BTreeSet::new();
        for method in Catalog::embedded().methods() {
            each(method.parameters(), &mut |schema| cheap.extend(schema.pattern.clone()));
        }
        Guard { cheap, dear: BTreeSet::new(), new: 0 }
    }

    /// Refuses what is no method, and takes away what is not believed.
    pub fn fact(&mut self, fact: &mut Fact) -> Result<(), ImportedError> {
        let refused = |problem: &str| Err(ImportedError::Method(shown(&key(fact)), problem.to_string()));
        if !is_template(&fact.path) {
            return refused("this is no path of the Proxmox API");
        }
        if !fact.name.is_empty() && !is_name(&fact.name) {
            return refused("its name is none that Proxmox could have");
        }
        let mut problem = None;
        for schema in [&fact.body.parameters, &fact.body.returns] {
            each(schema, &mut |schema| problem = problem.take().or_else(|| odd_name(schema)));
        }
        if let Some(name) = problem {
            return refused(&format!("'{}' is no name that Proxmox could have", shown(&name)));
        }
        fact.proxyto = fact.proxyto.take().filter(|name| is_name(name));
        if !has_plain_words(&fact.body.permissions) {
            // Then nobody but root may call it, as far as we can tell: it is told so, and Proxmox decides.
            fact.body.permissions.clear();
        }
        self.schema(&mut fact.body.parameters)?;
        self.schema(&mut fact.body.returns)?;
        fact.body.texts = std::mem::take(&mut fact.body.texts)
            .into_iter()
            .filter(|(name, _)| name.split('.').all(|part| part.is_empty() || is_name(part)))
            .map(|(name, text)| (name, texts::clean(&text)))
            .filter(|(_, text)| !text.is_empty())
            .collect();
        Ok(())
    }

    fn schema(&mut self, schema: &mut Schema) -> Result<(), ImportedError> {
        schema.enumeration.retain(|word| is_word(word));
        schema.instance_types.retain(|word| is_name(word));
        schema.default = schema.default.take().filter(|word| is_word(word));
        for name in [&mut schema.requires, &mut schema.alias, &mut schema.key_alias] {
            *name = name.take().filter(|name| is_name(name));
        }
        // A path or a part of one.
        schema.child_key = schema.child_key.take().filter(|key| is_word(key));
        schema.type_property = schema.type_property.take().filter(|name| is_name(name));
        if let Some(Format::Named(name)) = &schema.format
            && !is_name(name)
        {
            schema.format = None;
        }
        if let Some(pattern) = schema.pattern.take() {
            schema.pattern = self.is_cheap(&pattern)?.then_some(pattern);
        }
        if let Some(Format::Keys(keys)) = &mut schema.format {
            self.properties(keys)?;
        }
        self.properties(&mut schema.properties)?;
        let parts = schema.one_of.iter_mut().chain(&mut schema.all_of);
        let inner = schema.items.iter_mut().chain(&mut schema.type_schema).map(Box::as_mut);
        for part in parts.chain(inner) {
            self.schema(part)?;
        }
        Ok(())
    }

    fn properties(&mut self, properties: &mut Properties) -> Result<(), ImportedError> {
        properties.0.iter_mut().try_for_each(|(_, schema)| self.schema(schema))
    }

    /// Whether a pattern may be run: ours, or one whose program is small. The engine is linear in the size of both.
    fn is_cheap(&mut self, pattern: &str) -> Result<bool, ImportedError> {
        if self.cheap.contains(pattern) {
            return Ok(true);
        }
        if self.dear.contains(pattern) {
            return Ok(false);
        }
        self.new += 1;
        if self.new > MOST_PATTERNS {
            return Err(ImportedError::TooMany(MOST_PATTERNS, "patterns that are new"));
        }
        let cheap = pattern::is_cheap(pattern);
        let known = if cheap { &mut self.cheap } else { &mut self.dear };
        known.insert(pattern.to_string());
        Ok(cheap)
    }
}

/// Calls `look` for a schema and everything inside.
fn each(schema: &Schema, look: &mut impl FnMut(&Schema)) {
    look(schema);
    let keys = schema.keys().into_iter().flat_map(Properties::iter);
    let named = schema.properties.iter().chain(keys).map(|(_, schema)| schema);
    let inner = schema.items.iter().chain(&schema.type_schema).map(Box::as_ref);
    named.chain(inner).chain(&schema.one_of).chain(&schema.all_of).for_each(|schema| each(schema, look));
}

/// The first name among properties and keys that is none.
fn odd_name(schema: &Schema) -> Option<String> {
    let keys = schema.keys().into_iter().flat_map(Properties::iter);
    let mut names = schema.properties.iter().chain(keys).map(|(name, _)| name);
    // An answer whose keys are ids calls them `{id}`.
    let bare = |name: &'_ str| {
        path::placeholder(name).map_or_else(|| name.trim_end_matches("[n]").to_string(), str::to_string)
    };
    names.find(|name| !is_name(&bare(name))).map(str::to_string)
}

fn is_name(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-' | b'[' | b']');
    !text.is_empty() && text.len() <= LONGEST_NAME && text.bytes().all(plain)
}

/// A value that a person could type: no white space, so no sentence either.
fn is_word(text: &str) -> bool {
    text.len() <= LONGEST_NAME && text.bytes().all(|b| b.is_ascii_graphic())
}

fn is_template(template: &str) -> bool {
    let segments = template.strip_prefix('/').unwrap_or_default().split('/');
    let plain = |segment: &str| {
        let name = path::placeholder(segment).unwrap_or(segment);
        is_name(name) && !name.contains(['[', ']']) && name != "." && name != ".."
    };
    let mut seen = HashSet::new();
    template.len() <= LONGEST_PATH
        && segments.into_iter().all(plain)
        && path::placeholders(template).all(|name| seen.insert(name))
}

/// Whether a permission expression holds nothing but words.
fn has_plain_words(permissions: &str) -> bool {
    fn plain(value: &serde_json::Value) -> bool {
        match value {
            serde_json::Value::String(text) => text.len() <= LONGEST_PATH && text.bytes().all(|b| b.is_ascii_graphic()),
            serde_json::Value::Array(list) => list.iter().all(plain),
            serde_json::Value::Object(map) => map.iter().all(|(name, value)| is_name(name) && plain(value)),
            _ => true,
        }
    }
    permissions.is_empty()
        || permissions.len() <= 4_000 && serde_json::from_str(permissions).is_ok_and(|value| plain(&value))
}

/// For a message about something that may be anything.
fn shown(text: &str) -> String {
    text.chars().filter(|c| texts::is_visible(*c)).take(80).collect()
}

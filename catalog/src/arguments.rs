//! Arguments that make a call more dangerous than its method (`data/arguments.toml`).

use serde::{Deserialize, Serialize};

use crate::glob;

/// `arguments.toml`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArgumentRules {
    /// Arguments that raise the gate `write` to `elevated`.
    pub raise: Vec<ArgumentRule>,
    /// Arguments that make a call destructive.
    pub destroys: Vec<ArgumentRule>,
}

/// One rule.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArgumentRule {
    /// Glob over the template.
    pub path: String,
    /// Parameter names; one may end in `*`, which stands for an index (`usb*` for `usb0`) or for nothing.
    pub params: Vec<String>,
    /// Which values count.
    pub when: String,
    /// It counts when the argument is absent, or does not fit `when`.
    #[serde(default)]
    pub omitted: bool,
    /// It counts when the argument is given and does not fit `when`.
    #[serde(default)]
    pub negate: bool,
    /// Why, for the refusal.
    pub reason: String,
}

impl ArgumentRule {
    /// The parameter because of which the rule holds for this request (template and parameters as on the wire).
    pub fn holds<'r>(&'r self, template: &str, params: &'r [(String, String)]) -> Option<&'r str> {
        if !glob::matches(&self.path, template) {
            return None;
        }
        let mut given = params.iter().filter(|(name, _)| self.params.iter().any(|wanted| names(wanted, name)));
        if self.omitted {
            // The last value of a repeated name is what Proxmox takes; every one of them must fit.
            let mut any = false;
            let fits = given.all(|(_, value)| {
                any = true;
                fits(&self.when, value)
            });
            return (!any || !fits).then(|| self.params[0].as_str());
        }
        given.find(|(_, value)| fits(&self.when, value) != self.negate).map(|(name, _)| name.as_str())
    }

    /// Whether it is about this parameter (`net[n]`, `net0` or `net`) of this method, whatever the value.
    pub fn names(&self, template: &str, parameter: &str) -> bool {
        let bare = parameter.trim_end_matches("[n]");
        glob::matches(&self.path, template) && self.params.iter().any(|wanted| names(wanted, bare))
    }

    /// Whether any method has such a template and parameter.
    pub fn names_something(&self, template: &str, parameters: &[&str]) -> bool {
        glob::matches(&self.path, template)
            && self.params.iter().all(|wanted| parameters.iter().any(|name| names(wanted, &name.replace("[n]", "0"))))
    }
}

fn names(wanted: &str, name: &str) -> bool {
    match wanted.strip_suffix('*') {
        Some(family) => name.strip_prefix(family).is_some_and(|index| index.bytes().all(|b| b.is_ascii_digit())),
        None => wanted == name,
    }
}

fn fits(when: &str, value: &str) -> bool {
    match when.split_once(' ') {
        None if when == "given" => true,
        None if when == "true" => is_true(value),
        Some(("not", word)) => !says_only(word, value),
        Some(("host", "path")) => is_host_path(value),
        Some(("lists", pattern)) => entries(value).any(|entry| names(pattern, entry)),
        // An unknown condition counts always: the safer reading of a typing error, and a test finds it.
        _ => true,
    }
}

/// Whether the condition is one of those that `fits` knows.
pub fn is_known_condition(when: &str) -> bool {
    matches!(when, "given" | "true" | "host path") || when.starts_with("not ") || when.starts_with("lists ")
}

fn is_true(value: &str) -> bool {
    matches!(value.trim().to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on")
}

/// Options that say nothing about what a device is.
const HARMLESS_KEYS: [&str; 1] = ["usb3"];

/// Whether a property string says `word` and nothing else of consequence: `spice,usb3=1` says `spice`, `nesting=1` says
/// `nesting`, `spice,mapping=x` does not.
fn says_only(word: &str, value: &str) -> bool {
    value.split(',').map(str::trim).filter(|part| !part.is_empty()).all(|part| match part.split_once('=') {
        Some(("host", value)) => value == word,
        Some((key, _)) => key == word || HARMLESS_KEYS.contains(&key),
        None => part == word,
    })
}

/// Keys of disk and mount point property strings that name the volume.
const VOLUME_KEYS: [&str; 3] = ["file", "volume", "import-from"];

fn is_host_path(value: &str) -> bool {
    value.split(',').map(str::trim).any(|part| match part.split_once('=') {
        Some((key, value)) if VOLUME_KEYS.contains(&key.trim()) => value.trim().starts_with('/'),
        Some((before, _)) => before.trim().starts_with('/'),
        None => part.starts_with('/'),
    })
}

/// Entries of a Proxmox list: separated by comma, semicolon, white space or NUL.
pub fn entries(value: &str) -> impl Iterator<Item = &str> {
    value.split(|c: char| matches!(c, ',' | ';' | '\0') || c.is_whitespace()).filter(|entry| !entry.is_empty())
}

//! Replaces values that are known to be secret, in whatever encoding a server says them back.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::MASK;
use crate::error::Fault;

/// Secrets shorter than this are only replaced where they stand as a word of their own: a password like `secret` would
/// otherwise tear every other text apart.
const LONG: usize = 8;

/// Knows some secrets and takes them out of texts. `Debug` shows none.
#[derive(Clone, Default)]
pub struct Scrubber {
    /// Longest first, so that a secret within a longer one does not leave the rest of it behind.
    needles: Vec<String>,
}

impl std::fmt::Debug for Scrubber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Scrubber({} forms)", self.needles.len())
    }
}

impl Scrubber {
    /// A scrubber of these secrets; empty ones and masks are left out.
    pub fn of<'s>(secrets: impl IntoIterator<Item = &'s str>) -> Scrubber {
        Scrubber::default().with(secrets)
    }

    /// The same one, knowing more secrets.
    pub fn with<'s>(&self, secrets: impl IntoIterator<Item = &'s str>) -> Scrubber {
        let mut needles = self.needles.clone();
        for secret in secrets {
            needles.extend(forms(secret));
        }
        needles.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        needles.dedup();
        Scrubber { needles }
    }

    /// The text without the secrets.
    pub fn text(&self, text: &str) -> String {
        self.needles.iter().fold(text.to_string(), |text, needle| replace(text, needle))
    }

    /// Every string of a value, and every key that is long enough to be no ordinary word.
    pub fn value(&self, value: Value) -> Value {
        if self.needles.is_empty() {
            return value;
        }
        match value {
            Value::String(text) => Value::String(self.text(&text)),
            Value::Array(list) => Value::Array(list.into_iter().map(|value| self.value(value)).collect()),
            Value::Object(map) => {
                Value::Object(map.into_iter().map(|(key, value)| (self.key(key), self.value(value))).collect())
            }
            other => other,
        }
    }

    /// Message, hint and details of an error.
    pub fn fault(&self, fault: Fault) -> Fault {
        Fault {
            code: fault.code,
            message: self.text(&fault.message),
            hint: fault.hint.map(|hint| self.text(&hint)),
            details: fault.details.into_iter().map(|(name, detail)| (name, self.value(detail))).collect(),
        }
    }

    fn key(&self, key: String) -> String {
        let long = self.needles.iter().filter(|needle| needle.len() >= LONG);
        long.fold(key, |key, needle| replace(key, needle))
    }
}

/// A secret as it may come back: plain, form- and percent-encoded, as JSON, in base64; a text of several lines line by
/// line too, because a reason phrase ends with the first.
fn forms(secret: &str) -> Vec<String> {
    let secret = secret.trim();
    if secret.is_empty() || secret == MASK || secret == super::PROXMOX_MASK {
        return Vec::new();
    }
    let percent = utf8_percent_encode(secret, NON_ALPHANUMERIC).to_string();
    let escaped = Value::from(secret).to_string();
    let mut forms = vec![
        secret.to_string(),
        form_urlencoded::byte_serialize(secret.as_bytes()).collect(),
        lower_escapes(&percent),
        percent,
        escaped.trim_matches('"').to_string(),
        html(secret),
    ];
    if secret.len() >= LONG {
        forms.push(STANDARD_NO_PAD.encode(secret));
        forms.push(URL_SAFE_NO_PAD.encode(secret));
    }
    let lines = secret.lines().map(str::trim).filter(|line| secret.contains('\n') && line.len() >= LONG);
    forms.extend(lines.filter(|line| !line.starts_with("-----")).flat_map(forms_of_line));
    forms
}

fn forms_of_line(line: &str) -> Vec<String> {
    vec![line.to_string(), utf8_percent_encode(line, NON_ALPHANUMERIC).to_string()]
}

/// `%2F` -> `%2f`: some servers write escapes in lower case.
fn lower_escapes(encoded: &str) -> String {
    let mut out = String::with_capacity(encoded.len());
    let mut left = 0;
    for c in encoded.chars() {
        left = if c == '%' { 3 } else { left };
        out.push(if left > 0 { c.to_ascii_lowercase() } else { c });
        left = usize::saturating_sub(left, 1);
    }
    out
}

fn html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

fn replace(text: String, needle: &str) -> String {
    if !text.contains(needle) {
        return text;
    }
    if needle.len() >= LONG {
        return text.replace(needle, MASK);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find(needle) {
        let before = rest[..at].chars().next_back().or_else(|| out.chars().next_back());
        let after = rest[at + needle.len()..].chars().next();
        out.push_str(&rest[..at]);
        let word = !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric);
        out.push_str(if word { MASK } else { needle });
        rest = &rest[at + needle.len()..];
    }
    out + rest
}

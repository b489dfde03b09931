//! Results and refusals of a call.

use std::collections::BTreeMap;

use serde_json::Value;

/// What a call ends with.
pub(crate) type Answer = Result<Data, Failure>;

/// A result, and what stands beside `data` in the envelope.
#[derive(Clone, Debug, Default)]
pub(crate) struct Data {
    /// `data`.
    pub value: Value,
    /// Number of entries of which `data` is a part; left out when 0.
    pub total: Option<u64>,
    /// Text of pending changes (node network).
    pub changes: Option<String>,
    /// Content that goes out instead of an envelope.
    pub raw: Option<Raw>,
}

/// A download.
#[derive(Clone, Debug)]
pub(crate) struct Raw {
    pub content_type: &'static str,
    pub headers: Vec<(&'static str, String)>,
    pub bytes: Vec<u8>,
}

impl Data {
    /// Success without a result.
    pub fn null() -> Data {
        Data::default()
    }

    /// With a total beside it.
    pub fn with_total(mut self, total: usize) -> Data {
        self.total = Some(total as u64);
        self
    }

    /// With a text of changes beside it.
    pub fn with_changes(mut self, changes: String) -> Data {
        self.changes = Some(changes);
        self
    }

    /// Raw content.
    pub fn raw(raw: Raw) -> Data {
        Data { raw: Some(raw), ..Data::default() }
    }
}

impl From<Value> for Data {
    fn from(value: Value) -> Data {
        Data { value, ..Data::default() }
    }
}

impl From<Vec<Value>> for Data {
    fn from(list: Vec<Value>) -> Data {
        Value::Array(list).into()
    }
}

/// A refusal, as Proxmox words it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Failure {
    /// HTTP status (inside the body for `extjs`).
    pub status: u16,
    /// The text, without line end.
    pub message: String,
    /// The reason phrase, where it is not the first line of the message.
    pub reason: Option<String>,
    /// Per-parameter texts.
    pub errors: BTreeMap<String, String>,
    /// Whether the wire's `message` lacks Perl's line end.
    pub bare: bool,
    /// Whether the body stays empty: an answer of the transport, not of the API.
    pub transport: bool,
}

impl Failure {
    /// Any status.
    pub fn new(status: u16, message: impl Into<String>) -> Failure {
        Failure { status, message: message.into(), ..Failure::default() }
    }

    /// A plain error of a handler: 500.
    pub fn die(message: impl Into<String>) -> Failure {
        Failure::new(500, message)
    }

    /// One wrong parameter: 400.
    pub fn param(name: &str, text: impl Into<String>) -> Failure {
        Failure::params([(name.to_string(), text.into())].into())
    }

    /// Wrong parameters: 400.
    pub fn params(errors: BTreeMap<String, String>) -> Failure {
        Failure { errors, ..Failure::new(400, "Parameter verification failed.") }
    }

    /// `Permission check failed (what)`: 403.
    pub fn denied(what: &str) -> Failure {
        Failure::new(403, format!("Permission check failed ({what})"))
    }

    /// Without the line end.
    pub fn bare(mut self) -> Failure {
        self.bare = true;
        self
    }

    /// An answer of the transport: reason phrase only.
    pub fn transport(status: u16, reason: impl Into<String>) -> Failure {
        Failure { transport: true, ..Failure::new(status, reason) }
    }

    /// What is left when a lock or a worker turns the refusal into text: status and errors of the parameters go into it
    /// (`400 Parameter verification failed.` and a line each).
    pub fn into_text(self) -> String {
        if self.errors.is_empty() {
            return if self.status == 500 { self.message } else { format!("{} {}", self.status, self.message) };
        }
        let lines: Vec<String> = self.errors.iter().map(|(name, text)| format!("{name}: {text}")).collect();
        format!("{} {}\n{}", self.status, self.message, lines.join("\n"))
    }

    /// The message with a prefix (`create user failed: `).
    pub fn prefixed(mut self, prefix: &str) -> Failure {
        self.message = format!("{prefix}{}", self.message);
        self
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Failure {
        Failure::die(message)
    }
}

impl From<&str> for Failure {
    fn from(message: &str) -> Failure {
        Failure::die(message)
    }
}

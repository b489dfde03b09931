//! What goes wrong, as the caller sees it: a closed list of codes, each with a message and a hint.

use serde::Serialize;
use serde_json::{Map, Value};

/// Every code an error result can carry. The README documents each; a test produces each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// An argument is missing, unknown or of the wrong form.
    BadArgument,
    /// No tool has this name.
    UnknownTool,
    /// The call needs a gate that is closed.
    GateClosed,
    /// The policy blocks this method.
    Blocked,
    /// The call names a protected guest.
    ProtectedGuest,
    /// A destructive call needs a confirmation that the client cannot give.
    ConfirmationRequired,
    /// A person said no.
    ConfirmationDeclined,
    /// The question could not be asked or answered.
    ConfirmationFailed,
    /// Proxmox does not know who we are.
    Unauthenticated,
    /// The account wants a second factor.
    TwoFactor,
    /// The method refuses API tokens.
    TokenNotAccepted,
    /// A privilege is missing.
    Forbidden,
    /// No such object.
    NotFound,
    /// This cluster has no such method.
    NotSupported,
    /// The guest is locked by another operation.
    GuestLocked,
    /// The guest does not run.
    GuestNotRunning,
    /// The guest agent is switched off in the configuration.
    AgentOff,
    /// The guest agent does not run in the guest.
    AgentNotRunning,
    /// The guest agent did not answer in time.
    AgentTimeout,
    /// Somebody else changed it meanwhile, or it exists already.
    Conflict,
    /// A task ended with an error.
    TaskFailed,
    /// The node behind the API does not answer.
    NodeUnreachable,
    /// The API does not answer.
    Unreachable,
    /// No answer in time.
    Timeout,
    /// The certificate cannot be verified.
    TlsUntrusted,
    /// The certificate is not the pinned one.
    TlsFingerprintMismatch,
    /// The server answered with a redirect, which is never followed.
    UnexpectedRedirect,
    /// The caller cancelled.
    Cancelled,
    /// An answer or a body is too large.
    TooLarge,
    /// A local path is not allowed.
    LocalDir,
    /// A value carries a mask instead of a secret.
    RedactedBody,
    /// The audit log cannot be written.
    AuditFailed,
    /// A fault of this server, or an answer of Proxmox that fits nothing else.
    Internal,
    /// The host key is not known.
    HostKeyUnknown,
    /// The host key is another one.
    HostKeyMismatch,
    /// SSH credentials were refused.
    SshAuthFailed,
    /// No SSH connection.
    SshUnreachable,
    /// A file or an output is too large to return.
    SshOutputTooLarge,
}

impl Code {
    /// The wire form, such as `gate_closed`.
    pub fn word(self) -> String {
        serde_json::to_value(self).ok().and_then(|value| value.as_str().map(str::to_string)).unwrap_or_default()
    }
}

/// One error, complete: what happened, what to do, and the facts around it.
///
/// Texts are lower-case fragments and hold no secret: everything that came from outside passes `redact` first.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// Which kind.
    pub code: Code,
    /// What happened.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// More facts, such as `status`, `errors` by parameter, `upid`.
    pub details: Map<String, Value>,
}

impl Fault {
    /// A fault without hint or details.
    pub fn new(code: Code, message: impl Into<String>) -> Fault {
        Fault { code, message: message.into(), hint: None, details: Map::new() }
    }

    /// Says what to do.
    pub fn hint(mut self, hint: impl Into<String>) -> Fault {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a fact.
    pub fn detail(mut self, key: &str, value: impl Into<Value>) -> Fault {
        self.details.insert(key.into(), value.into());
        self
    }

    /// `{code, message, hint, …}`.
    pub fn to_json(&self) -> Map<String, Value> {
        let mut json = Map::new();
        json.insert("code".into(), self.code.word().into());
        json.insert("message".into(), self.message.clone().into());
        if let Some(hint) = &self.hint {
            json.insert("hint".into(), hint.clone().into());
        }
        json.extend(self.details.clone());
        json
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.code.word(), self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Fault {}

//! What goes wrong, as the caller sees it: a closed list of codes, each with a message and a hint.

use serde::Serialize;
use serde_json::{Map, Value};

/// The codes and what each means, once: for the documentation, the README and whoever asks [`Code::meaning`].
macro_rules! codes {
    ($($code:ident: $meaning:literal,)*) => {
        /// Every code an error result can carry. The README documents each; a test produces each.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Code {
            $(#[doc = $meaning] $code,)*
        }

        impl Code {
            /// All of them, in the order of the README.
            pub const ALL: &[Code] = &[$(Code::$code,)*];

            /// What it means, one sentence.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Code::$code => $meaning,)*
                }
            }
        }
    };
}

codes! {
    BadArgument: "An argument is missing, unknown or of the wrong form.",
    UnknownTool: "No tool has this name.",
    GateClosed: "The call needs a gate that is closed.",
    Blocked: "The policy blocks this method.",
    ProtectedGuest: "The call names a protected guest.",
    ConfirmationRequired: "A destructive call needs a confirmation that the client cannot give.",
    ConfirmationDeclined: "A person said no.",
    ConfirmationFailed: "The question could not be asked or answered.",
    Unauthenticated: "Proxmox does not know who we are.",
    TwoFactor: "The account wants a second factor.",
    TokenNotAccepted: "The method refuses API tokens.",
    Forbidden: "A privilege is missing.",
    NotFound: "No such object.",
    NotSupported: "This cluster has no such method.",
    GuestLocked: "The guest is locked by another operation.",
    GuestNotRunning: "The guest does not run.",
    AgentOff: "The guest agent is switched off in the configuration.",
    AgentNotRunning: "The guest agent does not run in the guest.",
    AgentTimeout: "The guest agent did not answer in time.",
    Conflict: "Somebody else changed it meanwhile, or it exists already.",
    TaskFailed: "A task ended with an error.",
    NodeUnreachable: "The node behind the API does not answer.",
    Unreachable: "The API does not answer.",
    Timeout: "No answer in time.",
    TlsUntrusted: "The certificate cannot be verified.",
    TlsFingerprintMismatch: "The certificate is not the pinned one.",
    UnexpectedRedirect: "The server answered with a redirect, which is never followed.",
    Cancelled: "The caller cancelled.",
    TooLarge: "An answer or a body is too large.",
    LocalDir: "A local path is not allowed.",
    RedactedBody: "A value carries a mask instead of a secret.",
    AuditFailed: "The audit log cannot be written.",
    Internal: "A fault of this server, or an answer of Proxmox that fits nothing else.",
    HostKeyUnknown: "The host key is not known.",
    HostKeyMismatch: "The host key is another one.",
    SshAuthFailed: "SSH credentials were refused.",
    SshUnreachable: "No SSH connection.",
    SshOutputTooLarge: "A file or an output is too large to return.",
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

//! Who agreed to a destructive action: the rules, and the values that stand for one question.
//!
//! A [`Ledger`] keeps what was asked, in this process only. The value that goes out is 128 random bits: it says nothing and
//! nobody can make one. It is good once, for five minutes, and only for the very same subject: tool, arguments, cluster,
//! request and the target as it was when the question was put. Only a value that was taken back makes an [`Agreed`], and
//! only that lets a destructive action through where nobody may decide alone.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rand::Rng;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::{Admission, ApiCall, Permit, Policy, SshCommand};
use crate::config::ConfirmFallback;
use crate::error::{Code, Fault};

/// How long a question stays open.
pub const OPEN_FOR: Duration = Duration::from_secs(300);

/// Questions that may be open at once; the oldest is forgotten first.
const MOST_OPEN: usize = 256;

/// Somebody agreed to one action. Only [`Ledger::redeem`] makes one, and it is used up.
#[derive(Debug)]
#[must_use = "what was agreed to is not done yet"]
pub struct Agreed(());

/// What a question was about, as a digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject([u8; 32]);

impl Subject {
    /// Tool, arguments, cluster, the exact request, and the target's identity.
    pub fn of(tool: &str, arguments: &Map<String, Value>, instance: &str, request: &Value, target: &str) -> Subject {
        let whole = json!([tool, sorted(&Value::Object(arguments.clone())), instance, request, target]);
        Subject(Sha256::digest(whole.to_string().as_bytes()).into())
    }
}

/// The same value whatever the order of its members.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut members: Vec<(&String, &Value)> = map.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            Value::Object(members.into_iter().map(|(name, value)| (name.clone(), sorted(value))).collect())
        }
        Value::Array(list) => list.iter().map(sorted).collect(),
        value => value.clone(),
    }
}

/// Why a value does not count. Each is asked anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Stale {
    /// It was never given out, was used, or was forgotten.
    #[error("it is not known here, or was used already")]
    Unknown,
    /// More than five minutes have passed.
    #[error("it was older than five minutes")]
    Expired,
    /// The call, or what it is aimed at, is another one now.
    #[error("the call, or what it acts on, is not what was shown then")]
    Other,
}

/// The open questions of this process.
#[derive(Debug, Default)]
pub struct Ledger {
    open: Mutex<VecDeque<Open>>,
}

#[derive(Debug)]
struct Open {
    value: String,
    subject: Subject,
    until: Duration,
}

impl Ledger {
    /// Opens a question; the value that stands for it, 32 hexadecimal digits. `now` is the clock's.
    pub fn open(&self, subject: Subject, now: Duration) -> String {
        let mut rng = rand::rng();
        let value = format!("{:016x}{:016x}", rng.next_u64(), rng.next_u64());
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|one| one.until > now);
        if open.len() >= MOST_OPEN {
            open.pop_front();
        }
        open.push_back(Open { value: value.clone(), subject, until: now + OPEN_FOR });
        value
    }

    /// Takes a value back. Whatever comes of it, the value is used up.
    ///
    /// # Errors
    /// Why it does not count for this subject.
    pub fn redeem(&self, value: &str, subject: &Subject, now: Duration) -> Result<Agreed, Stale> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let at = open.iter().position(|one| one.value == value).ok_or(Stale::Unknown)?;
        let one = open.remove(at).ok_or(Stale::Unknown)?;
        if one.until <= now {
            return Err(Stale::Expired);
        }
        if one.subject != *subject {
            return Err(Stale::Other);
        }
        Ok(Agreed(()))
    }
}

impl Policy {
    /// Whether somebody should be asked before this request is sent.
    ///
    /// # Errors
    /// As [`Policy::admit`], but for what nobody being there would make of it.
    pub fn must_ask(&self, call: &ApiCall, dry_run: bool) -> Result<bool, Fault> {
        Ok(self.consider(call, dry_run)? && self.judge(call).destructive)
    }

    /// [`Policy::must_ask`] for an action over SSH.
    ///
    /// # Errors
    /// As [`Policy::admit_ssh`], but for what nobody being there would make of it.
    pub fn must_ask_ssh(&self, command: &SshCommand, dry_run: bool) -> Result<bool, Fault> {
        Ok(self.consider_ssh(command, dry_run)? && command.effect() == super::Effect::Destroys)
    }

    /// [`Policy::admit`] for a request that somebody agreed to: everything else is judged as ever.
    ///
    /// # Errors
    /// As [`Policy::admit`].
    pub fn admit_agreed(&self, call: ApiCall, Agreed(()): Agreed) -> Result<Admission<ApiCall>, Fault> {
        self.tags_were_read(&call)?;
        match self.consider(&call, false)? {
            true => Ok(Admission::Go(Permit::grant(call))),
            false => Ok(Admission::Dry(call)),
        }
    }

    /// [`Policy::admit_ssh`] for an action that somebody agreed to.
    ///
    /// # Errors
    /// As [`Policy::admit_ssh`].
    pub fn admit_agreed_ssh(&self, command: SshCommand, Agreed(()): Agreed) -> Result<Admission<SshCommand>, Fault> {
        self.tags_were_read_ssh(&command)?;
        match self.consider_ssh(&command, false)? {
            true => Ok(Admission::Go(Permit::grant(command))),
            false => Ok(Admission::Dry(command)),
        }
    }

    /// What becomes of a destructive action that nobody can be asked about.
    pub(super) fn alone(&self, what: &str) -> Result<(), Fault> {
        let fault = |message: String| Fault::new(Code::ConfirmationRequired, message);
        match self.access.confirm_fallback {
            ConfirmFallback::Allow => Ok(()),
            ConfirmFallback::Plan => Err(fault(format!("{what} is destructive and has to be looked at first"))
                .hint("call the tool through MCP: it answers what would be sent and a value for 'confirm'")),
            ConfirmFallback::Deny => Err(fault(format!("{what} is destructive and nobody can be asked")).hint(
                "PROXMOX_CONFIRM_FALLBACK=deny refuses it; a person can do it without this server or set `allow`",
            )),
        }
    }
}

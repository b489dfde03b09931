//! The choke point: whether an action may leave this server. Gates, escalation by argument, protected guests, unblocking,
//! dry run, and who has to agree ([`confirm`]).
//!
//! [`Policy::admit`] and, for SSH, [`Policy::admit_ssh`] are the only functions that make a [`Permit`], and a permit is the
//! only thing that `pve::Client::send` and `ssh::Ssh` take. The list of tools asks the same policy
//! ([`Policy::could_admit`]) what could ever be admitted, so that hidden and refused cannot disagree.

mod call;
pub mod confirm;
mod gates;
mod permit;
mod protected;
mod ssh;
mod tags;
mod unknown;

pub use call::{ApiCall, CallError};
pub use permit::{Admission, Permit};
pub use ssh::{Act, Effect, Guest, GuestTrust, Limits, Place, SshCommand};
pub use tags::{Tagged, not_read};

use pve_catalog::{Catalog, Gate, Method, Verb};

use crate::config::Access;
use crate::error::{Code, Fault};
use crate::redact;

/// What one cluster's settings allow.
#[derive(Debug)]
pub struct Policy {
    access: Access,
}

/// What the policy makes of a request, apart from whether it is allowed.
#[derive(Debug, Clone)]
pub struct Judgement {
    /// The gate that the request needs, raised by its arguments.
    pub gate: Gate,
    /// Why it is more than the method's own gate, when it is.
    pub raised: Option<String>,
    /// Cannot be taken back, or stops something that runs.
    pub destructive: bool,
}

impl Policy {
    /// A policy over the settings of one cluster.
    pub fn new(access: Access) -> Policy {
        Policy { access }
    }

    /// The settings it decides by.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// Whether a call of this method could ever be admitted, with some arguments.
    pub fn could_admit(&self, method: &Method) -> bool {
        self.opens(self.unblocked(method).unwrap_or(method.gate), method.verb)
    }

    /// Whether a gate is open for a verb, for a dry run at least.
    pub fn opens(&self, gate: Gate, verb: Verb) -> bool {
        gates::is_open(&self.access, gate, verb)
    }

    /// The settings that are missing to open a gate, such as `PROXMOX_ALLOW_WRITES=true`; empty when it is open.
    pub fn what_opens(&self, gate: Gate, verb: Verb) -> Vec<&'static str> {
        gates::what_opens(&self.access, gate, verb)
    }

    /// What a request needs: the method's gate, raised by arguments. A method that the catalogue does not know counts as
    /// `sensitive` (GET) or `elevated`, and as destructive unless it reads. Where an imported catalogue leads a path to
    /// another method than the embedded one does, the stricter of both counts.
    pub fn judge(&self, call: &ApiCall) -> Judgement {
        let rank = |judgement: &Judgement| (!self.opens(judgement.gate, call.verb()), judgement.gate);
        let stricter = |one: Judgement, other: Judgement| {
            let destructive = one.destructive || other.destructive;
            Judgement { destructive, ..if rank(&other) > rank(&one) { other } else { one } }
        };
        call.methods().map(|method| self.judge_as(method, call)).reduce(stricter).unwrap_or_else(|| Judgement {
            gate: if call.is_read() { Gate::Sensitive } else { Gate::Elevated },
            raised: Some("the catalogue does not know this method".to_string()),
            destructive: !call.is_read(),
        })
    }

    /// What a request needs as a call of one method.
    fn judge_as(&self, method: &Method, call: &ApiCall) -> Judgement {
        let rules = &Catalog::rules().arguments;
        let own = self.unblocked(method).unwrap_or(method.gate);
        let ruled = || {
            let rule = rules.raise.iter().find_map(|rule| Some((rule.holds(method.path, call.params())?, rule)));
            rule.map(|(argument, rule)| format!("'{argument}': {}", rule.reason))
        };
        let raised = (own == Gate::Write).then(|| ruled().or_else(|| unknown::argument(method, call))).flatten();
        let destroys = rules.destroys.iter().any(|rule| rule.holds(method.path, call.params()).is_some());
        Judgement {
            gate: if raised.is_some() { Gate::Elevated } else { own },
            raised: raised.or_else(|| method.stricter.map(str::to_string)),
            destructive: method.destructive || destroys,
        }
    }

    /// Decides about one request of a caller whom nobody can ask. `dry_run` is the caller's wish to see it only; it opens nothing.
    ///
    /// # Errors
    /// A fault that says which variable to set, or why nothing helps.
    pub fn admit(&self, call: ApiCall, dry_run: bool) -> Result<Admission<ApiCall>, Fault> {
        if !self.consider(&call, dry_run)? {
            return Ok(Admission::Dry(call));
        }
        self.tags_were_read(&call)?;
        if self.judge(&call).destructive {
            self.alone(&format!("{} {}", call.verb(), call.path()))?;
        }
        Ok(Admission::Go(Permit::grant(call)))
    }

    /// The guests that a request names.
    pub fn guests(&self, call: &ApiCall) -> Vec<u32> {
        let mut vmids = protected::named(call);
        vmids.sort_unstable();
        vmids.dedup();
        vmids
    }

    /// What [`Policy::admit`] would say, without a permit: whether the request would be sent (true) or only shown. For
    /// reads that prepare a write: nothing is read for a write that is refused anyway. Whether somebody has to agree is not
    /// looked at.
    ///
    /// # Errors
    /// As [`Policy::admit`].
    pub fn consider(&self, call: &ApiCall, dry_run: bool) -> Result<bool, Fault> {
        let judgement = self.judge(call);
        if !self.opens(judgement.gate, call.verb()) {
            return Err(self.closed(call, &judgement));
        }
        if let Some(why) = protected::touches(call, &self.access.protected_vmids) {
            return Err(Fault::new(Code::ProtectedGuest, format!("{} {} is refused: {why}", call.verb(), call.path()))
                .hint("PROXMOX_PROTECTED_VMIDS lists the guests that are not to be changed; a person can change it"));
        }
        self.refuse_tagged(call)?;
        redact::refuse_masked(call)?;
        if !call.is_read() && (dry_run || self.access.dry_run) {
            return Ok(false);
        }
        Ok(true)
    }

    /// The gate of a blocked method that `PROXMOX_UNBLOCK` opens. A blocked GET never opens.
    fn unblocked(&self, method: &Method) -> Option<Gate> {
        let listed = || self.access.unblock.iter().any(|key| *key == method.key());
        (method.gate == Gate::Blocked && method.verb != Verb::Get && listed()).then_some(Gate::Elevated)
    }

    fn closed(&self, call: &ApiCall, judgement: &Judgement) -> Fault {
        let what = format!("{} {}", call.verb(), call.path());
        if judgement.gate == Gate::Blocked {
            let fault = Fault::new(Code::Blocked, format!("{what} is blocked: it would go round this server's policy"));
            return match call.verb() {
                Verb::Get => fault.hint("a blocked GET never opens"),
                verb => fault.hint(format!(
                    "a person can list '{verb} {}' in PROXMOX_UNBLOCK; it then needs the gate elevated",
                    call.method().map_or(call.path(), |method| method.path)
                )),
            };
        }
        let because = judgement.raised.as_ref().map(|why| format!(" because of {why}")).unwrap_or_default();
        let needed = self.what_opens(judgement.gate, call.verb());
        Fault::new(Code::GateClosed, format!("{what} needs the gate {}{because}, which is closed", judgement.gate))
            .hint(format!("a person can open it by starting the server with {}", needed.join(" and ")))
            .detail("gate", judgement.gate.word())
    }
}

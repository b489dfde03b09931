//! Faults on demand: what a cluster in trouble answers, for tests of what has to cope with it.
//!
//! A [`Fault`] says which requests it strikes, what it does to them ([`Effect`]) and how often. It is set with
//! [`FakePve::fault`](crate::FakePve::fault) or `POST /_rehearsal/faults`, and holds until it is spent or cleared.
//!
//! ```no_run
//! use fake_pve::{FakePve, Fault};
//!
//! # fn example(pve: &FakePve) {
//! pve.fault(Fault::on("POST", "/nodes/*/qemu/*/status/start").fails_task("start failed: QEMU exited with code 1"));
//! pve.fault(Fault::on("GET", "/cluster/resources").fails(500, "rename failed").times(2));
//! let outage = pve.fault(Fault::node_offline("pve2"));
//! // …
//! pve.clear_fault(outage);
//! # }
//! ```
//!
//! The engine asks for faults at each `Point` in Proxmox's own order of things, so that a fault looks the way the real
//! one would: an unreachable node fails after the permission check, a reset connection before everything.

mod cluster;
mod condition;
mod set;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub(crate) use condition::refused_write;
pub(crate) use set::{At, Blow, Faults, Point};

/// The names of one fault that is set: for [`FakePve::clear_fault`](crate::FakePve::clear_fault).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FaultId(pub u64);

/// Which requests are struck, by what, how often. As JSON:
/// `{"verb": "POST", "path": "/nodes/*/qemu", "effect": {"fail": {"status": 500, "message": "no"}}, "times": 1}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// `GET`, `POST`, `PUT`, `DELETE`; `*` is every verb.
    #[serde(default = "any_verb")]
    pub verb: String,
    /// A path beneath the format (`/nodes/pve1/qemu`), or a pattern: `*` stands for text within a segment, `**` as a
    /// segment for any number of segments.
    #[serde(default = "any_path")]
    pub path: String,
    /// What happens.
    pub effect: Effect,
    /// How often it strikes before it is gone; `None` is until it is cleared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
}

fn any_verb() -> String {
    "*".into()
}

fn any_path() -> String {
    "/**".into()
}

/// What a fault does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Effect {
    /// The call fails instead of being made, after permissions and parameters were found right.
    Fail {
        /// HTTP status.
        status: u16,
        /// Message in the body; its first line is the reason phrase unless that is given.
        message: String,
        /// Reason phrase.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Text per parameter.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        errors: BTreeMap<String, String>,
    },
    /// The task that the call starts fails at its end; nothing of its work is done.
    FailTask {
        /// What stands behind `TASK ERROR: `, and as exit status.
        text: String,
    },
    /// The task that the call starts does its work and ends with `WARNINGS: n`.
    WarnTask {
        /// Each becomes a line `WARN: …` of the log.
        warnings: Vec<String>,
    },
    /// The answer takes this long in virtual time (at a time scale above 0: really).
    Delay {
        /// Virtual seconds.
        seconds: f64,
    },
    /// The answer takes this long in real time, whatever the clock: for time-outs of clients.
    Stall {
        /// Real seconds.
        seconds: f64,
    },
    /// The connection is reset before the call is made.
    Reset,
    /// The call is made and the connection reset instead of an answer.
    LoseAnswer,
    /// The call is made and the connection reset in the middle of the answer's body.
    CutBody,
    /// Another process or node does not answer: status and reason phrase, no body (595, 596, 599).
    Unreachable {
        /// HTTP status.
        status: u16,
        /// Reason phrase.
        reason: String,
    },
    /// 401 for everybody: the login is not accepted (any more). Logging in is still possible.
    Unauthorized {
        /// Reason phrase.
        reason: String,
    },
    /// A node is down. Requests for it count.
    NodeOffline {
        /// Its name.
        node: String,
    },
    /// No configuration file can be written. Calls that are refused for it count.
    QuorumLost,
    /// A guest's configuration is locked. Calls other than GET on the guest count.
    GuestLocked {
        /// The guest.
        vmid: u32,
        /// `backup`, `clone`, `migrate`, `snapshot` …
        lock: String,
    },
    /// Nothing more can be allocated or written on a storage, on any node. Refused allocations count.
    StorageFull {
        /// Its id.
        storage: String,
    },
}

impl Fault {
    /// A fault of requests of a verb (`*`: all) and a path or pattern. It refuses them until it is told what else to do.
    pub fn on(verb: &str, path: &str) -> Fault {
        let effect =
            Effect::Fail { status: 500, message: "got no worker upid".into(), reason: None, errors: BTreeMap::new() };
        Fault { verb: verb.into(), path: path.into(), effect, times: None }
    }

    /// A fault of all requests.
    pub fn on_all() -> Fault {
        Fault::on("*", "/**")
    }

    /// It strikes this often, then it is gone.
    pub fn times(mut self, times: u32) -> Fault {
        self.times = Some(times);
        self
    }

    /// It strikes once.
    pub fn once(self) -> Fault {
        self.times(1)
    }

    fn does(mut self, effect: Effect) -> Fault {
        self.effect = effect;
        self
    }

    /// The call fails with a status and a message (500 is what Proxmox answers to most).
    pub fn fails(self, status: u16, message: &str) -> Fault {
        self.does(Effect::Fail { status, message: message.into(), reason: None, errors: BTreeMap::new() })
    }

    /// The call fails because of a parameter: 400, as verification words it. Say it again for another parameter.
    pub fn refuses(self, parameter: &str, text: &str) -> Fault {
        let mut errors = match &self.effect {
            Effect::Fail { errors, .. } => errors.clone(),
            _ => BTreeMap::new(),
        };
        errors.insert(parameter.into(), text.into());
        self.does(Effect::Fail { status: 400, message: "Parameter verification failed.".into(), reason: None, errors })
    }

    /// The reason phrase of a failure, where it differs from the message.
    pub fn reason(mut self, phrase: &str) -> Fault {
        if let Effect::Fail { reason, .. } = &mut self.effect {
            *reason = Some(phrase.into());
        }
        self
    }

    /// The call's task fails with this exit status.
    pub fn fails_task(self, text: &str) -> Fault {
        self.does(Effect::FailTask { text: text.into() })
    }

    /// The call's task ends with `WARNINGS: n`.
    pub fn warns_task<S: Into<String>>(self, warnings: impl IntoIterator<Item = S>) -> Fault {
        self.does(Effect::WarnTask { warnings: warnings.into_iter().map(Into::into).collect() })
    }

    /// The answer takes virtual time.
    pub fn delays(self, by: Duration) -> Fault {
        self.does(Effect::Delay { seconds: by.as_secs_f64() })
    }

    /// The answer takes real time.
    pub fn stalls(self, by: Duration) -> Fault {
        self.does(Effect::Stall { seconds: by.as_secs_f64() })
    }

    /// The connection is reset and the call not made.
    pub fn resets(self) -> Fault {
        self.does(Effect::Reset)
    }

    /// The call is made, and its answer lost with the connection.
    pub fn loses_answer(self) -> Fault {
        self.does(Effect::LoseAnswer)
    }

    /// The call is made, and the connection reset in the middle of the body.
    pub fn cuts_body(self) -> Fault {
        self.does(Effect::CutBody)
    }

    /// Who should answer does not: `595 No route to host`, `596 Connection timed out`.
    pub fn unreachable(self, status: u16, reason: &str) -> Fault {
        self.does(Effect::Unreachable { status, reason: reason.into() })
    }

    /// The login is not accepted: 401 with a reason phrase (`No ticket`, `permission denied - invalid PVE ticket` of
    /// releases before 9.1.5).
    pub fn unauthorized(self, reason: &str) -> Fault {
        self.does(Effect::Unauthorized { reason: reason.into() })
    }

    /// Tickets and tokens are not good any more: `401 Authentication failed!`.
    pub fn login_expired() -> Fault {
        Fault::on_all().unauthorized(crate::auth::FAILED)
    }

    /// A node is down: requests for it fail with `595 No route to host`, lists show it offline and its guests unknown.
    pub fn node_offline(node: &str) -> Fault {
        Fault::on_all().does(Effect::NodeOffline { node: node.into() })
    }

    /// The cluster has no quorum: whatever would write a configuration file is refused, or its task fails.
    pub fn quorum_lost() -> Fault {
        Fault::on_all().does(Effect::QuorumLost)
    }

    /// A guest is locked: `VM is locked (backup)`.
    pub fn guest_locked(vmid: u32, lock: &str) -> Fault {
        Fault::on_all().does(Effect::GuestLocked { vmid, lock: lock.into() })
    }

    /// A storage has no room left.
    pub fn storage_full(storage: &str) -> Fault {
        Fault::on_all().does(Effect::StorageFull { storage: storage.into() })
    }
}

//! What a tool at work can reach: one cluster through the policy, the caller's progress, and its patience.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use crate::error::{Code, Fault};
use crate::policy::{Admission, ApiCall};
use crate::pve::Answer;
use crate::server::{Cluster, Server};
use crate::tools::arguments::node;
use crate::tools::confirm::{Asking, Call};
use crate::tools::unsupported;

/// One call's surroundings.
#[derive(Debug, Clone)]
pub struct Ctx {
    server: Arc<Server>,
    instance: usize,
    caller: Caller,
    about: Arc<Call>,
    /// The last `done` that was told, as the bits of a number: several tasks of one call begin at nothing each.
    told: Arc<AtomicU64>,
}

/// Who asked, as far as a tool needs to know.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// Where progress goes, when somebody wants to see it.
    pub progress: Option<UnboundedSender<Step>>,
    /// The caller does not want the answer any more.
    pub cancel: CancellationToken,
    /// How a person behind the caller can be asked.
    pub asking: Asking,
    /// Hears that the call begins to wait for a task of Proxmox.
    pub waits: Option<Arc<Notify>>,
}

/// One notice of progress. `done` only grows.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// How much is done.
    pub done: f64,
    /// Of how much, where that is known.
    pub total: Option<f64>,
    /// What is being done.
    pub message: String,
}

/// What became of a request.
#[derive(Debug)]
pub enum Outcome {
    /// Proxmox answered.
    Data(Answer),
    /// It was only to be shown.
    Dry(ApiCall),
}

/// What became of an action over SSH.
#[derive(Debug)]
pub enum Performed<T> {
    /// It was done.
    Done(T),
    /// It was only to be shown: this, masked.
    Dry(Value),
}

impl Ctx {
    /// The surroundings of a call to one cluster of a server.
    pub fn new(server: Arc<Server>, instance: usize, caller: Caller) -> Ctx {
        Ctx { server, instance, caller, about: Arc::default(), told: Arc::default() }
    }

    /// The same for the call of a tool: what a confirmation is bound to.
    pub fn about_call(self, call: Call) -> Ctx {
        Ctx { about: Arc::new(call), ..self }
    }

    /// The call that this is about.
    pub(super) fn about(&self) -> &Call {
        &self.about
    }

    /// Who asked.
    pub(super) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The whole server.
    pub fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// The cluster that the call is about.
    pub fn cluster(&self) -> &Cluster {
        &self.server.clusters()[self.instance]
    }

    /// The node taken when none is named and no guest tells it.
    pub fn default_node(&self) -> Option<&str> {
        self.cluster().default_node.as_deref()
    }

    /// Sends a request, if the policy allows it. There is no other way to Proxmox.
    ///
    /// # Errors
    /// The policy's refusal, or what went wrong on the way; `cancelled` when the caller went away meanwhile.
    pub async fn api(&self, call: ApiCall, dry_run: bool) -> Result<Outcome, Fault> {
        let cluster = self.cluster();
        let (verb, path) = (call.verb(), call.path().to_string());
        let outcome = match self.admit(call, dry_run).await? {
            Admission::Dry(call) => Ok(Outcome::Dry(call)),
            Admission::Go(permit) => tokio::select! {
                biased;
                answer = cluster.client.send(permit) => answer.map(Outcome::Data),
                () = self.caller.cancel.cancelled() => Err(cancelled()),
            },
        };
        match outcome {
            Err(fault) if unsupported::is_one(&fault) => Err(unsupported::explained(self, verb, &path, fault).await),
            outcome => outcome,
        }
    }

    /// Reads: a request that changes nothing is never dry.
    ///
    /// # Errors
    /// As [`Ctx::api`].
    pub async fn read(&self, call: ApiCall) -> Result<Answer, Fault> {
        match self.api(call, false).await? {
            Outcome::Data(answer) => Ok(answer),
            Outcome::Dry(_) => Err(Fault::new(Code::Internal, "a read was taken for a dry run")),
        }
    }

    /// Reads a path of the catalogue that has no values in it.
    ///
    /// # Errors
    /// As [`Ctx::api`].
    pub async fn get(&self, path: &str, params: &[(&str, &str)]) -> Result<Answer, Fault> {
        self.read(node::listing(path, params)).await
    }

    /// Tells the caller how far it is, when it wants to know.
    pub fn tell(&self, done: f64, total: Option<f64>, message: impl Into<String>) {
        if let Some(progress) = &self.caller.progress {
            let before = f64::from_bits(self.told.load(Ordering::Relaxed));
            let done = if done > before { done } else { before + 1.0 };
            self.told.store(done.to_bits(), Ordering::Relaxed);
            // The receiver is gone when the caller is: nobody is left to tell.
            let _ = progress.send(Step { done, total, message: message.into() });
        }
    }

    /// Cancelled when the caller does not want the answer any more.
    pub fn cancelled_by_caller(&self) -> CancellationToken {
        self.caller.cancel.clone()
    }
}

fn cancelled() -> Fault {
    Fault::new(Code::Cancelled, "the caller cancelled while the request was under way")
        .hint("a write may have reached Proxmox all the same: look before doing it again")
}

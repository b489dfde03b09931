//! What a provisioning did, step by step: what was created, what remains. Nothing is ever deleted, nothing that exists is taken over.

use std::time::Duration;

use pve_catalog::Verb;
use serde_json::{Map, Value, json};

use super::guest;
use super::reading::{answer, foreign, text, write};
use crate::error::{Code, Fault};
use crate::tools::arguments::Options;
use crate::tools::{Ctx, Reply, result, text as screen};

/// How often another free number is tried when somebody else was quicker.
const TRIES: usize = 5;

/// How a step ended. One that failed ends the whole with an error instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// As wanted.
    Done,
    /// There was nothing to do, or it was not wanted.
    Skipped,
    /// Done, but somebody should look.
    Warning,
    /// Its task goes on: the steps after it were not begun.
    StillRunning,
    /// Only shown.
    Planned,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            State::Done => "done",
            State::Skipped => "skipped",
            State::Warning => "warning",
            State::StillRunning => "still_running",
            State::Planned => "planned",
        }
    }

    /// Whether the next step may begin.
    pub fn goes_on(self) -> bool {
        self != State::StillRunning
    }
}

/// The steps of one call.
pub struct Steps<'c> {
    ctx: &'c Ctx,
    /// Names of all steps, in order.
    names: &'static [&'static str],
    taken: Vec<Value>,
    created: Vec<Value>,
    plan: Vec<Value>,
    until: Duration,
    dry_run: bool,
}

impl<'c> Steps<'c> {
    /// None taken yet. All of them together wait `wait_seconds` for tasks and guests, or as long as one task is awaited
    /// unless told otherwise.
    pub fn new(ctx: &'c Ctx, names: &'static [&'static str], wait_seconds: Option<i64>, dry_run: bool) -> Steps<'c> {
        let wait = wait_seconds.and_then(|seconds| u64::try_from(seconds).ok()).map(Duration::from_secs);
        let until = ctx.cluster().clock.now() + wait.unwrap_or(ctx.cluster().task_wait);
        let dry_run = dry_run || ctx.cluster().policy.access().dry_run;
        Steps { ctx, names, taken: Vec::new(), created: Vec::new(), plan: Vec::new(), until, dry_run }
    }

    /// Whether nothing is sent.
    pub fn is_dry(&self) -> bool {
        self.dry_run
    }

    /// When waiting ends, by the cluster's clock here.
    pub fn until(&self) -> Duration {
        self.until
    }

    /// A step that needed no request of its own, or none at all.
    pub fn take(&mut self, step: &'static str, state: State, says: impl Into<String>) {
        let says: String = says.into();
        let mut told = json!({"step": step, "status": state.word()});
        if !says.is_empty() {
            told["says"] = says.into();
        }
        self.taken.push(told);
    }

    /// Something exists now that did not before.
    pub fn created(&mut self, what: Value) {
        self.created.push(what);
    }

    /// A step that is one request. `says` is told when it went well.
    ///
    /// # Errors
    /// What went wrong, with all that was done before and what remains.
    pub async fn send(
        &mut self,
        step: &'static str,
        says: &str,
        verb: Verb,
        template: &str,
        arguments: Map<String, Value>,
    ) -> Result<State, Fault> {
        match self.attempt(verb, template, arguments).await {
            Ok(reply) => Ok(self.went(step, says, &reply)),
            Err(fault) => Err(self.failed(step, fault)),
        }
    }

    async fn attempt(
        &self,
        verb: Verb,
        template: &str,
        arguments: Map<String, Value>,
    ) -> Result<Map<String, Value>, Fault> {
        let left = self.until.saturating_sub(self.ctx.cluster().clock.now());
        let options = Options { wait_seconds: Some(left.as_secs()), dry_run: self.dry_run, ..Options::default() };
        Ok(write(self.ctx, verb, template, arguments, &options).await?.structured)
    }

    fn went(&mut self, step: &'static str, says: &str, reply: &Map<String, Value>) -> State {
        if let Some(request) = reply.get("request").filter(|_| reply.contains_key("dry_run")) {
            self.plan.push(json!({"step": step, "request": request}));
            self.take(step, State::Planned, says);
            return State::Planned;
        }
        let task = reply.get("task").unwrap_or(&Value::Null);
        let state = match text(task, "status") {
            Some("still_running") => State::StillRunning,
            Some("warnings") => State::Warning,
            _ => State::Done,
        };
        self.take(step, state, says);
        if let Some(told) = self.taken.last_mut() {
            for (key, value) in [("upid", reply.get("upid")), ("log", task.get("log"))] {
                if let Some(value) = value {
                    told[key] = value.clone();
                }
            }
        }
        state
    }

    /// The step that makes the guest. `arguments` makes the request for a number. A number of the caller's own is refused when
    /// somebody has it; one of ours is chosen again when somebody else was quicker.
    ///
    /// # Errors
    /// `conflict`; what went wrong, with all that was done before and what remains.
    pub async fn create(
        &mut self,
        step: &'static str,
        wanted: Option<i64>,
        template: &str,
        arguments: impl Fn(u32) -> Map<String, Value>,
    ) -> Result<(u32, State), Fault> {
        let mut tries = 0;
        loop {
            tries += 1;
            let vmid = match free_number(self.ctx, wanted).await {
                Ok(vmid) => vmid,
                Err(fault) => return Err(self.failed(step, fault)),
            };
            match self.attempt(Verb::Post, template, arguments(vmid)).await {
                Ok(reply) => return Ok((vmid, self.went(step, &format!("guest {vmid}"), &reply))),
                Err(fault) if is_taken(&fault) && wanted.is_none() && tries < TRIES => {}
                Err(fault) => {
                    let fault = if is_taken(&fault) { taken(vmid, fault) } else { self.left_over(vmid, fault).await };
                    return Err(self.failed(step, fault));
                }
            }
        }
    }

    /// A creation that began and failed may leave a guest behind: that is said, and it is left alone.
    async fn left_over(&mut self, vmid: u32, fault: Fault) -> Fault {
        let began = matches!(fault.code, Code::TaskFailed | Code::Timeout | Code::Unreachable | Code::NodeUnreachable);
        if began && let Ok(guest) = guest::one(self.ctx, i64::from(vmid)).await {
            let mut left = guest.named();
            left["incomplete"] = true.into();
            self.created.push(left);
        }
        fault
    }

    /// The error of a step that failed.
    pub fn failed(&mut self, step: &'static str, fault: Fault) -> Fault {
        let mut told = json!({"step": step, "status": "failed", "says": foreign(&fault.message)});
        if let Some(upid) = fault.details.get("upid") {
            told["upid"] = upid.clone();
        }
        self.taken.push(told);
        let made = match self.created.len() {
            0 => "nothing was created".to_string(),
            count => format!("{count} things were created and are left as they are: see 'created'"),
        };
        let hint = fault.hint.as_ref().map_or_else(|| made.clone(), |hint| format!("{hint}; {made}"));
        let message = format!("the step '{step}' failed: {}", fault.message);
        let remaining = self.remaining();
        Fault { message, hint: Some(hint), ..fault }
            .detail("failed_step", step)
            .detail("steps", self.taken.clone())
            .detail("created", self.created.clone())
            .detail("remaining", remaining)
    }

    /// Steps that were not begun, or that failed or go on.
    fn remaining(&self) -> Vec<&'static str> {
        let settled = |name: &&&'static str| {
            let of_name = self.taken.iter().rfind(|told| text(told, "step") == Some(**name));
            of_name.is_some_and(|told| !matches!(text(told, "status"), Some("failed" | "still_running")))
        };
        self.names.iter().filter(|name| !settled(name)).copied().collect()
    }

    /// The answer: `facts` about the guest beside the steps.
    pub fn reply(self, facts: Value) -> Reply {
        let has = |state: State| self.taken.iter().any(|told| text(told, "status") == Some(state.word()));
        let status = match () {
            () if self.dry_run => "planned",
            () if has(State::StillRunning) => "still_running",
            () if has(State::Warning) => "warning",
            () => "done",
        };
        let remaining = self.remaining();
        let mut told = Map::new();
        told.insert("status".into(), status.into());
        told.insert("untrusted".into(), true.into());
        if let Value::Object(facts) = facts {
            told.extend(facts.into_iter().filter(|(_, value)| !value.is_null()));
        }
        let mut lines = vec![
            told.iter()
                .filter(|(key, _)| *key != "untrusted")
                .map(|(key, value)| {
                    format!("{key}: {}", value.as_str().map_or_else(|| value.to_string(), str::to_string))
                })
                .collect::<Vec<_>>()
                .join(", "),
        ];
        lines.extend(self.taken.iter().map(line));
        told.insert("steps".into(), self.taken.into());
        told.insert("created".into(), self.created.into());
        told.insert("remaining".into(), remaining.clone().into());
        if self.dry_run {
            told.insert("dry_run".into(), true.into());
            lines.extend(self.plan.iter().map(|step| format!("would send {}", request(step))));
            told.insert("plan".into(), self.plan.into());
        }
        if status == "still_running" {
            let hint = format!(
                "the task goes on: follow it with pve_wait_task, then do what remains ({}); calling this again would make another guest",
                remaining.join(", ")
            );
            lines.push(hint.clone());
            told.insert("hint".into(), hint.into());
        }
        Reply::with_text(told, screen::screen(lines))
    }
}

/// `create: done (guest 102)`.
fn line(told: &Value) -> String {
    let says = text(told, "says").map(|says| format!(" ({says})")).unwrap_or_default();
    format!("{}: {}{says}", text(told, "step").unwrap_or_default(), text(told, "status").unwrap_or_default())
}

/// `POST /nodes/pve1/lxc`.
fn request(step: &Value) -> String {
    let request = &step["request"];
    format!("{} {}", text(request, "method").unwrap_or_default(), text(request, "path").unwrap_or_default())
}

/// A free number, or the caller's own when nobody has it.
async fn free_number(ctx: &Ctx, wanted: Option<i64>) -> Result<u32, Fault> {
    const NEXT: &str = "/cluster/nextid";
    let answer = match wanted.map(|vmid| vmid.to_string()) {
        Some(vmid) => answer(ctx, NEXT, &[], &[("vmid", &vmid)]).await,
        None => answer(ctx, NEXT, &[], &[]).await,
    };
    let number = match answer {
        Ok(answer) => {
            answer.data.as_str().and_then(|text| text.parse().ok()).or_else(|| answer.data.as_u64()?.try_into().ok())
        }
        Err(fault) => match wanted.and_then(|vmid| u32::try_from(vmid).ok()) {
            Some(vmid) if is_taken(&fault) => return Err(taken(vmid, fault)),
            _ => return Err(fault),
        },
    };
    number.ok_or_else(|| Fault::new(Code::Internal, "Proxmox names no free number"))
}

/// Whether somebody has the number already.
fn is_taken(fault: &Fault) -> bool {
    let said = fault.message.contains("already exists") || fault.message.contains("already used");
    said && matches!(fault.code, Code::Conflict | Code::TaskFailed | Code::BadArgument)
}

fn taken(vmid: u32, fault: Fault) -> Fault {
    Fault { code: Code::Conflict, message: format!("guest {vmid} exists already ({})", fault.message), ..fault }
        .hint("an existing guest is never taken over: choose another vmid, or leave it out")
}

/// The members of a provisioning's answer.
pub fn schema() -> Value {
    let properties = json!({
        "status": {"enum": ["done", "warning", "still_running", "planned"]},
        "vmid": {"type": "integer"}, "node": {"type": "string"}, "name": {"type": "string"}, "ip": {"type": "string"},
        "steps": {"type": "array"}, "created": {"type": "array"}, "remaining": {"type": "array"},
        "dry_run": {"type": "boolean"}, "plan": {"type": "array"}, "untrusted": {"type": "boolean"}, "hint": {"type": "string"},
    });
    result::schema(properties).into()
}

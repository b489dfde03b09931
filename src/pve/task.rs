//! Waits for a task to end. A UPID alone is never success.
//!
//! Every poll goes through the door like any other call: `Policy::admit`, then `Client::send`.

use std::collections::VecDeque;
use std::time::Duration;

use pve_catalog::upid::Upid;
use pve_catalog::{Catalog, Verb};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::refusal::meaning;
use super::{Answer, Client};
use crate::error::{Code, Fault};
use crate::policy::{Admission, ApiCall, Policy};
use crate::redact;

/// Pause before the second poll; each further one is half as long again, up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Lines of the log that an error or a warning carries.
const TAIL: usize = 20;

/// Lines asked for in one poll.
const LINES: u64 = 500;

/// Polls in a row that may fail on the way before waiting is given up: a node restarting its API is no failed task.
const PATIENCE: u32 = 3;

/// How long to wait.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// At most this long; zero looks once.
    pub limit: Duration,
}

/// Hears how a task gets on.
pub trait Progress: Send + Sync {
    /// `done` counts lines of the task's log and only grows; `message` is the newest line, masked.
    fn step(&self, done: f64, message: &str);
}

/// Nobody listens.
impl Progress for () {
    fn step(&self, _done: f64, _message: &str) {}
}

/// How a task ended, or that it has not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskEnd {
    /// `OK`.
    Ok,
    /// `WARNINGS: n`: done, with warnings.
    Warnings {
        /// How many.
        count: u32,
        /// The lines that warn, else the end of the log.
        log: Vec<String>,
    },
    /// Not ended in time: neither success nor error. The task goes on.
    StillRunning,
}

/// Waits until the task ends, the limit is over or the caller cancels.
///
/// # Errors
/// `bad_argument` for a text that is no UPID; `task_failed` with `exitstatus`, `log` (its last 20 lines) and `upid`;
/// `cancelled`, which leaves the task running; the fault of a poll, with the `upid`.
pub async fn wait(
    client: &Client,
    policy: &Policy,
    upid: &str,
    wait: Wait,
    progress: &dyn Progress,
    cancel: CancellationToken,
) -> Result<TaskEnd, Fault> {
    let mut watch = Watch::of(client, policy, upid, progress)?;
    let until = client.clock().now() + wait.limit;
    let mut pause = FIRST_PAUSE;
    loop {
        let polled = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(cancelled(upid)),
            polled = watch.poll() => polled,
        };
        if let Some(end) = watch.patiently(polled)? {
            return end;
        }
        let left = until.saturating_sub(client.clock().now());
        if left.is_zero() {
            return Ok(TaskEnd::StillRunning);
        }
        tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(cancelled(upid)),
            () = client.clock().sleep(pause.min(left)) => {}
        }
        pause = (pause * 3 / 2).min(LONGEST_PAUSE);
    }
}

fn cancelled(upid: &str) -> Fault {
    Fault::new(Code::Cancelled, "waiting was cancelled; the task goes on")
        .hint("look at it with pve_wait_task and its upid, or with pve_api_read at /nodes/{node}/tasks/{upid}/status")
        .detail("upid", upid)
}

/// What is known about the task so far.
struct Watch<'a> {
    client: &'a Client,
    policy: &'a Policy,
    progress: &'a dyn Progress,
    upid: &'a str,
    node: String,
    seen: u64,
    tail: VecDeque<String>,
    warnings: VecDeque<String>,
    failures: u32,
}

/// What a poll found: not ended, or how it ended.
type Polled = Result<Option<Result<TaskEnd, Fault>>, Fault>;

impl<'a> Watch<'a> {
    fn of(
        client: &'a Client,
        policy: &'a Policy,
        upid: &'a str,
        progress: &'a dyn Progress,
    ) -> Result<Watch<'a>, Fault> {
        let parsed: Upid = upid.parse().map_err(|error| Fault::new(Code::BadArgument, format!("{error}")))?;
        let node = parsed.node;
        Ok(Watch {
            client,
            policy,
            progress,
            upid,
            node,
            seen: 0,
            tail: VecDeque::new(),
            warnings: VecDeque::new(),
            failures: 0,
        })
    }

    /// The state first: lines written between both requests are then read, and none is missed after the end.
    async fn poll(&mut self) -> Polled {
        let status = self.get("/nodes/{node}/tasks/{upid}/status", Vec::new()).await?.data;
        self.read_log().await?;
        // A running task has no `exitstatus`; some answers lack `status`.
        if status.get("status").and_then(Value::as_str) != Some("stopped") && status.get("exitstatus").is_none() {
            return Ok(None);
        }
        let exit = status.get("exitstatus").and_then(Value::as_str).unwrap_or("unexpected status");
        Ok(Some(self.ended(exit.trim())))
    }

    /// Forgives a few faults of the way to the node.
    fn patiently(&mut self, polled: Polled) -> Result<Option<Result<TaskEnd, Fault>>, Fault> {
        let fault = match polled {
            Ok(found) => {
                self.failures = 0;
                return Ok(found);
            }
            Err(fault) => fault,
        };
        self.failures += 1;
        let on_the_way = matches!(fault.code, Code::NodeUnreachable | Code::Unreachable | Code::Timeout);
        if on_the_way && self.failures < PATIENCE {
            return Ok(None);
        }
        let unknown = "how the task ended is not known";
        let hint = fault.hint.as_ref().map_or_else(|| unknown.to_string(), |hint| format!("{unknown}; {hint}"));
        Err(Fault { hint: Some(hint), ..fault }.detail("upid", self.upid))
    }

    async fn read_log(&mut self) -> Result<(), Fault> {
        loop {
            let params = vec![("start".into(), self.seen.to_string()), ("limit".into(), LINES.to_string())];
            let answer = self.get("/nodes/{node}/tasks/{upid}/log", params).await?;
            let lines = answer.data.as_array().map(Vec::as_slice).unwrap_or_default();
            let fresh = lines.iter().filter(|line| line_number(line) > self.seen);
            let fresh: Vec<(u64, String)> = fresh.filter_map(|line| Some((line_number(line), shown(line)?))).collect();
            let Some((last, newest)) = fresh.last().cloned() else { return Ok(()) };
            // An empty log answers one line that says so; it is no line of the task.
            if answer.total == Some(0) || (last == 1 && newest == "no content") {
                return Ok(());
            }
            self.seen = last;
            fresh.into_iter().for_each(|(_, line)| self.keep(line));
            self.progress.step(last as f64, &newest);
            if (lines.len() as u64) < LINES {
                return Ok(());
            }
        }
    }

    fn keep(&mut self, line: String) {
        if line.starts_with("WARN") {
            push(&mut self.warnings, line.clone());
        }
        push(&mut self.tail, line);
    }

    async fn get(&self, template: &str, params: Vec<(String, String)>) -> Result<Answer, Fault> {
        let method = Catalog::embedded().get(Verb::Get, template).expect("a test checks the templates of this file");
        let values = vec![("node".into(), self.node.clone()), ("upid".into(), self.upid.into())];
        let call = ApiCall::of(method, values, params)
            .map_err(|error| Fault::new(Code::BadArgument, format!("this task cannot be asked about: {error}")))?;
        match self.policy.admit(call, false)? {
            Admission::Go(permit) => self.client.send(permit).await,
            Admission::Dry(_) => Err(Fault::new(Code::Internal, "a read was taken for a dry run")),
        }
    }

    fn ended(&self, exit: &str) -> Result<TaskEnd, Fault> {
        if exit == "OK" {
            return Ok(TaskEnd::Ok);
        }
        if let Some(count) = exit.strip_prefix("WARNINGS:") {
            let log = if self.warnings.is_empty() { &self.tail } else { &self.warnings };
            return Ok(TaskEnd::Warnings {
                count: count.trim().parse().unwrap_or(1),
                log: log.iter().cloned().collect(),
            });
        }
        let exit = redact::text(exit);
        let hint = meaning(&exit.to_lowercase()).map_or("the end of its log is in 'log'", |(_, hint)| hint);
        let fault = Fault::new(Code::TaskFailed, format!("the task failed: {exit}"))
            .hint(hint)
            .detail("exitstatus", exit)
            .detail("log", self.tail.iter().cloned().collect::<Vec<_>>())
            .detail("upid", self.upid)
            .detail("node", self.node.clone());
        Err(redact::fault(fault))
    }
}

fn push(lines: &mut VecDeque<String>, line: String) {
    if lines.len() == TAIL {
        lines.pop_front();
    }
    lines.push_back(line);
}

/// `n` of a log line; it comes as text at times.
fn line_number(line: &Value) -> u64 {
    let n = line.get("n").unwrap_or(&Value::Null);
    n.as_u64().or_else(|| n.as_str()?.parse().ok()).unwrap_or_default()
}

fn shown(line: &Value) -> Option<String> {
    let text = line.get("t")?.as_str()?;
    let text: String = text.chars().filter(|c| !c.is_control()).take(1_000).collect();
    Some(redact::text(&text).into_owned())
}

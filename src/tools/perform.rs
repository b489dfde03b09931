//! One request from the policy to the reply: sent or shown, its task awaited, masked.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::error::Fault;
use crate::policy::ApiCall;
use crate::pve::task::{self, Progress, TaskEnd, Wait};
use crate::redact::{self, View};
use crate::tools::arguments::Options;
use crate::tools::context::Outcome;
use crate::tools::result::is_untrusted;
use crate::tools::{Ctx, Reply, guest_config};

impl Ctx {
    /// Sends a request and makes the reply: `{data, total?}` for a read, `{upid, task, sent}` or `{data, sent}` for a write,
    /// `{dry_run, request}` where it was only to be shown.
    ///
    /// # Errors
    /// The policy's refusal, or what went wrong; `task_failed` when the task that it started did not end well.
    pub async fn perform(&self, call: ApiCall, options: &Options) -> Result<Reply, Fault> {
        let Some(method) = call.method() else { return self.exchange(call, options).await };
        let given: Vec<String> = call.params().iter().map(|(name, _)| name.clone()).collect();
        self.exchange(call, options).await.map_err(|fault| {
            let given: Vec<&str> = given.iter().map(String::as_str).collect();
            self.server().registry().advised(method, &given, fault)
        })
    }

    async fn exchange(&self, call: ApiCall, options: &Options) -> Result<Reply, Fault> {
        let reads = call.is_read();
        let path = call.path().to_string();
        let starts_task = call.method().is_none_or(|method| method.task);
        let view = View::of(&call, self.cluster().policy.access());
        let (call, decided) = guest_config::decide(self, call, options.dry_run).await?;
        let sent = redact::request(&call);
        let answer = match (self.api(call, options.dry_run).await, &decided) {
            (Ok(Outcome::Data(answer)), _) => answer,
            (Ok(Outcome::Dry(call)), _) => return Ok(dry(&call, options)),
            (Err(fault), Some(decided)) => return Err(decided.explain(self, fault).await),
            (Err(fault), None) => return Err(fault),
        };
        let mut result = Map::new();
        if !reads && let Some(upid) = answer.data.as_str().filter(|text| starts_task && text.starts_with("UPID:")) {
            result.insert("upid".into(), upid.into());
            result.insert("task".into(), self.task(upid, options).await?);
        } else {
            if is_untrusted(&path, &answer.data) {
                result.insert("untrusted".into(), true.into());
            }
            let shown = view.value(&answer.data);
            result.extend(shown.hint.map(|hint| ("hint".to_string(), hint.into())));
            result.insert("data".into(), shown.value);
        }
        result.extend(answer.total.map(|total| ("total".to_string(), total.into())));
        result.extend(answer.changes.map(|changes| ("changes".to_string(), view.value(&changes).value)));
        if let Some(decided) = decided {
            result.insert("change".into(), decided.outcome(self).await);
        }
        if !reads {
            result.insert("sent".into(), sent);
            remarks(&mut result, options);
        }
        Ok(Reply::new(result))
    }

    /// Waits for a task as long as the caller wants, and says how it stands.
    ///
    /// # Errors
    /// As [`task::wait`].
    pub(crate) async fn task(&self, upid: &str, options: &Options) -> Result<Value, Fault> {
        if options.wait == Some(false) {
            return Ok(json!({"status": "still_running", "hint": "not awaited, as asked"}));
        }
        if let Some(waits) = &self.caller().waits {
            waits.notify_one();
        }
        let cluster = self.cluster();
        let limit = options.wait_seconds.map_or(cluster.task_wait, Duration::from_secs);
        let waiting =
            task::wait(&cluster.client, &cluster.policy, upid, Wait { limit }, self, self.cancelled_by_caller());
        let end = tokio::select! {
            biased;
            // The server is being stopped: the task goes on without anybody who waits.
            () = self.server().shutdown().cancelled() => TaskEnd::StillRunning,
            end = waiting => end?,
        };
        Ok(match end {
            TaskEnd::Ok => json!({"status": "ok"}),
            TaskEnd::Warnings { count, log } => json!({"status": "warnings", "warnings": count, "log": log}),
            TaskEnd::StillRunning => json!({
                "status": "still_running",
                "hint": "neither success nor failure: look at it by its upid, do not start it again",
            }),
        })
    }
}

impl Progress for Ctx {
    fn step(&self, done: f64, message: &str) {
        self.tell(done, None, message);
    }
}

/// A request that was only to be shown.
fn dry(call: &ApiCall, options: &Options) -> Reply {
    let mut result = Map::new();
    result.insert("dry_run".into(), true.into());
    result.insert("request".into(), redact::request(call));
    remarks(&mut result, options);
    Reply::new(result)
}

/// What the caller should know about its own request.
fn remarks(result: &mut Map<String, Value>, options: &Options) {
    if !options.left_out.is_empty() {
        result.insert("left_out_because_empty".into(), options.left_out.clone().into());
    }
    if !options.warnings.is_empty() {
        result.insert("warnings".into(), options.warnings.clone().into());
    }
}

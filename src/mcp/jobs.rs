//! The tasks extension: a call that begins to wait for a task of Proxmox is handed over as a task of the client.

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, CreateTaskResult, JsonObject};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::task_manager::{TaskContext, TaskExit, TaskOptions};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::{JoinError, JoinHandle};
use tokio_util::sync::CancellationToken;

use super::{Handler, asking, handler};
use crate::tools::Reply;
use crate::tools::confirm::Asking;
use crate::tools::context::{Caller, Step};

/// How often a client should look, in milliseconds.
const LOOK_EVERY: u64 = 1000;

/// Whether this client can be given tasks.
pub fn are_known(cx: &RequestContext<RoleServer>) -> bool {
    asking::is_modern(cx) && cx.client_capabilities().is_some_and(|capabilities| capabilities.supports_tasks())
}

/// A call under way.
struct Job {
    running: JoinHandle<Reply>,
    steps: UnboundedReceiver<Step>,
    cancel: CancellationToken,
}

impl Handler {
    /// Calls a tool; the answer is a task as soon as the call waits for one of Proxmox. A question comes before that.
    pub(super) async fn call_as_task(
        &self,
        name: String,
        arguments: JsonObject,
        asking: Asking,
        cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let (progress, steps) = unbounded_channel();
        let (waits, cancel) = (Arc::new(Notify::new()), CancellationToken::new());
        let caller = Caller {
            progress: Some(progress),
            // Not the request's own: that one ends when the task is handed over.
            cancel: cancel.clone(),
            asking: asking.clone(),
            waits: Some(waits.clone()),
        };
        let server = self.server().clone();
        let running = tokio::spawn(async move { server.call(&name, arguments, caller).await });
        let mut job = Job { running, steps, cancel };
        let reply = tokio::select! {
            biased;
            reply = &mut job.running => reply,
            () = cx.ct.cancelled() => {
                job.cancel.cancel();
                (&mut job.running).await
            }
            () = waits.notified() => {
                let options = TaskOptions::new().with_poll_interval_ms(LOOK_EVERY);
                let version = cx.protocol_version();
                let task = self.jobs.spawn(options, |context| {
                    Box::pin(async move { Ok(handler::result(job.ended(&context).await?, version)) })
                });
                return Ok(CreateTaskResult::new(task).into());
            }
        };
        Ok(handler::response(reply.map_err(failed)?, &asking, &cx))
    }
}

impl Job {
    /// Waits for the call to end, tells how it gets on, and passes a cancellation on: the reply then says what goes on.
    async fn ended(mut self, context: &TaskContext) -> Result<Reply, TaskExit> {
        let mut cancelled = false;
        let reply = loop {
            tokio::select! {
                biased;
                reply = &mut self.running => break reply.map_err(failed)?,
                () = context.cancelled(), if !cancelled => {
                    cancelled = true;
                    self.cancel.cancel();
                }
                Some(step) = self.steps.recv() => context.set_status_message(step.message),
            }
        };
        if cancelled && reply.is_error {
            context.set_status_message(reply.text);
            return Err(TaskExit::Cancelled);
        }
        Ok(reply)
    }
}

fn failed(_: JoinError) -> ErrorData {
    ErrorData::internal_error("the call ended in a fault of this server", None)
}

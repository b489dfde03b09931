//! `pve_wait_task`: waits for a task that goes on, and says how it ended.

use std::time::Duration;

use serde_json::{Value, json};

use super::{LONGEST_WAIT, reads};
use crate::error::Fault;
use crate::tools::arguments::Options;
use crate::tools::{Ctx, Given, Parameter, Reply, Tool, result};

const PARAMETERS: &[Parameter] =
    &[Parameter::text("upid", "").required(), Parameter::integer("wait_seconds", 0, LONGEST_WAIT, "0 looks once")];

/// The tool.
pub fn tool() -> Tool {
    reads(
        "pve_wait_task",
        "Wait for a task by its UPID; a failed one is an error with the end of its log",
        PARAMETERS,
        output,
        |ctx, given| Box::pin(run(ctx, given)),
    )
}

fn output() -> Value {
    let properties = json!({
        "upid": {"type": "string"}, "task": {"type": "object"}, "waited_at_most": {"type": "string"},
        "untrusted": {"type": "boolean"},
    });
    result::schema(properties).into()
}

async fn run(ctx: &Ctx, given: Given) -> Result<Reply, Fault> {
    let upid = given.text("upid").unwrap_or_default().trim();
    let wait_seconds = given.integer("wait_seconds").and_then(|seconds| u64::try_from(seconds).ok());
    let limit = wait_seconds.map_or(ctx.cluster().task_wait, Duration::from_secs);
    let task = ctx.task(upid, &Options { wait_seconds, ..Options::default() }).await?;
    Ok(Reply::of(json!({
        "upid": upid, "untrusted": true, "task": task, "waited_at_most": format!("{} seconds", limit.as_secs()),
    })))
}

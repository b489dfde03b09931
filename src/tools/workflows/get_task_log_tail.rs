//! `pve_get_task_log_tail`: how a task stands, and the end of its log.

use pve_catalog::upid::Upid;
use serde_json::{Value, json};

use super::reading::{answer, data, foreign, moment, text};
use super::reads;
use crate::error::Fault;
use crate::tools::{Ctx, Given, Parameter, Reply, Tool, result, text as screen};

const PARAMETERS: &[Parameter] =
    &[Parameter::text("upid", "").required(), Parameter::integer("lines", 1, 1000, "default 40")];

/// The tool.
pub fn tool() -> Tool {
    reads(
        "pve_get_task_log_tail",
        "The state of a task and the last lines of its log",
        PARAMETERS,
        output,
        |ctx, given| Box::pin(run(ctx, given)),
    )
}

fn output() -> Value {
    let properties = json!({
        "upid": {"type": "string"}, "type": {"type": "string"}, "node": {"type": "string"},
        "started": {"type": "string"}, "status": {"type": "string"}, "exitstatus": {"type": "string"},
        "log": {"type": "array"}, "lines": {"type": "integer"}, "untrusted": {"type": "boolean"}, "hint": {"type": "string"},
    });
    result::schema(properties).into()
}

async fn run(ctx: &Ctx, given: Given) -> Result<Reply, Fault> {
    let upid = given.text("upid").unwrap_or_default().trim();
    let task: Upid = upid.parse().map_err(|error| Fault::argument("upid", format!("{error}")))?;
    let values = [("node", task.node.as_str()), ("upid", upid)];
    let status = data(ctx, "/nodes/{node}/tasks/{upid}/status", &values).await?;
    let wanted = given.integer("lines").unwrap_or(40);
    let (log, total) = tail(ctx, &values, wanted).await?;
    let state = text(&status, "status").unwrap_or("unknown");
    let mut told = json!({
        "upid": upid, "type": task.worker_type, "node": task.node, "status": state,
        "started": moment(i64::from(task.starttime)), "lines": total, "untrusted": true,
    });
    let exit = text(&status, "exitstatus").map(foreign);
    if let Some(exit) = &exit {
        told["exitstatus"] = exit.clone().into();
    }
    let more = total.saturating_sub(log.len() as u64);
    if more > 0 {
        told["hint"] = format!("{more} earlier lines: ask for more with lines").into();
    }
    let mut lines = vec![format!("{} on {}: {state} {}", task.worker_type, task.node, exit.unwrap_or_default())];
    if more > 0 {
        lines.push(format!("… {more} earlier lines"));
    }
    // A screen shows the end, which says how it went.
    const SHOWN: usize = 40;
    lines.extend(log.iter().skip(log.len().saturating_sub(SHOWN)).cloned());
    told["log"] = log.into();
    Ok(Reply::with_text(told.as_object().cloned().unwrap_or_default(), screen::screen(lines)))
}

/// The last lines, and how many there are. A log may grow between both requests.
async fn tail(ctx: &Ctx, values: &[(&str, &str)], wanted: i64) -> Result<(Vec<String>, u64), Fault> {
    const LOG: &str = "/nodes/{node}/tasks/{upid}/log";
    let limit = wanted.to_string();
    let first = answer(ctx, LOG, values, &[("start", "0"), ("limit", &limit)]).await?;
    let total = first.total.unwrap_or(0);
    let start = total.saturating_sub(u64::try_from(wanted).unwrap_or_default());
    let last = match start {
        0 => first,
        start => answer(ctx, LOG, values, &[("start", &start.to_string()), ("limit", &limit)]).await?,
    };
    let lines: Vec<String> =
        last.data.as_array().into_iter().flatten().filter_map(|line| text(line, "t")).map(foreign).collect();
    // An empty log answers one line that says so; it is no line of the task.
    let empty = total <= 1 && lines.first().is_some_and(|line| line == "no content");
    Ok(if empty { (Vec::new(), 0) } else { (lines, total) })
}

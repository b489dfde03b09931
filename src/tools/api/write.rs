//! `pve_api_write`: POST, PUT or DELETE on any path, under the same policy as the tools.

use std::borrow::Cow;

use pve_catalog::{Gate, Verb};
use serde_json::{Value, json};

use super::{DOMAINS, path};
use crate::error::Fault;
use crate::tools::arguments::Options;
use crate::tools::{Ctx, Given, Hand, Parameter, Reply, Run, Tool, result};

const PARAMETERS: &[Parameter] = &[
    Parameter::choice("method", &["POST", "PUT", "DELETE"], "").required(),
    Parameter::text("path", "such as /nodes/pve1/qemu/100/config").required(),
    Parameter::object("params", "the method's other parameters"),
    Parameter::flag("wait", "for the task that it starts; default true"),
    Parameter::integer("wait_seconds", 0, path::LONGEST_WAIT, ""),
    Parameter::flag("dry_run", "show the request, send nothing"),
];

/// The tool.
pub fn tool() -> Tool {
    Tool {
        name: "pve_api_write",
        title: None,
        summary: Cow::Borrowed("POST, PUT or DELETE any API path, under the same gates as the tools"),
        gate: Gate::Write,
        domains: Cow::Borrowed(DOMAINS),
        reads: false,
        destructive: true,
        idempotent: false,
        run: Run::Hand(Hand { parameters: PARAMETERS, output, run: |ctx, given| Box::pin(run(ctx, given)) }),
    }
}

fn output() -> Value {
    let properties = json!({
        "data": {"type": ["array", "object", "string", "number", "boolean", "null"]},
        "upid": {"type": "string"},
        "task": {"type": "object"},
        "sent": {"type": "object"},
        "dry_run": {"type": "boolean"},
        "request": {"type": "object"},
        "untrusted": {"type": "boolean"},
        "left_out_because_empty": {"type": "array", "items": {"type": "string"}},
        "warnings": {"type": "array", "items": {"type": "string"}},
        "note": {"type": "string"},
        "hint": {"type": "string"},
    });
    result::schema(properties).into()
}

async fn run(ctx: &Ctx, given: Given) -> Result<Reply, Fault> {
    let path = given.text("path").unwrap_or_default();
    let verb = given.text("method").and_then(|word| word.parse().ok()).unwrap_or(Verb::Post);
    let options = Options {
        wait: given.flag("wait"),
        wait_seconds: given.integer("wait_seconds").and_then(|seconds| u64::try_from(seconds).ok()),
        dry_run: given.flag("dry_run").unwrap_or(false),
        ..Options::default()
    };
    let prepared = path::prepare(ctx, verb, path, given.object("params"), options).await?;
    let note = (!prepared.known).then(|| path::unknown(ctx, verb, path));
    match (ctx.perform(prepared.call, &prepared.options).await, note) {
        (Ok(reply), None) => Ok(reply),
        (Ok(mut reply), Some(note)) => {
            reply.structured.insert("note".into(), note.into());
            Ok(Reply::new(reply.structured))
        }
        (Err(fault), None) => Err(fault),
        (Err(fault), Some(note)) => Err(fault.detail("note", note)),
    }
}

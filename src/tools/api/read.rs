//! `pve_api_read`: GET on any path, with only the rows and fields that are wanted.

use std::borrow::Cow;

use pve_catalog::{Gate, Verb};
use serde_json::{Value, json};

use super::filter::{self, Filter};
use super::{DOMAINS, path};
use crate::error::Fault;
use crate::tools::arguments::Options;
use crate::tools::{Ctx, Given, Hand, Parameter, Reply, Run, Tool, result};

const PARAMETERS: &[Parameter] = &[
    Parameter::text("path", "such as /nodes/pve1/qemu/100/config").required(),
    Parameter::object("params", "the method's other parameters"),
    Parameter::texts("fields", "keep only these fields"),
    Parameter::object(
        "where",
        "keep rows that fit: {\"status\":\"running\",\"mem\":\">1e9\",\"name\":\"~web\"}; also != and [a,b]",
    ),
    Parameter::integer("limit", 1, 100_000, "keep so many rows"),
];

/// The tool.
pub fn tool() -> Tool {
    Tool {
        name: "pve_api_read",
        title: None,
        summary: Cow::Borrowed("GET any API path; fields, where and limit keep the answer small"),
        gate: Gate::Read,
        domains: Cow::Borrowed(DOMAINS),
        reads: true,
        destructive: false,
        idempotent: true,
        run: Run::Hand(Hand { parameters: PARAMETERS, output, run: |ctx, given| Box::pin(run(ctx, given)) }),
    }
}

fn output() -> Value {
    let properties = json!({
        "data": {"type": ["array", "object", "string", "number", "boolean", "null"]},
        "total": {"type": "integer"},
        "matched": {"type": "integer"},
        "untrusted": {"type": "boolean"},
        "note": {"type": "string"},
        "hint": {"type": "string"},
    });
    result::schema(properties).into()
}

async fn run(ctx: &Ctx, given: Given) -> Result<Reply, Fault> {
    let path = given.text("path").unwrap_or_default();
    let conditions = filter::conditions(given.object("where"))?;
    let filter = Filter { fields: given.texts("fields"), conditions, limit: given.count("limit") };
    let prepared = path::prepare(ctx, Verb::Get, path, given.object("params"), Options::default()).await?;
    let note = (!prepared.known).then(|| path::unknown(ctx, Verb::Get, path));
    let reply = ctx.perform(prepared.call, &prepared.options).await;
    let mut result = match reply {
        Ok(reply) => reply.structured,
        Err(fault) => {
            return Err(match note {
                Some(note) => fault.detail("note", note),
                None => fault,
            });
        }
    };
    let filtered = filter.apply(result.shift_remove("data").unwrap_or_default())?;
    result.extend(filtered.matched.map(|matched| ("matched".to_string(), matched.into())));
    result.extend(note.map(|note| ("note".to_string(), note.into())));
    result.insert("data".into(), filtered.data);
    Ok(Reply::new(result))
}

//! What `pct list` and `qm list` share: a line each, and a row of each line that begins with a number.

use serde_json::{Value, json};

use super::super::shape::{dry, output, reply};
use super::place;
use crate::error::Fault;
use crate::policy::{Effect, SshCommand};
use crate::tools::context::Performed;
use crate::tools::{Ctx, Given, Reply};

/// The members of the answer.
pub(super) fn members() -> Value {
    output(json!({"guests": {"type": "array"}, "total": {"type": "integer"}}))
}

/// Runs `PROGRAM list` on a node for a tool; `row` reads a line.
///
/// # Errors
/// The policy's refusal, or what `Ssh::run` says.
pub(super) async fn list(
    ctx: &Ctx,
    given: &Given,
    tool: &'static str,
    program: &'static str,
    row: fn(&str) -> Option<Value>,
) -> Result<Reply, Fault> {
    let (node, place) = place(ctx, given).await?;
    let facts = json!({"node": node});
    let said = match ctx.ssh(SshCommand::run(tool, place, [program, "list"], Effect::Reads)?, false).await? {
        Performed::Done(said) => said,
        Performed::Dry(shown) => return Ok(dry(facts, shown)),
    };
    if !said.is_success() {
        return Ok(reply(facts, said.to_json()));
    }
    let guests: Vec<Value> = said.text().lines().filter_map(row).collect();
    let mut rest = json!({"untrusted": true, "total": guests.len(), "guests": guests});
    if said.truncated {
        rest["truncated"] = true.into();
    }
    Ok(reply(facts, rest.as_object().cloned().unwrap_or_default()))
}

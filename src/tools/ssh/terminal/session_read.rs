//! `pve_ssh_session_read`: what a terminal printed since the last time.

use serde_json::json;

use super::super::shape::changes;
use super::{SESSION, WAIT, may_use, output, read, wait};
use crate::error::Fault;
use crate::tools::{Ctx, Given, Parameter, Reply, Tool};

const NAME: &str = "pve_ssh_session_read";
const PARAMETERS: &[Parameter] = &[SESSION, WAIT];

/// The tool. It takes what it reads away, so that it counts as a change.
pub fn tool() -> Tool {
    let summary = "What a terminal printed since it was read last";
    changes(NAME, summary, false, PARAMETERS, || output(json!({})), |ctx, given| Box::pin(run(ctx, given)))
}

async fn run(ctx: &Ctx, given: Given) -> Result<Reply, Fault> {
    may_use(ctx, NAME)?;
    Ok(Reply::new(read(ctx, given.text("session").unwrap_or_default(), wait(&given)).await?))
}

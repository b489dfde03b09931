//! `pve_ssh_session_close`: closes a terminal; its program is told to end.

use serde_json::{Value, json};

use super::super::shape::{changes, dry};
use super::{SESSION, may_use, output};
use crate::error::Fault;
use crate::tools::{Ctx, Given, Parameter, Reply, Tool};

const NAME: &str = "pve_ssh_session_close";
const PARAMETERS: &[Parameter] = &[SESSION, Parameter::flag("dry_run", "")];

/// The tool.
pub fn tool() -> Tool {
    let summary = "Close a terminal: its program is told to end";
    changes(NAME, summary, false, PARAMETERS, members, |ctx, given| Box::pin(run(ctx, given)))
}

fn members() -> Value {
    output(json!({"closed": {"type": "boolean"}}))
}

async fn run(ctx: &Ctx, given: Given) -> Result<Reply, Fault> {
    may_use(ctx, NAME)?;
    let session = given.text("session").unwrap_or_default();
    if given.flag("dry_run") == Some(true) {
        return Ok(dry(json!({"session": session}), json!({"name": NAME, "on": format!("terminal {session}")})));
    }
    ctx.cluster().ssh.terminals().close(session)?;
    Ok(Reply::of(json!({"session": session, "closed": true, "open": false})))
}

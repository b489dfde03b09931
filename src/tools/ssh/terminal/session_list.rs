//! `pve_ssh_session_list`: the terminals that are open.

use serde_json::{Value, json};

use super::super::shape::changes;
use super::{may_use, output, place_of};
use crate::error::Fault;
use crate::ssh::terminal::MOST;
use crate::tools::{Ctx, Given, Reply, Tool};

const NAME: &str = "pve_ssh_session_list";

/// The tool. It reads, but behind the gate of all that has to do with terminals.
pub fn tool() -> Tool {
    let tool =
        changes(NAME, "The terminals that are open", false, &[], members, |ctx, given| Box::pin(run(ctx, given)));
    Tool { idempotent: true, ..tool }
}

fn members() -> Value {
    output(json!({"sessions": {"type": "array"}, "total": {"type": "integer"}, "most": {"type": "integer"}}))
}

async fn run(ctx: &Ctx, _given: Given) -> Result<Reply, Fault> {
    may_use(ctx, NAME)?;
    let listed = ctx.cluster().ssh.terminals().list();
    let sessions: Vec<Value> = listed
        .iter()
        .map(|terminal| {
            let mut row = place_of(&terminal.place);
            row.insert("session".into(), terminal.id.clone().into());
            row.insert("open".into(), (!terminal.ended).into());
            row.insert("age_seconds".into(), terminal.age.as_secs().into());
            row.insert("idle_seconds".into(), terminal.idle.as_secs().into());
            row.into()
        })
        .collect();
    Ok(Reply::of(json!({"total": sessions.len(), "most": MOST, "sessions": sessions})))
}

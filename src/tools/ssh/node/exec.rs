//! `pve_ssh_exec`: any command on a node, in a shell.

use serde_json::{Value, json};

use super::super::shape::{changes, limits, output, shell, told};
use super::{NODE, place};
use crate::error::Fault;
use crate::policy::{Effect, SshCommand};
use crate::tools::{Ctx, Given, Parameter, Reply, Tool};

const NAME: &str = "pve_ssh_exec";
const PARAMETERS: &[Parameter] = &[
    NODE,
    Parameter::text("command", "a line for sh").required(),
    Parameter::text("stdin", "what it reads; secrets belong here, not into the command"),
    Parameter::object("env", "variables; others on the node can see them"),
    Parameter::text("cwd", ""),
    Parameter::integer("timeout_seconds", 1, 3600, ""),
    Parameter::flag("dry_run", ""),
];

/// The tool.
pub fn tool() -> Tool {
    changes(NAME, "Run any command on a node, usually as root", true, PARAMETERS, members, |ctx, given| {
        Box::pin(run(ctx, given))
    })
}

fn members() -> Value {
    output(json!({}))
}

async fn run(ctx: &Ctx, given: Given) -> Result<Reply, Fault> {
    let argv = shell(&given)?;
    let (node, place) = place(ctx, &given).await?;
    let mut command = SshCommand::run(NAME, place, argv, Effect::Destroys)?.limits(limits(&given));
    if let Some(input) = given.text("stdin") {
        command = command.stdin(input);
    }
    let dry_run = given.flag("dry_run").unwrap_or(false);
    Ok(told(json!({"node": node}), ctx.ssh(command, dry_run).await?))
}

//! `pve_guest_ssh_exec`: any command in a guest, by its own SSH server.

use serde_json::{Value, json};

use super::super::shape::{changes, limits, output, shell, told};
use super::reach::{self, FINGERPRINT, HOST, PORT, VIA_NODE, VMID};
use crate::error::Fault;
use crate::policy::{Effect, SshCommand};
use crate::tools::{Ctx, Given, Parameter, Reply, Tool};

const NAME: &str = "pve_guest_ssh_exec";
const PARAMETERS: &[Parameter] = &[
    VMID,
    HOST,
    PORT,
    VIA_NODE,
    FINGERPRINT,
    Parameter::text("command", "a line for sh").required(),
    Parameter::text("stdin", "what it reads; secrets belong here, not into the command"),
    Parameter::object("env", "variables; others in the guest can see them"),
    Parameter::text("cwd", ""),
    Parameter::integer("timeout_seconds", 1, 3600, ""),
    Parameter::flag("dry_run", ""),
];

/// The tool.
pub fn tool() -> Tool {
    let summary = "Run any command in a guest by its own SSH server";
    changes(NAME, summary, true, PARAMETERS, members, |ctx, given| Box::pin(run(ctx, given)))
}

fn members() -> Value {
    output(json!({
        "vmid": {"type": "integer"}, "host": {"type": "string"}, "host_key_from": {"type": "string"},
        "via_node": {"type": "string"},
    }))
}

async fn run(ctx: &Ctx, given: Given) -> Result<Reply, Fault> {
    let argv = shell(&given)?;
    let place = reach::place(ctx, &given, NAME, true).await?;
    let facts = reach::facts(&place);
    let mut command = SshCommand::run(NAME, place, argv, Effect::Destroys)?.limits(limits(&given));
    if let Some(input) = given.text("stdin") {
        command = command.stdin(input);
    }
    Ok(told(facts, ctx.ssh(command, given.flag("dry_run").unwrap_or(false)).await?))
}

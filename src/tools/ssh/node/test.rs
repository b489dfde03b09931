//! `pve_ssh_test`: connects to a node and says who is there.

use serde_json::{Value, json};

use super::super::shape::{output, reads, reply};
use super::{NODE, place};
use crate::error::Fault;
use crate::policy::{Effect, SshCommand};
use crate::tools::context::Performed;
use crate::tools::{Ctx, Given, Parameter, Reply, Tool};

const NAME: &str = "pve_ssh_test";
const PARAMETERS: &[Parameter] = &[NODE];

/// The tool.
pub fn tool() -> Tool {
    let summary = "Test SSH to a node: host key as verified, user, pveversion";
    reads(NAME, summary, PARAMETERS, members, |ctx, given| Box::pin(run(ctx, given)))
}

fn members() -> Value {
    output(json!({
        "connected": {"type": "boolean"}, "host": {"type": "string"}, "port": {"type": "integer"}, "user": {"type": "string"},
        "host_key": {"type": "object"},
    }))
}

async fn run(ctx: &Ctx, given: Given) -> Result<Reply, Fault> {
    let (node, place) = place(ctx, &given).await?;
    let command = || SshCommand::run(NAME, place.clone(), ["pveversion"], Effect::Reads);
    let greeting = match ctx.greet(command()?, false).await? {
        Performed::Done(greeting) => greeting,
        Performed::Dry(shown) => return Ok(super::super::shape::dry(json!({"node": node}), shown)),
    };
    let facts = json!({
        "node": node, "connected": true, "host": greeting.host, "port": greeting.port, "user": greeting.user,
        "host_key": {
            "type": greeting.key.kind, "fingerprint": greeting.key.fingerprint.to_string(), "verified_by": greeting.key.by,
        },
    });
    match ctx.ssh(command()?, false).await? {
        Performed::Done(said) => Ok(reply(facts, said.to_json())),
        Performed::Dry(shown) => Ok(super::super::shape::dry(facts, shown)),
    }
}

//! `pve_guest_ssh_test`: connects to a guest's own SSH server and says who is there.

use serde_json::{Value, json};

use super::super::shape::{dry, output, reads, reply};
use super::reach::{self, FINGERPRINT, HOST, PORT, VIA_NODE, VMID};
use crate::error::Fault;
use crate::policy::{Effect, SshCommand};
use crate::tools::context::Performed;
use crate::tools::{Ctx, Given, Parameter, Reply, Tool};

const NAME: &str = "pve_guest_ssh_test";
const PARAMETERS: &[Parameter] = &[VMID, HOST, PORT, VIA_NODE, FINGERPRINT];

/// The tool.
pub fn tool() -> Tool {
    let summary = "Test SSH to a guest: host key as verified, user, system";
    reads(NAME, summary, PARAMETERS, members, |ctx, given| Box::pin(run(ctx, given)))
}

fn members() -> Value {
    output(json!({
        "vmid": {"type": "integer"}, "connected": {"type": "boolean"}, "host": {"type": "string"}, "port": {"type": "integer"},
        "user": {"type": "string"}, "host_key": {"type": "object"}, "host_key_from": {"type": "string"},
        "via_node": {"type": "string"},
    }))
}

async fn run(ctx: &Ctx, given: Given) -> Result<Reply, Fault> {
    let place = reach::place(ctx, &given, NAME, false).await?;
    let mut facts = reach::facts(&place);
    let command = || SshCommand::run(NAME, place.clone(), ["uname", "-a"], Effect::Reads);
    let greeting = match ctx.greet(command()?, false).await? {
        Performed::Done(greeting) => greeting,
        Performed::Dry(shown) => return Ok(dry(facts, shown)),
    };
    facts["connected"] = true.into();
    facts["port"] = greeting.port.into();
    facts["user"] = greeting.user.into();
    facts["host_key"] = json!({
        "type": greeting.key.kind, "fingerprint": greeting.key.fingerprint.to_string(), "verified_by": greeting.key.by,
    });
    match ctx.ssh(command()?, false).await? {
        Performed::Done(said) => Ok(reply(facts, said.to_json())),
        Performed::Dry(shown) => Ok(dry(facts, shown)),
    }
}

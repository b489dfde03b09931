//! `pve_ssh_session_open`: a terminal on a node, or in a container by `pct enter`.

use serde_json::{Value, json};

use super::super::shape::{changes, dry, reply};
use super::{WAIT, output, place_of, read, wait};
use crate::error::Fault;
use crate::policy::{Place, SshCommand};
use crate::tools::arguments::node;
use crate::tools::context::Performed;
use crate::tools::workflows::guest::{self, Kind};
use crate::tools::{Ctx, Given, Parameter, Reply, Tool};

const NAME: &str = "pve_ssh_session_open";
const PARAMETERS: &[Parameter] = &[
    Parameter::text("node", "a shell on this node"),
    Parameter::integer("vmid", 100, 999_999_999, "instead, a shell in this container"),
    Parameter::integer("columns", 20, 500, "default 120"),
    Parameter::integer("rows", 5, 200, "default 40"),
    WAIT,
    Parameter::flag("dry_run", ""),
];

/// The tool.
pub fn tool() -> Tool {
    let summary = "Open a terminal for interactive programs on a node or in a container";
    changes(NAME, summary, true, PARAMETERS, || output(json!({})), |ctx, given| Box::pin(run(ctx, given)))
}

async fn run(ctx: &Ctx, given: Given) -> Result<Reply, Fault> {
    let place = place(ctx, &given).await?;
    let size =
        |name: &str, otherwise: u32| given.integer(name).and_then(|n| u32::try_from(n).ok()).unwrap_or(otherwise);
    let command = SshCommand::terminal(NAME, place.clone(), size("columns", 120), size("rows", 40))?;
    let facts = Value::Object(place_of(&place));
    match ctx.open_terminal(command, given.flag("dry_run").unwrap_or(false)).await? {
        Performed::Done(session) => Ok(reply(facts, read(ctx, &session, wait(&given)).await?)),
        Performed::Dry(shown) => Ok(dry(facts, shown)),
    }
}

async fn place(ctx: &Ctx, given: &Given) -> Result<Place, Fault> {
    let Some(vmid) = given.integer("vmid") else {
        return Ok(Place::Node(match given.text("node") {
            Some(node) => node.to_string(),
            None => node::otherwise(ctx).await?,
        }));
    };
    let guest = guest::one(ctx, vmid).await?;
    if guest.kind != Kind::Lxc {
        let fault = Fault::argument("vmid", format!("{vmid} is a VM: a terminal is opened in containers only"));
        return Err(fault.hint("nothing was sent; pve_guest_ssh_exec reaches a VM"));
    }
    match given.text("node") {
        Some(node) if node != guest.node => {
            Err(Fault::argument("node", format!("container {vmid} runs on {}; leave node out", guest.node)))
        }
        _ => Ok(Place::Container { node: guest.node, vmid: guest.vmid }),
    }
}

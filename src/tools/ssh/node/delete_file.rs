//! `pve_ssh_delete_file`: removes one file of a node; a link is removed, not what it leads to.

use serde_json::{Value, json};

use super::super::shape::{changes, dry, output, reply};
use super::{NODE, file, place};
use crate::error::Fault;
use crate::policy::{Effect, SshCommand};
use crate::tools::context::Performed;
use crate::tools::{Ctx, Given, Parameter, Reply, Tool};

const NAME: &str = "pve_ssh_delete_file";
const PARAMETERS: &[Parameter] = &[NODE, Parameter::text("path", "").required(), Parameter::flag("dry_run", "")];

/// Nothing but files and links: a folder, a device or a socket stays.
const SCRIPT: &str = r#"
[ -e "$1" ] || [ -L "$1" ] || exit 67
[ -f "$1" ] || [ -L "$1" ] || exit 65
exec rm -- "$1"
"#;

/// The tool.
pub fn tool() -> Tool {
    let summary = "Delete one file of a node (no folders)";
    changes(NAME, summary, true, PARAMETERS, members, |ctx, given| Box::pin(run(ctx, given)))
}

fn members() -> Value {
    output(json!({"path": {"type": "string"}, "deleted": {"type": "boolean"}}))
}

async fn run(ctx: &Ctx, given: Given) -> Result<Reply, Fault> {
    let path = file::of("path", given.text("path").unwrap_or_default())?;
    let (node, place) = place(ctx, &given).await?;
    let command = SshCommand::run(NAME, place, ["sh", "-c", SCRIPT, "sh", path], Effect::Destroys)?;
    let facts = json!({"node": node, "path": path});
    let said = match ctx.ssh(file::touching(command, path), given.flag("dry_run").unwrap_or(false)).await? {
        Performed::Done(said) => said,
        Performed::Dry(shown) => return Ok(dry(facts, shown)),
    };
    if let Some(fault) = file::refusal(path, &said) {
        return Err(fault);
    }
    let mut rest = said.to_json();
    rest.insert("deleted".into(), said.is_success().into());
    Ok(reply(facts, rest))
}

//! `pve_ssh_upload`: a file of `PROXMOX_LOCAL_DIR` to a node, by SFTP.

use serde_json::{Value, json};

use super::super::shape::{changes, dry, output};
use super::{NODE, file, place};
use crate::error::{Code, Fault};
use crate::policy::SshCommand;
use crate::tools::context::Performed;
use crate::tools::local::LocalDir;
use crate::tools::{Ctx, Given, Parameter, Reply, Tool};

const NAME: &str = "pve_ssh_upload";
const PARAMETERS: &[Parameter] = &[
    NODE,
    Parameter::text("file", "relative to PROXMOX_LOCAL_DIR").required(),
    Parameter::text("path", "whole path on the node").required(),
    Parameter::text("mode", "of a new file, such as 0644"),
    Parameter::flag("overwrite", "replace a file that is there"),
    Parameter::flag("dry_run", ""),
];

/// The tool.
pub fn tool() -> Tool {
    let summary = "Upload a file from PROXMOX_LOCAL_DIR to a node by SFTP";
    changes(NAME, summary, true, PARAMETERS, members, |ctx, given| Box::pin(run(ctx, given)))
}

fn members() -> Value {
    output(json!({
        "file": {"type": "string"}, "path": {"type": "string"}, "bytes": {"type": "integer"}, "sha256": {"type": "string"},
    }))
}

async fn run(ctx: &Ctx, given: Given) -> Result<Reply, Fault> {
    let name = given.text("file").unwrap_or_default();
    let path = file::of("path", given.text("path").unwrap_or_default())?;
    let mode = match given.text("mode") {
        Some(mode) => Some(file::mode(mode)?),
        None => None,
    };
    let opened = LocalDir::of(ctx.cluster().policy.access())?.open(name)?;
    let size = opened
        .metadata()
        .map(|facts| facts.len())
        .map_err(|error| Fault::new(Code::LocalDir, format!("'{name}' cannot be read: {error}")))?;
    let (node, place) = place(ctx, &given).await?;
    let command = SshCommand::upload(NAME, place, path, mode, given.flag("overwrite").unwrap_or(false))?;
    let facts = json!({"node": node, "file": name, "path": path, "bytes": size});
    let mut from = tokio::fs::File::from_std(opened);
    let dry_run = given.flag("dry_run").unwrap_or(false);
    match ctx.upload(file::touching(command, path), &mut from, Some(size), dry_run).await? {
        Performed::Done(sent) => {
            Ok(Reply::of(json!({"node": node, "file": name, "path": path, "bytes": sent.bytes, "sha256": sent.sha256})))
        }
        Performed::Dry(shown) => Ok(dry(facts, shown)),
    }
}

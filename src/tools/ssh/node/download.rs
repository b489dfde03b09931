//! `pve_ssh_download`: a file of a node to `PROXMOX_LOCAL_DIR`, by SFTP. It takes any file that the SSH user may read, so
//! that it stands behind the gate of what may do anything.

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use super::super::shape::{changes, dry, output};
use super::{NODE, file, place};
use crate::error::{Code, Fault};
use crate::policy::{Effect, SshCommand};
use crate::tools::context::Performed;
use crate::tools::local::LocalDir;
use crate::tools::{Ctx, Given, Parameter, Reply, Tool};

const NAME: &str = "pve_ssh_download";
const PARAMETERS: &[Parameter] = &[
    NODE,
    Parameter::text("path", "whole path on the node").required(),
    Parameter::text("save_as", "a new file, relative to PROXMOX_LOCAL_DIR").required(),
    Parameter::integer("max_bytes", 1, 1 << 40, "default 4 GiB"),
    Parameter::flag("dry_run", ""),
];
/// Largest file unless told otherwise.
const MOST: i64 = 4 << 30;

/// The tool.
pub fn tool() -> Tool {
    let summary = "Download a file of a node to PROXMOX_LOCAL_DIR by SFTP";
    changes(NAME, summary, false, PARAMETERS, members, |ctx, given| Box::pin(run(ctx, given)))
}

fn members() -> Value {
    output(json!({
        "path": {"type": "string"}, "saved": {"type": "string"}, "bytes": {"type": "integer"}, "sha256": {"type": "string"},
    }))
}

async fn run(ctx: &Ctx, given: Given) -> Result<Reply, Fault> {
    let name = given.text("save_as").unwrap_or_default();
    let path = file::of("path", given.text("path").unwrap_or_default())?;
    let most = u64::try_from(given.integer("max_bytes").unwrap_or(MOST)).unwrap_or_default();
    let folder = LocalDir::of(ctx.cluster().policy.access())?;
    let (node, place) = place(ctx, &given).await?;
    let facts = json!({"node": node, "path": path});
    let command = || SshCommand::download(NAME, place.clone(), path, Effect::Changes);
    // A dry run makes no file here either.
    if given.flag("dry_run").unwrap_or(false) || ctx.cluster().policy.access().dry_run {
        let mut nowhere = tokio::io::sink();
        return match ctx.download(command()?, &mut nowhere, most, true).await? {
            Performed::Dry(shown) => Ok(dry(facts, shown)),
            Performed::Done(_) => Err(Fault::new(Code::Internal, "a dry run was not one")),
        };
    }
    ctx.cluster().policy.consider_ssh(&command()?, false)?;
    let (file, made) = folder.create(name)?;
    let mut file = tokio::fs::File::from_std(file);
    let got = match ctx.download(command()?, &mut file, most, false).await? {
        Performed::Done(got) => got,
        Performed::Dry(shown) => return Ok(dry(facts, shown)),
    };
    let unwritten = |error: std::io::Error| Fault::new(Code::LocalDir, format!("'{name}' cannot be written: {error}"));
    file.shutdown().await.map_err(unwritten)?;
    file.sync_all().await.map_err(unwritten)?;
    made.keep();
    Ok(Reply::of(json!({"node": node, "path": path, "saved": name, "bytes": got.bytes, "sha256": got.sha256})))
}

//! `pve_ssh_list_dir`: what is in a folder of a node.

use serde_json::{Value, json};

use super::super::shape::{dry, output, reads, reply};
use super::{NODE, file, place};
use crate::error::{Code, Fault};
use crate::policy::{Effect, SshCommand};
use crate::ssh::clean;
use crate::tools::context::Performed;
use crate::tools::{Ctx, Given, Parameter, Reply, Tool};

const NAME: &str = "pve_ssh_list_dir";
const PARAMETERS: &[Parameter] =
    &[NODE, Parameter::text("path", "").required(), Parameter::integer("limit", 1, 5000, "default 500")];
/// Type, mode, owner, group, size, time, name, target: names end with a NUL, because they may hold everything else.
const FORMAT: &str = "%y\\t%m\\t%u\\t%g\\t%s\\t%TY-%Tm-%TdT%TH:%TM\\t%f\\0%l\\0";

/// The tool.
pub fn tool() -> Tool {
    let summary = "List a folder of a node: type, mode, owner, size, time";
    reads(NAME, summary, PARAMETERS, members, |ctx, given| Box::pin(run(ctx, given)))
}

fn members() -> Value {
    output(json!({"path": {"type": "string"}, "entries": {"type": "array"}, "total": {"type": "integer"}}))
}

async fn run(ctx: &Ctx, given: Given) -> Result<Reply, Fault> {
    let path = file::whole("path", given.text("path").unwrap_or_default())?;
    let (node, place) = place(ctx, &given).await?;
    // With the dot a link to a folder is followed, and a file is an error.
    let folder = format!("{}/.", path.trim_end_matches('/'));
    let argv = ["find", &folder, "-mindepth", "1", "-maxdepth", "1", "-printf", FORMAT];
    let facts = json!({"node": node, "path": path});
    let said = match ctx.ssh(SshCommand::run(NAME, place, argv, Effect::Reads)?, false).await? {
        Performed::Done(said) => said,
        Performed::Dry(shown) => return Ok(dry(facts, shown)),
    };
    let error = said.error_text();
    if !said.is_success() && said.stdout.is_empty() {
        return Err(refusal(path, &error).detail("stderr", error).detail("untrusted", true));
    }
    let mut entries = entries(&said.stdout);
    let total = entries.len();
    let limit = given.count("limit").unwrap_or(500);
    entries.truncate(limit);
    let mut rest = json!({"untrusted": true, "total": total, "entries": entries});
    if total > limit {
        rest["hint"] = format!("{} more entries: raise limit", total - limit).into();
    }
    if said.truncated || total > limit {
        rest["truncated"] = true.into();
    }
    if !error.is_empty() {
        rest["stderr"] = error.into();
    }
    Ok(reply(facts, rest.as_object().cloned().unwrap_or_default()))
}

/// Sorted by name.
fn entries(stdout: &[u8]) -> Vec<Value> {
    let mut parts = stdout.split(|byte| *byte == 0);
    let mut rows = Vec::new();
    while let (Some(head), Some(target)) = (parts.next(), parts.next()) {
        let columns: Vec<&[u8]> = head.splitn(7, |byte| *byte == b'\t').collect();
        let [kind, mode, owner, group, size, time, name] = columns[..] else { continue };
        let text = |bytes: &[u8]| clean::line(&String::from_utf8_lossy(bytes));
        let mut row = json!({
            "name": text(name), "type": kind_of(kind), "mode": text(mode), "owner": text(owner), "group": text(group),
            "size": text(size).parse::<u64>().ok(), "modified": text(time),
        });
        if !target.is_empty() {
            row["target"] = text(target).into();
        }
        rows.push(row);
    }
    rows.sort_by(|one, other| one["name"].as_str().cmp(&other["name"].as_str()));
    rows
}

fn kind_of(letter: &[u8]) -> &'static str {
    match letter {
        b"f" => "file",
        b"d" => "directory",
        b"l" => "link",
        b"b" | b"c" => "device",
        b"p" => "pipe",
        b"s" => "socket",
        _ => "unknown",
    }
}

fn refusal(path: &str, error: &str) -> Fault {
    let (code, what) = match error {
        said if said.contains("No such file") => (Code::NotFound, "is not there"),
        said if said.contains("Not a directory") => (Code::BadArgument, "is no folder"),
        said if said.contains("Permission denied") => (Code::Forbidden, "may not be read by the SSH user"),
        _ => (Code::Internal, "could not be listed"),
    };
    Fault::new(code, format!("{path} {what}"))
}

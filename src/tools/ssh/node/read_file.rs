//! `pve_ssh_read_file`: a text file of a node, whole or a part of it.

use serde_json::{Value, json};

use super::super::refused;
use super::super::shape::{dry, output, reads, reply};
use super::{NODE, file, place};
use crate::error::{Code, Fault};
use crate::policy::{Effect, Limits, SshCommand};
use crate::ssh::clean;
use crate::tools::context::Performed;
use crate::tools::{Ctx, Given, Parameter, Reply, Tool};

const NAME: &str = "pve_ssh_read_file";
const PARAMETERS: &[Parameter] = &[
    NODE,
    Parameter::text("path", "").required(),
    Parameter::integer("offset", 0, i64::MAX, "bytes to leave out at the beginning"),
    Parameter::integer("max_bytes", 1, 16 << 20, "a part of at most so many bytes; without it the whole file"),
];

/// Opens the file first and looks then where that led to, so that no link can be changed in between. `$2` bytes are left
/// out, `$3` are read at most (all when empty). Size and path are told on stderr.
fn script() -> String {
    format!(
        r#"
[ -e "$1" ] || [ -L "$1" ] || exit 67
[ -f "$1" ] || exit 65
[ -r "$1" ] || exit 68
exec 3<"$1"
offset=$2 most=$3
shift 3
real=$(readlink /proc/self/fd/3) || exit 68
{check}
printf '%s\n%s\n' "$(stat -L -c %s /proc/self/fd/3)" "$real" >&2
if [ -n "$most" ]; then
  tail -c "+$((offset + 1))" <&3 | head -c "$most"
else
  tail -c "+$((offset + 1))" <&3
fi
"#,
        check = refused::CHECK
    )
}

/// The tool.
pub fn tool() -> Tool {
    reads(NAME, "Read a text file of a node", PARAMETERS, members, |ctx, given| Box::pin(run(ctx, given)))
}

fn members() -> Value {
    output(json!({
        "path": {"type": "string"}, "leads_to": {"type": "string"}, "size": {"type": "integer"}, "content": {"type": "string"},
        "binary": {"type": "boolean"}, "offset": {"type": "integer"}, "next_offset": {"type": "integer"},
    }))
}

async fn run(ctx: &Ctx, given: Given) -> Result<Reply, Fault> {
    let path = file::of("path", given.text("path").unwrap_or_default())?;
    refused::check(path)?;
    let offset = given.integer("offset").unwrap_or(0);
    let part = given.count("max_bytes");
    let (node, place) = place(ctx, &given).await?;
    let head = ["sh".into(), "-c".into(), script(), "sh".into(), path.into(), offset.to_string()];
    let argv = head.into_iter().chain([part.map(|most| most.to_string()).unwrap_or_default()]);
    let argv = argv.chain(refused::patterns().map(str::to_string));
    // A part is cut by the script; what is told on stderr needs room too.
    let limits = Limits { output: part.map(|most| most.max(64 << 10)), whole: true, time: None };
    let facts = json!({"node": node, "path": path});
    let said = match ctx.ssh(SshCommand::run(NAME, place, argv, Effect::Reads)?.limits(limits), false).await {
        Ok(Performed::Done(said)) => said,
        Ok(Performed::Dry(shown)) => return Ok(dry(facts, shown)),
        Err(fault) if fault.code == Code::SshOutputTooLarge => {
            return Err(fault.hint("read a part with offset and max_bytes, or fetch it with pve_ssh_download"));
        }
        Err(fault) => return Err(fault),
    };
    if let Some(fault) = file::refusal(path, &said) {
        return Err(fault);
    }
    if !said.is_success() {
        return Ok(reply(facts, said.to_json()));
    }
    let stderr = String::from_utf8_lossy(&said.stderr);
    let mut lines = stderr.lines().rev();
    let (real, size) = (lines.next().unwrap_or(path), lines.next().and_then(|size| size.parse::<u64>().ok()));
    let mut rest = json!({"untrusted": true, "size": size, "offset": offset});
    if real != path {
        rest["leads_to"] = clean::line(real).into();
    }
    if said.stdout.contains(&0) {
        rest["binary"] = true.into();
        rest["hint"] = "it is no text and not shown: pve_ssh_download fetches it".into();
    } else {
        rest["content"] = said.text().into();
    }
    let end = u64::try_from(offset).unwrap_or_default() + said.stdout.len() as u64;
    if part.is_some() && size.is_some_and(|size| end < size) {
        rest["next_offset"] = end.into();
        rest["truncated"] = true.into();
    }
    Ok(reply(facts, rest.as_object().cloned().unwrap_or_default()))
}

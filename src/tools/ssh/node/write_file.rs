//! `pve_ssh_write_file`: a text file on a node, written beside its place and put there whole.

use serde_json::{Value, json};

use super::super::shape::{changes, dry, output, reply};
use super::{NODE, file, place};
use crate::error::Fault;
use crate::policy::{Effect, SshCommand};
use crate::tools::context::Performed;
use crate::tools::{Ctx, Given, Parameter, Reply, Tool};

const NAME: &str = "pve_ssh_write_file";
const PARAMETERS: &[Parameter] = &[
    NODE,
    Parameter::text("path", "").required(),
    Parameter::text("content", "").required(),
    Parameter::text("mode", "such as 0644; else that of the file that is replaced, or 0644"),
    Parameter::flag("overwrite", "replace a file that is there"),
    Parameter::flag("dry_run", ""),
];

/// `$1` path, `$2` bytes that must arrive, `$3` mode or nothing, `$4` whether a file may be replaced. A link is followed: its
/// file is replaced, not the link. On `/etc/pve` nothing can be given a mode, which is no failure unless one was asked for.
const SCRIPT: &str = r#"
umask 077
[ -d "$(dirname -- "$1")" ] || exit 67
[ ! -d "$1" ] || exit 65
path=$(readlink -f -- "$1") || exit 67
new=yes
if [ -e "$path" ]; then
  [ "$4" = yes ] || exit 73
  [ -f "$path" ] || exit 65
  new=no
fi
beside=$(mktemp "$(dirname -- "$path")/.pvemcp.XXXXXXXX") || exit 68
trap 'rm -f -- "$beside"' EXIT
cat >"$beside" || exit 74
[ "$(wc -c <"$beside")" -eq "$2" ] || exit 74
if [ $new = no ]; then
  chown --reference="$path" -- "$beside" 2>/dev/null || :
  chmod --reference="$path" -- "$beside" 2>/dev/null || :
else
  chmod 0644 -- "$beside" 2>/dev/null || :
fi
[ -z "$3" ] || chmod -- "$3" "$beside" || exit 68
if [ $new = yes ]; then
  mv -nT -- "$beside" "$path" || exit 74
  [ ! -e "$beside" ] || exit 73
  echo created
else
  mv -fT -- "$beside" "$path" || exit 74
  echo replaced
fi
trap - EXIT
"#;

/// The tool.
pub fn tool() -> Tool {
    changes(NAME, "Write a text file on a node", true, PARAMETERS, members, |ctx, given| Box::pin(run(ctx, given)))
}

fn members() -> Value {
    output(json!({"path": {"type": "string"}, "bytes": {"type": "integer"}, "replaced": {"type": "boolean"}}))
}

async fn run(ctx: &Ctx, given: Given) -> Result<Reply, Fault> {
    let path = file::of("path", given.text("path").unwrap_or_default())?;
    let content = given.text("content").unwrap_or_default();
    let mode = given.text("mode").unwrap_or_default();
    if !mode.is_empty() {
        file::mode(mode)?;
    }
    let overwrite = given.flag("overwrite").unwrap_or(false);
    let (node, place) = place(ctx, &given).await?;
    let size = content.len().to_string();
    let argv = ["sh", "-c", SCRIPT, "sh", path, &size, mode, if overwrite { "yes" } else { "no" }];
    let effect = if overwrite { Effect::Destroys } else { Effect::Changes };
    let command = SshCommand::run(NAME, place, argv, effect)?.stdin(content);
    let facts = json!({"node": node, "path": path, "bytes": content.len()});
    let said = match ctx.ssh(file::touching(command, path), given.flag("dry_run").unwrap_or(false)).await? {
        Performed::Done(said) => said,
        Performed::Dry(shown) => return Ok(dry(facts, shown)),
    };
    if let Some(fault) = file::refusal(path, &said) {
        return Err(fault);
    }
    if !said.is_success() {
        return Ok(reply(facts, said.to_json()));
    }
    let replaced = said.stdout.starts_with(b"replaced");
    let rest = json!({"replaced": replaced});
    Ok(reply(facts, rest.as_object().cloned().unwrap_or_default()))
}

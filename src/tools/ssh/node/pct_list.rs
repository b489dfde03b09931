//! `pve_ssh_pct_list`: the containers of a node as the node itself knows them, without the API.

use serde_json::{Value, json};

use super::super::shape::{dry, output, reads, reply};
use super::{NODE, place};
use crate::error::Fault;
use crate::policy::{Effect, SshCommand};
use crate::tools::context::Performed;
use crate::tools::{Ctx, Given, Parameter, Reply, Tool};

const NAME: &str = "pve_ssh_pct_list";
const PARAMETERS: &[Parameter] = &[NODE];

/// The tool.
pub fn tool() -> Tool {
    let summary = "The containers of a node by pct list, also while the API is down";
    reads(NAME, summary, PARAMETERS, members, |ctx, given| Box::pin(run(ctx, given)))
}

fn members() -> Value {
    output(json!({"guests": {"type": "array"}, "total": {"type": "integer"}}))
}

async fn run(ctx: &Ctx, given: Given) -> Result<Reply, Fault> {
    let (node, place) = place(ctx, &given).await?;
    let facts = json!({"node": node});
    let said = match ctx.ssh(SshCommand::run(NAME, place, ["pct", "list"], Effect::Reads)?, false).await? {
        Performed::Done(said) => said,
        Performed::Dry(shown) => return Ok(dry(facts, shown)),
    };
    if !said.is_success() {
        return Ok(reply(facts, said.to_json()));
    }
    let guests: Vec<Value> = said.text().lines().filter_map(row).collect();
    let mut rest = json!({"untrusted": true, "total": guests.len(), "guests": guests});
    if said.truncated {
        rest["truncated"] = true.into();
    }
    Ok(reply(facts, rest.as_object().cloned().unwrap_or_default()))
}

/// `VMID Status Lock Name`; the lock is mostly empty. The heading has no number.
fn row(line: &str) -> Option<Value> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let vmid: u32 = words.first()?.parse().ok()?;
    let mut row = json!({"vmid": vmid, "status": words.get(1)});
    match words.get(2..) {
        Some([lock, name]) => (row["lock"], row["name"]) = ((*lock).into(), (*name).into()),
        Some([name]) => row["name"] = (*name).into(),
        _ => {}
    }
    Some(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_with_and_without_a_lock() {
        assert_eq!(row("VMID       Status     Lock         Name                "), None);
        assert_eq!(
            row("101        running                 db                  "),
            Some(json!({"vmid": 101, "status": "running", "name": "db"}))
        );
        let locked = json!({"vmid": 102, "status": "stopped", "lock": "backup", "name": "mail"});
        assert_eq!(row("102        stopped    backup       mail                "), Some(locked));
    }
}

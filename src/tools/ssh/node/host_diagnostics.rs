//! `pve_ssh_host_diagnostics`: how a node is, by a few fixed commands.

use serde_json::{Map, Value, json};

use super::super::shape::{output, reads};
use super::{NODE, place};
use crate::error::{Code, Fault};
use crate::policy::{Effect, Limits, SshCommand};
use crate::tools::context::Performed;
use crate::tools::{Ctx, Given, Parameter, Reply, Tool};

const NAME: &str = "pve_ssh_host_diagnostics";
const PARAMETERS: &[Parameter] = &[NODE, Parameter::texts("sections", SAYS)];
const SAYS: &str = "some of uptime, kernel, version, memory, disks, block, addresses, sockets, failed_units, kernel_log, \
                    storage, cluster; default all";

/// Bytes kept of each command's output: a section is a look, not a report.
const MOST: usize = 16 * 1024;

/// Sections and their commands.
const SECTIONS: [(&str, &[&str]); 12] = [
    ("uptime", &["uptime"]),
    ("kernel", &["uname", "-a"]),
    ("version", &["pveversion", "--verbose"]),
    ("memory", &["free", "-m"]),
    ("disks", &["df", "-P", "-h"]),
    ("block", &["lsblk", "-o", "NAME,SIZE,TYPE,FSTYPE,MOUNTPOINT"]),
    ("addresses", &["ip", "-brief", "address"]),
    ("sockets", &["ss", "-tlnp"]),
    ("failed_units", &["systemctl", "list-units", "--failed", "--no-pager", "--no-legend", "--plain"]),
    ("kernel_log", &["journalctl", "--dmesg", "--priority=warning", "--lines=40", "--no-pager"]),
    ("storage", &["pvesm", "status"]),
    ("cluster", &["pvecm", "status"]),
];

/// The tool.
pub fn tool() -> Tool {
    let summary = "How a node is: load, memory, disks, sockets, failed units, storage, cluster";
    reads(NAME, summary, PARAMETERS, members, |ctx, given| Box::pin(run(ctx, given)))
}

fn members() -> Value {
    output(json!({"sections": {"type": "object"}, "unavailable": {"type": "array"}}))
}

async fn run(ctx: &Ctx, given: Given) -> Result<Reply, Fault> {
    let wanted = given.texts("sections");
    if let Some(unknown) = wanted.iter().find(|wanted| SECTIONS.iter().all(|(name, _)| name != *wanted)) {
        let names = SECTIONS.map(|(name, _)| name).join(", ");
        return Err(Fault::argument("sections", format!("there is no section '{unknown}': there are {names}")));
    }
    let (node, place) = place(ctx, &given).await?;
    let chosen = SECTIONS.iter().filter(|(name, _)| wanted.is_empty() || wanted.contains(name));
    let (mut sections, mut unavailable) = (Map::new(), Vec::new());
    for (done, (name, argv)) in chosen.enumerate() {
        let limits = Limits { output: Some(MOST), ..Limits::default() };
        let command = SshCommand::run(NAME, place.clone(), argv.iter().copied(), Effect::Reads)?.limits(limits);
        match ctx.ssh(command, false).await {
            Ok(Performed::Done(said)) => {
                let mut told = said.to_json();
                told.remove("untrusted");
                if !said.is_success() {
                    unavailable.push(json!({"section": name, "reason": "the command failed: see its stderr"}));
                }
                sections.insert((*name).to_string(), told.into());
            }
            Ok(Performed::Dry(shown)) => drop(sections.insert((*name).to_string(), shown)),
            // One command that hangs (a dead NFS server) is a gap; no connection is no answer at all.
            Err(fault) if fault.code == Code::Timeout => {
                unavailable.push(json!({"section": name, "reason": fault.message}));
            }
            Err(fault) => return Err(fault),
        }
        ctx.tell((done + 1) as f64, Some(SECTIONS.len() as f64), *name);
    }
    let told = json!({"node": node, "untrusted": true, "sections": sections, "unavailable": unavailable});
    Ok(Reply::of(told))
}

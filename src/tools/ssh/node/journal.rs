//! `pve_ssh_journal`: the last lines of a node's journal.

use serde_json::{Value, json};

use super::super::shape::{output, reads, told};
use super::{NODE, place};
use crate::error::Fault;
use crate::policy::{Effect, SshCommand};
use crate::tools::{Ctx, Given, Parameter, Reply, Tool};

const NAME: &str = "pve_ssh_journal";
const PARAMETERS: &[Parameter] = &[
    NODE,
    Parameter::text("unit", "such as pvedaemon or pve-cluster.service"),
    Parameter::integer("lines", 1, 5000, "the last ones, default 100"),
    Parameter::choice("priority", PRIORITIES, "this and worse"),
    Parameter::text("since", "2026-12-01 12:00, -2h, yesterday"),
    Parameter::text("until", "as since"),
    Parameter::flag("this_boot", "since the node was started only"),
];
const PRIORITIES: &[&str] = &["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"];

/// The tool.
pub fn tool() -> Tool {
    reads(NAME, "The last lines of a node's journal", PARAMETERS, members, |ctx, given| Box::pin(run(ctx, given)))
}

fn members() -> Value {
    output(json!({"unit": {"type": "string"}, "lines": {"type": "integer"}}))
}

async fn run(ctx: &Ctx, given: Given) -> Result<Reply, Fault> {
    let lines = given.integer("lines").unwrap_or(100);
    let mut argv =
        vec!["journalctl".to_string(), "--no-pager".into(), "--output=short-iso".into(), format!("--lines={lines}")];
    if let Some(unit) = given.text("unit") {
        argv.push(format!("--unit={}", unit_name(unit)?));
    }
    if let Some(priority) = given.text("priority") {
        argv.push(format!("--priority={priority}"));
    }
    for name in ["since", "until"] {
        if let Some(moment) = given.text(name) {
            argv.push(format!("--{name}={}", moment_of(name, moment)?));
        }
    }
    if given.flag("this_boot") == Some(true) {
        argv.push("--boot".into());
    }
    let (node, place) = place(ctx, &given).await?;
    let mut facts = json!({"node": node, "lines": lines});
    if let Some(unit) = given.text("unit") {
        facts["unit"] = unit.into();
    }
    Ok(told(facts, ctx.ssh(SshCommand::run(NAME, place, argv, Effect::Reads)?, false).await?))
}

/// The name of a unit: what systemd allows in one, without its patterns.
fn unit_name(unit: &str) -> Result<&str, Fault> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || ":_.@\\-".contains(c);
    let begins = unit.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '@');
    match begins && unit.len() <= 255 && unit.chars().all(allowed) {
        true => Ok(unit),
        false => Err(Fault::argument("unit", "a unit's name has letters, digits and : _ . @ \\ - only")),
    }
}

fn moment_of<'m>(name: &str, moment: &'m str) -> Result<&'m str, Fault> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || " :+-.@".contains(c);
    match !moment.is_empty() && moment.len() <= 64 && moment.chars().all(allowed) {
        true => Ok(moment),
        false => Err(Fault::argument(name, "expected a time such as 2026-12-01 12:00, -2h or yesterday")),
    }
}

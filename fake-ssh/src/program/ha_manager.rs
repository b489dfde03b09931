//! `ha-manager`: high availability.

use serde_json::{Map, Value};

use super::Call;
use crate::cli::command::{Command, Does, Program, Shows};
use crate::cli::{Failure, json, text};

use Does::{Api, Own};
use Shows::{Nothing, Table};

type Given = Map<String, Value>;

/// Its commands.
pub(crate) const HA: Program = Program { name: "ha-manager", commands: COMMANDS };

const fn command(words: &'static str, does: Does, args: &'static [&'static str], shows: Shows) -> Command {
    Command { words, group: 1, does, args, shows }
}

const SID: &[&str] = &["sid"];
const RULE: &[&str] = &["rule"];

const COMMANDS: &[Command] = &[
    command("add", Api("POST /cluster/ha/resources"), SID, Nothing),
    command("config", Own(&[("type", "s?")], config), &[], Nothing),
    command("migrate", Api("POST /cluster/ha/resources/{sid}/migrate"), &["sid", "node"], Nothing),
    command("relocate", Api("POST /cluster/ha/resources/{sid}/relocate"), &["sid", "node"], Nothing),
    command("remove", Api("DELETE /cluster/ha/resources/{sid}"), SID, Nothing),
    command("rules add", Api("POST /cluster/ha/rules"), &["type", "rule"], Nothing),
    command("rules config", Api("GET /cluster/ha/rules"), &[], Table(&[])),
    command("rules list", Api("GET /cluster/ha/rules"), &[], Table(&[])),
    command("rules remove", Api("DELETE /cluster/ha/rules/{rule}"), RULE, Nothing),
    command("rules set", Api("PUT /cluster/ha/rules/{rule}"), &["type", "rule"], Nothing),
    command("set", Api("PUT /cluster/ha/resources/{sid}"), SID, Nothing),
    command("status", Own(&[("verbose", "b?")], status), &[], Nothing),
];

fn config(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let found = call.api("GET", "/cluster/ha/resources", given.clone())?;
    let mut out = String::new();
    for row in found.as_array().into_iter().flatten() {
        let sid = text(&row["sid"]);
        let Ok(entry) = call.get(&format!("/cluster/ha/resources/{sid}")) else { continue };
        let mut lines: Vec<String> = entry
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(name, _)| !["sid", "type", "digest"].contains(&name.as_str()))
            .filter(|(name, value)| !(name.as_str() == "state" && *value == "started"))
            .map(|(name, value)| format!("\t{name} {}\n", text(value)))
            .collect();
        lines.sort();
        out.push_str(&format!("{sid}\n{}\n", lines.concat()));
    }
    call.out(&out);
    Ok(0)
}

fn status(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let found = call.get("/cluster/ha/status/current")?;
    let lines: String = found
        .as_array()
        .into_iter()
        .flatten()
        .map(|row| format!("{} {}\n", text(&row["type"]), text(&row["status"])))
        .collect();
    call.out(&lines);
    if given.get("verbose").is_some_and(|on| on == "1") {
        let full = call.get("/cluster/ha/status/manager_status")?;
        call.out(&format!("full cluster state:\n{}", json::pretty(&full)));
    }
    Ok(0)
}

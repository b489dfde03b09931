//! `pvenode`, `pvesr`, `vzdump`, `pvesubscription` and `pveam`: the node itself and its jobs.

use serde_json::{Map, Value};

use super::{Call, guest};
use crate::cli::command::{Command, Does, Program, Shows};
use crate::cli::{Failure, table, text};

use Does::{Api, Own};
use Shows::{Nothing, Table, Task, With};

type Given = Map<String, Value>;

const fn command(words: &'static str, does: Does, args: &'static [&'static str], shows: Shows) -> Command {
    Command { words, group: 1, does, args, shows }
}

/// `pvenode`.
pub(crate) const PVENODE: Program = Program {
    name: "pvenode",
    commands: &[
        command("cert info", Api("GET /nodes/{node}/certificates/info"), &[], Table(&[])),
        command("config get", Api("GET /nodes/{node}/config"), &[], With(guest::config)),
        command("config set", Api("PUT /nodes/{node}/config"), &[], Nothing),
        command("migrateall", Api("POST /nodes/{node}/migrateall"), &["target"], Task),
        command("startall", Api("POST /nodes/{node}/startall"), &[], Task),
        command("stopall", Api("POST /nodes/{node}/stopall"), &[], Task),
        command(
            "task list",
            Api("GET /nodes/{node}/tasks"),
            &[],
            Table(&["upid", "type", "id", "user", "starttime", "endtime", "status"]),
        ),
        command("task log", Api("GET /nodes/{node}/tasks/{upid}/log"), &["upid"], With(log)),
        command("task status", Api("GET /nodes/{node}/tasks/{upid}/status"), &["upid"], Table(&[])),
        command("wakeonlan", Api("POST /nodes/{node}/wakeonlan"), &[], Table(&[])),
    ],
};

fn log(call: &mut Call, _: &Given, value: &Value) {
    let lines: String = value.as_array().into_iter().flatten().map(|row| format!("{}\n", text(&row["t"]))).collect();
    call.out(&lines);
}

/// `pvesr`.
pub(crate) const PVESR: Program = Program {
    name: "pvesr",
    commands: &[
        command("create-local-job", Own(CREATE_JOB, create_job), &["id", "target"], Nothing),
        command("delete", Api("DELETE /cluster/replication/{id}"), &["id"], Nothing),
        command("list", Own(&[], jobs), &[], Nothing),
        command("read", Api("GET /cluster/replication/{id}"), &["id"], Table(&[])),
        command("schedule-now", Api("POST /nodes/{node}/replication/{id}/schedule_now"), &["id"], Nothing),
        command("status", Own(&[("guest", "i?")], job_states), &[], Nothing),
        command("update", Api("PUT /cluster/replication/{id}"), &["id"], Nothing),
    ],
};

const CREATE_JOB: &[(&str, &str)] = &[
    ("id", "s"),
    ("target", "s"),
    ("comment", "s?"),
    ("disable", "b?"),
    ("rate", "s?"),
    ("remove_job", "s?"),
    ("schedule", "s?"),
    ("source", "s?"),
];

fn create_job(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let mut params = given.clone();
    params.insert("type".into(), "local".into());
    call.api("POST", "/cluster/replication", params)?;
    Ok(0)
}

fn jobs(call: &mut Call, _: &Given) -> Result<i32, Failure> {
    let found = call.get("/cluster/replication")?;
    let line = |cells: [&str; 5]| {
        let [id, target, schedule, rate, enabled] = cells;
        format!("{id:<20} {target:<20} {schedule:>10} {rate:>5} {enabled:>8}\n")
    };
    let mut out = line(["JobID", "Target", "Schedule", "Rate", "Enabled"]);
    for row in found.as_array().into_iter().flatten() {
        let of = |name: &str, otherwise: &str| row.get(name).map_or_else(|| otherwise.into(), text);
        let enabled = if of("disable", "0") == "1" { "no" } else { "yes" };
        out.push_str(&line([
            &of("id", ""),
            &format!("local/{}", of("target", "")),
            &of("schedule", "*/15"),
            &of("rate", "-"),
            enabled,
        ]));
    }
    call.out(&out);
    Ok(0)
}

fn job_states(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let found = call.api("GET", &format!("/nodes/{}/replication", call.node.name), given.clone())?;
    let mut out = format!(
        "{:<10} {:<10} {:<20} {:>20} {:>20} {:>10} {:>10} {}\n",
        "JobID", "Enabled", "Target", "LastSync", "NextSync", "Duration", "FailCount", "State"
    );
    for row in found.as_array().into_iter().flatten() {
        let of = |name: &str, otherwise: &str| row.get(name).map_or_else(|| otherwise.into(), text);
        let at = |name: &str, otherwise: &str| match row.get(name).and_then(Value::as_i64).filter(|at| *at > 0) {
            Some(at) => table::time(at).replace(' ', "_"),
            None => otherwise.into(),
        };
        let enabled = if of("disable", "0") == "1" { "No" } else { "Yes" };
        out.push_str(&format!(
            "{:<10} {enabled:<10} {:<20} {:>20} {:>20} {:>10} {:>10} {}\n",
            of("id", ""),
            format!("local/{}", of("target", "")),
            at("last_sync", "-"),
            at("next_sync", "pending"),
            of("duration", "-"),
            of("fail_count", "0"),
            of("error", "OK"),
        ));
    }
    call.out(&out);
    Ok(0)
}

/// `pvesubscription`.
pub(crate) const PVESUBSCRIPTION: Program = Program {
    name: "pvesubscription",
    commands: &[
        command("get", Api("GET /nodes/{node}/subscription"), &[], With(guest::config)),
        command("set", Api("PUT /nodes/{node}/subscription"), &["key"], Nothing),
        command("update", Api("POST /nodes/{node}/subscription"), &[], Nothing),
    ],
};

/// `pveam`.
pub(crate) const PVEAM: Program = Program {
    name: "pveam",
    commands: &[
        command("available", Own(&[("section", "s?")], available), &[], Nothing),
        command("download", Api("POST /nodes/{node}/aplinfo"), &["storage", "template"], Task),
        command("list", Own(&[("storage", "s")], templates), &["storage"], Nothing),
        command("remove", Own(&[("template_path", "s")], remove), &["template_path"], Nothing),
        command("update", Own(&[], update), &[], Nothing),
    ],
};

fn available(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let found = call.get(&format!("/nodes/{}/aplinfo", call.node.name))?;
    let wanted = given.get("section").map(text);
    let mut lines: Vec<String> = found
        .as_array()
        .into_iter()
        .flatten()
        .filter(|row| wanted.as_ref().is_none_or(|section| row["section"] == section.as_str()))
        .map(|row| {
            format!("{:<15} {:<60}\n", text(&row["section"]), text(&row["template"])).trim_end().to_string() + "\n"
        })
        .collect();
    lines.sort();
    call.out(&lines.concat());
    Ok(0)
}

fn templates(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let query = Given::from_iter([("content".to_string(), Value::from("vztmpl"))]);
    let path = format!("/nodes/{}/storage/{}/content", call.node.name, text(&given["storage"]));
    let found = call.api("GET", &path, query)?;
    let mut out = format!("{:<60} {:<6}\n", "NAME", "SIZE");
    for row in found.as_array().into_iter().flatten() {
        let size = row["size"].as_f64().unwrap_or(0.0) / 1_048_576.0;
        out.push_str(&format!("{:<60} {size:<4.2}MB\n", text(&row["volid"])));
    }
    call.out(&out);
    Ok(0)
}

fn remove(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let volume = text(&given["template_path"]);
    let storage = volume.split(':').next().unwrap_or_default().to_string();
    let path = format!("/nodes/{}/storage/{storage}/content/{volume}", call.node.name);
    let done = call.api("DELETE", &path, Given::new())?;
    if let Some(upid) = done.as_str() {
        let _shown = call.finish(upid);
    }
    Ok(0)
}

fn update(call: &mut Call, _: &Given) -> Result<i32, Failure> {
    call.out("update successful\n");
    Ok(0)
}

/// `vzdump` behind its numbers.
const VZDUMP: Program =
    Program { name: "vzdump", commands: &[command("", Api("POST /nodes/{node}/vzdump"), &[], Task)] };

/// `vzdump`: numbers of guests, then options.
pub(super) fn vzdump(call: &mut Call) -> i32 {
    const SHORT: &str = "vzdump {<vmid>} [OPTIONS]";
    let numbers: Vec<String> = call.argv[1..].iter().take_while(|arg| !arg.starts_with('-')).cloned().collect();
    let rest: Vec<String> = call.argv[1 + numbers.len()..].to_vec();
    let chosen = rest.iter().any(|arg| ["all", "pool", "vmid"].contains(&arg.trim_start_matches('-')));
    if numbers.is_empty() && !chosen {
        call.err(&format!("400 Parameter verification failed.\nvmid: property is missing\n{SHORT}\n"));
        return 255;
    }
    let mut args = rest;
    if !numbers.is_empty() {
        args.extend(["--vmid".to_string(), numbers.join(",")]);
    }
    crate::cli::perform::perform(&VZDUMP, &VZDUMP.commands[0], call, &args)
}

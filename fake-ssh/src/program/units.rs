//! `systemctl` and `journalctl` of a node: its services and its journal, as the API knows them.

use serde_json::{Map, Value};

use super::Call;
use crate::cli::{Failure, text};

/// `systemctl`; the exit status.
pub(super) fn systemctl(call: &mut Call) -> i32 {
    let words: Vec<String> = call.argv[1..].iter().filter(|arg| !arg.starts_with('-')).cloned().collect();
    let Some((verb, units)) = words.split_first() else { return list(call) };
    match verb.as_str() {
        "list-units" | "list-unit-files" => list(call),
        "daemon-reload" | "reset-failed" => 0,
        "is-system-running" => {
            call.out("running\n");
            0
        }
        "is-active" | "is-enabled" | "status" | "show" => {
            units.iter().map(|unit| tell(call, verb, plain(unit))).max().unwrap_or(0)
        }
        "start" | "stop" | "restart" | "reload" => {
            if call.user.uid != 0 {
                call.err(&format!("Failed to {verb} {}: Access denied\n", units.join(" ")));
                return 4;
            }
            units.iter().map(|unit| change(call, verb, plain(unit))).max().unwrap_or(0)
        }
        other => {
            call.err(&format!("'systemctl {other}' is not part of this rehearsal\n"));
            1
        }
    }
}

fn plain(unit: &str) -> &str {
    unit.strip_suffix(".service").unwrap_or(unit)
}

fn services(call: &Call) -> Vec<Value> {
    let found = call.get(&format!("/nodes/{}/services", call.node.name)).unwrap_or_default();
    found.as_array().cloned().unwrap_or_default()
}

fn find(call: &Call, unit: &str) -> Option<Value> {
    services(call).into_iter().find(|row| row["name"] == unit || row["service"] == unit)
}

fn list(call: &mut Call) -> i32 {
    let mut out = String::from("  UNIT                        LOAD   ACTIVE   SUB     DESCRIPTION\n");
    let rows = services(call);
    for row in &rows {
        let runs = row["state"] == "running";
        let (word, sub) = if runs { ("active", "running") } else { ("inactive", "dead") };
        let name = format!("{}.service", text(&row["name"]));
        out.push_str(&format!("  {name:<27} loaded {word:<8} {sub:<7} {}\n", text(&row["desc"])));
    }
    call.out(&format!("{out}\n{} loaded units listed.\n", rows.len()));
    0
}

fn tell(call: &mut Call, verb: &str, unit: &str) -> i32 {
    let Some(row) = find(call, unit) else {
        match verb {
            "is-active" => call.out("inactive\n"),
            "is-enabled" => {
                call.err(&format!("Failed to get unit file state for {unit}.service: No such file or directory\n"))
            }
            "show" => call.out("ActiveState=inactive\nLoadState=not-found\n"),
            _ => call.err(&format!("Unit {unit}.service could not be found.\n")),
        }
        return if verb == "show" { 0 } else { 4 };
    };
    let runs = row["state"] == "running";
    let enabled = row.get("unit-state").map(text).unwrap_or_else(|| "enabled".into());
    match verb {
        "is-active" => call.out(if runs { "active\n" } else { "inactive\n" }),
        "is-enabled" => {
            call.out(&format!("{enabled}\n"));
            return i32::from(enabled != "enabled" && enabled != "static");
        }
        "show" => {
            call.out(&format!("ActiveState={}\nLoadState=loaded\n", if runs { "active" } else { "inactive" }));
            return 0;
        }
        _ => {
            let (bullet, state) = if runs { ("●", "active (running)") } else { ("○", "inactive (dead)") };
            call.out(&format!(
                "{bullet} {unit}.service - {}\n     Loaded: loaded (/usr/lib/systemd/system/{unit}.service; {enabled}; preset: enabled)\n     \
Active: {state}\n",
                text(&row["desc"])
            ));
        }
    }
    if runs { 0 } else { 3 }
}

fn change(call: &mut Call, verb: &str, unit: &str) -> i32 {
    let path = format!("/nodes/{}/services/{unit}/{verb}", call.node.name);
    match call.api("POST", &path, Map::new()) {
        Ok(upid) => {
            let (_, status) = call.finish(&text(&upid));
            if status == "OK" {
                return 0;
            }
            call.err(&format!("Job for {unit}.service failed: {status}\n"));
            1
        }
        Err(Failure { .. }) => {
            call.err(&format!("Failed to {verb} {unit}.service: Unit {unit}.service not found.\n"));
            5
        }
    }
}

/// `journalctl`; the exit status.
pub(super) fn journalctl(call: &mut Call) -> i32 {
    let (mut unit, mut most) = (None, None);
    let args = call.argv[1..].to_vec();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "-u" | "--unit" => unit = args.next().map(|unit| plain(unit).to_string()),
            "-n" | "--lines" => most = args.next().cloned(),
            other => {
                if let Some(name) = other.strip_prefix("--unit=") {
                    unit = Some(plain(name).to_string());
                }
                if let Some(count) = other.strip_prefix("--lines=").or(other.strip_prefix("-n")) {
                    most = Some(count.to_string());
                }
            }
        }
    }
    let mut params = Map::new();
    if let Some(unit) = unit {
        params.insert("service".into(), unit.into());
    }
    let most: usize = most.and_then(|count| count.parse().ok()).unwrap_or(1000);
    params.insert("limit".into(), "5000".into());
    let found = call.api("GET", &format!("/nodes/{}/syslog", call.node.name), params).unwrap_or_default();
    let lines: Vec<String> =
        found.as_array().into_iter().flatten().map(|row| text(&row["t"])).filter(|line| line != "no content").collect();
    if lines.is_empty() {
        call.out("-- No entries --\n");
    }
    for line in &lines[lines.len().saturating_sub(most)..] {
        call.out(&format!("{line}\n"));
    }
    0
}

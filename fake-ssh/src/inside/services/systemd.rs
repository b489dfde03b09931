//! `systemctl` and `journalctl` of a container.

use super::{start, stop, unit, words};
use crate::inside::state::{self, err, has, out};

pub(super) fn systemctl(args: &[String]) -> u8 {
    let (options, words) = words(args);
    let Some((verb, rest)) = words.split_first() else { return list_units(&options) };
    let units: Vec<String> = rest.iter().map(|name| unit(name)).collect();
    match *verb {
        "is-active" => {
            let active = units.iter().filter(|unit| has("active", unit)).count();
            for unit in &units {
                out(if has("active", unit) { "active\n" } else { "inactive\n" });
            }
            let known = units.iter().any(|unit| has("services", unit));
            if active > 0 {
                0
            } else if known {
                3
            } else {
                4
            }
        }
        "is-enabled" => {
            let mut status = 1;
            for unit in &units {
                match (has("services", unit), has("enabled", unit)) {
                    (false, _) => {
                        err(&format!("Failed to get unit file state for {unit}.service: No such file or directory\n"));
                    }
                    (true, true) => {
                        out("enabled\n");
                        status = 0;
                    }
                    (true, false) => out("disabled\n"),
                }
            }
            status
        }
        "status" => units.iter().map(|unit| status(unit)).max().unwrap_or(0),
        "start" | "stop" | "restart" | "reload" | "try-restart" | "reload-or-restart" => change(verb, &units),
        "enable" | "disable" => enable(*verb == "enable", &units, options.contains(&"--now")),
        "show" => show(&options, &units),
        "list-units" => list_units(&options),
        "list-unit-files" => {
            out("UNIT FILE                              STATE    PRESET\n");
            for (service, _) in state::read("services") {
                let word = if has("enabled", &service) { "enabled" } else { "disabled" };
                out(&format!("{:<38} {word:<8} enabled\n", format!("{service}.service")));
            }
            0
        }
        "daemon-reload" | "reset-failed" => 0,
        "is-system-running" => {
            out("running\n");
            0
        }
        other => {
            err(&format!("Unknown command verb '{other}'.\n"));
            1
        }
    }
}

pub(super) fn change(verb: &str, units: &[String]) -> u8 {
    for unit in units {
        if !has("services", unit) {
            let word = format!("{}{}", verb[..1].to_uppercase(), &verb[1..]);
            let _shown = &word;
            err(&format!("Failed to {verb} {unit}.service: Unit {unit}.service not found.\n"));
            return 5;
        }
        match verb {
            "stop" => stop(unit),
            "reload" if !has("active", unit) => {
                err(&format!("Job for {unit}.service invalid.\n"));
                return 1;
            }
            "reload" => state::log(unit, "Reloaded."),
            "try-restart" if !has("active", unit) => {}
            _ => start(unit),
        }
    }
    0
}

pub(super) fn enable(on: bool, units: &[String], now: bool) -> u8 {
    for unit in units {
        if !has("services", unit) {
            let word = if on { "enable" } else { "disable" };
            err(&format!("Failed to {word} unit: Unit file {unit}.service does not exist.\n"));
            return 1;
        }
        let link = format!("/etc/systemd/system/multi-user.target.wants/{unit}.service");
        match (on, has("enabled", unit)) {
            (true, false) => {
                state::set("enabled", unit, "");
                err(&format!("Created symlink {link} → /lib/systemd/system/{unit}.service.\n"));
            }
            (false, true) => {
                state::unset("enabled", unit);
                err(&format!("Removed \"{link}\".\n"));
            }
            _ => {}
        }
        match (now, on) {
            (true, true) => start(unit),
            (true, false) => stop(unit),
            _ => {}
        }
    }
    0
}

pub(super) fn status(unit: &str) -> u8 {
    if !has("services", unit) {
        err(&format!("Unit {unit}.service could not be found.\n"));
        return 4;
    }
    let (active, enabled) = (has("active", unit), has("enabled", unit));
    let word = if enabled { "enabled" } else { "disabled" };
    let (bullet, state) = if active { ("●", "active (running)") } else { ("○", "inactive (dead)") };
    out(&format!(
        "{bullet} {unit}.service - {unit}\n     Loaded: loaded (/lib/systemd/system/{unit}.service; {word}; preset: enabled)\n     Active: {state}\n"
    ));
    if active { 0 } else { 3 }
}

pub(super) fn show(options: &[&str], units: &[String]) -> u8 {
    let wanted = options.iter().find_map(|option| option.strip_prefix("-p").or(option.strip_prefix("--property=")));
    let value_only = options.contains(&"--value");
    // `-p Name` leaves the name among the units.
    let (wanted, units): (Vec<&str>, &[String]) = match (wanted, units.split_first()) {
        (Some(""), Some((first, rest))) => (first.split(',').collect(), rest),
        (Some(names), _) => (names.split(',').collect(), units),
        (None, _) => (vec!["ActiveState", "SubState", "LoadState", "UnitFileState"], units),
    };
    for unit in units {
        let (known, active) = (has("services", unit), has("active", unit));
        for name in &wanted {
            let value = match *name {
                "ActiveState" => {
                    if active {
                        "active"
                    } else {
                        "inactive"
                    }
                }
                "SubState" => {
                    if active {
                        "running"
                    } else {
                        "dead"
                    }
                }
                "LoadState" => {
                    if known {
                        "loaded"
                    } else {
                        "not-found"
                    }
                }
                "UnitFileState" if !known => "",
                "UnitFileState" => {
                    if has("enabled", unit) {
                        "enabled"
                    } else {
                        "disabled"
                    }
                }
                _ => "",
            };
            out(&if value_only { format!("{value}\n") } else { format!("{name}={value}\n") });
        }
    }
    0
}

pub(super) fn list_units(options: &[&str]) -> u8 {
    let plain = options.contains(&"--no-legend");
    // Nothing ever fails here.
    let none = options.iter().any(|option| ["--failed", "--state=failed"].contains(option));
    if !plain {
        out("  UNIT                LOAD   ACTIVE   SUB     DESCRIPTION\n");
    }
    let mut count = 0;
    for (service, _) in state::read("services") {
        let active = has("active", &service);
        if none || !active && !options.contains(&"--all") && !options.contains(&"-a") {
            continue;
        }
        count += 1;
        let (word, sub) = if active { ("active", "running") } else { ("inactive", "dead") };
        out(&format!(
            "{}{:<19} loaded {word:<8} {sub:<7} {service}\n",
            if plain { "" } else { "  " },
            format!("{service}.service")
        ));
    }
    if !plain {
        out(&format!("\n{count} loaded units listed.\n"));
    }
    0
}

pub(super) fn journalctl(args: &[String]) -> u8 {
    let mut wanted: Vec<String> = Vec::new();
    let (mut most, mut form) = (usize::MAX, "short");
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "-u" | "--unit" => wanted.extend(args.next().map(|name| unit(name))),
            "-n" | "--lines" => most = args.next().and_then(|count| count.parse().ok()).unwrap_or(most),
            "-o" | "--output" => form = args.next().map_or(form, String::as_str),
            other => {
                form = other.strip_prefix("--output=").or(other.strip_prefix("-o")).unwrap_or(form);
                if let Some(name) = other.strip_prefix("--unit=") {
                    wanted.push(unit(name));
                }
                let count =
                    other.strip_prefix("--lines=").or(other.strip_prefix("-n")).and_then(|count| count.parse().ok());
                most = count.unwrap_or(most);
            }
        }
    }
    let lines: Vec<(String, String)> = state::read("log")
        .into_iter()
        .filter(|(_, rest)| wanted.is_empty() || wanted.iter().any(|unit| rest.split(' ').next() == Some(unit)))
        .collect();
    if lines.is_empty() && form != "json" {
        out("-- No entries --\n");
    }
    let host = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
    for (at, rest) in &lines[lines.len().saturating_sub(most)..] {
        let when = at.parse().ok().and_then(|at| jiff::Timestamp::from_second(at).ok());
        let pattern = if form.starts_with("short-iso") { "%Y-%m-%dT%H:%M:%S+0000" } else { "%b %d %H:%M:%S" };
        let when = when.map(|at| at.strftime(pattern).to_string()).unwrap_or_default();
        let (unit, text) = rest.split_once(' ').unwrap_or((rest, ""));
        if form == "json" {
            let line = serde_json::json!({
                "MESSAGE": text, "PRIORITY": "6", "_SYSTEMD_UNIT": format!("{unit}.service"),
                "__REALTIME_TIMESTAMP": format!("{at}000000"),
            });
            out(&format!("{line}\n"));
            continue;
        }
        if form == "cat" {
            out(&format!("{text}\n"));
            continue;
        }
        out(&format!("{when} {} {unit}[1]: {text}\n", host.trim()));
    }
    0
}

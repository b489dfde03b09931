//! What `qm` and `pct` have in common.

use std::io::BufRead as _;

use fake_pve::world::GuestKind;
use serde_json::{Map, Value};

use super::Call;
use crate::cli::{Failure, json, table, text};

type Given = Map<String, Value>;

/// Parameters of `rescan`.
pub(crate) const RESCAN: &[(&str, &str)] = &[("dryrun", "b?"), ("vmid", "i?")];
/// Parameters of `status`.
pub(crate) const STATUS: &[(&str, &str)] = &[("vmid", "i"), ("verbose", "b?")];

/// The guest's number as it was given.
pub(crate) fn vmid(given: &Given) -> String {
    given.get("vmid").map(text).unwrap_or_default()
}

/// A path as somebody in a working folder means it.
pub(crate) fn full(call: &Call, path: &str) -> String {
    if path.starts_with('/') { path.into() } else { format!("{}/{path}", call.cwd) }
}

/// A value on one line, as configuration files have it.
fn encoded(key: &str, value: &Value) -> String {
    let plain = text(value);
    if key != "description" {
        return plain;
    }
    let special = |c: char| c.is_ascii_control() || c == '%' || c == ':';
    plain.chars().map(|c| if special(c) { format!("%{:02X}", u32::from(c)) } else { c.to_string() }).collect()
}

pub(crate) fn config(call: &mut Call, _: &Given, value: &Value) {
    let mut lines: Vec<String> = Vec::new();
    let mut raw = String::new();
    for (key, value) in value.as_object().into_iter().flatten() {
        match (key.as_str(), value) {
            ("digest", _) => {}
            ("lxc", Value::Array(pairs)) => {
                for pair in pairs {
                    raw.push_str(&format!("{}: {}\n", text(&pair[0]), text(&pair[1])));
                }
            }
            _ => lines.push(format!("{key}: {}\n", encoded(key, value))),
        }
    }
    lines.sort();
    call.out(&format!("{}{raw}", lines.concat()));
}

pub(crate) fn pending(call: &mut Call, _: &Given, value: &Value) {
    let mut rows: Vec<&Value> = value.as_array().into_iter().flatten().collect();
    rows.sort_by_key(|row| text(&row["key"]));
    let mut out = String::new();
    for row in rows {
        let key = text(&row["key"]);
        let deleted = row.get("delete").is_some_and(|value| value.as_i64() != Some(0));
        if key == "digest" {
            continue;
        }
        if let Some(value) = row.get("value") {
            let word = if deleted { "del" } else { "cur" };
            out.push_str(&format!("{word} {key}: {}\n", encoded(&key, value)));
        }
        if let Some(value) = row.get("pending") {
            out.push_str(&format!("new {key}: {}\n", encoded(&key, value)));
        }
    }
    call.out(&out);
}

/// The tree of snapshots, each below the one before it.
pub(crate) fn snapshots(call: &mut Call, _: &Given, value: &Value) {
    let mut rows: Vec<&Value> = value.as_array().into_iter().flatten().collect();
    rows.sort_by_key(|row| row["snaptime"].as_i64().unwrap_or(i64::MAX));
    let known: Vec<String> = rows.iter().map(|row| text(&row["name"])).collect();
    let top = |row: &&&Value| row.get("parent").is_none_or(|parent| !known.contains(&text(parent)));
    let mut out = String::new();
    for row in rows.iter().filter(top) {
        branch(&rows, row, 0, &mut out);
    }
    call.out(&out);
}

fn branch(rows: &[&Value], row: &Value, depth: usize, out: &mut String) {
    let prefix = format!("{}`->", " ".repeat(depth));
    let name = text(&row["name"]);
    let when = row["snaptime"].as_i64().map(table::time).unwrap_or_default();
    let about = match row.get("description").map(text).filter(|about| !about.is_empty()) {
        Some(about) => about.lines().last().unwrap_or_default().to_string(),
        None => "no-description".into(),
    };
    let width = 30_usize.saturating_sub(prefix.len());
    out.push_str(&format!("{prefix} {name:<width$} {when:<23} {about}\n"));
    for child in rows.iter().filter(|child| child.get("parent").map(text).as_deref() == Some(&name)) {
        branch(rows, child, depth + 1, out);
    }
}

/// Prints a state: one line, or all that is known but for some.
pub(crate) fn status(call: &mut Call, given: &Given, now: &Value, without: &[&str]) {
    let state = now.get("qmpstatus").or_else(|| now.get("status")).map(text).unwrap_or_default();
    if given.get("verbose").is_none_or(|on| on != "1") {
        return call.out(&format!("status: {state}\n"));
    }
    let mut lines: Vec<String> = now
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, value)| !without.contains(&name.as_str()) && !value.is_null() && !name.starts_with("pressure"))
        .map(|(name, value)| match value {
            Value::Object(_) | Value::Array(_) => format!("{name}:\n\t{}\n", json::compact(value)),
            scalar => format!("{name}: {}\n", text(scalar)),
        })
        .collect();
    lines.sort();
    call.out(&lines.concat());
}

/// Takes a lock off; whether there was one.
pub(crate) fn unlock(call: &mut Call, given: &Given, kind: GuestKind) -> Result<bool, Failure> {
    let number: u32 = vmid(given).parse().unwrap_or(0);
    let node = call.node.name.clone();
    call.site.direct.world(|world| {
        let guest = world.guest_mut(kind, &node, number).map_err(Failure::die)?;
        Ok(guest.config.shift_remove("lock").is_some())
    })
}

/// Looks for volumes that no configuration names. The world of the fake has none that got lost.
pub(crate) fn rescan(call: &mut Call, given: &Given, kind: GuestKind) -> Result<i32, Failure> {
    if given.get("dryrun").is_some_and(|on| on == "1") {
        call.out("NOTE: running in dry-run mode, won't write changes out!\n");
    }
    call.out("rescan volumes...\n");
    let node = call.node.name.clone();
    let locked = call.site.direct.world(|world| {
        let mut mine = world.guests.values().filter(|guest| guest.kind == kind && guest.node == node);
        mine.find_map(|guest| guest.option("lock").filter(|_| kind == GuestKind::Lxc))
    });
    match locked {
        Some(lock) => Err(Failure::die(format!("CT is locked ({lock})"))),
        None => Ok(0),
    }
}

/// A password, asked for twice as the tools do; from a pipe two lines are read.
pub(crate) fn new_password(call: &mut Call) -> Result<String, Failure> {
    let end = || Failure::die("EOF while reading password");
    let input = call.stdin.try_clone().map_err(|_| end())?;
    let terminal = rustix::termios::isatty(&input);
    let mut lines = std::io::BufReader::new(input).lines().map_while(Result::ok);
    if terminal {
        call.err("Enter new password: ");
    }
    let first = lines.next().ok_or_else(end)?;
    if terminal {
        call.err("\nRetype new password: ");
    }
    let second = lines.next().ok_or_else(end)?;
    if first == second { Ok(first) } else { Err(Failure::die("passwords do not match")) }
}

/// A password, asked for once.
pub(crate) fn password(call: &mut Call) -> Result<String, Failure> {
    let end = || Failure::die("EOF while reading password");
    let input = call.stdin.try_clone().map_err(|_| end())?;
    if rustix::termios::isatty(&input) {
        call.err("Enter password: ");
    }
    std::io::BufReader::new(input).lines().next().and_then(Result::ok).ok_or_else(end)
}

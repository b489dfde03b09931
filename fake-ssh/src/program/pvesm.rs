//! `pvesm`: storages and volumes.

use fake_pve::world::Storage;
use serde_json::{Map, Value};

use super::Call;
use crate::cli::command::{Command, Does, Program, Shows};
use crate::cli::{Failure, text};

use Does::{Api, Own};
use Shows::{Nothing, TaskAnyway};

type Given = Map<String, Value>;

/// Its commands, in the order in which its usage shows them.
pub(crate) const PVESM: Program = Program { name: "pvesm", commands: COMMANDS };

const fn command(words: &'static str, does: Does, args: &'static [&'static str], shows: Shows) -> Command {
    Command { words, group: 1, does, args, shows }
}

const FREE: &[(&str, &str)] = &[("volume", "s"), ("delay", "i?"), ("storage", "s?")];
const LIST: &[(&str, &str)] = &[("storage", "s"), ("content", "s?"), ("vmid", "i?")];
const PRUNE: &[(&str, &str)] = &[
    ("storage", "s"),
    ("dry-run", "b?"),
    ("keep-all", "b?"),
    ("keep-daily", "i?"),
    ("keep-hourly", "i?"),
    ("keep-last", "i?"),
    ("keep-monthly", "i?"),
    ("keep-weekly", "i?"),
    ("keep-yearly", "i?"),
    ("type", "s?"),
    ("vmid", "i?"),
];
const STATUS: &[(&str, &str)] =
    &[("content", "s?"), ("enabled", "b?"), ("format", "b?"), ("storage", "s?"), ("target", "s?")];

const COMMANDS: &[Command] = &[
    command("add", Api("POST /storage"), &["type", "storage"], Nothing),
    command(
        "alloc",
        Api("POST /nodes/{node}/storage/{storage}/content"),
        &["storage", "vmid", "filename", "size"],
        Shows::With(allocated),
    ),
    command("apiinfo", Own(&[], apiinfo), &[], Nothing),
    command("extractconfig", Own(&[("volume", "s")], extract), &["volume"], Nothing),
    command("free", Own(FREE, free), &["volume"], TaskAnyway),
    command("list", Own(LIST, list), &["storage"], Nothing),
    command("path", Own(&[("volume", "s")], path), &["volume"], Nothing),
    command("prune-backups", Own(PRUNE, prune), &["storage"], Nothing),
    command("remove", Api("DELETE /storage/{storage}"), &["storage"], Nothing),
    command("scan cifs", Api("GET /nodes/{node}/scan/cifs"), &["server"], Shows::Table(&[])),
    command("scan iscsi", Api("GET /nodes/{node}/scan/iscsi"), &["portal"], Shows::Table(&[])),
    command("scan lvm", Api("GET /nodes/{node}/scan/lvm"), &[], Shows::Table(&[])),
    command("scan lvmthin", Api("GET /nodes/{node}/scan/lvmthin"), &["vg"], Shows::Table(&[])),
    command("scan nfs", Api("GET /nodes/{node}/scan/nfs"), &["server"], Shows::With(exports)),
    command("scan pbs", Api("GET /nodes/{node}/scan/pbs"), &["server", "username"], Shows::Table(&[])),
    command("scan zfs", Api("GET /nodes/{node}/scan/zfs"), &[], Shows::Table(&[])),
    command("set", Api("PUT /storage/{storage}"), &["storage"], Nothing),
    command("status", Own(STATUS, status), &[], Nothing),
];

fn params(given: &Given, without: &[&str]) -> Given {
    given.iter().filter(|(name, _)| !without.contains(&name.as_str())).map(|(n, v)| (n.clone(), v.clone())).collect()
}

/// The storage of a volume, by its name.
fn storage_of(volume: &str) -> Result<(&str, &str), Failure> {
    let wrong = || Failure::die(format!("unable to parse volume ID '{volume}'\n"));
    volume.split_once(':').filter(|(storage, _)| !storage.is_empty()).ok_or_else(wrong)
}

/// Where a volume of a folder lies.
fn file(storage: &Storage, name: &str) -> String {
    let folder = storage.config.get("path").map(text).unwrap_or_else(|| "/mnt".into());
    match name.split_once('/') {
        Some(("iso", rest)) => format!("{folder}/template/iso/{rest}"),
        Some(("vztmpl", rest)) => format!("{folder}/template/cache/{rest}"),
        Some(("backup", rest)) => format!("{folder}/dump/{rest}"),
        Some(("snippets" | "import", _)) => format!("{folder}/{name}"),
        _ => format!("{folder}/images/{name}"),
    }
}

fn known(call: &Call, storage: &str) -> Result<Storage, Failure> {
    let found = call.site.direct.world(|world| world.storages.get(storage).cloned());
    found.ok_or_else(|| Failure::die(format!("storage '{storage}' does not exist")))
}

fn allocated(call: &mut Call, given: &Given, value: &Value) {
    let volid = text(value);
    if let Ok((storage, name)) = storage_of(&volid)
        && let Ok(storage) = known(call, storage)
        && storage.config.get("type").is_some_and(|kind| kind == "dir")
    {
        let node = call.node.name.clone();
        let size = call
            .site
            .direct
            .world(|world| world.volume(&node, &volid).map(|volume| (volume.size, volume.format.clone())));
        if let Some((size, format)) = size {
            let path = file(&storage, name);
            call.out(&format!("Formatting '{path}', fmt={format} size={size} preallocation=off\n"));
        }
    }
    let _size = given;
    call.out(&format!("successfully created '{volid}'\n"));
}

fn apiinfo(call: &mut Call, _: &Given) -> Result<i32, Failure> {
    call.out("APIVER 14\nAPIAGE 5\n");
    Ok(0)
}

fn extract(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let volume = text(&given["volume"]);
    let (_, name) = storage_of(&volume)?;
    if !name.starts_with("backup/vzdump-") {
        return Err(Failure::die(format!("unable to parse directory volume name '{name}'")));
    }
    let query = Given::from_iter([("volume".to_string(), Value::from(volume))]);
    let config = call.api("GET", &format!("/nodes/{}/vzdump/extractconfig", call.node.name), query)?;
    call.out(&text(&config));
    Ok(0)
}

fn free(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let volume = text(&given["volume"]);
    let (storage, _) = storage_of(&volume)?;
    let path = format!("/nodes/{}/storage/{storage}/content/{volume}", call.node.name);
    let done = call.api("DELETE", &path, params(given, &["volume", "storage"]))?;
    match done.as_str().filter(|text| text.starts_with("UPID:")) {
        Some(upid) => drop(call.show_task(upid)),
        None => call.out(&format!("Removed volume '{volume}'\n")),
    }
    Ok(0)
}

fn list(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let path = format!("/nodes/{}/storage/{}/content", call.node.name, text(&given["storage"]));
    let found = call.api("GET", &path, params(given, &["storage"]))?;
    let mut rows: Vec<(bool, String, String, String, String, String)> = Vec::new();
    for row in found.as_array().into_iter().flatten() {
        let of = |name: &str| row.get(name).map(text).unwrap_or_default();
        let guest = ["images", "rootdir"].contains(&of("content").as_str());
        rows.push((!guest, of("format"), of("volid"), of("content"), of("size"), of("vmid")));
    }
    rows.sort_by(|a, b| (a.0, &a.2).cmp(&(b.0, &b.2)));
    let width = rows.iter().map(|row| row.2.len()).max().unwrap_or(0).max(5);
    let sizes = rows.iter().map(|row| row.4.len()).max().unwrap_or(0).max(4);
    let line = |[volid, format, kind, size, vmid]: [&str; 5]| {
        let line = format!("{volid:<width$} {format:<7} {kind:<9} {size:>sizes$} {vmid}");
        format!("{}\n", line.trim_end())
    };
    let mut out = line(["Volid", "Format", "Type", "Size", "VMID"]);
    for (_, format, volid, kind, size, vmid) in &rows {
        out.push_str(&line([volid, format, kind, size, vmid]));
    }
    call.out(&out);
    Ok(0)
}

fn path(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let volume = text(&given["volume"]);
    let (storage, name) = storage_of(&volume)?;
    let config = known(call, storage)?;
    let group = config.config.get("vgname").map(text);
    let path = match group {
        Some(group) => format!("/dev/{group}/{name}"),
        None => file(&config, name),
    };
    call.out(&format!("{path}\n"));
    Ok(0)
}

fn prune(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let dry = given.get("dry-run").is_some_and(|on| on == "1");
    let keep: Vec<String> = given
        .iter()
        .filter(|(name, _)| name.starts_with("keep-"))
        .map(|(name, value)| format!("{name}={}", text(value)))
        .collect();
    let mut query = params(given, &["storage", "dry-run"]);
    query.retain(|name, _| !name.starts_with("keep-"));
    if !keep.is_empty() {
        query.insert("prune-backups".into(), keep.join(",").into());
    }
    let path = format!("/nodes/{}/storage/{}/prunebackups", call.node.name, text(&given["storage"]));
    if !dry {
        let upid = call.api("DELETE", &path, query)?;
        return Ok(call.show_task(&text(&upid)));
    }
    let found = call.api("GET", &path, query)?;
    call.out("NOTE: this is only a preview and might not be what a subsequent\n");
    call.out("prune call does if backups are removed/added in the meantime.\n\n");
    let rows: Vec<&Value> = found.as_array().into_iter().flatten().collect();
    let width = rows.iter().map(|row| text(&row["volid"]).len()).max().unwrap_or(0).max(6);
    let mut out = format!("{:<width$} {:>16} {:>10}\n", "Backup", "Backup-ID", "Prune-Mark");
    for row in rows {
        let id = match row.get("vmid") {
            Some(vmid) => format!("{}/{}", text(&row["type"]), text(vmid)),
            None => text(&row["type"]),
        };
        out.push_str(&format!("{:<width$} {id:>16} {:>10}\n", text(&row["volid"]), text(&row["mark"])));
    }
    call.out(&out);
    Ok(0)
}

fn exports(call: &mut Call, _: &Given, value: &Value) {
    let rows: Vec<(String, String)> =
        value.as_array().into_iter().flatten().map(|row| (text(&row["path"]), text(&row["options"]))).collect();
    let width = rows.iter().map(|(path, _)| path.len()).max().unwrap_or(0);
    let lines: String = rows.iter().map(|(path, options)| format!("{path:<width$} {options}\n")).collect();
    call.out(&lines);
}

fn status(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let found = call.api("GET", &format!("/nodes/{}/storage", call.node.name), given.clone())?;
    let mut rows: Vec<&Value> = found.as_array().into_iter().flatten().collect();
    rows.sort_by_key(|row| text(&row["storage"]));
    let width = rows.iter().map(|row| text(&row["storage"]).len()).max().unwrap_or(0) + 1;
    let mut out = format!(
        "{:<width$} {:>10} {:>10} {:>15} {:>15} {:>15} {:>8}\n",
        "Name", "Type", "Status", "Total (KiB)", "Used (KiB)", "Available (KiB)", "%"
    );
    for row in rows {
        let on = |name: &str| row.get(name).and_then(Value::as_i64) == Some(1);
        let number = |name: &str| row.get(name).and_then(Value::as_u64).unwrap_or(0);
        let (total, used, free) = (number("total"), number("used"), number("avail"));
        let state = match (on("enabled"), on("active")) {
            (false, _) => "disabled",
            (true, true) => "active",
            (true, false) => "inactive",
        };
        let share = match (state, total) {
            ("disabled", _) => "N/A".to_string(),
            (_, 0) => "0.00%".to_string(),
            _ => format!("{:.2}%", used as f64 * 100.0 / total as f64),
        };
        out.push_str(&format!(
            "{:<width$} {:>10} {state:>10} {:>15} {:>15} {:>15} {share:>8}\n",
            text(&row["storage"]),
            text(&row["type"]),
            total / 1024,
            used / 1024,
            free / 1024
        ));
    }
    call.out(&out);
    Ok(0)
}

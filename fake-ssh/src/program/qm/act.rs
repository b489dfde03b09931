//! What `qm` does by itself, and how it shows results.

use std::io::{BufRead as _, BufReader, Read as _};

use fake_pve::world::GuestKind;
use serde_json::{Map, Value, json};

use crate::cli::{Failure, json, text};
use crate::program::{Call, guest};

type Given = Map<String, Value>;
type Own = &'static [(&'static str, &'static str)];

pub(super) const IMPORT_DISK: Own =
    &[("vmid", "i"), ("source", "s"), ("storage", "s"), ("format", "s?"), ("target-disk", "s?")];
pub(super) const IMPORT: Own = &[("vmid", "i"), ("source", "s"), ("storage", "s"), ("dryrun", "b?")];
pub(super) const PASSWD: Own = &[("vmid", "i"), ("username", "s"), ("crypted", "b?")];
pub(super) const EXEC: Own =
    &[("vmid", "i"), ("pass-stdin", "b?"), ("synchronous", "b?"), ("timeout", "i?"), ("extra-args", "s?")];

/// What the fake has no model of: it says so, and changes nothing.
pub(super) fn not_modelled(call: &mut Call, _: &Given) -> Result<i32, Failure> {
    let what = call.argv.iter().take(2).cloned().collect::<Vec<_>>().join(" ");
    Err(Failure::die(format!("'{what}' is not part of this rehearsal")))
}

/// `/nodes/pve1/qemu/100` and what comes behind it.
fn place(call: &Call, given: &Given, rest: &str) -> String {
    format!("/nodes/{}/qemu/{}{rest}", call.node.name, guest::vmid(given))
}

pub(super) fn list(call: &mut Call, _: &Given) -> Result<i32, Failure> {
    let found = call.get(&format!("/nodes/{}/qemu", call.node.name))?;
    let mut rows: Vec<&Value> = found.as_array().into_iter().flatten().collect();
    rows.sort_by_key(|row| row["vmid"].as_u64());
    if rows.is_empty() {
        return Ok(0);
    }
    let line = |cells: [&str; 6]| {
        let [vmid, name, status, memory, disk, pid] = cells;
        format!("{vmid:>10} {name:<20} {status:<10} {memory:<10} {disk:>12} {pid:<10}\n")
    };
    let mut out = line(["VMID", "NAME", "STATUS", "MEM(MB)", "BOOTDISK(GB)", "PID"]);
    for row in rows {
        let number = |name: &str| row[name].as_f64().unwrap_or(0.0);
        out.push_str(&line([
            &text(&row["vmid"]),
            &text(&row["name"]),
            row["qmpstatus"].as_str().or(row["status"].as_str()).unwrap_or("unknown"),
            &format!("{}", number("maxmem") / 1_048_576.0),
            &format!("{:.2}", number("maxdisk") / 1_073_741_824.0),
            &text(row.get("pid").unwrap_or(&json!(0))),
        ]));
    }
    call.out(&out);
    Ok(0)
}

pub(super) fn status(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let now = call.get(&place(call, given, "/status/current"))?;
    guest::status(call, given, &now, &["cpu", "ha", "diskread", "diskwrite", "agent", "clipboard", "spice"]);
    Ok(0)
}

pub(super) fn updated(call: &mut Call, given: &Given, _: &Value) {
    let mut parts: Vec<(&String, String)> =
        given.iter().filter(|(name, _)| *name != "vmid").map(|(name, value)| (name, text(value))).collect();
    parts.sort();
    let hidden = |name: &str, value: String| if name == "cipassword" { "<hidden>".into() } else { value };
    let parts: Vec<String> =
        parts.into_iter().map(|(name, value)| format!("-{name} {}", hidden(name, value))).collect();
    call.out(&format!("update VM {}: {}\n", guest::vmid(given), parts.join(" ")));
}

pub(super) fn unlinked(call: &mut Call, given: &Given, _: &Value) {
    let list = given.get("idlist").map(text).unwrap_or_default();
    call.out(&format!("update VM {}: -delete {list}\n", guest::vmid(given)));
}

pub(super) fn agent(call: &mut Call, _: &Given, value: &Value) {
    let value = value.get("result").unwrap_or(value);
    match value {
        Value::Object(map) if map.is_empty() => {}
        Value::Object(_) | Value::Array(_) => call.out(&json::pretty(value)),
        Value::Null => {}
        scalar => call.out(&format!("{}\n", text(scalar))),
    }
}

pub(super) fn exec(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let mut params = Given::new();
    params.insert("command".into(), given.get("extra-args").cloned().unwrap_or_default());
    if given.get("pass-stdin").is_some_and(|on| on == "1") {
        let mut input = Vec::new();
        let _as_far_as_it_goes = (&call.stdin).take((1 << 20) + 1).read_to_end(&mut input);
        if input.len() > 1 << 20 {
            return Err(Failure::die("'input-data' (STDIN) is limited to 1 MiB, aborting"));
        }
        params.insert("input-data".into(), String::from_utf8_lossy(&input).into());
    }
    let started = call.api("POST", &place(call, given, "/agent/exec"), params)?;
    let pid = started["pid"].clone();
    if given.get("synchronous").is_some_and(|on| on == "0") {
        call.out(&json::pretty(&json!({"pid": pid})));
        return Ok(0);
    }
    let params = Given::from_iter([("pid".to_string(), Value::from(text(&pid)))]);
    let ended = call.api("GET", &place(call, given, "/agent/exec-status"), params)?;
    call.out(&json::pretty(&ended));
    Ok(0)
}

pub(super) fn passwd(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let password = guest::new_password(call)?;
    let mut params = Given::new();
    params.insert("username".into(), given["username"].clone());
    params.insert("password".into(), password.into());
    if let Some(crypted) = given.get("crypted") {
        params.insert("crypted".into(), crypted.clone());
    }
    call.api("POST", &place(call, given, "/agent/set-user-password"), params)?;
    Ok(0)
}

pub(super) fn sendkey(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let params = given.iter().filter(|(name, _)| *name != "vmid").map(|(name, value)| (name.clone(), value.clone()));
    match call.api("PUT", &place(call, given, "/sendkey"), params.collect()) {
        Ok(_) => Ok(0),
        Err(failure) if failure.message.trim_end().ends_with("not running") => {
            call.err(&format!("{}\n", failure.message.trim_end()));
            Ok(2)
        }
        Err(failure) => Err(failure),
    }
}

pub(super) fn rescan(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    guest::rescan(call, given, GuestKind::Vm)
}

pub(super) fn import_disk(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let source = given.get("source").map(text).unwrap_or_default();
    let there = call.node.root.status(&guest::full(call, &source)).is_ok();
    if !there {
        return Err(Failure::die(format!("{source}: non-existent or non-regular file")));
    }
    not_modelled(call, given)
}

pub(super) fn monitor(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    call.get(&place(call, given, "/status/current"))?;
    call.out(&format!("Entering QEMU Monitor for VM {} - type 'help' for help\nqm> ", guest::vmid(given)));
    let Ok(input) = call.stdin.try_clone() else { return Ok(0) };
    for line in BufReader::new(input).lines().map_while(Result::ok) {
        match line.trim() {
            "" => {}
            "quit" | "q" => return Ok(0),
            asked => {
                let params = Given::from_iter([("command".to_string(), Value::from(asked))]);
                match call.api("POST", &place(call, given, "/monitor"), params) {
                    Ok(said) => call.out(&format!("{}\n", text(&said).trim_end())),
                    Err(failure) => call.out(&format!("ERROR: {}\n", failure.message.trim_end())),
                }
            }
        }
        call.out("qm> ");
    }
    Ok(0)
}

fn runs(call: &Call, given: &Given) -> Result<bool, Failure> {
    Ok(call.get(&place(call, given, "/status/current"))?["status"] == "running")
}

pub(super) fn nbdstop(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    if !runs(call, given)? {
        call.err(&format!("VM {} not running\n", guest::vmid(given)));
    }
    Ok(0)
}

pub(super) fn showcmd(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let config = call.get(&place(call, given, "/config"))?;
    let vmid = guest::vmid(given);
    let name = config.get("name").map_or_else(|| format!("vm{vmid}"), text);
    let memory = config.get("memory").map_or_else(|| "512".into(), text);
    let cores = config.get("cores").map_or_else(|| "1".into(), text);
    let number = |name: &str| config.get(name).and_then(|value| text(value).parse::<u32>().ok()).unwrap_or(1);
    let node = call.node.name.clone();
    let most = call.site.direct.world(|world| world.nodes.get(&node).map_or(1, |node| node.cpus));
    if number("cores") * number("sockets") > most {
        return Err(Failure::die(format!("MAX {most} vcpus allowed per VM on this node")));
    }
    let parts = [
        "/usr/bin/kvm".to_string(),
        format!("-id {vmid}"),
        format!("-name '{name},debug-threads=on'"),
        format!("-smp '{cores},sockets=1,cores={cores},maxcpus={cores}'"),
        format!("-m {memory}"),
    ];
    let pretty = given.get("pretty").is_some_and(|on| on == "1");
    call.out(&format!("{}\n", parts.join(if pretty { " \\\n  " } else { " " })));
    Ok(0)
}

pub(super) fn terminal(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let config = call.get(&place(call, given, "/config"))?;
    let wanted = given.get("iface").map(text);
    let serial = (0..4).map(|n| format!("serial{n}")).find(|name| config.get(name).is_some());
    if let Some(iface) = &wanted
        && config.get(iface).is_none()
    {
        return Err(Failure::die(format!("serial interface '{iface}' is not configured")));
    }
    let Some(_serial) = wanted.or(serial) else { return Err(Failure::die("unable to find a serial interface")) };
    if !runs(call, given)? {
        return Err(Failure::die(format!("VM {} not running", guest::vmid(given))));
    }
    not_modelled(call, given)
}

pub(super) fn vncproxy(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    if !call.env.contains_key("LC_PVE_TICKET") {
        return Err(Failure::die("LC_PVE_TICKET not set, VNC proxy without password is forbidden"));
    }
    not_modelled(call, given)
}

pub(super) fn unlock(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    guest::unlock(call, given, GuestKind::Vm)?;
    Ok(0)
}

pub(super) fn wait(call: &mut Call, given: &Given) -> Result<i32, Failure> {
    let most: u32 = given.get("timeout").and_then(|value| text(value).parse().ok()).unwrap_or(u32::MAX);
    let mut waited = 0;
    while runs(call, given)? {
        if waited == 0 {
            call.out(&format!("waiting until VM {} stops (PID 1)\n", guest::vmid(given)));
        }
        if waited >= most {
            return Err(Failure::die("wait failed - got timeout"));
        }
        waited += 1;
        #[expect(clippy::disallowed_methods, reason = "somebody else has to stop the machine meanwhile")]
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
    Ok(0)
}

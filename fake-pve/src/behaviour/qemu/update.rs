//! Changing a machine's configuration: `PUT` and `POST …/config`, `PUT …/unlink`.

mod apply;
mod check;
mod hotplug;

use std::time::Duration;

use serde_json::{Map, Value};

use super::{drives, permission};
use crate::behaviour::guest::network::{is_net, stored};
use crate::behaviour::guest::stage::late;
use crate::behaviour::guest::{access, check_skiplock};
use crate::behaviour::params::split_list;
use crate::behaviour::{Answer, Call, Data, Failure};
use crate::world::{GuestKind, option};

pub(crate) use apply::{boot_order, print_order};

/// What is asked for, after the checks that need no configuration.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    /// New values as text.
    pub param: Map<String, Value>,
    /// Options to delete.
    pub delete: Vec<String>,
    /// Options whose pending change is taken back.
    pub revert: Vec<String>,
    /// Whether volumes of deleted disks are freed.
    pub force: bool,
    /// Whether the lock of the configuration is ignored.
    pub skiplock: bool,
}

/// `PUT …/config`: the change is made when the answer comes.
pub(crate) fn put(call: &mut Call<'_>) -> Answer {
    let (changes, words) = asked(call)?;
    let changes = checked(call, changes)?;
    say(call, &words);
    let vmid = call.vmid();
    apply::apply(call, vmid, &changes)?;
    Ok(Data::null())
}

/// `POST …/config`: a worker makes the change.
pub(crate) fn post(call: &mut Call<'_>) -> Answer {
    let (changes, words) = asked(call)?;
    let changes = checked(call, changes)?;
    say(call, &words);
    let vmid = call.vmid();
    let delay = call.params.int("background_delay").unwrap_or(0);
    let lasts = if delay > 0 { Duration::ZERO } else { Duration::from_millis(500) };
    let task = call
        .task("qmconfig", &vmid.to_string())
        .lasts(lasts)
        .line(format!("update VM {vmid}: {words}"))
        .begin(move |run| apply::apply(run, vmid, &changes).map_err(late));
    let answer = call.start(task)?;
    if delay == 0 {
        return Ok(answer);
    }
    let upid = option::text(&answer.value);
    let status = call.world.tasks.iter().find(|task| task.upid == upid).and_then(|task| task.exitstatus.clone());
    match status.as_deref() {
        Some("OK") => Ok(Data::null()),
        Some(status) => Err(Failure::die(format!("failed to update VM {vmid}: {status}"))),
        None => Ok(answer),
    }
}

/// `PUT …/unlink`: `delete` by another name.
pub(crate) fn unlink(call: &mut Call<'_>) -> Answer {
    let list = call.params.0.shift_remove("idlist").unwrap_or_default();
    call.params.0.insert("delete".into(), list);
    put(call)
}

/// The parameters as changes, and as the words of the log.
fn asked(call: &Call<'_>) -> Result<(Changes, String), Failure> {
    let mut words: Vec<String> = Vec::new();
    let mut names: Vec<&str> = call.params.iter().map(|(name, _)| name).collect();
    names.sort_unstable();
    for name in names.into_iter().filter(|name| !matches!(*name, "node" | "vmid" | "digest" | "background_delay")) {
        let value = if name == "cipassword" { "<hidden>".into() } else { call.params.text(name) };
        words.push(format!("-{name} {value}"));
    }
    check_skiplock(call)?;
    const ASIDE: [&str; 9] = [
        "node",
        "vmid",
        "digest",
        "background_delay",
        "skiplock",
        "delete",
        "revert",
        "force",
        "import-working-storage",
    ];
    let mut param = Map::new();
    for (name, _) in call.params.iter().filter(|(name, _)| !ASIDE.contains(name)) {
        param.insert(name.into(), call.params.text(name).into());
    }
    let changes = Changes {
        param,
        delete: call.params.list("delete"),
        revert: call.params.list("revert"),
        force: call.params.is_on("force"),
        skiplock: call.params.is_on("skiplock"),
    };
    Ok((changes, words.join(" ")))
}

/// Checks that come before the configuration is read, then those on it.
fn checked(call: &mut Call<'_>, mut changes: Changes) -> Result<Changes, Failure> {
    check_cpu(call, &changes.param)?;
    normalise(&mut changes)?;
    let asked = call.params.text("delete") + &call.params.text("revert");
    if split_list(&asked).is_empty() && changes.param.is_empty() {
        return Err(Failure::die("no options specified"));
    }
    drives::resolve_cdrom(&mut changes.param);
    let param = &changes.param;
    for key in &changes.revert {
        known("revert", key)?;
        if param.contains_key(key) {
            let text = format!("you can't use '-{key}' and -revert {key}' at the same time");
            return Err(Failure::param("delete", text));
        }
    }
    for key in &mut changes.delete {
        if key == "cdrom" {
            *key = "ide2".into();
        }
        if changes.param.contains_key(key) {
            let text = format!("you can't use '-{key}' and -delete {key}' at the same time");
            return Err(Failure::param("delete", text));
        }
        if changes.revert.contains(key) {
            let text = format!("you can't use '-delete {key}' and -revert {key}' at the same time");
            return Err(Failure::param("revert", text));
        }
        known("delete", key)?;
    }
    prepare(call, &mut changes.param)?;
    if let Some(script) = changes.param.get("hookscript").map(option::text)
        && let Err(error) = access::check_hookscript(call, &script)
    {
        return Err(Failure::param("hookscript", format!("{error}\n")));
    }
    let vmid = call.vmid();
    permission::check_options(call, vmid, None, changes.delete.iter().map(String::as_str))?;
    permission::check_options(call, vmid, None, changes.param.keys().map(String::as_str))?;
    drives::check_access(call, vmid, &changes.param, None)?;
    permission::check_references(call, &changes.param)?;
    check::config(call, &mut changes)?;
    Ok(changes)
}

fn known(list: &str, key: &str) -> Result<(), Failure> {
    if option::exists(GuestKind::Vm, key) {
        return Ok(());
    }
    Err(Failure::param(list, format!("unknown option '{key}'")))
}

/// Keys that are checked or limited at once.
fn normalise(changes: &mut Changes) -> Result<(), Failure> {
    if let Some(keys) = changes.param.get("sshkeys") {
        let text = option::text(keys);
        let decoded = percent_encoding::percent_decode_str(&text).decode_utf8_lossy().into_owned();
        access::check_ssh_keys(&decoded)?;
    }
    if let Some(units) = changes.param.get("cpuunits").map(option::text).and_then(|text| text.parse::<u64>().ok()) {
        changes.param.insert("cpuunits".into(), units.clamp(1, 10_000).to_string().into());
    }
    Ok(())
}

/// Drives, network devices and generation id in the form in which they are stored.
pub(crate) fn prepare(call: &mut Call<'_>, param: &mut Map<String, Value>) -> Result<(), Failure> {
    drives::check_params(call, param)?;
    let keys: Vec<String> = param.keys().cloned().collect();
    for key in keys {
        let text = option::text(&param[&key]);
        if is_net(&key) {
            let net = stored(call, GuestKind::Vm, &key, &text, false);
            param.insert(key, net.into());
        } else if key == "vmgenid" && text == "1" {
            param.insert(key, call.world.random.uuid().into());
        }
    }
    Ok(())
}

/// Refuses a processor model of one's own that does not exist: part of the option's format.
pub(crate) fn check_cpu(call: &Call<'_>, param: &Map<String, Value>) -> Result<(), Failure> {
    let text = param.get("cpu").map(option::text).unwrap_or_default();
    let model = text.split(',').next().unwrap_or_default().trim_start_matches("cputype=");
    let Some(name) = model.strip_prefix("custom-") else { return Ok(()) };
    let models = call.world.documents.list("/cluster/qemu/custom-cpu-models");
    if models.iter().any(|(id, _)| id == name || id == model) {
        return Ok(());
    }
    Err(Failure::param("cpu", format!("invalid format - Custom cputype '{name}' not found\n")))
}

fn say(call: &mut Call<'_>, words: &str) {
    let (now, node, user, vmid) = (call.now(), call.node(), call.authid.clone(), call.vmid());
    call.world.say(now, &node, &user, "pvedaemon", format!("update VM {vmid}: {words}"));
}

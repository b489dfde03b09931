//! `monitor`, `sendkey` and `dbus-vmstate` of a machine.

use serde_json::json;

use super::status::{QEMU, Target, machine, root_only};
use super::{Answer, Call, Data, Failure};
use crate::world::disk::drives;
use crate::world::{Guest, GuestStatus, power};

/// `POST …/monitor`: a line to QEMU's monitor for people. What goes wrong there is an answer, too.
pub(crate) fn monitor(call: &mut Call<'_>) -> Answer {
    let target = Target::of(call);
    let line = call.params.text("command");
    let word = line.split_whitespace().next().unwrap_or_default().to_string();
    if word.is_empty() {
        return Err(Failure::die("no command specified"));
    }
    check_word(call, &word)?;
    let guest = target.guest(call.world)?;
    if !guest.runs() {
        return Ok(json!(format!("ERROR: VM {} not running\n", target.vmid)).into());
    }
    let said = match (word.as_str(), line.split_whitespace().nth(1)) {
        ("info", Some(what)) => info(guest, what),
        ("help" | "?", _) => "info [subcommand] -- show various information about the system state\r\n".into(),
        ("stop", _) => act(call, target.vmid, |call, vmid| power::pause(call.world, vmid, true)),
        ("cont" | "c", _) => act(call, target.vmid, |call, vmid| power::pause(call.world, vmid, false)),
        ("quit" | "q" | "system_powerdown", _) => {
            act(call, target.vmid, |call, vmid| power::switch_off(call.world, vmid, call.now()))
        }
        ("system_reset", _) => act(call, target.vmid, |call, vmid| {
            if let Some(guest) = call.world.guests.get_mut(&vmid) {
                guest.agent.processes.clear();
            }
        }),
        _ => format!("unknown command: '{word}'\r\n"),
    };
    Ok(json!(said).into())
}

fn act(call: &mut Call<'_>, vmid: u32, act: impl FnOnce(&mut Call<'_>, u32)) -> String {
    act(call, vmid);
    String::new()
}

/// Looking is for auditors, the rest is for root.
fn check_word(call: &Call<'_>, word: &str) -> Result<(), Failure> {
    if call.is_root() || matches!(word, "info" | "help" | "?") {
        return Ok(());
    }
    let known = ["stop", "cont", "c", "quit", "q", "system_powerdown", "system_reset"];
    let path = format!("/vms/{}", call.vmid());
    match (known.contains(&word), call.may(&path, &["Sys.Modify"])) {
        (true, true) => Ok(()),
        (true, false) => Err(Failure::denied(&format!("{path}, Sys.Modify"))),
        (false, _) => {
            let why = "non-existent or not assigned a required permission yet, limiting to root user";
            Err(Failure::denied(&format!("command '{word}' {why}")))
        }
    }
}

fn info(guest: &Guest, what: &str) -> String {
    match what {
        "version" => format!("{QEMU}pve-qemu-kvm_{QEMU}-2\r\n"),
        "status" if guest.status == GuestStatus::Paused => "VM status: paused\r\n".into(),
        "status" => "VM status: running\r\n".into(),
        "name" => format!("{}\r\n", guest.name()),
        "uuid" => {
            let smbios = guest.option("smbios1").unwrap_or_default();
            let uuid = smbios.split(',').find_map(|part| part.strip_prefix("uuid=")).unwrap_or("00000000-0000-0000-0000-000000000000");
            format!("{uuid}\r\n")
        }
        "kvm" => "kvm support: enabled\r\n".into(),
        "balloon" => format!("balloon: actual={} max_mem={}\r\n", guest.max_memory() >> 20, guest.max_memory() >> 20),
        "cpus" => (0..guest.cpus())
            .map(|id| format!("{} CPU #{id}: thread_id={}\r\n", if id == 0 { "*" } else { " " }, guest.pid.unwrap_or(1) + id + 1))
            .collect(),
        "block" => drives(guest.kind, &guest.config)
            .iter()
            .map(|drive| format!("drive-{}: {} (raw)\r\n    Cache mode:       writeback, direct\r\n\r\n", drive.key, drive.volume()))
            .collect(),
        "network" => (0..32)
            .filter_map(|number| Some((number, guest.option(&format!("net{number}"))?)))
            .map(|(number, text)| {
                let (model, rest) = text.split_once('=').unwrap_or((&text, ""));
                let mac = rest.split(',').next().unwrap_or_default();
                format!("net{number}: index=0,type=nic,model={model},macaddr={mac}\r\n \\ net{number}: index=0,type=tap,ifname=tap{}i{number}\r\n", guest.vmid)
            })
            .collect(),
        "machine" => format!("{}\r\n", machine(guest)),
        "snapshots" => "There is no snapshot available.\r\n".into(),
        _ => "info balloon  -- show balloon information\r\ninfo block  -- show info of the block devices\r\n\
              info cpus  -- show infos for each CPU\r\ninfo name  -- show the current VM name\r\n\
              info network  -- show the network state\r\ninfo status  -- show the current VM status\r\n\
              info version  -- show the version of QEMU\r\n"
            .into(),
    }
}

/// Names of keys beyond letters, digits and `f1` … `f12`.
const KEYS: [&str; 62] = [
    "shift",
    "shift_r",
    "alt",
    "alt_r",
    "ctrl",
    "ctrl_r",
    "menu",
    "esc",
    "minus",
    "equal",
    "backspace",
    "tab",
    "ret",
    "spc",
    "asterisk",
    "caps_lock",
    "num_lock",
    "scroll_lock",
    "kp_divide",
    "kp_multiply",
    "kp_subtract",
    "kp_add",
    "kp_enter",
    "kp_decimal",
    "sysrq",
    "print",
    "home",
    "pgup",
    "pgdn",
    "end",
    "left",
    "up",
    "down",
    "right",
    "insert",
    "delete",
    "stop",
    "again",
    "props",
    "undo",
    "front",
    "copy",
    "open",
    "paste",
    "find",
    "cut",
    "lf",
    "help",
    "meta_l",
    "meta_r",
    "compose",
    "pause",
    "comma",
    "dot",
    "slash",
    "semicolon",
    "apostrophe",
    "grave_accent",
    "bracket_left",
    "bracket_right",
    "backslash",
    "less",
];

/// `PUT …/sendkey`: keys joined by `-`. A key press changes nothing that can be read back.
pub(crate) fn sendkey(call: &mut Call<'_>) -> Answer {
    let target = Target::of(call);
    root_only(call, &["skiplock"])?;
    let guest = target.guest(call.world)?;
    if !guest.runs() {
        return Err(Failure::die(format!("VM {} not running", target.vmid)));
    }
    let keys = call.params.text("key");
    match keys.split('-').find(|key| !is_key(key)) {
        Some(key) => Err(Failure::die(format!("invalid parameter: {key}\r"))),
        None => Ok(Data::null()),
    }
}

fn is_key(key: &str) -> bool {
    let one = key.len() == 1 && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let function =
        key.strip_prefix('f').and_then(|number| number.parse::<u8>().ok()).is_some_and(|n| (1..=12).contains(&n));
    let pad = key.strip_prefix("kp_").is_some_and(|digit| digit.len() == 1 && digit.as_bytes()[0].is_ascii_digit());
    one || function || pad || KEYS.contains(&key) || key.starts_with("0x")
}

/// `POST …/dbus-vmstate`: the helper that carries connection tracking along.
pub(crate) fn dbus_vmstate(call: &mut Call<'_>) -> Answer {
    let target = Target::of(call);
    let runs = target.guest(call.world).is_ok_and(Guest::runs);
    if !runs {
        let text = format!("VM {} not running locally on node '{}'", target.vmid, target.node);
        return Err(Failure::param("node", text));
    }
    let on = call.params.text("action") == "start";
    let guest = target.guest_mut(call.world)?;
    guest.state.insert("dbus-vmstate".into(), json!(on));
    Ok(Data::null())
}

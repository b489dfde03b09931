//! `qm`: virtual machines.

mod act;

use super::guest;
use crate::cli::command::{Command, Does, Program, Shows};

use Does::{Api, Own};
use Shows::{Nothing, Task, TaskAnyway, With};

/// Its commands, in the order in which its usage shows them.
pub(crate) const QM: Program = Program { name: "qm", commands: COMMANDS };

/// `qmrestore`.
pub(crate) const QMRESTORE: Program = Program {
    name: "qmrestore",
    commands: &[command("", 1, Api("POST /nodes/{node}/qemu"), &["archive", "vmid"], Task)],
};

const fn command(words: &'static str, group: u8, does: Does, args: &'static [&'static str], shows: Shows) -> Command {
    Command { words, group, does, args, shows }
}

const VM: &[&str] = &["vmid"];
const SNAP: &[&str] = &["vmid", "snapname"];

const COMMANDS: &[Command] = &[
    command(
        "cloudinit dump",
        1,
        Api("GET /nodes/{node}/qemu/{vmid}/cloudinit/dump"),
        &["vmid", "type"],
        With(|call, _, value| call.out(&format!("{}\n", crate::cli::text(value)))),
    ),
    command("cloudinit pending", 1, Api("GET /nodes/{node}/qemu/{vmid}/cloudinit"), VM, With(guest::pending)),
    command("cloudinit update", 1, Api("PUT /nodes/{node}/qemu/{vmid}/cloudinit"), VM, Nothing),
    command("disk move", 2, Api("POST /nodes/{node}/qemu/{vmid}/move_disk"), &["vmid", "disk", "storage"], Task),
    command("disk resize", 2, Api("PUT /nodes/{node}/qemu/{vmid}/resize"), &["vmid", "disk", "size"], TaskAnyway),
    command("disk unlink", 2, Api("PUT /nodes/{node}/qemu/{vmid}/unlink"), VM, With(act::unlinked)),
    command("disk import", 2, Own(act::IMPORT_DISK, act::import_disk), &["vmid", "source", "storage"], Nothing),
    command("disk rescan", 2, Own(guest::RESCAN, act::rescan), &[], Nothing),
    command("guest cmd", 3, Api("POST /nodes/{node}/qemu/{vmid}/agent"), &["vmid", "command"], With(act::agent)),
    command(
        "guest exec-status",
        3,
        Api("GET /nodes/{node}/qemu/{vmid}/agent/exec-status"),
        &["vmid", "pid"],
        With(act::agent),
    ),
    command("guest passwd", 3, Own(act::PASSWD, act::passwd), &["vmid", "username"], Nothing),
    command("guest exec", 3, Own(act::EXEC, act::exec), &["vmid", "extra-args"], Nothing),
    command("clone", 4, Api("POST /nodes/{node}/qemu/{vmid}/clone"), &["vmid", "newid"], Task),
    command("config", 4, Api("GET /nodes/{node}/qemu/{vmid}/config"), VM, With(guest::config)),
    command("create", 4, Api("POST /nodes/{node}/qemu"), VM, Task),
    command("delsnapshot", 4, Api("DELETE /nodes/{node}/qemu/{vmid}/snapshot/{snapname}"), SNAP, Task),
    command("destroy", 4, Api("DELETE /nodes/{node}/qemu/{vmid}"), VM, Task),
    command("list", 4, Own(&[("full", "b?")], act::list), &[], Nothing),
    command("listsnapshot", 4, Api("GET /nodes/{node}/qemu/{vmid}/snapshot"), VM, With(guest::snapshots)),
    command("migrate", 4, Api("POST /nodes/{node}/qemu/{vmid}/migrate"), &["vmid", "target"], Task),
    command("pending", 4, Api("GET /nodes/{node}/qemu/{vmid}/pending"), VM, With(guest::pending)),
    command("reboot", 4, Api("POST /nodes/{node}/qemu/{vmid}/status/reboot"), VM, Task),
    command("reset", 4, Api("POST /nodes/{node}/qemu/{vmid}/status/reset"), VM, Task),
    command("resume", 4, Api("POST /nodes/{node}/qemu/{vmid}/status/resume"), VM, Task),
    command("rollback", 4, Api("POST /nodes/{node}/qemu/{vmid}/snapshot/{snapname}/rollback"), SNAP, Task),
    command(
        "sendkey",
        4,
        Own(&[("vmid", "i"), ("key", "s"), ("skiplock", "b?")], act::sendkey),
        &["vmid", "key"],
        Nothing,
    ),
    command("set", 4, Api("PUT /nodes/{node}/qemu/{vmid}/config"), VM, With(act::updated)),
    command("shutdown", 4, Api("POST /nodes/{node}/qemu/{vmid}/status/shutdown"), VM, Task),
    command("snapshot", 4, Api("POST /nodes/{node}/qemu/{vmid}/snapshot"), SNAP, Task),
    command("start", 4, Api("POST /nodes/{node}/qemu/{vmid}/status/start"), VM, Task),
    command("stop", 4, Api("POST /nodes/{node}/qemu/{vmid}/status/stop"), VM, Task),
    command("suspend", 4, Api("POST /nodes/{node}/qemu/{vmid}/status/suspend"), VM, Task),
    command("template", 4, Api("POST /nodes/{node}/qemu/{vmid}/template"), VM, TaskAnyway),
    command(
        "cleanup",
        5,
        Own(&[("vmid", "i"), ("clean-shutdown", "b"), ("guest-requested", "b")], act::not_modelled),
        &["vmid", "clean-shutdown", "guest-requested"],
        Nothing,
    ),
    command("enroll-efi-keys", 5, Own(&[("vmid", "i")], act::not_modelled), VM, Nothing),
    command("import", 5, Own(act::IMPORT, act::not_modelled), &["vmid", "source"], Nothing),
    command(
        "importovf",
        5,
        Own(
            &[("vmid", "i"), ("manifest", "s"), ("storage", "s"), ("dryrun", "b?"), ("format", "s?")],
            act::not_modelled,
        ),
        &["vmid", "manifest", "storage"],
        Nothing,
    ),
    command("monitor", 5, Own(&[("vmid", "i")], act::monitor), VM, Nothing),
    command("mtunnel", 5, Own(&[], act::not_modelled), &[], Nothing),
    command("nbdstop", 5, Own(&[("vmid", "i")], act::nbdstop), VM, Nothing),
    command(
        "remote-migrate",
        5,
        Api("POST /nodes/{node}/qemu/{vmid}/remote_migrate"),
        &["vmid", "target-vmid", "target-endpoint"],
        Task,
    ),
    command("showcmd", 5, Own(&[("vmid", "i"), ("pretty", "b?"), ("snapshot", "s?")], act::showcmd), VM, Nothing),
    command("status", 5, Own(guest::STATUS, act::status), VM, Nothing),
    command("terminal", 5, Own(&[("vmid", "i"), ("escape", "s?"), ("iface", "s?")], act::terminal), VM, Nothing),
    command("unlock", 5, Own(&[("vmid", "i")], act::unlock), VM, Nothing),
    command("vncproxy", 5, Own(&[("vmid", "i")], act::vncproxy), VM, Nothing),
    command("wait", 5, Own(&[("vmid", "i"), ("timeout", "i?")], act::wait), VM, Nothing),
    // Second names.
    command("agent", 0, Api("POST /nodes/{node}/qemu/{vmid}/agent"), &["vmid", "command"], With(act::agent)),
    command("move-disk", 0, Api("POST /nodes/{node}/qemu/{vmid}/move_disk"), &["vmid", "disk", "storage"], Task),
    command("move_disk", 0, Api("POST /nodes/{node}/qemu/{vmid}/move_disk"), &["vmid", "disk", "storage"], Task),
    command("resize", 0, Api("PUT /nodes/{node}/qemu/{vmid}/resize"), &["vmid", "disk", "size"], TaskAnyway),
    command("unlink", 0, Api("PUT /nodes/{node}/qemu/{vmid}/unlink"), VM, With(act::unlinked)),
    command("rescan", 0, Own(guest::RESCAN, act::rescan), &[], Nothing),
    command("importdisk", 0, Own(act::IMPORT_DISK, act::import_disk), &["vmid", "source", "storage"], Nothing),
];

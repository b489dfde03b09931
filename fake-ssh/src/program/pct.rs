//! `pct`: containers.

mod act;

use super::{container, guest};
use crate::cli::command::{Command, Does, Program, Shows};

use Does::{Api, Own};
use Shows::{Nothing, Task, TaskAnyway, With};

/// Its commands, in the order in which its usage shows them.
pub(crate) const PCT: Program = Program { name: "pct", commands: COMMANDS };

const fn command(words: &'static str, group: u8, does: Does, args: &'static [&'static str], shows: Shows) -> Command {
    Command { words, group, does, args, shows }
}

const CT: &[&str] = &["vmid"];
const SNAP: &[&str] = &["vmid", "snapname"];
const ONE: &[(&str, &str)] = &[("vmid", "i")];
const PUSH: &[(&str, &str)] =
    &[("vmid", "i"), ("file", "s"), ("destination", "s"), ("group", "s?"), ("perms", "s?"), ("user", "s?")];
const PULL: &[(&str, &str)] =
    &[("vmid", "i"), ("path", "s"), ("destination", "s"), ("group", "s?"), ("perms", "s?"), ("user", "s?")];
const MOVE: &[&str] = &["vmid", "volume", "storage", "target-vmid", "target-volume"];

const COMMANDS: &[Command] = &[
    command("clone", 1, Api("POST /nodes/{node}/lxc/{vmid}/clone"), &["vmid", "newid"], Shows::TaskThen(act::cloned)),
    command("create", 1, Api("POST /nodes/{node}/lxc"), &["vmid", "ostemplate"], Task),
    command("destroy", 1, Api("DELETE /nodes/{node}/lxc/{vmid}"), CT, Task),
    command("list", 1, Own(&[], act::list), &[], Nothing),
    command("migrate", 1, Api("POST /nodes/{node}/lxc/{vmid}/migrate"), &["vmid", "target"], Task),
    command("move-volume", 1, Api("POST /nodes/{node}/lxc/{vmid}/move_volume"), MOVE, Task),
    command("pending", 1, Api("GET /nodes/{node}/lxc/{vmid}/pending"), CT, With(guest::pending)),
    command("resize", 1, Api("PUT /nodes/{node}/lxc/{vmid}/resize"), &["vmid", "disk", "size"], TaskAnyway),
    command("restore", 1, Own(act::RESTORE, act::restore), &["vmid", "ostemplate"], Nothing),
    command("template", 1, Api("POST /nodes/{node}/lxc/{vmid}/template"), CT, TaskAnyway),
    command("config", 2, Api("GET /nodes/{node}/lxc/{vmid}/config"), CT, With(guest::config)),
    command("set", 2, Api("PUT /nodes/{node}/lxc/{vmid}/config"), CT, Nothing),
    command("delsnapshot", 3, Api("DELETE /nodes/{node}/lxc/{vmid}/snapshot/{snapname}"), SNAP, Task),
    command("listsnapshot", 3, Api("GET /nodes/{node}/lxc/{vmid}/snapshot"), CT, With(guest::snapshots)),
    command("rollback", 3, Api("POST /nodes/{node}/lxc/{vmid}/snapshot/{snapname}/rollback"), SNAP, Task),
    command("snapshot", 3, Api("POST /nodes/{node}/lxc/{vmid}/snapshot"), SNAP, Task),
    command("reboot", 4, Api("POST /nodes/{node}/lxc/{vmid}/status/reboot"), CT, Task),
    command("resume", 4, Api("POST /nodes/{node}/lxc/{vmid}/status/resume"), CT, Task),
    command("shutdown", 4, Api("POST /nodes/{node}/lxc/{vmid}/status/shutdown"), CT, Task),
    command("start", 4, Api("POST /nodes/{node}/lxc/{vmid}/status/start"), CT, Task),
    command("stop", 4, Api("POST /nodes/{node}/lxc/{vmid}/status/stop"), CT, Task),
    command("suspend", 4, Api("POST /nodes/{node}/lxc/{vmid}/status/suspend"), CT, Task),
    command("console", 5, Own(&[("vmid", "i"), ("escape", "s?")], container::console), CT, Nothing),
    command("cpusets", 5, Own(&[], act::cpusets), &[], Nothing),
    command("df", 5, Own(ONE, container::df), CT, Nothing),
    command("enter", 5, Own(&[("vmid", "i"), ("keep-env", "b?")], container::enter), CT, Nothing),
    command(
        "exec",
        5,
        Own(&[("vmid", "i"), ("keep-env", "b?"), ("extra-args", "s?")], container::exec),
        &["vmid", "extra-args"],
        Nothing,
    ),
    command("fsck", 5, Own(&[("vmid", "i"), ("device", "s?"), ("force", "b?")], act::fsck), CT, Nothing),
    command("fstrim", 5, Own(&[("vmid", "i"), ("ignore-mountpoints", "b?")], act::fstrim), CT, Nothing),
    command("mount", 5, Own(ONE, act::mount), CT, Nothing),
    command("pull", 5, Own(PULL, container::pull), &["vmid", "path", "destination"], Nothing),
    command("push", 5, Own(PUSH, container::push), &["vmid", "file", "destination"], Nothing),
    command(
        "remote-migrate",
        5,
        Api("POST /nodes/{node}/lxc/{vmid}/remote_migrate"),
        &["vmid", "target-vmid", "target-endpoint"],
        Task,
    ),
    command("rescan", 5, Own(guest::RESCAN, act::rescan), &[], Nothing),
    command("status", 5, Own(guest::STATUS, act::status), CT, Nothing),
    command("unlock", 5, Own(ONE, act::unlock), CT, Nothing),
    command("unmount", 5, Own(ONE, act::unmount), CT, Nothing),
    // A second name.
    command("move_volume", 0, Api("POST /nodes/{node}/lxc/{vmid}/move_volume"), MOVE, Task),
];

//! `/nodes/{node}/report`: the state of a node as one text.

use serde_json::json;

use super::{dns, hosts};
use crate::behaviour::{Answer, Call};
use crate::world::{GuestKind, interfaces};

/// `GET /nodes/{node}/report`.
pub(crate) fn get(call: &mut Call<'_>) -> Answer {
    let name = call.node();
    let world = &call.world;
    let node = world.nodes.get(&name).cloned().unwrap_or_default();
    let now = jiff::Timestamp::from_second(call.now()).unwrap_or_default();
    let release = &world.release;
    let mut report = Vec::new();
    report.push(chapter("general system info"));
    report.push(command("hostname", &name));
    report.push(command("date -R", &now.strftime("%a, %d %b %Y %H:%M:%S +0000").to_string()));
    report.push(command(
        "pveversion --verbose",
        &format!(
            "proxmox-ve: {0}.0 (running kernel: 6.17.4-2-pve)\npve-manager: {1} (running version: {1}/{2})",
            release.release, release.version, release.repoid
        ),
    ));
    report.push(command("cat /etc/hosts", hosts::of(world, &name).trim_end()));
    report.push(chapter("info about storage"));
    report.push(command("cat /etc/pve/storage.cfg", world.file("storage.cfg").unwrap_or_default().trim_end()));
    let used = world.storages.iter().filter(|(_, storage)| storage.on_node(&name)).map(|(id, storage)| {
        format!("{id:<16} {:<10} {:>16} {:>16}\n", storage.plugin(), storage.size, world.used(&name, id))
    });
    report.push(command("pvesm status", used.collect::<String>().trim_end()));
    report.push(chapter("info about virtual guests"));
    for (kind, list) in [(GuestKind::Vm, "qm list"), (GuestKind::Lxc, "pct list")] {
        let guests = world.guests.values().filter(|guest| guest.node == name && guest.kind == kind);
        let lines = guests.map(|guest| {
            format!("{:>10} {:<20} {}\n", guest.vmid, guest.name(), if guest.runs() { "running" } else { "stopped" })
        });
        report.push(command(list, lines.collect::<String>().trim_end()));
    }
    report.push(chapter("info about network"));
    report.push(command("cat /etc/network/interfaces", interfaces::text(&node.network).trim_end()));
    report.push(command("hostname --fqdn", &dns::full_name(world, &name)));
    report.push(chapter("info about cluster"));
    let members = world.nodes.iter().map(|(member, node)| {
        let local = if *member == name { " (local)" } else { "" };
        format!("{:>10} {:>10} {member}{local}\n", node.nodeid, 1)
    });
    report.push(command("pvecm nodes", members.collect::<String>().trim_end()));
    Ok(json!(report.concat()).into())
}

fn chapter(title: &str) -> String {
    format!("\n==== {title} ====\n")
}

fn command(command: &str, output: &str) -> String {
    format!("\n# {command}\n{output}\n")
}

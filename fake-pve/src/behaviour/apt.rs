//! `/nodes/{node}/apt`: packages of a node. What can be updated is known after the lists were fetched.

pub(crate) mod repositories;

use std::time::Duration;

use serde_json::{Value, json};

use super::{Answer, Call, Data};

/// Whether the lists were fetched, in a node's state.
const FETCHED: &str = "apt-fetched";

/// A package: name, version, section, what it is.
struct Package(&'static str, &'static str, &'static str, &'static str);

/// Packages that make a node, in the order in which Proxmox lists them.
const PACKAGES: [Package; 22] = [
    Package("proxmox-ve", "9.2.0", "admin", "Proxmox VE as a whole"),
    Package("pve-manager", "9.2.11", "admin", "web interface and API"),
    Package("ceph-fuse", "19.2.3-pve2", "admin", "Ceph file system in user space"),
    Package("corosync", "3.1.9-pve2", "admin", "cluster engine"),
    Package("ifupdown2", "3.3.0-1+pmx11", "admin", "network configuration"),
    Package("libknet1", "1.30-pve2", "libs", "transport of the cluster engine"),
    Package("libproxmox-acme-perl", "1.7.0", "perl", "ACME client"),
    Package("libpve-access-control", "9.1.1", "perl", "users and permissions"),
    Package("libpve-cluster-perl", "9.1.6", "perl", "cluster configuration"),
    Package("libpve-common-perl", "9.2.1", "perl", "shared parts"),
    Package("libpve-network-perl", "1.3.0", "perl", "software-defined networks"),
    Package("libpve-storage-perl", "9.1.7", "perl", "storages"),
    Package("lxc-pve", "6.0.5-4", "admin", "container runtime"),
    Package("lxcfs", "6.0.4-pve1", "admin", "file system for containers"),
    Package("proxmox-backup-client", "4.1.0-1", "admin", "backup client"),
    Package("pve-cluster", "9.1.6", "admin", "cluster file system"),
    Package("pve-container", "6.1.10", "admin", "containers"),
    Package("pve-firewall", "6.0.4", "admin", "firewall"),
    Package("pve-ha-manager", "5.2.0", "admin", "high availability"),
    Package("pve-qemu-kvm", "11.0.0-2", "admin", "QEMU"),
    Package("qemu-server", "9.2.6", "admin", "virtual machines"),
    Package("zfsutils-linux", "2.3.4-pve1", "admin", "ZFS tools"),
];

/// What a fetch finds: name and new version.
const UPDATES: [(&str, &str); 2] = [("pve-manager", "9.2.12"), ("qemu-server", "9.2.7")];

/// `GET …/versions`.
pub(crate) fn versions(call: &mut Call<'_>) -> Answer {
    let release = &call.world.release;
    let items = PACKAGES.iter().map(|package| {
        let mut item = shown(package);
        item["CurrentState"] = json!("Installed");
        item["OldVersion"] = json!(package.1);
        match package.0 {
            "proxmox-ve" => item["RunningKernel"] = json!("6.17.4-2-pve"),
            "pve-manager" => {
                item["Version"] = json!(release.version);
                item["OldVersion"] = json!(release.version);
                item["ManagerVersion"] = json!(format!("{}/{}", release.version, release.repoid));
            }
            _ => {}
        }
        item
    });
    Ok(Data::from(items.collect::<Vec<_>>()))
}

/// `GET …/update`.
pub(crate) fn updates(call: &mut Call<'_>) -> Answer {
    let node = call.node();
    let fetched = call.world.nodes.get(&node).is_some_and(|node| node.state.contains_key(FETCHED));
    let newer = PACKAGES.iter().filter_map(|package| {
        let (_, version) = UPDATES.iter().find(|(name, _)| *name == package.0)?;
        let mut item = shown(package);
        item["OldVersion"] = json!(package.1);
        item["Version"] = json!(version);
        Some(item)
    });
    Ok(Data::from(if fetched { newer.collect() } else { Vec::new() }))
}

/// `POST …/update`: a task that fetches the lists.
pub(crate) fn fetch(call: &mut Call<'_>) -> Answer {
    let uris = repositories::enabled_uris(call);
    let mut task = call.task("aptupdate", "").lasts(Duration::from_secs(4)).line("starting apt-get update");
    for (at, uri) in uris.into_iter().enumerate() {
        task = task.line_after(Duration::from_secs(1), format!("Hit:{} {uri} InRelease", at + 1));
    }
    let task = task.line_after(Duration::from_secs(3), "Reading package lists...").finish(|run| {
        let (name, now) = (run.node.to_string(), run.now);
        if let Some(node) = run.world.nodes.get_mut(&name) {
            node.state.insert(FETCHED.into(), json!(now));
        }
        Ok(())
    });
    call.start(task)
}

/// `GET …/changelog`: what the package manager prints, even when it prints an error.
pub(crate) fn changelog(call: &mut Call<'_>) -> Answer {
    let name = call.params.text("name");
    let Some(package) = PACKAGES.iter().find(|package| package.0 == name) else {
        return Ok(json!(format!("E: Unable to locate package {name}\nE: No packages found\nRC: 100")).into());
    };
    let version = call.params.get("version").unwrap_or_else(|| package.1.into());
    Ok(json!(format!(
        "{name} ({version}) trixie; urgency=medium\n\n  * fixes\n\n -- Proxmox Support Team <support@proxmox.com>  \
         Mon, 02 Nov 2026 10:00:00 +0100\n"
    ))
    .into())
}

fn shown(package: &Package) -> Value {
    let Package(name, version, section, title) = package;
    json!({
        "Package": name, "Version": version, "Section": section, "Title": title, "Description": title, "Arch": "amd64",
        "Origin": "Proxmox", "Priority": "optional",
    })
}

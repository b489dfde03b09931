//! A container's root directory: made when something first wants into it, by the distribution of its configuration.

use std::io;

use fake_pve::world::GuestKind;

use super::{BASE, Tree};
use crate::beneath::Root;
use crate::rootfs::distribution::Distribution;
use crate::site::Site;

/// What is known about the container of a directory: its birth, and when it was last started.
pub(super) const BIRTH: &str = ".fake/birth";
const BOOT: &str = ".fake/boot";

/// Tools for accounts that are everywhere, but where the `shadow` package is not (then BusyBox's are).
const ACCOUNTS: &[&str] = &["useradd", "userdel", "usermod", "groupadd", "groupdel", "chpasswd"];

/// The directory as the container is now: made if need be, made anew when the container is another one than before, its
/// services started anew when it was started since.
pub(crate) fn ensure(site: &Site, vmid: u32) -> io::Result<(Root, String)> {
    let facts = site.direct.world(|world| {
        let guest = world.guests.get(&vmid).filter(|guest| guest.kind == GuestKind::Lxc)?;
        let ostype = guest.option("ostype").unwrap_or_default();
        Some((guest.created, guest.started, guest.name(), ostype, guest.option("ostemplate")))
    });
    let Some((created, started, name, ostype, _template)) = facts else { return Err(io::ErrorKind::NotFound.into()) };
    let folder = site.folder().join(format!("ct{vmid}"));
    let root = Root::new(folder.clone(), site.owner);
    let birth = format!("{created}");
    let _one_at_a_time = site.making();
    if std::fs::read_to_string(folder.join(BIRTH)).ok().as_deref() != Some(&birth) {
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        super::snapshots::forget(site, vmid)?;
        make(&root, &Distribution::of(&ostype), &name)?;
        std::fs::write(folder.join(BIRTH), &birth)?;
    }
    super::snapshots::follow(site, vmid, &folder)?;
    let boot = format!("{started:?}");
    if std::fs::read_to_string(folder.join(BOOT)).ok().as_deref() != Some(&boot) {
        root.write("/etc/hostname", &format!("{name}\n"), 0o644)?;
        root.write("/var/lib/fake/net", &network(site, vmid), 0o644)?;
        started_anew(&root)?;
        std::fs::write(folder.join(BOOT), &boot)?;
    }
    Ok((root, name))
}

/// Removes what belonged to containers that are gone.
pub(crate) fn prune(site: &Site) -> io::Result<()> {
    let _one_at_a_time = site.making();
    for entry in std::fs::read_dir(site.folder())? {
        let entry = entry?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("ct")?.split('@').next()?.parse::<u32>().ok());
        let gone = number.is_some_and(|number| site.direct.world(|world| !world.guests.contains_key(&number)));
        if gone {
            std::fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

fn make(root: &Root, distribution: &Distribution, name: &str) -> io::Result<()> {
    let tree = Tree::begin(root.folder(), root.owner())?;
    tree.skeleton()?;
    distribution.files(&tree)?;
    tree.stubs("bin", distribution.stubs())?;
    tree.stubs("sbin", &["sshd", "ip"])?;
    tree.stubs("bin", &["passwd", "chown", "chgrp", "netstat", "ip"])?;
    if !distribution.busybox() {
        tree.stubs("bin", &["ss"])?;
    }
    let accounts = if distribution.busybox() { &ACCOUNTS[5..] } else { ACCOUNTS };
    tree.stubs("sbin", accounts)?;
    if distribution.busybox() {
        tree.programs(&["busybox"])?;
        for applet in super::programs::APPLETS {
            tree.link(&format!("usr/bin/{applet}"), "busybox")?;
        }
    } else {
        tree.programs(BASE)?;
    }
    tree.file("etc/hosts", &format!("127.0.0.1 localhost\n127.0.1.1 {name}\n"))?;
    tree.file("etc/resolv.conf", "nameserver 192.0.2.1\n")?;
    tree.folders(&["root/.ssh", "run/systemd", "var/lib/fake"])?;
    tree.mode("root/.ssh", 0o700)?;
    tree.file("root/.bashrc", "PS1='\\u@\\h:\\w\\$ '\n")?;
    tree.file("run/systemd/container", "lxc\n")
}

/// The interfaces of a container: name, hardware address, addresses, gateway. What DHCP would give is made up of its number.
fn network(site: &Site, vmid: u32) -> String {
    let config =
        site.direct.world(|world| world.guests.get(&vmid).map(|guest| guest.config.clone())).unwrap_or_default();
    let mut lines = String::new();
    for (_, value) in config.iter().filter(|(key, _)| key.strip_prefix("net").is_some_and(|n| n.parse::<u32>().is_ok()))
    {
        let text = value.as_str().unwrap_or_default();
        let part = |key: &str| text.split(',').find_map(|part| part.strip_prefix(key));
        let mut line =
            format!("{} {}", part("name=").unwrap_or("eth0"), part("hwaddr=").unwrap_or("00:00:00:00:00:00"));
        match part("ip=") {
            Some("dhcp") => line.push_str(&format!(" 192.0.2.{}/24 gw=192.0.2.1", 100 + vmid % 100)),
            Some("manual") | None => {}
            Some(address) => line.push_str(&format!(" {address}")),
        }
        if let Some(address) = part("ip6=").filter(|address| address.contains(':')) {
            line.push_str(&format!(" {address}"));
        }
        if let Some(way) = part("gw=") {
            line.push_str(&format!(" gw={way}"));
        }
        lines.push_str(&format!("{line}\n"));
    }
    lines
}

/// What runs after a start: the services that are enabled.
fn started_anew(root: &Root) -> io::Result<()> {
    let enabled = root.text("/var/lib/fake/enabled").unwrap_or_default();
    root.write("/var/lib/fake/active", &enabled, 0o644)
}

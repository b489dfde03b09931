//! A node's own files: a Debian with the names, users and configuration files of a Proxmox node.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use fake_pve::Direct;

use super::{BASE, Tree};
use crate::User;
use crate::program::{EVERYBODYS, NAMES};
use crate::site::Node;

const PROFILE: &str = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\nexport PATH\n[ \"$PS1\" ] && PS1='\\u@\\h:\\w\\$ '\n";
const OS_RELEASE: &str = "PRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\nNAME=\"Debian GNU/Linux\"\nVERSION_ID=\"13\"\n\
VERSION=\"13 (trixie)\"\nVERSION_CODENAME=trixie\nID=debian\n";

/// Makes them.
pub(crate) fn make(node: &Node, users: &[User], direct: &Direct, program: &Path) -> io::Result<()> {
    let tree = Tree::begin(node.root.folder(), node.root.owner())?;
    tree.skeleton()?;
    tree.stubs("bin", &["chown", "chgrp"])?;
    tree.programs(BASE)?;
    tree.stubs("bin", EVERYBODYS)?;
    tree.stubs("sbin", &NAMES.iter().copied().filter(|name| !EVERYBODYS.contains(name)).collect::<Vec<_>>())?;
    tree.folders(&[
        ".fake/stubs",
        ".fake/pve",
        "etc/network",
        "etc/ssh",
        "etc/apt",
        "var/lib/vz/dump",
        "var/lib/vz/images",
        "var/lib/vz/snippets",
        "var/lib/vz/template/cache",
        "var/lib/vz/template/iso",
        "var/log/pve/tasks",
        "root/.ssh",
    ])?;
    tree.mode("root/.ssh", 0o700)?;
    for name in NAMES {
        tree.link(&format!(".fake/stubs/{name}"), &program.display().to_string())?;
    }
    let name = &node.name;
    let address = direct.world(|world| world.nodes.get(name).map(|node| node.ip.clone())).unwrap_or_default();
    tree.file("etc/hostname", &format!("{name}\n"))?;
    tree.file(
        "etc/hosts",
        &format!("127.0.0.1 localhost.localdomain localhost\n{address} {name}.example.com {name}\n"),
    )?;
    tree.file("etc/os-release", OS_RELEASE)?;
    tree.file("etc/debian_version", "13.1\n")?;
    tree.file("etc/resolv.conf", "search example.com\nnameserver 192.0.2.1\n")?;
    tree.file("etc/profile", PROFILE)?;
    tree.file("root/.bashrc", "PS1='\\u@\\h:\\w\\$ '\n")?;
    tree.file("root/.profile", "[ -f ~/.bashrc ] && . ~/.bashrc\n")?;
    let host_key = node.key.public_key().to_openssh().unwrap_or_default();
    tree.file("etc/ssh/ssh_host_ed25519_key.pub", &format!("{host_key} root@{name}\n"))?;
    tree.link("etc/pve", "/.fake/pve")?;
    accounts(&tree, users)
}

/// Who is known inside, and their homes.
fn accounts(tree: &Tree, users: &[User]) -> io::Result<()> {
    let mut passwd = String::from(
        "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n\
www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin\nsshd:x:100:65534::/run/sshd:/usr/sbin/nologin\n",
    );
    let mut group = String::from("root:x:0:\nadm:x:4:\nsudo:x:27:\nwww-data:x:33:\nnogroup:x:65534:\n");
    for user in users {
        let keys: String = user.keys.iter().map(|key| format!("{key}\n")).collect();
        if user.uid == 0 {
            tree.file_with("root/.ssh/authorized_keys", &keys, 0o600)?;
            continue;
        }
        let (name, uid) = (&user.name, user.uid);
        passwd.push_str(&format!("{name}:x:{uid}:{uid}::/home/{name}:/bin/bash\n"));
        group.push_str(&format!("{name}:x:{uid}:\n"));
        let tree = tree.of(uid);
        tree.folders(&[&format!("home/{name}/.ssh")])?;
        tree.mode(&format!("home/{name}/.ssh"), 0o700)?;
        tree.file_with(&format!("home/{name}/.ssh/authorized_keys"), &keys, 0o600)?;
    }
    passwd.push_str("nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n");
    tree.file("etc/passwd", &passwd)?;
    tree.file("etc/group", &group)?;
    tree.file_with("etc/shadow", "root:*:20000:0:99999:7:::\n", 0o600)
}

/// What lies under `/etc/pve` now, by place beneath it. Secrets are left out.
pub(crate) fn config_files(direct: &Direct, node: &str) -> BTreeMap<String, String> {
    let mut files: BTreeMap<String, String> = direct.world(|world| {
        let names = world.files();
        let places = names.iter().filter_map(|name| Some((name.strip_prefix("/etc/pve/")?.to_string(), name)));
        places.filter_map(|(place, name)| Some((place, world.file(name)?))).collect()
    });
    files.retain(|place, _| !place.starts_with("priv/"));
    let local = format!("nodes/{node}/");
    let mine: Vec<(String, String)> = files
        .iter()
        .filter_map(|(place, text)| {
            let rest = place.strip_prefix(&local)?;
            (rest.starts_with("qemu-server/") || rest.starts_with("lxc/")).then(|| (rest.to_string(), text.clone()))
        })
        .collect();
    files.extend(mine);
    files
}

/// Writes what changed.
pub(crate) fn write_config(node: &Node, before: &BTreeMap<String, String>, now: &BTreeMap<String, String>) {
    let folder = node.root.folder().join(".fake/pve");
    for place in before.keys().filter(|place| !now.contains_key(*place)) {
        let _gone_already = std::fs::remove_file(folder.join(place));
    }
    for name in ["qemu-server", "lxc"] {
        let _there_already = std::fs::create_dir_all(folder.join(name));
    }
    for (place, text) in now.iter().filter(|(place, text)| before.get(*place) != Some(*text)) {
        let path = folder.join(place);
        // What cannot be written is missing inside, as on a node whose cluster file system is down.
        let _made = path.parent().map(std::fs::create_dir_all);
        let _written = std::fs::write(&path, text);
    }
}

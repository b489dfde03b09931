//! A world made from configuration files as they lie under a node's `/etc/pve`.
//!
//! Nothing here is fatal but a folder that cannot be read: a line that makes no sense, or a file that means nothing to
//! the fake, becomes a warning with the file's name in front. Secrets are kept as hashes.

mod access;
mod cluster;
mod documents;
mod guests;
mod network;

use std::collections::BTreeMap;
use std::path::Path;

use crate::world::{Random, World};
use crate::{Error, Scenario};

/// What came of an import.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The world, ready to start.
    pub scenario: Scenario,
    /// What could not be used, one line each: `storage.cfg: line 3: …`.
    pub warnings: Vec<String>,
}

/// Files by name: beneath the configuration folder (`storage.cfg`), others in full (`/etc/hosts`).
pub type Files = BTreeMap<String, String>;

/// Reads a folder such as `/etc/pve`, and `interfaces`, `hosts` and `resolv.conf` that lie beside it.
///
/// # Errors
/// [`Error::Scenario`] when the folder cannot be read.
pub fn import_etc(folder: &Path) -> Result<Imported, Error> {
    let nested = ["pve", "etc-pve"].map(|name| folder.join(name)).into_iter().find(|path| path.is_dir());
    let folder = nested.as_deref().unwrap_or(folder);
    let (mut files, mut unread) = (Files::new(), Vec::new());
    collect(folder, "", &mut files, &mut unread)
        .map_err(|error| Error::Scenario(format!("cannot read the folder {}: {error}", folder.display())))?;
    let beside = [
        ("interfaces", "/etc/network/interfaces"),
        ("network/interfaces", "/etc/network/interfaces"),
        ("hosts", "/etc/hosts"),
        ("resolv.conf", "/etc/resolv.conf"),
    ];
    for (name, full) in beside {
        let found = folder.parent().and_then(|parent| std::fs::read_to_string(parent.join(name)).ok());
        if let Some(text) = found {
            files.insert(full.into(), text);
        }
    }
    let mut imported = import_files(&files);
    imported.warnings.extend(unread);
    Ok(imported)
}

/// Names at the top that show parts of `nodes/` again.
const LINKS: [&str; 5] = ["local", "qemu-server", "lxc", "openvz", ".rrd"];

fn collect(folder: &Path, beneath: &str, files: &mut Files, unread: &mut Vec<String>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if beneath.is_empty() && LINKS.contains(&name.as_str()) {
            continue;
        }
        let full = format!("{beneath}{name}");
        if entry.path().is_dir() {
            collect(&entry.path(), &format!("{full}/"), files, unread)?;
            continue;
        }
        match std::fs::read_to_string(entry.path()) {
            Ok(text) => drop(files.insert(full, text)),
            Err(error) => unread.push(format!("{full}: cannot be read: {error}")),
        }
    }
    Ok(())
}

/// Makes a world of files that were read already.
pub fn import_files(files: &Files) -> Imported {
    let mut import = Import { files, world: World { random: Random(1), ..World::default() }, warnings: Vec::new() };
    import.nodes();
    import.storages();
    import.access();
    import.options();
    import.sections();
    import.firewalls();
    import.network();
    import.guests();
    import.unknown_files();
    Imported { scenario: Scenario { world: import.world }, warnings: import.warnings }
}

/// An import under way.
struct Import<'a> {
    files: &'a Files,
    world: World,
    warnings: Vec<String>,
}

impl Import<'_> {
    fn text(&self, name: &str) -> &str {
        self.files.get(name).map_or("", String::as_str)
    }

    fn warn(&mut self, file: &str, texts: impl IntoIterator<Item = String>) {
        self.warnings.extend(texts.into_iter().map(|text| format!("{file}: {}", text.trim_end())));
    }

    /// What nothing above has read. Keys and certificates are left where they are, without a word.
    fn unknown_files(&mut self) {
        const READ: [&str; 11] = [
            "corosync.conf",
            "storage.cfg",
            "user.cfg",
            "domains.cfg",
            "datacenter.cfg",
            "priv/token.cfg",
            "priv/shadow.cfg",
            "priv/tfa.cfg",
            "priv/notifications.cfg",
            "sdn/subnets.cfg",
            "sdn/fabrics.cfg",
        ];
        const SILENT: [&str; 9] = [
            "authkey.pub",
            "authkey.pub.old",
            "pve-root-ca.pem",
            "pve-www.key",
            "vzdump.cron",
            "known_hosts",
            ".version",
            ".members",
            ".vmlist",
        ];
        let known = |name: &str| {
            READ.contains(&name)
                || SILENT.contains(&name)
                || name.starts_with("/etc/")
                || name.ends_with(".fw")
                || name.ends_with(".pem")
                || name.ends_with(".key")
                || name.ends_with("/config")
                || (name.starts_with("priv/") && !name.ends_with(".cfg"))
                || crate::world::file::SECTION_FILES.iter().any(|file| file.name == name)
                || crate::world::file::guest_file(name).is_some()
        };
        let unknown: Vec<String> = self.files.keys().filter(|name| !known(name)).cloned().collect();
        for name in unknown {
            self.warn(&name, ["not known, left out".to_string()]);
        }
    }
}

//! The files of a node or a container: a folder that plays `/`.

pub(crate) mod container;
pub(crate) mod distribution;
pub(crate) mod node;
mod programs;
pub(crate) mod snapshots;

use std::io;
use std::path::{Path, PathBuf};

/// Builds a tree of files; everything belongs to whoever the sandboxes run as.
pub(crate) struct Tree {
    root: PathBuf,
    owner: Option<u32>,
}

impl Tree {
    /// Begins a tree; the folder is made.
    pub fn begin(root: &Path, owner: Option<u32>) -> io::Result<Tree> {
        std::fs::create_dir_all(root)?;
        let tree = Tree { root: root.into(), owner };
        tree.own(root)?;
        Ok(tree)
    }

    /// The same tree, for what belongs to somebody else inside.
    pub fn of(&self, uid: u32) -> Tree {
        Tree { root: self.root.clone(), owner: self.owner.map(|owner| owner + uid) }
    }

    fn own(&self, path: &Path) -> io::Result<()> {
        match self.owner {
            Some(owner) => std::os::unix::fs::lchown(path, Some(owner), Some(owner)),
            None => Ok(()),
        }
    }

    /// Makes folders, each with those above it.
    pub fn folders(&self, names: &[&str]) -> io::Result<()> {
        for name in names {
            let mut path = self.root.clone();
            for part in name.split('/') {
                path.push(part);
                if !path.is_dir() {
                    std::fs::create_dir(&path)?;
                    self.own(&path)?;
                }
            }
        }
        Ok(())
    }

    /// Writes a file.
    pub fn file(&self, name: &str, text: &str) -> io::Result<()> {
        self.file_with(name, text, 0o644)
    }

    /// Writes a file with a mode.
    pub fn file_with(&self, name: &str, text: &str, mode: u32) -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt as _;
        if let Some((folder, _)) = name.rsplit_once('/') {
            self.folders(&[folder])?;
        }
        let path = self.root.join(name);
        std::fs::write(&path, text)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode))?;
        self.own(&path)
    }

    /// Makes a link, unless something is there.
    pub fn link(&self, name: &str, target: &str) -> io::Result<()> {
        let path = self.root.join(name);
        if path.symlink_metadata().is_ok() {
            return Ok(());
        }
        std::os::unix::fs::symlink(target, &path)?;
        self.own(&path)
    }

    /// Sets the mode of a folder.
    pub fn mode(&self, name: &str, mode: u32) -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(self.root.join(name), std::fs::Permissions::from_mode(mode))
    }

    /// What every system has: folders, links, and the mount points of the sandbox.
    pub fn skeleton(&self) -> io::Result<()> {
        self.folders(&[
            ".fake",
            "dev",
            "etc",
            "home",
            "media",
            "mnt",
            "opt",
            "proc",
            "root",
            "run",
            "srv",
            "sys",
            "tmp",
            "usr/bin",
            "usr/sbin",
            "usr/lib",
            "usr/lib64",
            "usr/libexec",
            "usr/share",
            "usr/local/bin",
            "usr/local/sbin",
            "var/log",
            "var/lib",
            "var/cache",
            "var/tmp",
            "var/spool",
        ])?;
        for name in ["bin", "sbin", "lib", "lib64"] {
            self.link(name, &format!("usr/{name}"))?;
        }
        self.link("var/run", "/run")?;
        self.mode("root", 0o700)?;
        self.mode("tmp", 0o1777)?;
        self.mode("var/tmp", 0o1777)
    }

    /// Shows programs of this machine, as far as they are there.
    pub fn programs(&self, names: &[&str]) -> io::Result<()> {
        for name in names {
            if let Some((place, target)) = programs::find(name) {
                self.link(&format!("usr/{place}/{name}"), &target)?;
            }
        }
        Ok(())
    }

    /// Shows the hidden side of the fake under names.
    pub fn stubs(&self, folder: &str, names: &[&str]) -> io::Result<()> {
        names.iter().try_for_each(|name| self.link(&format!("usr/{folder}/{name}"), "/.fake/program"))
    }
}

pub(crate) use programs::BASE;

//! Snapshots of a container's files: made, forgotten and brought back as the world says, when something next wants inside.
//!
//! Files change only by what is done inside, so that a snapshot taken through the API is still exact at that moment.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use crate::site::Site;

/// Which rollback the files were last brought back by.
const ROLLED: &str = ".fake/rolled";

/// Where the files of a snapshot lie.
fn place(site: &Site, vmid: u32, name: &str) -> PathBuf {
    site.folder().join(format!("ct{vmid}@{name}"))
}

/// Makes the snapshots of a container's files those of the container.
pub(super) fn follow(site: &Site, vmid: u32, folder: &Path) -> io::Result<()> {
    let (wanted, rolled, parent) = site.direct.world(|world| {
        let guest = world.guests.get(&vmid);
        let wanted: BTreeSet<String> = guest.map(|guest| guest.snapshots.keys().cloned().collect()).unwrap_or_default();
        let id = vmid.to_string();
        let done = |task: &&fake_pve::world::Task| {
            task.worker_type == "vzrollback" && task.id == id && task.exitstatus.as_deref() == Some("OK")
        };
        let rolled = world.tasks.iter().rev().find(done).map(|task| task.upid.clone());
        (wanted, rolled, guest.and_then(|guest| guest.option("parent")))
    });
    for name in kept(site, vmid)?.difference(&wanted) {
        std::fs::remove_dir_all(place(site, vmid, name))?;
    }
    if let (Some(rolled), Some(parent)) = (rolled, parent) {
        let marker = folder.join(ROLLED);
        let from = place(site, vmid, &parent);
        if std::fs::read_to_string(&marker).ok().as_deref() != Some(&rolled) && from.is_dir() {
            std::fs::remove_dir_all(folder)?;
            copy(&from, folder)?;
            std::fs::write(folder.join(ROLLED), rolled)?;
        }
    }
    for name in &wanted {
        let to = place(site, vmid, name);
        if !to.exists() {
            copy(folder, &to)?;
        }
    }
    Ok(())
}

/// Forgets them all: the container is another one than before.
pub(super) fn forget(site: &Site, vmid: u32) -> io::Result<()> {
    kept(site, vmid)?.iter().try_for_each(|name| std::fs::remove_dir_all(place(site, vmid, name)))
}

/// The snapshots whose files are there.
fn kept(site: &Site, vmid: u32) -> io::Result<BTreeSet<String>> {
    let begin = format!("ct{vmid}@");
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(site.folder())? {
        let name = entry?.file_name();
        names.extend(name.to_str().and_then(|name| name.strip_prefix(&begin)).map(String::from));
    }
    Ok(names)
}

/// Gives a new container the files of the one it was cloned from, where those were ever looked at.
pub(crate) fn clone(site: &Site, vmid: u32, newid: u32) -> io::Result<()> {
    let _one_at_a_time = site.making();
    let (from, to) = (site.folder().join(format!("ct{vmid}")), site.folder().join(format!("ct{newid}")));
    let created = site.direct.world(|world| world.guests.get(&newid).map(|guest| guest.created));
    let Some(created) = created.filter(|_| from.is_dir()) else { return Ok(()) };
    if to.exists() {
        std::fs::remove_dir_all(&to)?;
    }
    copy(&from, &to)?;
    std::fs::write(to.join(super::container::BIRTH), created.to_string())
}

/// Copies a tree as it is: links as links, with owners and modes.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let status = from.symlink_metadata()?;
    if status.is_symlink() {
        std::os::unix::fs::symlink(std::fs::read_link(from)?, to)?;
    } else if status.is_dir() {
        std::fs::create_dir(to)?;
        for entry in std::fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
    } else if status.is_file() {
        std::fs::copy(from, to)?;
    } else {
        // A pipe or a socket means nothing without who holds it.
        return Ok(());
    }
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::lchown(to, Some(status.uid()), Some(status.gid()))?;
    }
    if !status.is_symlink() {
        std::fs::set_permissions(to, status.permissions())?;
    }
    Ok(())
}

//! The world as the configuration files of a node: which file shows which state, as Proxmox writes it.
//!
//! Paths are absolute (`/etc/pve/storage.cfg`) or beneath `/etc/pve` (`storage.cfg`). A behaviour that keeps state in a
//! place of its own adds the file here, so that recorded files can be held against it; [`mod@crate::import_etc`] is the other
//! direction.

mod documents;
mod plain;
mod sdn;

use std::collections::BTreeSet;

use super::{GuestKind, World, conf};

pub(crate) use documents::{ENCODED, Home, SECTION_FILES, UNTYPED};

impl World {
    /// The text of a configuration file; `None` when the file does not exist or the world does not keep it.
    pub fn file(&self, path: &str) -> Option<String> {
        let path = path.strip_prefix("/etc/pve/").unwrap_or(path);
        if let Some(place) = path.strip_prefix("/var/lib/vz/") {
            return self.volume_file(place);
        }
        if let Some((kind, node, vmid)) = guest_file(path) {
            let guest = self.guests.get(&vmid).filter(|guest| guest.kind == kind && guest.node == node);
            return guest.map(conf::write);
        }
        documents::sections(self, path).or_else(|| plain::file(self, path))
    }

    /// The configuration files that the world has now, beneath `/etc/pve` where they are there, sorted.
    pub fn files(&self) -> BTreeSet<String> {
        let guests = self
            .guests
            .values()
            .map(|guest| format!("/etc/pve/nodes/{}/{}/{}.conf", guest.node, guest.kind.folder(), guest.vmid));
        let sections = SECTION_FILES.iter().map(|file| format!("/etc/pve/{}", file.name));
        let plain = plain::names(self);
        guests.chain(sections).chain(plain).filter(|path| self.file(path).is_some()).collect()
    }

    /// A volume of the storage `local` of the entry node, by its place on disk: `<size 1073741824>`.
    fn volume_file(&self, place: &str) -> Option<String> {
        let name = match place.split_once('/')? {
            ("images", rest) => rest.to_string(),
            ("template", rest) => rest.replacen("cache/", "vztmpl/", 1),
            ("dump", rest) => format!("backup/{rest}"),
            (folder, rest) => format!("{folder}/{rest}"),
        };
        if let Some(backup) = name.strip_suffix(".notes") {
            let notes = self.volume(&self.entry, &format!("local:{backup}"))?.notes.clone()?;
            return Some(format!("<size {}>", notes.len()));
        }
        if let Some(backup) = name.strip_suffix(".protected") {
            return self.volume(&self.entry, &format!("local:{backup}"))?.protected.then(|| "<size 0>".to_string());
        }
        // A linked clone is named with its base in front, but lies in its own guest's folder.
        let linked = || self.volumes_of(&self.entry, "local").find(|other| other.volid.ends_with(&format!("/{name}")));
        let volume = self.volume(&self.entry, &format!("local:{name}")).or_else(linked)?;
        Some(format!("<size {}>", volume.size))
    }
}

/// `nodes/pve1/lxc/200.conf` -> container, `pve1`, 200.
pub(crate) fn guest_file(path: &str) -> Option<(GuestKind, &str, u32)> {
    let (node, rest) = path.strip_prefix("nodes/")?.split_once('/')?;
    let (folder, name) = rest.split_once('/')?;
    let kind = [GuestKind::Vm, GuestKind::Lxc].into_iter().find(|kind| kind.folder() == folder)?;
    Some((kind, node, name.strip_suffix(".conf")?.parse().ok()?))
}

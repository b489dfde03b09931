//! Changes that wait: noting them, taking them back, applying them to a guest that is off, and unused disks.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::disk::{self, Disk, is_disk, is_unused};
use super::{Guest, GuestKind, World, option};

/// How many unused disks a guest may have.
const MOST_UNUSED: u32 = 256;

impl Guest {
    /// Notes a change of an option.
    pub fn set_pending(&mut self, key: &str, value: Value) {
        self.pending_delete.remove(key);
        self.pending.insert(key.into(), value);
    }

    /// Notes that an option is to be deleted; with `force` its volume too.
    pub fn delete_later(&mut self, key: &str, force: bool) {
        self.pending.shift_remove(key);
        self.pending_delete.insert(key.into(), force);
    }

    /// Drops pending changes that would change nothing.
    pub fn clean_pending(&mut self) {
        let config = &self.config;
        self.pending.retain(|key, value| config.get(key).map(option::text) != Some(option::text(value)));
        self.pending_delete.retain(|key, _| config.contains_key(key));
    }

    /// The configuration as it will be: pending values in, pending deletions out.
    pub fn merged(&self) -> Map<String, Value> {
        let mut merged = self.config.clone();
        merged.extend(self.pending.iter().map(|(key, value)| (key.clone(), value.clone())));
        for key in self.pending_delete.keys() {
            merged.shift_remove(key);
        }
        merged
    }

    /// Lists a volume as unused, once; the key that it got.
    ///
    /// # Errors
    /// All 256 keys are taken.
    pub fn add_unused(&mut self, volid: &str) -> Result<String, String> {
        let unused = |(key, value): &(&String, &Value)| is_unused(key) && option::text(value) == volid;
        if let Some((key, _)) = self.config.iter().find(unused) {
            return Ok(key.clone());
        }
        let free = (0..MOST_UNUSED).map(|number| format!("unused{number}"));
        let key = free.into_iter().find(|key| !self.config.contains_key(key));
        let key = key.ok_or("Too many unused volumes - please delete them first.")?;
        self.config.insert(key.clone(), volid.into());
        Ok(key)
    }

    /// What happens whenever the file is written: unused entries whose volume is attached again fall away, and an empty
    /// value of a machine is read back as a blank.
    pub fn written(&mut self) {
        let kind = self.kind;
        let attached: Vec<String> = [&self.config, &self.pending]
            .into_iter()
            .flat_map(|config| disk::disks(kind, config))
            .map(|disk| disk.volume())
            .collect();
        let volume = |key: &str, value: &Value| Disk::parse(kind, key, &option::text(value)).map(|disk| disk.volume());
        self.config
            .retain(|key, value| !is_unused(key) || volume(key, value).is_none_or(|volid| !attached.contains(&volid)));
        if let Some(count) = self.config.shift_remove("smp") {
            self.config.insert("sockets".into(), count);
        }
        if kind == GuestKind::Vm {
            let empty = |(key, value): &(&String, &mut Value)| *key != "description" && **value == "";
            self.config.iter_mut().filter(empty).for_each(|(_, value)| *value = " ".into());
        }
    }

    /// As [`Guest::written`], for a file that is written for the first time: empty values are not read back yet.
    pub fn written_first(&mut self) {
        let empty: Vec<String> =
            self.config.iter().filter(|(_, value)| **value == "").map(|(key, _)| key.clone()).collect();
        self.written();
        for key in empty {
            self.config.insert(key, "".into());
        }
    }

    /// Whether a volume is in use by another option or by a snapshot.
    pub fn uses(&self, volid: &str, except: &str) -> bool {
        let live = disk::disks(self.kind, &self.config);
        let elsewhere = live.iter().any(|disk| disk.key != except && disk.volume() == volid);
        elsewhere || self.snapshots_with(volid)
    }

    /// Whether a snapshot holds a volume.
    pub fn snapshots_with(&self, volid: &str) -> bool {
        let volumes = |config: &Map<String, Value>| disk::disks(self.kind, config);
        self.snapshots.values().any(|snapshot| {
            snapshot.vmstate.as_deref() == Some(volid)
                || volumes(&snapshot.config).iter().any(|disk| disk.volume() == volid)
        })
    }
}

impl World {
    /// Whether a guest owns a volume that a storage manages.
    pub fn owns_volume(&self, vmid: u32, volid: &str) -> bool {
        self.parse_volume(volid).is_ok_and(|parsed| parsed.vmid == Some(vmid))
    }

    /// What becomes of a disk that leaves its place: a cloud-init drive is freed, media of a CD drive are just taken
    /// out, a volume of the guest's own is listed as unused.
    ///
    /// # Errors
    /// Too many unused volumes.
    pub fn leave_disk(&mut self, vmid: u32, disk: &Disk) -> Result<(), String> {
        let volid = disk.volume();
        let owned = self.owns_volume(vmid, &volid);
        let Some(guest) = self.guests.get_mut(&vmid) else { return Ok(()) };
        if disk.is_cloudinit() {
            guest.cloudinit.clear();
            let node = guest.node.clone();
            let _freed = self.free_volume(&node, &volid);
        } else if owned && !disk.is_cdrom(false) {
            guest.add_unused(&volid)?;
        }
        Ok(())
    }

    /// Frees a disk of a guest if it is the guest's own. Nothing is freed of others' volumes and CD media.
    ///
    /// # Errors
    /// A snapshot or another option uses it, or the storage refuses.
    pub fn free_disk(&mut self, vmid: u32, disk: &Disk) -> Result<Vec<String>, String> {
        let volid = disk.volume();
        let Some(guest) = self.guests.get(&vmid) else { return Ok(Vec::new()) };
        if disk.is_cdrom(true) || !self.owns_volume(vmid, &volid) {
            return Ok(Vec::new());
        }
        if guest.uses(&volid, &disk.key) {
            return Err(format!("unable to delete '{volid}' - volume is still in use (snapshot?)"));
        }
        let node = guest.node.clone();
        self.free_volume(&node, &volid)
    }

    /// Applies the pending changes of a guest that is off. What cannot be applied stays pending; its error, by option, is
    /// `unable to apply pending change …`.
    pub fn apply_pending(&mut self, now: i64, vmid: u32) -> BTreeMap<String, String> {
        let mut errors = BTreeMap::new();
        let waits = |guest: &&Guest| !guest.pending.is_empty() || !guest.pending_delete.is_empty();
        let Some(guest) = self.guests.get(&vmid).filter(waits) else { return errors };
        let (kind, deletions) = (guest.kind, guest.pending_delete.clone());
        for (key, force) in deletions {
            let applied = self.apply_delete(vmid, &key, force);
            self.settle_change(vmid, &key, applied, None, &mut errors);
        }
        if let Some(guest) = self.guests.get_mut(&vmid) {
            guest.clean_pending();
        }
        let changes = self.guests.get(&vmid).map(|guest| guest.pending.clone()).unwrap_or_default();
        for (key, value) in changes {
            match self.apply_value(now, vmid, kind, &key, value) {
                Ok(value) => self.settle_change(vmid, &key, Ok(()), Some(value), &mut errors),
                Err(error) => self.settle_change(vmid, &key, Err(error), None, &mut errors),
            }
        }
        if let Some(guest) = self.guests.get_mut(&vmid) {
            guest.written();
        }
        errors
    }

    fn settle_change(
        &mut self,
        vmid: u32,
        key: &str,
        applied: Result<(), String>,
        value: Option<Value>,
        errors: &mut BTreeMap<String, String>,
    ) {
        let Some(guest) = self.guests.get_mut(&vmid) else { return };
        if let Err(error) = applied {
            errors.insert(key.into(), format!("unable to apply pending change {key} : {error}"));
            return;
        }
        guest.pending.shift_remove(key);
        guest.pending_delete.remove(key);
        match value {
            Some(value) => guest.config.insert(key.into(), value),
            None => guest.config.shift_remove(key),
        };
    }

    /// What deleting an option means beyond its key.
    pub(crate) fn apply_delete(&mut self, vmid: u32, key: &str, force: bool) -> Result<(), String> {
        let Some(guest) = self.guests.get(&vmid) else { return Ok(()) };
        let Some(value) = guest.config.get(key).map(option::text) else { return Ok(()) };
        if !is_disk(guest.kind, key) && !is_unused(key) {
            return Ok(());
        }
        let Some(disk) = Disk::parse(guest.kind, key, &value) else { return Ok(()) };
        if force || is_unused(key) {
            return self.free_disk(vmid, &disk).map(|_| ());
        }
        if guest.kind == GuestKind::Lxc && guest.snapshots_with(&disk.volume()) {
            return Ok(());
        }
        self.leave_disk(vmid, &disk)
    }

    /// The value to store for a change; the disk that was there before is left.
    fn apply_value(&mut self, now: i64, vmid: u32, kind: GuestKind, key: &str, value: Value) -> Result<Value, String> {
        if !is_disk(kind, key) {
            return Ok(value);
        }
        let text = option::text(&value);
        let new = Disk::parse(kind, key, &text);
        let value = match &new {
            Some(mount) if kind == GuestKind::Lxc && key != "rootfs" && mount.wants_new().is_some() => {
                self.new_mount(now, vmid, mount)?.0.print().into()
            }
            _ => value,
        };
        let before = self.guests.get(&vmid).and_then(|guest| guest.option(key));
        let before = before.and_then(|before| Disk::parse(kind, key, &before));
        if let Some(before) = before.filter(|before| Some(before.volume()) != new.map(|disk| disk.volume()))
            && (kind == GuestKind::Vm || key != "rootfs")
        {
            self.leave_disk(vmid, &before)?;
        }
        Ok(value)
    }
}

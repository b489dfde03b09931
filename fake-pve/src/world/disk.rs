//! Disks of guests: drives of machines and mount points of containers, as their property strings; in which order Proxmox
//! walks them, and what a configuration lists as unused.

use pve_catalog::property;
use serde_json::{Map, Value};

use super::{Guest, GuestKind, option, size};

/// One disk option, taken apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Disk {
    /// `scsi0`, `rootfs`, `unused3`.
    pub key: String,
    /// Whose it is.
    pub kind: GuestKind,
    /// Its keys as text; the volume under `file` or `volume`.
    pub options: Map<String, Value>,
}

/// Whether a key is a drive of a machine (unused ones apart).
pub fn is_drive(key: &str) -> bool {
    let numbered = |prefix: &str, last: u32| {
        key.strip_prefix(prefix).and_then(|rest| rest.parse::<u32>().ok()).is_some_and(|number| number <= last)
    };
    matches!(key, "efidisk0" | "tpmstate0")
        || numbered("ide", 3)
        || numbered("scsi", 30)
        || numbered("virtio", 15)
        || numbered("sata", 5)
}

/// Whether a key is a mount point of a container, its root file system included.
pub fn is_mount(key: &str) -> bool {
    key == "rootfs"
        || key.strip_prefix("mp").is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
}

/// Whether a key is a disk that is attached to nothing.
pub fn is_unused(key: &str) -> bool {
    key.strip_prefix("unused").is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
}

/// Whether a key holds a volume that the guest uses.
pub fn is_disk(kind: GuestKind, key: &str) -> bool {
    match kind {
        GuestKind::Vm => is_drive(key),
        GuestKind::Lxc => is_mount(key),
    }
}

/// What a rate or burst option needs beside it.
const NEEDS: [(&str, &str); 9] = [
    ("mbps_max", "mbps"),
    ("mbps_rd_max", "mbps_rd"),
    ("mbps_wr_max", "mbps_wr"),
    ("bps_max_length", "mbps_max"),
    ("bps_rd_max_length", "mbps_rd_max"),
    ("bps_wr_max_length", "mbps_wr_max"),
    ("iops_max_length", "iops_max"),
    ("iops_rd_max_length", "iops_rd_max"),
    ("iops_wr_max_length", "iops_wr_max"),
];

impl Disk {
    /// Takes a disk option apart; `None` where Proxmox cannot read it or its keys contradict each other.
    pub fn parse(kind: GuestKind, key: &str, text: &str) -> Option<Disk> {
        if is_unused(key) {
            let first = text.split(',').next().unwrap_or_default();
            let volume = first.strip_prefix("file=").or(first.strip_prefix("volume=")).unwrap_or(first);
            let options = [(volume_key(kind).to_string(), Value::from(volume))];
            return Some(Disk { key: key.into(), kind, options: options.into_iter().collect() });
        }
        let keys = property::keys(option::schema(kind, key)?)?;
        let mut disk = Disk { key: key.into(), kind, options: property::parse(keys, text).ok()? };
        if kind == GuestKind::Vm {
            for rate in ["bps", "bps_rd", "bps_wr"] {
                if disk.options.shift_remove(rate).is_some() {
                    let in_megabytes = format!("m{rate}");
                    if disk.options.contains_key(&in_megabytes) {
                        return None;
                    }
                    disk.options.insert(in_megabytes, "0.000".into());
                }
            }
            disk.consistent().then_some(())?;
        }
        Some(disk)
    }

    fn consistent(&self) -> bool {
        let on = |name: &str| self.get(name).is_some_and(|value| !value.is_empty() && value != "0");
        let pairs = [("mbps_rd", "mbps"), ("mbps_wr", "mbps"), ("iops_rd", "iops"), ("iops_wr", "iops")];
        let cdrom = self.get("media").as_deref() == Some("cdrom");
        NEEDS.iter().all(|(name, needed)| !on(name) || on(needed))
            && !pairs.iter().any(|(one, all)| on(one) && on(all))
            && !(cdrom && (on("snapshot") || on("format") || self.key.starts_with("virtio")))
    }

    /// Writes it.
    pub fn print(&self) -> String {
        if is_unused(&self.key) {
            return self.volume();
        }
        let keys = option::schema(self.kind, &self.key).and_then(property::keys);
        let printed = keys.and_then(|keys| property::print(keys, &self.options).ok());
        printed.unwrap_or_else(|| self.plain())
    }

    /// The volume first, then the rest sorted: for values that the format would not take.
    fn plain(&self) -> String {
        let mut rest: Vec<String> = self
            .options
            .iter()
            .filter(|(name, _)| name.as_str() != volume_key(self.kind))
            .map(|(name, value)| format!("{name}={}", option::text(value)))
            .collect();
        rest.sort();
        rest.insert(0, self.volume());
        rest.join(",")
    }

    /// One of its keys as text.
    pub fn get(&self, name: &str) -> Option<String> {
        self.options.get(name).map(option::text)
    }

    /// Sets one of its keys.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.options.insert(name.into(), value.into());
    }

    /// Takes one of its keys away.
    pub fn take(&mut self, name: &str) -> Option<String> {
        self.options.shift_remove(name).map(|value| option::text(&value))
    }

    /// Its volume, device or word (`none`, `cdrom`).
    pub fn volume(&self) -> String {
        self.get(volume_key(self.kind)).unwrap_or_default()
    }

    /// The storage of its volume; `None` for paths, `none` and `cdrom`.
    pub fn storage(&self) -> Option<String> {
        let volume = self.volume();
        let (storage, _) = volume.split_once(':')?;
        (!storage.contains('/')).then(|| storage.to_string())
    }

    /// Puts another volume in.
    pub fn set_volume(&mut self, volid: &str) {
        self.set(volume_key(self.kind), volid);
    }

    /// Sets its size in bytes.
    pub fn set_size(&mut self, bytes: u64) {
        self.set("size", size::print(bytes));
    }

    /// Its size in bytes, where it is written.
    pub fn size(&self) -> Option<u64> {
        self.get("size").as_deref().and_then(size::parse)
    }

    /// Whether it is the drive of the cloud-init data.
    pub fn is_cloudinit(&self) -> bool {
        let volume = self.volume();
        let last = volume.rsplit([':', '/']).next().unwrap_or_default();
        let stem = last.split('.').next().unwrap_or_default();
        self.kind == GuestKind::Vm && (last == "cloudinit" || (stem.starts_with("vm-") && stem.ends_with("-cloudinit")))
    }

    /// Whether it is a CD drive; the cloud-init drive counts only when asked for.
    pub fn is_cdrom(&self, without_cloudinit: bool) -> bool {
        self.get("media").as_deref() == Some("cdrom") && !(without_cloudinit && self.is_cloudinit())
    }

    /// Of a mount point: whether it is a volume of a storage, a device or a directory of the node.
    pub fn mount_type(&self) -> &'static str {
        let volume = self.volume();
        if volume.starts_with("/dev/") {
            "device"
        } else if volume.starts_with('/') {
            "bind"
        } else {
            "volume"
        }
    }

    /// `<storage>:<GiB>` with an optional storage: what asks for a new volume.
    pub fn wants_new(&self) -> Option<(Option<String>, f64)> {
        new_disk(&self.volume())
    }
}

/// Storage and size in GiB of `local-lvm:8` or `8`.
pub fn new_disk(text: &str) -> Option<(Option<String>, f64)> {
    let (storage, number) = match text.split_once(':') {
        Some((storage, number)) if !storage.is_empty() && !storage.contains(['/', ' ']) => (Some(storage), number),
        Some(_) => return None,
        None => (None, text),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let size = number.parse().ok().filter(|_| digits(whole) && digits(fraction))?;
    Some((storage.map(str::to_string), size))
}

fn volume_key(kind: GuestKind) -> &'static str {
    match kind {
        GuestKind::Vm => "file",
        GuestKind::Lxc => "volume",
    }
}

/// The disks of a configuration, sorted by key.
pub fn disks(kind: GuestKind, config: &Map<String, Value>) -> Vec<Disk> {
    let mut keys: Vec<&String> = config.keys().filter(|key| is_disk(kind, key)).collect();
    keys.sort();
    keys.into_iter().filter_map(|key| Disk::parse(kind, key, &option::text(&config[key]))).collect()
}

/// The disks of a configuration in Proxmox's order: ide, scsi, virtio, sata, efidisk, tpmstate; rootfs, mp.
pub fn drives(kind: GuestKind, config: &Map<String, Value>) -> Vec<Disk> {
    let mut drives = disks(kind, config);
    drives.sort_by_key(|disk| rank(&disk.key));
    drives
}

fn rank(key: &str) -> (usize, u32) {
    const BUSES: [&str; 8] = ["ide", "scsi", "virtio", "sata", "efidisk", "tpmstate", "rootfs", "mp"];
    let bus = key.trim_end_matches(|c: char| c.is_ascii_digit());
    let at = BUSES.iter().position(|known| *known == bus).unwrap_or(BUSES.len());
    (at, key[bus.len()..].parse().unwrap_or(0))
}

/// Volumes that a configuration lists as unused, with their keys.
pub fn unused(config: &Map<String, Value>) -> Vec<(String, String)> {
    let listed = config.iter().filter(|(key, _)| is_unused(key));
    listed.map(|(key, value)| (key.clone(), option::text(value))).collect()
}

/// Size in bytes of the disk that a machine boots from first, as it is written; 0 without a boot order.
pub fn boot_disk_size(guest: &Guest) -> u64 {
    let boot = guest.option("boot").unwrap_or_default();
    let order = boot.split(',').find_map(|part| part.trim().strip_prefix("order=").map(str::to_string));
    let keys: Vec<String> = match order {
        Some(order) => order.split(';').map(str::to_string).collect(),
        None => guest.option("bootdisk").into_iter().collect(),
    };
    let values = keys.iter().filter(|key| is_drive(key)).filter_map(|key| Some((key, guest.config.get(key)?)));
    let mut disks = values.filter_map(|(key, value)| Disk::parse(GuestKind::Vm, key, &option::text(value)));
    disks.find(|disk| !disk.is_cdrom(false)).and_then(|disk| disk.size()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn disks_are_taken_apart_and_put_together() {
        let drive = |key: &str, text: &str| Disk::parse(GuestKind::Vm, key, text);
        let mut disk = drive("virtio0", "local:1,iothread=1,discard=on,cache=writeback").expect("a drive");
        assert_eq!(disk.wants_new(), Some((Some("local".into()), 1.0)));
        disk.set_volume("local:100/vm-100-disk-4.raw");
        disk.set_size(1 << 30);
        assert_eq!(disk.print(), "local:100/vm-100-disk-4.raw,cache=writeback,discard=on,iothread=1,size=1G");
        assert!(drive("scsi0", "file=local:100,mbps_max=1").is_none());
        assert!(drive("ide2", "local:100,format=raw,media=cdrom").is_none());
        assert!(drive("ide3", "local:100/vm-100-cloudinit.qcow2,media=cdrom").expect("a drive").is_cloudinit());
        let mount = Disk::parse(GuestKind::Lxc, "mp0", "mp=/mnt/x,volume=local:1,backup=1").expect("a mount point");
        assert_eq!((mount.print().as_str(), mount.mount_type()), ("local:1,mp=/mnt/x,backup=1", "volume"));
        assert!(is_drive("scsi30") && !is_drive("scsi31") && !is_drive("unused0") && is_unused("unused12"));
    }

    #[test]
    fn disks_come_in_proxmox_order() {
        let config = json!({
            "efidisk0": "local:100/vm-100-disk-2.raw,size=528K", "scsi10": "local:b", "scsi2": "local:c",
            "scsihw": "lsi", "ide2": "none,media=cdrom", "name": "x", "unused0": "local:d",
        });
        let config = config.as_object().expect("an object");
        let keys: Vec<String> = drives(GuestKind::Vm, config).into_iter().map(|disk| disk.key).collect();
        assert_eq!(keys, ["ide2", "scsi2", "scsi10", "efidisk0"]);
        assert_eq!(unused(config), [("unused0".to_string(), "local:d".to_string())]);
    }
}

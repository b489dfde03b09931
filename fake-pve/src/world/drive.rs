//! Drives and mount points as a guest's configuration names them: `scsi0: local-lvm:vm-100-disk-0,size=8G`.

use serde_json::{Map, Value};

use super::{Guest, GuestKind};

/// One drive of a machine, or one mount point of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drive {
    /// `scsi0`, `rootfs`, `mp1` …
    pub key: String,
    /// The volume, a path, `none` or `cdrom`.
    pub volid: String,
    /// What comes after it, as it is written.
    pub options: Vec<(String, String)>,
}

impl Drive {
    /// Reads a value of the configuration. The volume may be named by `file=` or `volume=`.
    pub fn parse(key: &str, text: &str) -> Drive {
        let mut drive = Drive { key: key.into(), volid: String::new(), options: Vec::new() };
        for part in text.split(',') {
            match part.split_once('=') {
                Some(("file" | "volume", volid)) => drive.volid = volid.into(),
                Some((name, value)) => drive.options.push((name.into(), value.into())),
                None if drive.volid.is_empty() => drive.volid = part.into(),
                None => {}
            }
        }
        drive
    }

    /// An option's value.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The storage of its volume; `None` for paths, `none` and `cdrom`.
    pub fn storage(&self) -> Option<&str> {
        self.volid.split_once(':').map(|(storage, _)| storage).filter(|storage| !storage.contains('/'))
    }

    /// Whether it is a CD-ROM drive (a cloud-init drive is one too).
    pub fn cdrom(&self) -> bool {
        self.option("media") == Some("cdrom")
    }

    /// Whether it holds cloud-init data.
    pub fn cloudinit(&self) -> bool {
        self.volid.ends_with("-cloudinit") || self.volid.contains("-cloudinit.")
    }

    /// The size that the configuration states, in bytes.
    pub fn size(&self) -> Option<u64> {
        parse_size(self.option("size")?)
    }

    /// The value of the configuration again, the volume first.
    pub fn text(&self) -> String {
        let options = self.options.iter().map(|(key, value)| format!(",{key}={value}"));
        std::iter::once(self.volid.clone()).chain(options).collect()
    }
}

/// Drives of a configuration, in Proxmox's order (ide, scsi, virtio, sata, efidisk, tpmstate; rootfs, mp).
pub fn drives(kind: GuestKind, config: &Map<String, Value>) -> Vec<Drive> {
    let ranked = config.iter().filter_map(|(key, value)| Some((rank(kind, key)?, key, value.as_str()?)));
    let mut ranked: Vec<_> = ranked.collect();
    ranked.sort_unstable_by_key(|(rank, ..)| *rank);
    ranked.into_iter().map(|(_, key, text)| Drive::parse(key, text)).collect()
}

/// Whether a key names a drive.
pub fn is_drive(kind: GuestKind, key: &str) -> bool {
    rank(kind, key).is_some()
}

fn rank(kind: GuestKind, key: &str) -> Option<(usize, u32)> {
    const VM: [&str; 6] = ["ide", "scsi", "virtio", "sata", "efidisk", "tpmstate"];
    const LXC: [&str; 2] = ["rootfs", "mp"];
    let buses: &[&str] = if kind == GuestKind::Vm { &VM } else { &LXC };
    let bus = key.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = &key[bus.len()..];
    let at = buses.iter().position(|known| *known == bus)?;
    match (bus, number) {
        ("rootfs", "") => Some((at, 0)),
        ("rootfs", _) | (_, "") => None,
        _ => Some((at, number.parse().ok()?)),
    }
}

/// Volumes that a configuration lists as unused, with their keys.
pub fn unused(config: &Map<String, Value>) -> Vec<(String, String)> {
    let listed = config.iter().filter(|(key, _)| is_unused(key));
    listed.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_string()))).collect()
}

/// Whether a key is `unusedN`.
pub fn is_unused(key: &str) -> bool {
    key.strip_prefix("unused").is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// Lists a volume as unused under the lowest free number, unless it is listed already.
pub fn add_unused(config: &mut Map<String, Value>, volid: &str) {
    if unused(config).iter().any(|(_, listed)| listed == volid) {
        return;
    }
    if let Some(key) = (0..256).map(|n| format!("unused{n}")).find(|key| !config.contains_key(key)) {
        config.insert(key, volid.into());
    }
}

/// Size in bytes of the disk that a machine boots from, as its configuration states it; 0 without a boot order.
pub fn boot_disk_size(guest: &Guest) -> u64 {
    let boot = guest.option("boot").unwrap_or_default();
    let order = boot.strip_prefix("order=").map(|order| order.split(';').map(str::to_string).collect::<Vec<_>>());
    let keys = order.unwrap_or_else(|| guest.option("bootdisk").into_iter().collect());
    let disks = keys.iter().filter(|key| is_drive(GuestKind::Vm, key));
    let drives = disks.filter_map(|key| Some(Drive::parse(key, &guest.option(key)?)));
    drives.filter(|drive| !drive.cdrom() && !drive.volid.is_empty()).find_map(|drive| drive.size()).unwrap_or(0)
}

/// `8G`, `1536M`, `528K`, `1.5T` or bytes into bytes.
pub fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim().trim_end_matches("iB");
    let (number, shift) = match text.chars().last()? {
        'K' => (&text[..text.len() - 1], 10),
        'M' => (&text[..text.len() - 1], 20),
        'G' => (&text[..text.len() - 1], 30),
        'T' => (&text[..text.len() - 1], 40),
        _ => (text, 0),
    };
    let number: f64 = number.parse().ok()?;
    (number >= 0.0)
        .then_some((number * f64::from(1u32 << (shift % 32)) * if shift >= 32 { 4_294_967_296.0 } else { 1.0 }) as u64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sizes_are_read() {
        assert_eq!(parse_size("8G"), Some(8 << 30));
        assert_eq!(parse_size("1.5T"), Some(3 << 39));
        assert_eq!(parse_size("528K"), Some(528 << 10));
        assert_eq!(parse_size("4096"), Some(4096));
        assert_eq!(parse_size("many"), None);
    }

    #[test]
    fn drives_come_in_proxmox_order() {
        let config = json!({
            "efidisk0": "local:100/vm-100-disk-2.raw,size=528K", "scsi10": "a:b", "scsi2": "a:c", "scsihw": "lsi",
            "ide2": "none,media=cdrom", "name": "x", "unused0": "a:d",
        });
        let config = config.as_object().expect("an object");
        let keys: Vec<String> = drives(GuestKind::Vm, config).into_iter().map(|drive| drive.key).collect();
        assert_eq!(keys, ["ide2", "scsi2", "scsi10", "efidisk0"]);
        assert_eq!(unused(config), [("unused0".to_string(), "a:d".to_string())]);
        let drive = Drive::parse("scsi0", "file=local:1/x.qcow2,iothread=1,size=1G");
        assert_eq!(
            (drive.storage(), drive.size(), drive.option("iothread")),
            (Some("local"), Some(1 << 30), Some("1"))
        );
        assert_eq!(drive.text(), "local:1/x.qcow2,iothread=1,size=1G");
    }
}

//! Guests, and a volume for each disk that a configuration names with its size.

use serde_json::Value;

use super::Import;
use crate::world::file::guest_file;
use crate::world::{GuestKind, Volume, conf};

impl Import<'_> {
    pub(super) fn guests(&mut self) {
        for (name, text) in self.files {
            let Some((kind, node, vmid)) = guest_file(name) else { continue };
            let (guest, warnings) = conf::read(kind, vmid, node, text);
            self.warn(name, warnings);
            let disks: Vec<Volume> = guest.config.values().filter_map(|value| disk(kind, value)).collect();
            for disk in disks {
                self.world.put_volume(node, disk);
            }
            self.world.guests.insert(vmid, guest);
        }
    }
}

/// `local:100/vm-100-disk-0.qcow2,size=32G` -> the volume, when it belongs to a guest.
fn disk(kind: GuestKind, value: &Value) -> Option<Volume> {
    let text = value.as_str()?;
    let mut parts = text.split(',');
    let volid = parts.next()?.trim_start_matches("file=").trim_start_matches("volume=");
    let (_, name) = volid.split_once(':')?;
    let base = name.rsplit('/').next()?;
    let owner =
        base.strip_prefix("vm-").or_else(|| base.strip_prefix("base-")).or_else(|| base.strip_prefix("subvol-"))?;
    let vmid = owner.split('-').next()?.parse().ok()?;
    let size = parts.find_map(|part| part.strip_prefix("size=")).and_then(bytes).unwrap_or(0);
    let format = match base.rsplit_once('.') {
        Some((_, format)) => format,
        None if base.starts_with("subvol-") => "subvol",
        None => "raw",
    };
    let content = if kind == GuestKind::Vm { "images" } else { "rootdir" };
    let (volid, content, format) = (volid.to_string(), content.to_string(), format.to_string());
    Some(Volume { volid, content, format, size, used: size / 4, vmid: Some(vmid), ..Volume::default() })
}

/// `32G` -> bytes.
fn bytes(text: &str) -> Option<u64> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number: f64 = text[..text.len() - unit.len()].parse().ok()?;
    let factor: u64 = match unit.trim_end_matches("iB") {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        "T" => 1 << 40,
        _ => return None,
    };
    Some((number * factor as f64) as u64)
}

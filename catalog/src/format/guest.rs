//! Guest formats: identifiers, boot, hotplug, start order, CPU sets, container paths.

use super::{Check, expect, split_list};
use crate::pattern::whole;

pub(super) const FORMATS: &[(&str, Check)] = &[
    ("pve-vmid", |v| expect(whole("[1-9][0-9]{2,8}", v), "value does not look like a valid VM ID\n")),
    ("pve-startup-order", |v| expect(is_startup_order(v), "unable to parse startup options\n")),
    ("pve-cpuset", |v| expect(is_cpu_set(v), "unable to parse cpuset option\n")),
    ("pve-hotplug-features", hotplug),
    ("pve-qm-bootdisk", |v| expect(is_drive(v), format!("invalid boot disk '{v}'\n"))),
    ("pve-qm-bootdev", |v| {
        let drive = is_drive(v) && !v.starts_with("efidisk") && !v.starts_with("tpmstate");
        let device = numbered(v, "net", 31) || numbered(v, "usb", 13) || numbered(v, "hostpci", 15);
        expect(drive || device, format!("invalid boot device '{v}'\n"))
    }),
    ("pve-phys-bits", |v| {
        let fits = v == "host" || (whole(r"\d{1,2}", v) && (8..=64).contains(&v.trim_end().parse().unwrap_or(0)));
        expect(fits, "value must be an integer between 8 and 64 or 'host'\n")
    }),
    ("pve-lxc-mp-string", |v| expect(!leaves_folder(v), format!("{v} contains illegal character sequences\n"))),
    ("pve-lxc-dev-string", |v| {
        expect(v.starts_with("/dev/") && !leaves_folder(v), format!("{v} is not a valid device path\n"))
    }),
];

fn is_startup_order(value: &str) -> bool {
    let part = |part: &str| part.trim().is_empty() || whole(r"(?:(?:order=)?|up=|down=)\d+", part);
    !value.is_empty() && value != "0" && value.split(',').all(part)
}

/// `0,5,8-11`; empty parts count for nothing.
fn is_cpu_set(value: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    value.split(',').map(str::trim).filter(|part| !part.is_empty()).all(|part| match part.split_once('-') {
        Some((low, high)) => {
            let order = low.parse::<u64>().ok().zip(high.parse::<u64>().ok());
            number(low) && number(high) && order.is_some_and(|(low, high)| low <= high)
        }
        None => number(part),
    })
}

fn hotplug(value: &str) -> Result<(), String> {
    if matches!(value, "0" | "1") {
        return Ok(());
    }
    let feature = |feature: &str| matches!(feature, "network" | "disk" | "cpu" | "memory" | "usb" | "cloudinit");
    match split_list(value).into_iter().find(|name| !feature(name)) {
        Some(name) => Err(format!("invalid hotplug feature '{name}'\n")),
        None => Ok(()),
    }
}

fn is_drive(value: &str) -> bool {
    let buses = [("ide", 3), ("sata", 5), ("scsi", 30), ("virtio", 15), ("efidisk", 0), ("tpmstate", 0)];
    buses.iter().any(|(bus, last)| numbered(value, bus, *last))
}

/// Whether the value is `name` and an index without leading zeros, up to `last`.
fn numbered(value: &str, name: &str, last: u32) -> bool {
    let index = value.strip_prefix(name).and_then(|index| index.parse::<u32>().ok().map(|n| (index, n)));
    index.is_some_and(|(text, index)| index <= last && text == index.to_string())
}

/// Dot segments that lead out of a folder, or mean the folder itself.
fn leaves_folder(path: &str) -> bool {
    let path = super::chomp(path);
    path.contains("/./")
        || path.contains("/../")
        || path.ends_with("/.")
        || path.ends_with("/..")
        || path.starts_with("../")
}

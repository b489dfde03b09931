//! Rights on volumes and bridges that options name.

use crate::behaviour::{Call, Failure};
use crate::world::volume::name;

/// Refuses a volume that the caller may not use for a guest. `content` is what it must be, where that matters.
///
/// # Errors
/// A name that cannot be read (500), the wrong content (500), a missing right (403), a path of the node from somebody
/// who is not root (500).
pub(crate) fn check_volume(call: &Call<'_>, vmid: u32, volid: &str, content: Option<&str>) -> Result<(), Failure> {
    let Ok((storage, _)) = name::split(volid) else {
        if call.is_root() {
            return Ok(());
        }
        let text = "Only root can pass arbitrary filesystem paths. at /usr/share/perl5/PVE/Storage.pm line 651.";
        return Err(Failure::die(text));
    };
    let parsed = call.world.parse_volume(volid)?;
    let fits = |wanted: &str| parsed.content == wanted || (wanted == "rootdir" && parsed.content == "images");
    if let Some(wanted) = content.filter(|wanted| !fits(wanted)) {
        return Err(Failure::die(format!("unable to use volume {volid} - content type needs to be '{wanted}'")));
    }
    let on_storage = format!("/storage/{storage}");
    if call.is_root() || call.may(&on_storage, &["Datastore.Allocate"]) {
        return Ok(());
    }
    match (parsed.content, parsed.vmid) {
        ("iso" | "vztmpl" | "import", _) => {
            require_any(call, &on_storage, &["Datastore.AllocateSpace", "Datastore.Audit"])
        }
        (_, Some(owner)) if owner == vmid => Ok(()),
        ("backup", Some(owner)) => {
            call.require(&on_storage, &["Datastore.AllocateSpace"])?;
            call.require(&format!("/vms/{owner}"), &["VM.Backup"])
        }
        ("images" | "rootdir", Some(owner)) => {
            call.require(&on_storage, &["Datastore.Audit"])?;
            call.require(&format!("/vms/{owner}"), &["VM.Config.Disk"])
        }
        _ => Err(Failure::die(format!("missing privileges to access {volid}"))),
    }
}

/// Refuses unless the caller holds one of some privileges.
///
/// # Errors
/// 403 that names them all: `/vms/100, VM.Config.Cloudinit|VM.Config.Network`.
pub(crate) fn require_any(call: &Call<'_>, path: &str, privileges: &[&str]) -> Result<(), Failure> {
    if call.is_root() || call.may(path, privileges) {
        return Ok(());
    }
    Err(Failure::denied(&format!("{path}, {}", privileges.join("|"))))
}

/// Refuses unless the caller holds all of some privileges; root always does.
///
/// # Errors
/// 403 with the first missing one.
pub(crate) fn require(call: &Call<'_>, path: &str, privileges: &[&str]) -> Result<(), Failure> {
    if call.is_root() { Ok(()) } else { call.require(path, privileges) }
}

/// Refuses a privilege on a guest that a pool may give as well.
///
/// # Errors
/// 403 about the guest.
pub(crate) fn require_on_guest(call: &Call<'_>, vmid: u32, pool: Option<&str>, privilege: &str) -> Result<(), Failure> {
    let by_pool = pool.is_some_and(|pool| call.may(&format!("/pool/{pool}"), &[privilege]));
    if by_pool { Ok(()) } else { require(call, &format!("/vms/{vmid}"), &[privilege]) }
}

/// Refuses a network device on a bridge that the caller may not use.
///
/// # Errors
/// 403: `/sdn/zones/localnetwork/vmbr0, SDN.Use`, with the VLAN where there is one.
pub(crate) fn check_bridge(call: &Call<'_>, net: &str) -> Result<(), Failure> {
    let part = |key: &str| net.split(',').find_map(|part| part.trim().strip_prefix(key).map(str::to_string));
    let Some(bridge) = part("bridge=") else { return Ok(()) };
    let on_bridge = format!("/sdn/zones/{}/{bridge}", call.world.zone_of(&bridge));
    let mut tags: Vec<String> = part("tag=").into_iter().collect();
    tags.extend(part("trunks=").unwrap_or_default().split(';').filter(|tag| !tag.is_empty()).map(str::to_string));
    if tags.is_empty() {
        return require(call, &on_bridge, &["SDN.Use"]);
    }
    tags.iter().try_for_each(|tag| require(call, &format!("{on_bridge}/{tag}"), &["SDN.Use"]))
}

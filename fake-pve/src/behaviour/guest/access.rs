//! Rights on volumes and bridges that options name.

use super::stage::Stage;
use crate::behaviour::Failure;
use crate::world::volume::name;

/// Refuses a volume that the caller may not use for a guest. `content` is what it must be, where that matters.
///
/// # Errors
/// A name that cannot be read (500), the wrong content (500), a missing right (403), a path of the node from somebody
/// who is not root (500).
pub(crate) fn check_volume(stage: &dyn Stage, vmid: u32, volid: &str, content: Option<&str>) -> Result<(), Failure> {
    let Ok((storage, _)) = name::split(volid) else {
        if stage.by_root() {
            return Ok(());
        }
        let text = "Only root can pass arbitrary filesystem paths. at /usr/share/perl5/PVE/Storage.pm line 651.";
        return Err(Failure::die(text));
    };
    let parsed = stage.world().parse_volume(volid)?;
    let fits = |wanted: &str| parsed.content == wanted || (wanted == "rootdir" && parsed.content == "images");
    if let Some(wanted) = content.filter(|wanted| !fits(wanted)) {
        return Err(Failure::die(format!("unable to use volume {volid} - content type needs to be '{wanted}'")));
    }
    let on_storage = format!("/storage/{storage}");
    if stage.holds(&on_storage, &["Datastore.Allocate"]) {
        return Ok(());
    }
    match (parsed.content, parsed.vmid) {
        ("iso" | "vztmpl" | "import", _) => {
            stage.need_any(&on_storage, &["Datastore.AllocateSpace", "Datastore.Audit"])
        }
        (_, Some(owner)) if owner == vmid => Ok(()),
        ("backup", Some(owner)) => {
            stage.need(&on_storage, &["Datastore.AllocateSpace"])?;
            stage.need(&format!("/vms/{owner}"), &["VM.Backup"])
        }
        ("images" | "rootdir", Some(owner)) => {
            stage.need(&on_storage, &["Datastore.Audit"])?;
            stage.need(&format!("/vms/{owner}"), &["VM.Config.Disk"])
        }
        _ => Err(Failure::die(format!("missing privileges to access {volid}"))),
    }
}

/// Refuses a network device on a bridge that the caller may not use.
///
/// # Errors
/// 403: `/sdn/zones/localnetwork/vmbr0, SDN.Use`, with the VLAN where there is one.
pub(crate) fn check_bridge(stage: &dyn Stage, net: &str) -> Result<(), Failure> {
    let part = |key: &str| net.split(',').find_map(|part| part.trim().strip_prefix(key).map(str::to_string));
    let Some(bridge) = part("bridge=") else { return Ok(()) };
    let on_bridge = format!("/sdn/zones/{}/{bridge}", stage.world().zone_of(&bridge));
    let mut tags: Vec<String> = part("tag=").into_iter().collect();
    tags.extend(part("trunks=").unwrap_or_default().split(';').filter(|tag| !tag.is_empty()).map(str::to_string));
    if tags.is_empty() {
        return stage.need(&on_bridge, &["SDN.Use"]);
    }
    tags.iter().try_for_each(|tag| stage.need(&format!("{on_bridge}/{tag}"), &["SDN.Use"]))
}

/// Refuses a script that is no snippet or not there.
///
/// # Errors
/// Text without a status: machines answer it as a parameter error, containers as it is.
pub(crate) fn check_hookscript(stage: &dyn Stage, volid: &str) -> Result<(), String> {
    let parsed = stage.world().parse_volume(volid)?;
    if parsed.content != "snippets" {
        return Err(format!("'{volid}' is not in the snippets directory"));
    }
    match stage.world().volume(&stage.at(), volid) {
        Some(_) => Ok(()),
        None => Err(format!("script '{volid}' does not exist")),
    }
}

/// Refuses text in which no line is a public key.
///
/// # Errors
/// `SSH public key validation error`.
pub(crate) fn check_ssh_keys(text: &str) -> Result<(), Failure> {
    if text.trim().is_empty() || text.lines().any(is_public_key) {
        Ok(())
    } else {
        Err(Failure::die("SSH public key validation error"))
    }
}

/// `ssh-ed25519 AAAA… comment`: the data names its own type and ends where its parts end.
fn is_public_key(line: &str) -> bool {
    use base64::Engine as _;
    let mut words =
        line.split_whitespace().skip_while(|word| !["ssh-", "ecdsa-", "sk-"].iter().any(|p| word.starts_with(p)));
    let (Some(kind), Some(data)) = (words.next(), words.next()) else { return false };
    let Ok(bytes) = base64::engine::general_purpose::STANDARD.decode(data) else { return false };
    let mut parts = Vec::new();
    let mut rest = bytes.as_slice();
    while rest.len() >= 4 {
        let (length, after) = rest.split_at(4);
        let length = u32::from_be_bytes([length[0], length[1], length[2], length[3]]) as usize;
        if after.len() < length {
            return false;
        }
        parts.push(&after[..length]);
        rest = &after[length..];
    }
    rest.is_empty() && parts.len() >= 2 && parts[0] == kind.as_bytes()
}

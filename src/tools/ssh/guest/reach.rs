//! Where a guest's SSH server is, and why its host key is believed.

use std::net::IpAddr;

use serde_json::{Value, json};

use crate::config::SshAddress;
use crate::error::{Code, Fault};
use crate::policy::{Effect, Guest, GuestTrust, Place, SshCommand};
use crate::ssh::End;
use crate::tools::context::Performed;
use crate::tools::workflows::guest::{self, Guest as Row, Kind};
use crate::tools::workflows::network;
use crate::tools::{Ctx, Given, Parameter};

/// Which guest.
pub const VMID: Parameter = Parameter::integer("vmid", 100, 999_999_999, "");
/// Another address than the one that Proxmox knows.
pub const HOST: Parameter = Parameter::text("host", "address; else what Proxmox knows of the guest");
/// Its port.
pub const PORT: Parameter = Parameter::integer("port", 1, 65_535, "default 22");
/// The node to go through.
pub const VIA_NODE: Parameter = Parameter::text("via_node", "go through this node");
/// The key to expect.
pub const FINGERPRINT: Parameter =
    Parameter::text("fingerprint", "SHA256:… of its host key; needed for a VM that known_hosts lacks");

/// Where the caller means. `writes` says whether what follows changes something: reading the key is then a part of that.
///
/// # Errors
/// `bad_argument` when neither guest nor address is given; `not_found`, `guest_not_running`, those of an agent; what reading
/// the key of a container can cause.
pub async fn place(ctx: &Ctx, given: &Given, name: &'static str, writes: bool) -> Result<Place, Fault> {
    let row = match given.integer("vmid") {
        Some(vmid) => Some(guest::one(ctx, vmid).await?),
        None => None,
    };
    let host = match (given.text("host"), &row) {
        (Some(host), _) => address(host)?,
        (None, Some(row)) => known(ctx, row).await?.to_string(),
        (None, None) => return Err(Fault::argument("vmid", "say which guest: vmid, or host")),
    };
    let port = given.integer("port").and_then(|port| u16::try_from(port).ok());
    let trust = match (given.text("fingerprint"), &row) {
        (Some(pin), _) => GuestTrust::Fingerprint(
            pin.parse().map_err(|_| Fault::argument("fingerprint", "takes SHA256:… as ssh-keygen -l shows it"))?,
        ),
        (None, Some(row)) if row.kind == Kind::Lxc => {
            let dry_run = given.flag("dry_run").unwrap_or(false);
            keys(ctx, row, name, writes, dry_run).await?.map_or(GuestTrust::KnownHosts, GuestTrust::Keys)
        }
        _ => GuestTrust::KnownHosts,
    };
    let via_node = given.text("via_node").map(str::to_string);
    Ok(Place::Guest(Guest { vmid: row.map(|row| row.vmid), address: SshAddress { host, port }, via_node, trust }))
}

/// What is said of the place beside a result.
pub fn facts(place: &Place) -> Value {
    let Place::Guest(guest) = place else { return json!({}) };
    let trust = match &guest.trust {
        GuestTrust::KnownHosts => "known_hosts",
        GuestTrust::Fingerprint(_) => "fingerprint",
        GuestTrust::Keys(_) => "read in the container by pct",
    };
    let mut facts = json!({"host": guest.address.host, "host_key_from": trust});
    if let Some(vmid) = guest.vmid {
        facts["vmid"] = vmid.into();
    }
    if let Some(node) = &guest.via_node {
        facts["via_node"] = node.as_str().into();
    }
    facts
}

/// A name or an address, without port, user or anything else.
fn address(host: &str) -> Result<String, Fault> {
    let name = |host: &str| host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
    let plain = host.starts_with(|c: char| c.is_ascii_alphanumeric()) && host.len() <= 253 && name(host);
    match plain || host.parse::<IpAddr>().is_ok() {
        true => Ok(host.to_string()),
        false => Err(Fault::argument("host", "takes a host's name or an IP address; the port has its own argument")),
    }
}

/// The address that a guest has now, else the one that its configuration fixes.
async fn known(ctx: &Ctx, row: &Row) -> Result<IpAddr, Fault> {
    let config = row.read(ctx, "/config").await?;
    let mac = network::first_mac(&config);
    let live = network::live(ctx, row).await;
    if let Some(address) = live.as_ref().ok().and_then(|all| network::best(all, mac.as_deref())) {
        return Ok(address.ip);
    }
    if let Some(address) = network::best(&network::configured(&config), None) {
        return Ok(address.ip);
    }
    let why = live.err().map(|fault| format!(": {}", fault.message)).unwrap_or_default();
    let fault = Fault::new(Code::NotFound, format!("Proxmox knows no address of guest {row}{why}"));
    Err(fault
        .hint("give its address as host; a VM tells its addresses by the guest agent")
        .detail("guest", row.named()))
}

/// The host keys of a container, read by `pct` on its node: a way that is authenticated already. Nothing in a dry run.
async fn keys(
    ctx: &Ctx,
    row: &Row,
    name: &'static str,
    writes: bool,
    dry_run: bool,
) -> Result<Option<Vec<String>>, Fault> {
    let place = Place::Container { node: row.node.clone(), vmid: row.vmid };
    let argv = ["sh", "-c", "cat /etc/ssh/ssh_host_*_key.pub"];
    let mut command = SshCommand::run(name, place, argv, Effect::Reads)?;
    if writes {
        command = command.for_a_write();
    }
    let said = match ctx.ssh(command, dry_run).await? {
        Performed::Done(said) => said,
        Performed::Dry(_) => return Ok(None),
    };
    let text = String::from_utf8_lossy(&said.stdout);
    let keys: Vec<String> = text.lines().filter_map(key).collect();
    match keys.is_empty() {
        false => Ok(Some(keys)),
        true if matches!(said.end, End::Exit(_)) => {
            Err(Fault::new(Code::HostKeyUnknown, format!("container {row} has no SSH host key to read"))
                .hint("is an SSH server installed in it? pve_lxc_ssh_enable does that")
                .detail("stderr", said.error_text())
                .detail("untrusted", true))
        }
        true => Err(Fault::new(Code::SshUnreachable, format!("the host key of container {row} could not be read"))),
    }
}

/// Type and key of a line, without the comment.
fn key(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    let (kind, key) = (words.next()?, words.next()?);
    (kind.starts_with("ssh-") || kind.starts_with("ecdsa-")).then(|| format!("{kind} {key}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_names_or_addresses() {
        for host in ["192.0.2.1", "web-1.example.org", "2001:db8::1"] {
            assert_eq!(address(host).as_deref(), Ok(host));
        }
        for host in ["-oProxyCommand=x", "a b", "host:22", "root@host", ""] {
            assert_eq!(address(host).expect_err(host).code, Code::BadArgument);
        }
    }
}

//! Addresses of guests: what the agent of a VM or the interfaces of a container say, and what the configuration fixes.

use std::net::IpAddr;
use std::time::Duration;

use serde_json::Value;

use super::guest::{Guest, Kind};
use super::reading::{foreign, text};
use crate::error::{Code, Fault};
use crate::tools::Ctx;

/// Between two questions for an address.
const PAUSE: Duration = Duration::from_secs(2);

/// One address of a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// `eth0`, or `net0` where only the configuration is known.
    pub interface: String,
    /// In lower case.
    pub mac: Option<String>,
    pub ip: IpAddr,
}

impl Address {
    /// Whether somebody elsewhere could reach the guest by it.
    pub fn is_real(&self) -> bool {
        let inner = ["lo", "docker", "veth", "br-", "virbr", "cni", "flannel", "cali"];
        let link_local = match self.ip {
            IpAddr::V4(ip) => ip.is_link_local(),
            IpAddr::V6(ip) => ip.segments()[0] & 0xffc0 == 0xfe80,
        };
        !link_local && !self.ip.is_loopback() && !inner.iter().any(|prefix| self.interface.starts_with(prefix))
    }
}

/// The addresses that a running guest has.
///
/// # Errors
/// `agent_off`, `agent_not_running`, `agent_timeout` of a VM; what reading can cause.
pub async fn live(ctx: &Ctx, guest: &Guest) -> Result<Vec<Address>, Fault> {
    let interfaces = match guest.kind {
        Kind::Vm => guest.read(ctx, "/agent/network-get-interfaces").await?["result"].take(),
        Kind::Lxc => guest.read(ctx, "/interfaces").await?,
    };
    let interfaces = interfaces.as_array().cloned().unwrap_or_default();
    Ok(interfaces.iter().flat_map(of_interface).collect())
}

fn of_interface(interface: &Value) -> Vec<Address> {
    let name = text(interface, "name").map(foreign).unwrap_or_default();
    let mac = text(interface, "hardware-address").or(text(interface, "hwaddr")).map(str::to_lowercase);
    let listed = interface["ip-addresses"].as_array().cloned().unwrap_or_default();
    let listed: Vec<String> = listed.iter().filter_map(|row| text(row, "ip-address")).map(str::to_string).collect();
    let plain = ["inet", "inet6"].into_iter().filter_map(|key| text(interface, key)).map(str::to_string);
    let all: Vec<String> = if listed.is_empty() { plain.collect() } else { listed };
    let ips = all.iter().filter_map(|text| ip_of(text));
    ips.map(|ip| Address { interface: name.clone(), mac: mac.clone(), ip }).collect()
}

/// `192.0.2.5/24` or without the prefix; a zone (`%eth0`) is left out.
fn ip_of(text: &str) -> Option<IpAddr> {
    text.split(['/', '%']).next()?.parse().ok()
}

/// The addresses that a guest's configuration fixes: `ip=` of a container's devices, `ipconfigN` of a VM.
pub fn configured(config: &Value) -> Vec<Address> {
    let Some(options) = config.as_object() else { return Vec::new() };
    let mut found = Vec::new();
    for (key, value) in options {
        let number = ["net", "ipconfig"].into_iter().find_map(|stem| key.strip_prefix(stem)?.parse::<u8>().ok());
        let (Some(number), Some(value)) = (number, value.as_str()) else { continue };
        let fixed = value.split(',').filter_map(|part| part.strip_prefix("ip=").or(part.strip_prefix("ip6=")));
        found.extend(fixed.filter_map(ip_of).map(|ip| Address { interface: format!("net{number}"), mac: None, ip }));
    }
    found
}

/// The hardware address of `net0`, in lower case.
pub fn first_mac(config: &Value) -> Option<String> {
    let net = text(config, "net0")?;
    let is_mac = |part: &&str| part.len() == 17 && part.split(':').all(|byte| u8::from_str_radix(byte, 16).is_ok());
    net.split(',').filter_map(|part| part.split_once('=')).map(|(_, value)| value).find(is_mac).map(str::to_lowercase)
}

/// The address to reach a guest by: a real one of `net0`, else the first real one; IPv4 before IPv6.
pub fn best<'a>(addresses: &'a [Address], mac: Option<&str>) -> Option<&'a Address> {
    let real = || addresses.iter().filter(|address| address.is_real());
    let own = || real().filter(|address| mac.is_some() && address.mac.as_deref() == mac);
    own()
        .find(|address| address.ip.is_ipv4())
        .or_else(|| own().next())
        .or_else(|| real().find(|a| a.ip.is_ipv4()))
        .or_else(|| real().next())
}

/// Waits until a guest has an address to reach it by, at most until a moment of the cluster's clock; `None` when it got none.
///
/// # Errors
/// What its agent or interfaces said last.
pub async fn awaited(ctx: &Ctx, guest: &Guest, mac: Option<&str>, until: Duration) -> Result<Option<Address>, Fault> {
    let (clock, cancel) = (ctx.cluster().clock.clone(), ctx.cancelled_by_caller());
    loop {
        let asked = live(ctx, guest).await;
        if let Some(address) = asked.as_ref().ok().and_then(|all| best(all, mac)) {
            return Ok(Some(address.clone()));
        }
        let left = until.saturating_sub(clock.now());
        let gone = match &asked {
            Err(fault) => !matches!(fault.code, Code::AgentNotRunning | Code::AgentTimeout | Code::GuestNotRunning),
            Ok(_) => false,
        };
        if left.is_zero() || gone {
            return asked.map(|_| None);
        }
        tokio::select! {
            biased;
            () = cancel.cancelled() => return asked.map(|_| None),
            () = clock.sleep(PAUSE.min(left)) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn docker_link_local_and_loopback_are_nobodys_address() {
        let interfaces = [
            json!({"name": "lo", "hardware-address": "00:00:00:00:00:00", "ip-addresses": [{"ip-address": "127.0.0.1"}]}),
            json!({"name": "docker0", "ip-addresses": [{"ip-address": "172.17.0.1"}]}),
            json!({"name": "wg0", "ip-addresses": [{"ip-address": "10.9.0.2"}]}),
            json!({"name": "eth0", "hwaddr": "BC:24:11:00:00:01", "inet": "192.0.2.7/24", "inet6": "fe80::1/64"}),
            json!({"name": "idle"}),
        ];
        let all: Vec<Address> = interfaces.iter().flat_map(of_interface).collect();
        assert_eq!(best(&all, Some("bc:24:11:00:00:01")).map(|a| a.ip.to_string()), Some("192.0.2.7".into()));
        assert_eq!(best(&all, None).map(|a| a.ip.to_string()), Some("10.9.0.2".into()));
        assert_eq!(best(&[], None), None);
    }

    #[test]
    fn what_a_configuration_fixes() {
        let config = json!({
            "net0": "name=eth0,bridge=vmbr0,hwaddr=BC:24:11:00:00:01,ip=192.0.2.8/24,ip6=auto", "ipconfig1": "ip=dhcp",
            "ipconfig0": "ip=192.0.2.9/24,gw=192.0.2.1", "network": "ip=1.1.1.1",
        });
        let found: Vec<String> = configured(&config).iter().map(|address| address.ip.to_string()).collect();
        assert_eq!(found, ["192.0.2.8", "192.0.2.9"]);
        assert_eq!(first_mac(&config).as_deref(), Some("bc:24:11:00:00:01"));
        assert_eq!(
            first_mac(&json!({"net0": "virtio=BC:24:11:AA:00:01,bridge=vmbr0"})).as_deref(),
            Some("bc:24:11:aa:00:01")
        );
    }
}

//! Network devices of a guest as it would see them from inside: names, hardware addresses, addresses.

use super::{Guest, GuestKind};

/// One interface inside a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// `eth0`, `lo`, `docker0` …
    pub name: String,
    /// Hardware address in lower case.
    pub mac: String,
    /// IPv4 address and prefix.
    pub inet: Option<(String, u8)>,
    /// IPv6 address and prefix.
    pub inet6: Option<(String, u8)>,
}

/// The interfaces of a running guest, as the kernel lists them. A guest with the tag `docker` has Docker's too, before
/// its own.
pub fn interfaces(guest: &Guest) -> Vec<Interface> {
    let mut all = vec![Interface {
        name: "lo".into(),
        mac: "00:00:00:00:00:00".into(),
        inet: Some(("127.0.0.1".into(), 8)),
        inet6: Some(("::1".into(), 128)),
    }];
    let tags = guest.option("tags").unwrap_or_default();
    if tags.split([';', ',', ' ']).any(|tag| tag == "docker") {
        let plain = |name: &str, last: u32| Interface {
            name: name.into(),
            mac: format!("02:42:00:00:{:02x}:{last:02x}", guest.vmid % 256),
            inet: None,
            inet6: None,
        };
        all.push(Interface { inet: Some(("172.17.0.1".into(), 16)), ..plain("docker0", 1) });
        all.push(Interface { inet6: Some(("fe80::42:ff:fe00:2".into(), 64)), ..plain("veth3f1c2d8", 2) });
    }
    all.extend((0..32).filter_map(|number| own(guest, number)));
    all
}

/// The interface behind `netN`.
fn own(guest: &Guest, number: u32) -> Option<Interface> {
    let net = guest.option(&format!("net{number}"))?;
    let part = |key: &str| net.split(',').find_map(|part| part.strip_prefix(key)?.strip_prefix('='));
    let first = net.split(',').next().unwrap_or_default().split_once('=').map(|(_, mac)| mac);
    let (mac, ip, ip6, name) = match guest.kind {
        GuestKind::Lxc => {
            let name = part("name").map_or_else(|| format!("eth{number}"), str::to_string);
            (part("hwaddr"), part("ip").map(str::to_string), part("ip6").map(str::to_string), name)
        }
        GuestKind::Vm => {
            let config = guest.option(&format!("ipconfig{number}")).unwrap_or_else(|| "ip=dhcp".into());
            let of = |key: &str| {
                config.split(',').find_map(|part| part.strip_prefix(key)?.strip_prefix('=')).map(str::to_string)
            };
            (part("macaddr").or(first), of("ip"), of("ip6"), format!("eth{number}"))
        }
    };
    let mac = mac?.to_lowercase();
    let up = part("link_down") != Some("1");
    let inet = match ip.as_deref() {
        Some("dhcp") => Some(leased(guest.vmid, number)),
        Some(text) => cidr(text),
        None => None,
    };
    let inet6 = match ip6.as_deref() {
        Some(text) if text.contains(':') => cidr(text),
        _ => link_local(&mac).map(|address| (address, 64)),
    };
    Some(Interface { name, mac, inet: inet.filter(|_| up), inet6: inet6.filter(|_| up) })
}

/// What a DHCP server would give: the same for a guest each time.
fn leased(vmid: u32, number: u32) -> (String, u8) {
    (format!("10.{}.{}.{}", 10 + number, vmid / 200 % 256, 20 + vmid % 200), 16)
}

fn cidr(text: &str) -> Option<(String, u8)> {
    let (address, prefix) = text.split_once('/')?;
    Some((address.into(), prefix.parse().ok()?))
}

/// The link-local address that follows from a hardware address.
fn link_local(mac: &str) -> Option<String> {
    let bytes: Vec<u8> = mac.split(':').filter_map(|byte| u8::from_str_radix(byte, 16).ok()).collect();
    let [a, b, c, d, e, f] = bytes[..] else { return None };
    let groups = [[a ^ 2, b], [c, 0xff], [0xfe, d], [e, f]].map(|[high, low]| u16::from_be_bytes([high, low]));
    Some(std::net::Ipv6Addr::new(0xfe80, 0, 0, 0, groups[0], groups[1], groups[2], groups[3]).to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Scenario;

    #[test]
    fn addresses_follow_from_the_configuration() {
        let mut guest = Scenario::one_vm().world.guests[&100].clone();
        guest.config.insert("net0".into(), json!("virtio=BC:24:11:00:00:01,bridge=vmbr0"));
        let eth0 = interfaces(&guest).pop().expect("an interface");
        assert_eq!((eth0.name.as_str(), eth0.mac.as_str()), ("eth0", "bc:24:11:00:00:01"));
        assert_eq!(eth0.inet, Some(("10.10.0.120".into(), 16)));
        assert_eq!(eth0.inet6, Some(("fe80::be24:11ff:fe00:1".into(), 64)));
        guest.config.insert("ipconfig0".into(), json!("ip=192.0.2.50/24,gw=192.0.2.1"));
        assert_eq!(interfaces(&guest).pop().expect("an interface").inet, Some(("192.0.2.50".into(), 24)));
        guest.config.insert("tags".into(), json!("docker;prod"));
        let names: Vec<String> = interfaces(&guest).into_iter().map(|interface| interface.name).collect();
        assert_eq!(names, ["lo", "docker0", "veth3f1c2d8", "eth0"]);
    }
}

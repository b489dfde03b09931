//! SDN formats: fabrics, subnets, ranges, route maps and prefix lists.

use super::network::{cidr_v4, cidr_v6, ip};
use super::{Check, comma_parts, expect};
use crate::pattern::whole;

pub(super) const FORMATS: &[(&str, Check)] = &[
    ("pve-sdn-fabric-id", |v| {
        let fits = whole("[a-zA-Z0-9][a-zA-Z0-9-]{0,6}[a-zA-Z0-9]?", v);
        expect(fits, format!("Fabric ID '{v}' contains illegal characters\n"))
    }),
    ("pve-sdn-subnet-id", |v| expect(is_subnet(v), "value does not look like a valid CIDR network\n")),
    ("pve-sdn-isis-net", |v| {
        let fits = whole(r"[a-fA-F0-9]{2}(?:\.[a-fA-F0-9]{4}){3,9}\.[a-fA-F0-9]{2}", v);
        expect(fits, "value does not look like a valid isis net\n")
    }),
    ("pve-sdn-bgp-rt", |v| {
        let number = |text: &str| text.parse::<u64>().is_ok_and(|n| n <= u64::from(u32::MAX));
        let fits = whole(r"\d+:\d+", v) && v.trim_end().split(':').all(number);
        expect(fits, "value does not look like a valid bgp route-target\n")
    }),
    ("pve-sdn-vlanrange", |v| ranges(v, 4096)),
    ("pve-sdn-vxlanrange", |v| ranges(v, 16_777_216)),
    ("pve-sdn-wireguard-iface-name", |v| {
        let fits = whole("[a-zA-Z0-9][a-zA-Z0-9-]{0,6}[a-zA-Z0-9]?", v);
        let what = "contains illegal characters or exceeds the eight character limit";
        expect(fits, format!("WireGuard interface name '{v}' {what}\n"))
    }),
    ("pve-sdn-route-map-id", |v| {
        let reserved = whole("pve_.*|MAP_VTEP_IN|MAP_VTEP_OUT|correct_src", v);
        routing_id("route map", v, reserved)
    }),
    ("pve-sdn-prefix-list-id", |v| {
        let reserved = whole("only_default|only_default_v6|loopbacks_ips", v);
        routing_id("prefix list", v, reserved)
    }),
];

fn routing_id(what: &str, value: &str, reserved: bool) -> Result<(), String> {
    expect(!reserved, format!("{what} ID '{value}' is currently reserved and cannot be used\n"))?;
    let fits = whole("[a-zA-Z0-9][a-zA-Z0-9-_]{0,30}[a-zA-Z0-9]?", value);
    expect(fits, format!("{what} ID '{value}' contains illegal characters\n"))
}

/// A network, or the identifier made from one: `zone-10.0.0.0-24`.
fn is_subnet(value: &str) -> bool {
    if cidr_v4(value, 8) || cidr_v6(value, 8) {
        return true;
    }
    let parts = value.split_once('-').and_then(|(zone, rest)| Some((zone, rest.split_once('-')?)));
    parts.is_some_and(|(zone, (address, length))| {
        let network = format!("{address}/{length}");
        !zone.is_empty() && ip(address).is_some() && (cidr_v4(&network, 8) || cidr_v6(&network, 8))
    })
}

/// Numbers and `low-high` ranges up to `most`; what is neither is not looked at, as Proxmox does.
fn ranges(value: &str, most: u64) -> Result<(), String> {
    let number = |text: &str| -> Result<u64, String> {
        let parsed = text.parse::<u64>().ok().filter(|number| *number <= most);
        parsed.ok_or_else(|| format!("invalid port '{text}'\n"))
    };
    for part in comma_parts(value)? {
        if whole("[0-9]+", part) {
            number(super::chomp(part))?;
        } else if whole("[0-9]+-[0-9]+", part) {
            let (low, high) = super::chomp(part).split_once('-').unwrap_or_default();
            let message = format!("backwards range '{low}:{high}' not allowed, did you mean '{high}:{low}'?\n");
            expect(number(low)? <= number(high)?, message)?;
        }
    }
    Ok(())
}

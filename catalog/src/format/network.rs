//! Network formats: addresses, networks, names, interfaces, VLANs, bridge mappings.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Check, chomp, expect, split_list};
use crate::pattern::whole;

pub(super) const FORMATS: &[(&str, Check)] = &[
    ("ip", |v| expect(ip(v).is_some(), "value does not look like a valid IP address\n")),
    ("ipv4", |v| expect(ipv4(v).is_some(), "value does not look like a valid IPv4 address\n")),
    ("ipv6", |v| expect(ipv6(v).is_some(), "value does not look like a valid IPv6 address\n")),
    ("ipv4mask", |v| expect(is_mask(v), "value does not look like a valid IP netmask\n")),
    ("CIDR", |v| expect(cidr_v4(v, 8) || cidr_v6(v, 8), "value does not look like a valid CIDR network\n")),
    ("FullRangeCIDR", |v| expect(cidr_v4(v, 0) || cidr_v6(v, 0), "value does not look like a valid CIDR network\n")),
    ("CIDRv4", |v| expect(cidr_v4(v, 8), "value does not look like a valid IPv4 CIDR network\n")),
    ("CIDRv6", |v| expect(cidr_v6(v, 8), "value does not look like a valid IPv6 CIDR network\n")),
    ("pve-ipv4-config", |v| {
        let fits = matches!(v, "dhcp" | "manual") || cidr_v4(v, 8);
        expect(fits, "value does not look like a valid ipv4 network configuration\n")
    }),
    ("pve-ipv6-config", |v| {
        let fits = matches!(v, "auto" | "dhcp" | "manual") || cidr_v6(v, 8);
        expect(fits, "value does not look like a valid ipv6 network configuration\n")
    }),
    ("lxc-ip-with-ll-iface", |v| {
        let fits = match v.split_once('%') {
            Some((address, interface)) => {
                whole("fe80:.*", address) && ipv6(address).is_some() && is_interface(interface)
            }
            None => ip(v).is_some(),
        };
        expect(fits, "value does not look like a valid IP address\n")
    }),
    ("dns-name", |v| expect(is_dns_name(v), "value does not look like a valid DNS name\n")),
    ("address", |v| expect(is_host(v), format!("value does not look like a valid address: {v}\n"))),
    ("mac-addr", |v| {
        let fits = whole("(?^i:[a-f0-9][02468ace](?::[a-f0-9]{2}){5})", v);
        expect(fits, "value does not look like a valid unicast MAC address\n")
    }),
    ("mac-prefix", |v| {
        let fits = whole("(?^i:[a-f0-9][02468ace](?::[a-f0-9]{2}){0,2}:?)", v);
        expect(fits, "value is not a valid unicast MAC address prefix\n")
    }),
    ("pve-iface", |v| expect(is_interface(v), format!("invalid network interface name '{v}'\n"))),
    ("pve-bridge-id", bridge),
    ("bridge-pair", |v| mapping(v, bridge)),
    ("pve-vlan-id-or-range", vlan),
];

pub(super) fn ip(value: &str) -> Option<IpAddr> {
    ipv4(value).map(IpAddr::V4).or_else(|| ipv6(value).map(IpAddr::V6))
}

fn ipv4(value: &str) -> Option<Ipv4Addr> {
    chomp(value).parse().ok()
}

pub(super) fn ipv6(value: &str) -> Option<Ipv6Addr> {
    chomp(value).parse().ok()
}

/// An address, or a DNS name; Perl takes the name `0` for false.
pub(super) fn is_host(value: &str) -> bool {
    value != "0" && (ip(value).is_some() || is_dns_name(value))
}

fn is_dns_name(value: &str) -> bool {
    whole(r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9\-]*[a-zA-Z0-9])?\.)*[a-zA-Z0-9](?:[a-zA-Z0-9\-]*[a-zA-Z0-9])?", value)
}

fn is_interface(value: &str) -> bool {
    whole(r"(?^i:[a-z][a-z0-9_]{1,20}(?:[:.]\d+)?)", value)
}

/// An IPv4 network with at least `shortest` bits of prefix; host bits may be set.
pub(super) fn cidr_v4(value: &str, shortest: u32) -> bool {
    network(value, shortest..=32, |address| address.parse::<Ipv4Addr>().is_ok())
}

pub(super) fn cidr_v6(value: &str, shortest: u32) -> bool {
    network(value, shortest..=128, |address| address.parse::<Ipv6Addr>().is_ok())
}

fn network(value: &str, lengths: std::ops::RangeInclusive<u32>, address: impl Fn(&str) -> bool) -> bool {
    let Some((before, length)) = chomp(value).split_once('/') else { return false };
    let digits = !length.is_empty() && length.chars().all(|c| c.is_ascii_digit());
    digits && length.parse().is_ok_and(|length| lengths.contains(&length)) && address(before)
}

fn is_mask(value: &str) -> bool {
    value.parse::<Ipv4Addr>().is_ok_and(|mask| {
        let bits = u32::from(mask);
        bits.count_ones() == bits.leading_ones()
    })
}

fn bridge(value: &str) -> Result<(), String> {
    expect(whole(r"[-_.\w\d]+", value), format!("invalid bridge ID '{value}'\n"))
}

/// A mapping of identifiers: `1` (to themselves), one default target, or `source:target` pairs.
pub(super) fn mapping(value: &str, id: Check) -> Result<(), String> {
    if value == "0" {
        return Ok(());
    }
    let (mut identity, mut default, mut sources) = (false, false, Vec::new());
    for entry in split_list(value) {
        let invalid = |inner: String| format!("entry '{entry}' contains invalid ID - {inner}\n\n");
        match entry.split_once(':') {
            _ if entry == "1" => identity = true,
            Some((source, target)) if !source.is_empty() && !target.is_empty() && !target.contains(':') => {
                id(source).and_then(|()| id(target)).map_err(invalid)?;
                expect(!sources.contains(&source), format!("duplicate mapping for source '{source}'\n\n"))?;
                sources.push(source);
            }
            _ => {
                id(entry).map_err(invalid)?;
                expect(!default, "default target ID can only be provided once\n\n")?;
                default = true;
            }
        }
    }
    let alone = !identity || (!default && sources.is_empty());
    expect(alone, "identity mapping cannot be combined with other mappings\n\n")
}

fn vlan(value: &str) -> Result<(), String> {
    let text = chomp(value);
    let (low, high) = text.split_once('-').map_or((text, None), |(low, high)| (low, Some(high)));
    let digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let fits = digits(low) && high.is_none_or(digits);
    expect(fits, format!("invalid VLAN configuration '{value}'\n"))?;
    let tag = |text: &str| {
        let tag = text.parse::<u64>().ok().filter(|tag| (2..=4094).contains(tag));
        tag.ok_or_else(|| format!("invalid VLAN tag '{text}'\n"))
    };
    let low = tag(low)?;
    // Perl takes an end of `0` for none.
    let Some(high) = high.filter(|high| *high != "0") else { return Ok(()) };
    let high = tag(high)?;
    expect(low < high, format!("VLAN range must go from lower to higher tag '{value}'\n"))
}

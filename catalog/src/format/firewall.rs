//! Firewall formats: addresses, ports, protocols, ICMP types, helpers.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::network::ip;
use super::{Check, chomp, comma_parts, expect, perl_ip};
use crate::pattern::whole;

pub(super) const FORMATS: &[(&str, Check)] = &[
    ("IPorCIDR", ip_or_cidr),
    ("IPorCIDRorAlias", |v| if is_alias(v) { Ok(()) } else { ip_or_cidr(v) }),
    ("pve-fw-addr-spec", addresses),
    ("pve-fw-sport-spec", |v| ports(v, false)),
    ("pve-fw-dport-spec", |v| ports(v, true)),
    ("pve-fw-protocol-spec", |v| {
        let known = v.is_empty() || v == "0" || PROTOCOLS.contains(v);
        expect(known, format!("unknown protocol '{v}'\n"))
    }),
    ("pve-fw-icmp-type-spec", |v| expect(v.is_empty() || is_icmp_type(v), format!("invalid icmp-type value '{v}'\n"))),
    ("pve-fw-conntrack-helper", helpers),
    ("pve-fw-comment-spec", |v| expect(!v.contains('\n'), "comment contains a line feed\n")),
];

/// Names of `/etc/services` and names and numbers of `/etc/protocols`, as a Proxmox node has them.
static SERVICES: LazyLock<BTreeSet<&str>> = LazyLock::new(|| include_str!("../../data/services.txt").lines().collect());
static PROTOCOLS: LazyLock<BTreeSet<&str>> =
    LazyLock::new(|| include_str!("../../data/protocols.txt").split_whitespace().chain(["icmpv6"]).collect());

const ICMP_TYPES: &[&str] = &[
    "address-mask-reply",
    "address-mask-request",
    "address-unreachable",
    "any",
    "bad-header",
    "beyond-scope",
    "communication-prohibited",
    "destination-unreachable",
    "echo-reply",
    "echo-request",
    "failed-policy",
    "fragmentation-needed",
    "host-precedence-violation",
    "host-prohibited",
    "host-redirect",
    "host-unknown",
    "host-unreachable",
    "ip-header-bad",
    "neighbor-advertisement",
    "neighbor-solicitation",
    "neighbour-advertisement",
    "neighbour-solicitation",
    "network-prohibited",
    "network-redirect",
    "network-unknown",
    "network-unreachable",
    "no-route",
    "packet-too-big",
    "parameter-problem",
    "port-unreachable",
    "precedence-cutoff",
    "protocol-unreachable",
    "redirect",
    "reject-route",
    "required-option-missing",
    "router-advertisement",
    "router-solicitation",
    "source-quench",
    "source-route-failed",
    "time-exceeded",
    "timestamp-reply",
    "timestamp-request",
    "TOS-host-redirect",
    "TOS-host-unreachable",
    "TOS-network-redirect",
    "TOS-network-unreachable",
    "ttl-zero-during-reassembly",
    "ttl-zero-during-transit",
    "unknown-header-type",
    "unknown-option",
];

const HELPERS: [&str; 9] = ["amanda", "ftp", "irc", "netbios-ns", "pptp", "sane", "sip", "snmp", "tftp"];

fn is_icmp_type(name: &str) -> bool {
    ICMP_TYPES.contains(&name)
}

/// An alias name, with or without its scope.
fn is_alias(value: &str) -> bool {
    whole(r"(?:(?:dc|guest)/)?[A-Za-z][A-Za-z0-9\-_]+", value)
}

/// An address or a network; host bits are cleared before the network is read, but only where there is a length.
fn ip_or_cidr(value: &str) -> Result<(), String> {
    let text = chomp(value);
    let (address, length) = text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
    let digits = length.is_none_or(|length| !length.is_empty() && length.chars().all(|c| c.is_ascii_digit()));
    let address = ip(address).filter(|_| digits);
    let address = address.ok_or("value does not look like a valid IP address or CIDR network\n")?;
    match length {
        Some(length) => perl_ip::network(address, length, length != "0"),
        None => Ok(()),
    }
    .map_err(|message| message + "\n")
}

fn addresses(value: &str) -> Result<(), String> {
    if whole(r"\+\S+", value) {
        return expect(value.chars().count() <= 65, "ipset name too long\n");
    }
    if is_alias(value) {
        return expect(value.chars().count() <= 64, "alias name too long\n");
    }
    let parts = comma_parts(value)?;
    let (mut range, mut version) = (false, None);
    for part in &parts {
        let found = perl_ip::version(part).map_err(|message| format!("invalid IP address: {message}\n"))?;
        range |= part.contains('-');
        if range {
            continue;
        }
        let message = format!("detected mixed ipv4/ipv6 addresses in address list '{value}'\n");
        expect(version.is_none_or(|version| version == found), message)?;
        version = Some(found);
    }
    expect(!range || parts.len() == 1, "you can't use a range in a list\n")
}

fn ports(value: &str, destination: bool) -> Result<(), String> {
    let port = |text: &str| -> Result<u64, String> {
        let port = text.parse::<u64>().ok().filter(|port| *port <= 65535);
        port.ok_or_else(|| format!("invalid port '{text}'\n"))
    };
    let (mut count, mut icmp) = (0, false);
    for part in comma_parts(value)? {
        if whole("[0-9]+", part) {
            count += 1;
            port(chomp(part))?;
        } else if whole("[0-9]+:[0-9]+", part) {
            count += 2;
            let (low, high) = chomp(part).split_once(':').unwrap_or_default();
            let message = format!("backwards range '{low}:{high}' not allowed, did you mean '{high}:{low}'?\n");
            expect(port(low)? <= port(high)?, message)?;
        } else if destination && is_icmp_type(part) {
            icmp = true;
        } else {
            expect(SERVICES.contains(part), format!("invalid port '{part}'\n"))?;
        }
    }
    expect(!(icmp && count > 0), "ICMP ports not allowed in port range\n")?;
    expect(count <= 15, "too many entries in port list (> 15 numbers)\n")
}

fn helpers(value: &str) -> Result<(), String> {
    match comma_parts(value)?.into_iter().find(|name| !HELPERS.contains(name)) {
        Some(name) => Err(format!("unknown helper {name} at /usr/share/perl5/PVE/Firewall.pm line 1167.\n")),
        None => Ok(()),
    }
}

//! Networks and addresses: what lies in what.

use std::net::IpAddr;

/// An address and the length of its network.
fn parse(cidr: &str) -> Option<(IpAddr, u32)> {
    let (address, length) = cidr.split_once('/')?;
    let address: IpAddr = address.parse().ok()?;
    let length: u32 = length.parse().ok()?;
    (length <= bits(address)).then_some((address, length))
}

/// Whether an address lies in a network (`10.0.0.0/24`).
pub(super) fn contains(cidr: &str, address: &str) -> bool {
    let (Some((network, length)), Ok(address)) = (parse(cidr), address.parse::<IpAddr>()) else { return false };
    if bits(network) != bits(address) {
        return false;
    }
    let shift = bits(network) - length;
    let head = |address: IpAddr| number(address).checked_shr(shift).unwrap_or(0);
    head(network) == head(address)
}

/// An address as a number.
pub(super) fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(u32::from(address)),
        IpAddr::V6(address) => u128::from(address),
    }
}

fn bits(address: IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_hold_addresses() {
        assert!(contains("10.0.0.0/24", "10.0.0.254") && !contains("10.0.0.0/24", "10.0.1.1"));
        assert!(contains("0.0.0.0/0", "10.0.0.1") && !contains("0.0.0.0/0", "::1") && !contains("x", "10.0.0.1"));
        assert!(contains("2001:db8::/64", "2001:db8::5"));
    }
}

//! Addresses as the firewall's IP library reads them: prefixes, ranges, short IPv4 forms, and its own words.

use std::net::IpAddr;

/// The family that the text belongs to: 4 or 6.
///
/// # Errors
/// The library's text, without a line end.
pub(super) fn version(text: &str) -> Result<u8, String> {
    if let Some((address, length)) = prefix(text) {
        let version = family(address)?;
        let (_, bits) = expand(address, version)?;
        // A length that is no number ends the reading without an error.
        let digits = length.chars().all(|c| c.is_ascii_digit());
        return if digits { check_prefix(&bits, length).map(|()| version) } else { Ok(version) };
    }
    if let Some((first, last)) = range(text) {
        let version = family(first)?;
        let (first, last) = (expand(first, version)?, expand(last, version)?);
        let message = format!("Begin address is greater than End address {} - {}", first.0, last.0);
        return if first.1 <= last.1 { Ok(version) } else { Err(message) };
    }
    let version = family(text)?;
    expand(text, version).map(|_| version)
}

/// Checks a network whose host bits were cleared before, where `cleared`.
pub(super) fn network(address: IpAddr, length: &str, cleared: bool) -> Result<(), String> {
    let mut bits = bits_of(address);
    if let Some(count) = length.parse::<usize>().ok().filter(|count| cleared && *count <= bits.len()) {
        bits.replace_range(count.., &"0".repeat(bits.len() - count));
    }
    check_prefix(&bits, length)
}

/// `address/length`, neither empty nor with spaces.
fn prefix(text: &str) -> Option<(&str, &str)> {
    let at = text.char_indices().skip(1).find(|(_, c)| *c == '/')?.0;
    let (address, length) = (&text[..at], &text[at + 1..]);
    let spaces = text.contains(char::is_whitespace);
    (!spaces && !length.is_empty()).then_some((address, length))
}

/// `first - last`, spaces around the dash allowed.
fn range(text: &str) -> Option<(&str, &str)> {
    let at = text.char_indices().skip(1).find(|(_, c)| *c == '-')?.0;
    let last = text[at + 1..].trim_start();
    (!last.is_empty()).then_some((text[..at].trim_end(), last))
}

fn check_prefix(bits: &str, length: &str) -> Result<(), String> {
    let Ok(count) = length.parse::<usize>() else { return Err(format!("Invalid prefix length /{length}")) };
    if count > bits.len() {
        return Err(format!("Prefix length {count} is longer than IP address ({})", bits.len()));
    }
    if bits[count..].contains('1') {
        return Err(format!("Invalid prefix {bits}/{count}"));
    }
    Ok(())
}

/// The address in full, and its bits.
fn expand(text: &str, version: u8) -> Result<(String, String), String> {
    if version == 6 {
        let address = text.parse::<std::net::Ipv6Addr>().map_err(|_| format!("Invalid IP address {text}"))?;
        return Ok((address.to_string(), bits_of(address.into())));
    }
    let mut quads = [0u8; 4];
    let invalid = || format!("Not a valid IPv4 address {text}");
    for (at, quad) in text.split('.').enumerate() {
        let digits = (1..=3).contains(&quad.len()) && quad.chars().all(|c| c.is_ascii_digit());
        let number = quad.parse::<u8>().ok().filter(|_| digits).ok_or_else(invalid)?;
        *quads.get_mut(at).ok_or_else(invalid)? = number;
    }
    let address = std::net::Ipv4Addr::from(quads);
    Ok((address.to_string(), bits_of(address.into())))
}

fn bits_of(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => format!("{:032b}", u32::from(address)),
        IpAddr::V6(address) => format!("{:0128b}", u128::from(address)),
    }
}

fn family(text: &str) -> Result<u8, String> {
    if !text.contains(':') {
        return check_v4(text).map(|()| 4);
    }
    check_v6(text).map(|()| 6)
}

fn check_v4(text: &str) -> Result<(), String> {
    if text.is_empty() || !text.chars().all(|c| c.is_ascii_digit() || c == '.') {
        return Err(format!("Invalid chars in IP {text}"));
    }
    if text.starts_with('.') {
        return Err(format!("Invalid IP {text} - starts with a dot"));
    }
    if text.ends_with('.') {
        return Err(format!("Invalid IP {text} - ends with a dot"));
    }
    if text.matches('.').count() > 3 {
        return Err(format!("Invalid IP address {text}"));
    }
    if text.contains("..") {
        return Err(format!("Empty quad in IP address {text}"));
    }
    match text.split('.').find(|quad| quad.parse::<u64>().is_ok_and(|n| n > 255) || quad.len() > 15) {
        Some(quad) => Err(format!("Invalid quad in IP address {text} - {quad}")),
        None => Ok(()),
    }
}

fn check_v6(text: &str) -> Result<(), String> {
    let colons = text.matches(':').count();
    let octets: Vec<&str> = text.split(':').collect();
    let fits = |at: usize, octet: &str| {
        let hex = (1..=4).contains(&octet.len()) && octet.chars().all(|c| c.is_ascii_hexdigit());
        octet.is_empty() || hex || (at == colons && check_v4(octet).is_ok())
    };
    // With eight or more the library says nothing of its own.
    if colons > 7 || !octets.iter().enumerate().all(|(at, octet)| fits(at, octet)) {
        return Err(format!("Invalid IP address {text}"));
    }
    if text.starts_with(':') && !text.starts_with("::") {
        return Err(format!("Invalid address {text} (starts with :)"));
    }
    if text.ends_with(':') && !text.ends_with("::") {
        return Err(format!("Invalid address {text} (ends with :)"));
    }
    if text.matches("::").count() > 1 || text.contains(":::") {
        return Err(format!("Invalid address {text} (More than one :: pattern)"));
    }
    let count = colons + usize::from(octets.last().is_some_and(|octet| octet.contains('.')));
    if count != 7 && !text.contains("::") {
        return Err(format!("Invalid number of octets {text}"));
    }
    Ok(())
}

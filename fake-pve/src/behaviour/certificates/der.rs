//! The few facts of an X.509 certificate that Proxmox shows, read from its DER form.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// What is shown of a certificate.
pub(super) struct Certificate {
    /// The certificate alone, as PEM.
    pub pem: String,
    /// SHA-256: `AA:BB:…`.
    pub fingerprint: String,
    /// `/CN=…/O=…`.
    pub subject: String,
    pub issuer: String,
    /// Seconds since the epoch.
    pub notbefore: i64,
    pub notafter: i64,
    /// DNS names and addresses.
    pub san: Vec<String>,
    /// OpenSSL's word for the algorithm.
    pub key_type: &'static str,
    pub key_bits: u32,
}

/// One element: its tag, its content, and what follows it.
struct Element<'d> {
    tag: u8,
    content: &'d [u8],
    rest: &'d [u8],
}

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";

impl Certificate {
    /// The first certificate of a PEM text; `None` when it is none.
    pub fn of_pem(text: &str) -> Option<Certificate> {
        let body = text.split_once(BEGIN)?.1.split_once(END)?.0;
        let base64: String = body.chars().filter(|c| !c.is_whitespace()).collect();
        let der = STANDARD.decode(base64).ok()?;
        let pem = format!("{BEGIN}\n{}\n{END}\n", body.trim());
        let digest = Sha256::digest(&der);
        let fingerprint = digest.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":");
        let signed = read(read(&der)?.content)?.content;
        // A version stands in front, when it is not the first.
        let first = read(signed)?;
        let serial = if first.tag == 0xa0 { read(first.rest)? } else { first };
        let algorithm = read(serial.rest)?;
        let issuer = read(algorithm.rest)?;
        let validity = read(issuer.rest)?;
        let subject = read(validity.rest)?;
        let key = read(subject.rest)?;
        let begins = read(validity.content)?;
        let (key_type, key_bits) = public_key(key.content)?;
        Some(Certificate {
            pem,
            fingerprint,
            subject: name(subject.content),
            issuer: name(issuer.content),
            notbefore: moment(&begins)?,
            notafter: moment(&read(begins.rest)?)?,
            san: alternative_names(key.rest),
            key_type,
            key_bits,
        })
    }
}

fn read(data: &[u8]) -> Option<Element<'_>> {
    let (&tag, data) = data.split_first()?;
    let (&first, data) = data.split_first()?;
    let (length, data) = if first < 0x80 {
        (usize::from(first), data)
    } else {
        let (bytes, data) = data.split_at_checked(usize::from(first & 0x7f))?;
        if bytes.len() > 4 {
            return None;
        }
        (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), data)
    };
    let (content, rest) = data.split_at_checked(length)?;
    Some(Element { tag, content, rest })
}

fn elements(mut data: &[u8]) -> Vec<Element<'_>> {
    let mut found = Vec::new();
    while let Some(element) = read(data) {
        data = element.rest;
        found.push(element);
    }
    found
}

/// Attributes of a name, in their order.
fn name(data: &[u8]) -> String {
    let mut text = String::new();
    for attribute in elements(data).iter().flat_map(|set| elements(set.content)) {
        let parts = elements(attribute.content);
        let [kind, value] = parts.as_slice() else { continue };
        let word = match kind.content {
            [0x55, 4, 3] => "CN",
            [0x55, 4, 6] => "C",
            [0x55, 4, 7] => "L",
            [0x55, 4, 8] => "ST",
            [0x55, 4, 10] => "O",
            [0x55, 4, 11] => "OU",
            _ => continue,
        };
        text.push_str(&format!("/{word}={}", String::from_utf8_lossy(value.content)));
    }
    text
}

/// `UTCTime` has two digits for the year, `GeneralizedTime` four.
fn moment(element: &Element<'_>) -> Option<i64> {
    let text = std::str::from_utf8(element.content).ok()?.trim_end_matches('Z');
    let text = match element.tag {
        0x17 => format!("{}{text}", if text < "50" { "20" } else { "19" }),
        _ => text.to_string(),
    };
    let part = |from: usize, to: usize| text.get(from..to)?.parse::<i8>().ok();
    let year = text.get(0..4)?.parse::<i16>().ok()?;
    let civil = jiff::civil::DateTime::new(
        year,
        part(4, 6)?,
        part(6, 8)?,
        part(8, 10)?,
        part(10, 12)?,
        part(12, 14).unwrap_or(0),
        0,
    );
    Some(jiff::tz::Offset::UTC.to_timestamp(civil.ok()?).ok()?.as_second())
}

fn public_key(data: &[u8]) -> Option<(&'static str, u32)> {
    let algorithm = read(data)?;
    let key = read(algorithm.rest)?.content;
    let parts = elements(algorithm.content);
    Some(match parts.first()?.content {
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1] => {
            let modulus = read(read(key.get(1..)?)?.content)?.content;
            let digits = modulus.iter().skip_while(|byte| **byte == 0).count();
            ("rsaEncryption", u32::try_from(digits * 8).ok()?)
        }
        [0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1] => {
            ("id-ecPublicKey", u32::try_from(key.len().saturating_sub(2) / 2 * 8).ok()?)
        }
        [0x2b, 0x65, 0x70] => ("ED25519", 256),
        _ => ("unknown", 0),
    })
}

/// DNS names and addresses of the extension that holds them.
fn alternative_names(rest: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    let lists =
        elements(rest).into_iter().filter(|element| element.tag == 0xa3).filter_map(|element| read(element.content));
    for extension in lists.flat_map(|list| elements(list.content)) {
        let parts = elements(extension.content);
        if parts.first().is_none_or(|id| id.content != [0x55, 0x1d, 0x11]) {
            continue;
        }
        let Some(list) = parts.last().and_then(|value| read(value.content)) else { continue };
        for name in elements(list.content) {
            match (name.tag, name.content) {
                (0x82, text) => names.push(String::from_utf8_lossy(text).into_owned()),
                (0x87, &[a, b, c, d]) => names.push(format!("{a}.{b}.{c}.{d}")),
                (0x87, bytes) => {
                    let address: Option<[u8; 16]> = bytes.try_into().ok();
                    names.extend(address.map(|bytes| std::net::Ipv6Addr::from(bytes).to_string()));
                }
                _ => {}
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::Certificate;

    #[test]
    fn a_certificate_tells_what_is_in_it() {
        let names = ["pve1.example.com", "192.0.2.11", "2001:db8::1"].map(String::from);
        let mut params = rcgen::CertificateParams::new(names).expect("names");
        params.distinguished_name.push(rcgen::DnType::OrganizationName, "PVE Cluster Node");
        params.distinguished_name.push(rcgen::DnType::CommonName, "pve1.example.com");
        let key = rcgen::KeyPair::generate().expect("a key");
        let pem = params.self_signed(&key).expect("a certificate").pem();
        let read = Certificate::of_pem(&format!("before\n{pem}{pem}")).expect("facts");
        assert!(read.subject.contains("/CN=pve1.example.com") && read.subject.contains("/O=PVE Cluster Node"));
        assert_eq!(read.subject, read.issuer);
        assert_eq!(read.san, ["pve1.example.com", "192.0.2.11", "2001:db8::1"]);
        assert_eq!((read.key_type, read.key_bits), ("id-ecPublicKey", 256));
        assert_eq!((read.notbefore, read.notafter), (157_766_400, 67_090_118_400));
        assert_eq!(read.pem.trim().lines().count(), pem.trim().lines().count());
        assert!(Certificate::of_pem("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----").is_none());
    }
}

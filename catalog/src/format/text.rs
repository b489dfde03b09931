//! Formats of plain text: identifiers, e-mail addresses, encoded and PEM text.

use super::{Check, expect};
use crate::pattern::whole;

pub(super) const FORMATS: &[(&str, Check)] = &[
    ("string", |_| Ok(())),
    ("urlencoded", |v| expect(whole(r"[-%a-zA-Z0-9_.!~*'()]*", v), format!("invalid urlencoded string: {v}\n"))),
    ("pve-configid", |v| expect(whole("(?^i:[a-z][a-z0-9_-]+)", v), format!("invalid configuration ID '{v}'\n"))),
    ("acme-plugin-id", |v| identifier("ACME plugin", v)),
    ("email", |v| {
        expect(
            whole(r"[\w+\-~]+(?:\.[\w+\-~]+)*@[a-zA-Z0-9\-]+(?:\.[a-zA-Z0-9\-]+)*", v),
            "value does not look like a valid email address\n",
        )
    }),
    ("email-or-username", |v| {
        expect(
            whole(r"[\w+\-~]+(?:\.[\w+\-~]+)*(?:@[a-zA-Z0-9\-]+(?:\.[a-zA-Z0-9\-]+)*)?", v),
            "value does not look like a valid email address or user name\n",
        )
    }),
    ("pve-tag", |v| expect(whole(r"(?^i:[a-z0-9_][a-z0-9_\-+.]*)", v), "invalid characters in tag\n")),
    ("pve-acme-domain", |v| {
        expect(
            whole(r"(?^i:[a-z0-9][a-z0-9_-]*(?:\.[a-z0-9][a-z0-9_-]*)+)", v),
            format!("value '{v}' does not look like a valid domain name!\n"),
        )
    }),
    ("pve-acme-alias", |v| {
        expect(
            whole(r"(?^i:[a-z0-9_][a-z0-9_-]*(?:\.[a-z0-9_][a-z0-9_-]*)+)", v),
            format!("value '{v}' does not look like a valid alias name!\n"),
        )
    }),
    ("graphite-path", |v| {
        expect(
            whole(r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9\-]*[a-zA-Z0-9])?\.)*[a-zA-Z0-9](?:[a-zA-Z0-9\-]*[a-zA-Z0-9])?", v),
            "value does not look like a valid graphite path\n",
        )
    }),
    ("pem-certificate", |v| pem(v, r"-----BEGIN CERTIFICATE-----\s+[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----\s*")),
    ("pem-certificate-chain", |v| {
        pem(v, r"(?:-----BEGIN CERTIFICATE-----\s+[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----\s*)+")
    }),
    ("pem-string", |v| pem(v, r"(?:-----BEGIN [A-Z0-9 ]+-----\s+[A-Za-z0-9+/=\s]+-----END [A-Z0-9 ]+-----\s*)+")),
];

/// At least two characters, a letter first, then letters, digits, `-`, `_`, `.`, neither of these last.
pub(super) fn identifier(what: &str, value: &str) -> Result<(), String> {
    let long_enough = value.chars().count() >= 2;
    expect(long_enough, format!("{what} ID '{value}' cannot be shorter than 2 characters\n"))?;
    let fits = whole(r"(?^i:[a-z][a-z0-9\-_.]*[a-z0-9])", value);
    expect(fits, format!("{what} ID '{value}' contains illegal characters\n"))
}

/// Text before the first block does not count.
fn pem(value: &str, pattern: &'static str) -> Result<(), String> {
    let block = value.find("-----BEGIN ").map_or("", |start| &value[start..]);
    expect(whole(pattern, block), "not a valid PEM-formatted string.\n")
}

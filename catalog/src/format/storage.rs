//! Storage formats: storages, volumes, contents, paths, portals.

use super::network::{ip, ipv6, is_host, mapping};
use super::{Check, chomp, expect, text};
use crate::pattern::whole;

pub(super) const FORMATS: &[(&str, Check)] = &[
    ("pve-storage-id", storage_id),
    ("storage-pair", |v| mapping(v, storage_id)),
    ("pve-storage-path", |v| expect(whole(r"/[^;()](?s:.*)", v), "value does not look like a valid absolute path\n")),
    ("pve-storage-path-in-property-string", |v| {
        let message = "Value does not look like a valid absolute path. \
            These symbols are currently not allowed in path: ;,=()\n";
        expect(whole(r"/[^;,=()](?s:.*)", v), message)
    }),
    ("pve-storage-server", |v| expect(is_host(v), "value does not look like a valid server name or IP address\n")),
    ("pve-storage-vgname", |v| {
        let fits = whole(r"(?^i:[a-z0-9][a-z0-9\-_.]*[a-z0-9])", v);
        expect(fits, format!("lvm name '{v}' contains illegal characters\n"))
    }),
    ("pve-storage-portal-dns", |v| expect(is_portal(v), "value does not look like a valid portal address\n")),
    ("pve-storage-content", content),
    ("pve-storage-format", |v| {
        expect(matches!(v, "raw" | "qcow2" | "vmdk" | "subvol"), format!("invalid format '{v}'\n"))
    }),
    ("pve-storage-options", |v| expect(whole(r"\S+", v), format!("invalid options '{v}'\n"))),
    ("pve-volume-id", volume),
    ("pve-volume-id-or-absolute-path", |v| if v.starts_with('/') { Ok(()) } else { volume(v) }),
    (
        "pve-volume-id-or-qm-path",
        |v| {
            if matches!(v, "none" | "cdrom") || v.starts_with('/') { Ok(()) } else { volume(v) }
        },
    ),
    ("pve-dir-override", dir_override),
    ("pve-storage-zfs-blocksize", blocksize),
    ("disk-size", |v| {
        let fits = whole(r"\d+(?:\.\d+)?(?:[KMGT](?:iB)?)?", v);
        expect(fits, format!("value does not look like a valid disk size: {v}\n"))
    }),
];

fn storage_id(value: &str) -> Result<(), String> {
    text::identifier("storage", value)
}

fn volume(value: &str) -> Result<(), String> {
    let fits = whole(r"(?^i:[a-z][a-z0-9\-_.]*[a-z0-9]):.+", value);
    expect(fits, format!("unable to parse volume ID '{value}'\n"))
}

fn content(value: &str) -> Result<(), String> {
    let fits = matches!(value, "images" | "rootdir" | "vztmpl" | "iso" | "backup" | "snippets" | "none" | "import");
    expect(fits, format!("invalid content type '{value}'\n"))
}

/// `host[:port]`, `[v6]:port`, `v6[.port]`.
fn is_portal(value: &str) -> bool {
    if whole(r"[\p{Alphabetic}\p{Nd}\-.]+(?::\d+)?", value) {
        return true;
    }
    let value = chomp(value);
    let digits = |port: &str| !port.is_empty() && port.chars().all(|c| c.is_ascii_digit());
    if let Some((host, port)) = value.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let fits = ip(host).is_some() || whole(r"[\p{Alphabetic}\p{Nd}\-.]+", host);
        return fits && (port.is_empty() || port.strip_prefix(':').is_some_and(digits));
    }
    ipv6(value).is_some() || value.rsplit_once('.').is_some_and(|(host, port)| ipv6(host).is_some() && digits(port))
}

/// `<content>=<relative path>`: no dot runs as parts, shorter than 1023 bytes, parts shorter than 255.
fn dir_override(value: &str) -> Result<(), String> {
    let invalid = || format!("invalid override '{value}'\n");
    let (kind, path) = value.split_once('=').ok_or_else(invalid)?;
    let path = chomp(path);
    let parts = !kind.is_empty() && kind.chars().all(|c| c.is_ascii_lowercase()) && !path.is_empty();
    expect(parts, invalid())?;
    content(kind)?;
    let part = |part: &str| part.len() < 255 && !part.chars().all(|c| c == '.');
    let fits = path.len() < 1023 && path.trim_matches('/').split('/').all(part);
    expect(fits, invalid())
}

fn blocksize(value: &str) -> Result<(), String> {
    if value.is_empty() {
        return Ok(());
    }
    let malformed = || {
        format!(
            "invalid ZFS blocksize format '{value}'. Use a positive number (no leading zeros) with an optional 'k' or \
             'm' suffix.\n"
        )
    };
    expect(whole("(?^i:[1-9][0-9]*[km]?)", value), malformed())?;
    let text = chomp(value);
    let (digits, unit) = match text.chars().last() {
        Some('k' | 'K') => (&text[..text.len() - 1], 1 << 10),
        Some('m' | 'M') => (&text[..text.len() - 1], 1 << 20),
        _ => (text, 1),
    };
    let bytes = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    let fits = bytes.is_some_and(|bytes| bytes.is_power_of_two() && (512..=16 << 20).contains(&bytes));
    let message = format!(
        "value '{value}' is not a valid ZFS blocksize. Must be a power of 2 between 512B and 16MiB (e.g., 4k, 8k, 16k, \
         64k, 1m).\n"
    );
    expect(fits, message)
}

//! Secrets that show themselves by their form, anywhere in a text.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// A form of secret: what finds it, and what stays of it (`$1`, `$2`: the harmless parts).
struct Pattern {
    regex: Regex,
    keep: &'static str,
}

/// In this order: what is found first is gone for the next. The mask holds nothing that a later one would find.
static PATTERNS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    // A colon, at sign … may stand percent-encoded in a log or an echoed request.
    [
        // Private keys in PEM form, even when the end is cut off or line ends are escaped.
        (r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----|\z)", "[REDACTED]"),
        // API tokens of Proxmox products: `user@realm!id=uuid` (`:` at backup servers). Who it is stays.
        (
            r"(?i)((?:@|%40)[a-z][a-z0-9._-]*(?:!|%21)[a-z][a-z0-9._-]*(?:=|:|%3D|%3A| ))[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
            "$1[REDACTED]",
        ),
        (r"(?i)(PVEAPIToken(?:=|%3D| )[^\s=;%]+(?:=|%3D))[^\s;,&]+", "$1[REDACTED]"),
        // Tickets: `PVE:user@realm:65A0B1C2::signature`, also of consoles and half-done logins.
        (
            r"\bP(?:VE|BS|MG|DM)[A-Z]*(?::|%3A)\S{0,2048}?(?::|%3A)?[0-9A-F]{8}(?:::|%3A%3A)[A-Za-z0-9+/=%_-]+",
            "[REDACTED]",
        ),
        // CSRF prevention tokens.
        (r"\b[0-9A-F]{8}(?::|%3A)[A-Za-z0-9+/%]{43,}=?", "[REDACTED]"),
        // Credentials in URLs; a bare name before the host counts with http only (`ssh://root@host` says nothing).
        (r#"([A-Za-z][A-Za-z0-9+.-]*://)[^\s/@:"'<>]*:[^\s/"'<>]*@"#, "$1[REDACTED]@"),
        (r#"(?i)(https?://)[^\s/@"'<>]+@"#, "$1[REDACTED]@"),
        // Headers that carry a login.
        (r"(?i)\b((?:bearer|basic)\s+)[A-Za-z0-9+/._~-]{16,}=*", "$1[REDACTED]"),
        // Hashes of passwords as they stand in /etc/shadow or in cloud-init user data.
        (r#"\$(?:1|5|6|7|y|gy|sha1|2[abxy]?|argon2id?)\$[^\s:"',]{8,}"#, "[REDACTED]"),
        // `password=…` inside mount options, command lines and echoed forms.
        (
            r#"(?i)\b((?:[a-z]+[_-])?(?:passwo?r?d|passphrase|secret|api[_-]?key|access[_-]?token)=)[^\s,;&"']+"#,
            "$1[REDACTED]",
        ),
    ]
    .into_iter()
    .map(|(regex, keep)| Pattern { regex: Regex::new(regex).expect("a pattern of this file"), keep })
    .collect()
});

/// The text without private keys, tokens, tickets, password hashes and credentials in URLs.
pub fn text(text: &str) -> Cow<'_, str> {
    let mut shown = Cow::Borrowed(text);
    for pattern in PATTERNS.iter() {
        if let Cow::Owned(masked) = pattern.regex.replace_all(&shown, pattern.keep) {
            shown = Cow::Owned(masked);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn forms_of_secrets() {
        let cases = [
            ("root@pam!ci=12345678-1234-1234-1234-123456789abc", "root@pam!ci=[REDACTED]"),
            ("root%40pam%21ci%3D12345678-1234-1234-1234-123456789abc&x", "root%40pam%21ci%3D[REDACTED]&x"),
            ("ticket PVE:root@pam:65A0B1C2::c2lnbmF0dXJl+/= end", "ticket [REDACTED] end"),
            ("PVE%3Aroot%40pam%3A65A0B1C2%3A%3Ac2ln%2B", "[REDACTED]"),
            ("PVEVNC:65A0B1C2::c2lnbmF0dXJl", "[REDACTED]"),
            ("PVE:!tfa!%7B%22totp%22%3Atrue%7D:65A0B1C2::c2ln", "[REDACTED]"),
            ("65A0B1C2:abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ.", "[REDACTED]."),
            ("http://user:p@ss@proxy:3128/", "http://[REDACTED]@proxy:3128/"),
            ("https://ghp_abcdef@github.com/x", "https://[REDACTED]@github.com/x"),
            ("ssh://root@host", "ssh://root@host"),
            ("Authorization: Basic dXNlcjpwYXNzd29yZA==", "Authorization: Basic [REDACTED]"),
            ("password: $5$abc$WJ1234567890abcdef", "password: [REDACTED]"),
            ("options username=u,password=hunter2,vers=3", "options username=u,password=[REDACTED],vers=3"),
            ("-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\nrest", "[REDACTED]\nrest"),
            ("-----BEGIN OPENSSH PRIVATE KEY-----\\nb3Bl", "[REDACTED]"),
        ];
        for (given, wanted) in cases {
            assert_eq!(text(given), wanted, "{given}");
        }
    }

    #[test]
    fn harmless_texts_stay() {
        for harmless in [
            "UPID:pve1:000F1A2B:0ABCDEF0:65A0B1C2:qmstart:100:root@pam!ci:",
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKtest user@host",
            "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----",
            "virtio=BC:24:11:00:11:22,bridge=vmbr0",
            "Permission check failed (/vms/100, VM.Audit)",
            "https://pve1.example:8006/api2/json",
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "PVE::Storage and PVE/LXC.pm line 12",
        ] {
            assert_eq!(text(harmless), harmless);
        }
    }
}

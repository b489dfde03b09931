//! How to reach a cluster: address, credentials, certificate.

use std::time::Duration;

use super::value::Source;
use super::{Address, Connection, Credentials, Tls};

/// Port of the Proxmox API.
const PORT: u16 = 8006;

/// Reads the connection; `None` when something is missing or wrong (noted in the source).
pub fn read(source: &mut Source, warnings: &mut Vec<String>) -> Option<Connection> {
    let url = url(source);
    let credentials = credentials(source);
    let tls = tls(source, warnings);
    let timeout = timeout(source);
    Some(Connection { url: url?, credentials: credentials?, tls, timeout, only_loopback: false })
}

/// The address of a node that somebody named, with the trust and the patience of the settings; no credentials are read.
pub fn address(source: &mut Source, warnings: &mut Vec<String>, url: &str) -> Option<Address> {
    let tls = tls(source, warnings);
    let timeout = timeout(source);
    match normal_url(url) {
        Ok(url) => Some(Address { url, tls, timeout }),
        Err(problem) => {
            source.errors.push(super::ConfigError { variable: "--from".into(), shown: None, problem: problem.into() });
            None
        }
    }
}

fn timeout(source: &mut Source) -> Duration {
    Duration::from_secs(source.number("PROXMOX_TIMEOUT_SECONDS", 30, 1, 3600))
}

fn url(source: &mut Source) -> Option<String> {
    let name = match (source.text("PROXMOX_URL"), source.text("PROXMOX_HOST")) {
        (Some(url), Some(host)) if url != host => {
            source.problem("PROXMOX_HOST", "PROXMOX_URL is set too and differs: set one of the two");
            return None;
        }
        (Some(_), _) => "PROXMOX_URL",
        (None, Some(_)) => "PROXMOX_HOST",
        (None, None) => {
            source.problem("PROXMOX_URL", "not set: the address of a node, such as https://192.168.1.10:8006");
            return None;
        }
    };
    let text = source.text(name)?;
    match normal_url(&text) {
        Ok(url) => Some(url),
        Err(problem) => {
            // A URL may carry a password: the value is not shown then.
            let shown = (!text.contains('@')).then_some(text);
            source.errors.push(super::ConfigError { variable: name.into(), shown, problem: problem.into() });
            None
        }
    }
}

/// `https://host:port`, from what people write.
fn normal_url(text: &str) -> Result<String, &'static str> {
    let rest = match text.split_once("://") {
        None => text,
        Some(("https", rest)) => rest,
        Some(("http", _)) => return Err("Proxmox speaks https only: write https://"),
        Some(_) => return Err("expected an address such as https://192.168.1.10:8006"),
    };
    if rest.contains('@') {
        return Err(
            "credentials do not belong into the address: use PROXMOX_TOKEN or PROXMOX_USERNAME and PROXMOX_PASSWORD",
        );
    }
    let host = rest.trim_end_matches('/');
    if host.is_empty() || host.contains(['/', '?', '#', ' ', '%', '\\']) {
        return Err("expected an address without a path, such as https://192.168.1.10:8006");
    }
    let has_port = match host.rsplit_once(':') {
        Some((before, port)) if !before.ends_with(':') && (!before.contains(':') || before.ends_with(']')) => {
            port.parse::<u16>().map_err(|_| "the port is no number from 1 to 65535")? > 0
        }
        _ => false,
    };
    let bare_ipv6 = host.matches(':').count() > 1 && !host.starts_with('[');
    Ok(match (has_port, bare_ipv6) {
        (true, _) => format!("https://{host}"),
        (false, true) => format!("https://[{host}]:{PORT}"),
        (false, false) => format!("https://{host}:{PORT}"),
    })
}

fn credentials(source: &mut Source) -> Option<Credentials> {
    let before = source.errors.len();
    let whole = source.secret("PROXMOX_TOKEN");
    let id = source.text("PROXMOX_TOKEN_ID");
    let secret = source.secret("PROXMOX_TOKEN_SECRET");
    let file = source.text("PROXMOX_CREDENTIALS_FILE");
    let username = source.text("PROXMOX_USERNAME");
    let password = source.secret("PROXMOX_PASSWORD");
    if source.errors.len() > before {
        return None;
    }
    let ways = [
        ("PROXMOX_TOKEN", whole.is_some()),
        ("PROXMOX_TOKEN_ID", id.is_some() || secret.is_some()),
        ("PROXMOX_CREDENTIALS_FILE", file.is_some()),
        ("PROXMOX_USERNAME", username.is_some() || password.is_some()),
    ];
    let given: Vec<&str> = ways.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect();
    match given[..] {
        [] => {
            source.problem("PROXMOX_TOKEN", "not set: user@realm!id=secret, or PROXMOX_USERNAME and PROXMOX_PASSWORD");
            None
        }
        ["PROXMOX_TOKEN"] => {
            let text = secrecy::ExposeSecret::expose_secret(&whole?).to_string();
            token(source, "PROXMOX_TOKEN", &text)
        }
        ["PROXMOX_TOKEN_ID"] => two_parts(source, id, secret),
        ["PROXMOX_CREDENTIALS_FILE"] => {
            let text = source.file("PROXMOX_CREDENTIALS_FILE", &file?)?;
            from_file(source, &text)
        }
        ["PROXMOX_USERNAME"] => login(source, username, password),
        _ => {
            source.problem(given[0], format!("more than one way to log in is set: {}", given.join(", ")));
            None
        }
    }
}

const TOKEN_FORM: &str = "expected user@realm!id=secret";

fn token(source: &mut Source, name: &str, text: &str) -> Option<Credentials> {
    // The last `=` separates, as Proxmox does it.
    match text.rsplit_once('=') {
        Some((id, secret)) if is_token_id(id) && !secret.is_empty() => {
            Some(Credentials::Token { id: id.into(), secret: secret.to_string().into() })
        }
        _ => {
            source.errors.push(super::ConfigError { variable: name.into(), shown: None, problem: TOKEN_FORM.into() });
            None
        }
    }
}

fn is_token_id(id: &str) -> bool {
    let plain = id.chars().all(|c| !c.is_control() && !c.is_whitespace());
    plain && id.split_once('!').is_some_and(|(user, name)| is_userid(user) && !name.is_empty())
}

fn is_userid(user: &str) -> bool {
    user.rsplit_once('@').is_some_and(|(name, realm)| !name.is_empty() && !realm.is_empty())
}

fn two_parts(source: &mut Source, id: Option<String>, secret: Option<secrecy::SecretString>) -> Option<Credentials> {
    match (id, secret) {
        (Some(id), Some(secret)) if is_token_id(&id) => Some(Credentials::Token { id, secret }),
        (Some(_), Some(_)) => {
            source.problem("PROXMOX_TOKEN_ID", "expected user@realm!id");
            None
        }
        (Some(_), None) => {
            source.problem("PROXMOX_TOKEN_SECRET", "not set, but PROXMOX_TOKEN_ID is");
            None
        }
        _ => {
            source.problem("PROXMOX_TOKEN_ID", "not set, but PROXMOX_TOKEN_SECRET is");
            None
        }
    }
}

fn from_file(source: &mut Source, text: &str) -> Option<Credentials> {
    let lines: Vec<&str> =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let value = |key: &str| lines.iter().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix('='));
    match (value("token_id"), value("token_secret"), &lines[..]) {
        (Some(id), Some(secret), _) => {
            token(source, "PROXMOX_CREDENTIALS_FILE", &format!("{}={}", id.trim(), secret.trim()))
        }
        (None, None, [line]) => token(source, "PROXMOX_CREDENTIALS_FILE", line),
        _ => {
            let problem = format!("the file must hold one line ({TOKEN_FORM}), or lines token_id= and token_secret=");
            source.problem("PROXMOX_CREDENTIALS_FILE", problem);
            None
        }
    }
}

fn login(
    source: &mut Source,
    username: Option<String>,
    password: Option<secrecy::SecretString>,
) -> Option<Credentials> {
    match (username, password) {
        (Some(username), Some(password)) if is_userid(&username) => Some(Credentials::Password { username, password }),
        (Some(_), Some(_)) => {
            source.problem("PROXMOX_USERNAME", "expected user@realm, such as root@pam");
            None
        }
        (Some(_), None) => {
            source.problem("PROXMOX_PASSWORD", "not set, but PROXMOX_USERNAME is");
            None
        }
        _ => {
            source.problem("PROXMOX_USERNAME", "not set, but PROXMOX_PASSWORD is");
            None
        }
    }
}

fn tls(source: &mut Source, warnings: &mut Vec<String>) -> Tls {
    let verify = source.flag("PROXMOX_VERIFY_SSL", true) && !source.flag("PROXMOX_TLS_INSECURE", false);
    let ca = source.text("PROXMOX_CA_FILE");
    let fingerprint = source.text("PROXMOX_FINGERPRINT");
    match (ca, fingerprint, verify) {
        (None, None, true) => Tls::System,
        (None, None, false) => {
            warnings.push(
                "the certificate of the API is not verified: anybody on the way can read the token. \
                 Pin it with PROXMOX_FINGERPRINT instead"
                    .into(),
            );
            Tls::Off
        }
        (Some(_), Some(_), _) => {
            source.problem("PROXMOX_FINGERPRINT", "PROXMOX_CA_FILE is set too: set one of the two");
            Tls::System
        }
        (Some(_), None, false) => {
            source.problem("PROXMOX_CA_FILE", "set together with verification switched off: drop one of the two");
            Tls::System
        }
        (None, Some(_), false) => {
            source.problem("PROXMOX_FINGERPRINT", "set together with verification switched off: drop one of the two");
            Tls::System
        }
        (Some(file), None, true) => Tls::CaFile(file.into()),
        (None, Some(text), true) => match fingerprint_bytes(&text) {
            Some(bytes) => Tls::Fingerprint(bytes),
            None => {
                source.problem("PROXMOX_FINGERPRINT", "expected 32 bytes in hexadecimal (SHA-256): AA:BB:…");
                Tls::System
            }
        },
    }
}

fn fingerprint_bytes(text: &str) -> Option<[u8; 32]> {
    let digits: String = text.chars().filter(|c| *c != ':' && !c.is_whitespace()).collect();
    if digits.len() != 64 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; 32];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}

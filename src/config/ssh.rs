//! How nodes and guests are reached over SSH: who we are there, which hosts we believe, and the bounds of a command.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use secrecy::SecretString;
use serde_json::{Map, Value};

use super::value::Source;

/// SSH to the nodes of one cluster and to its guests.
#[derive(Debug, Clone)]
pub struct SshSettings {
    /// User on the nodes.
    pub user: String,
    /// Port of a node whose address names none.
    pub port: u16,
    /// How we log in on the nodes.
    pub login: SshLogin,
    /// Addresses of nodes, by name; others are looked up in the cluster.
    pub nodes: BTreeMap<String, SshAddress>,
    /// Commands run with `sudo -n` unless the user is root.
    pub sudo: bool,
    /// File of known host keys; `None` where there is no home directory, and in a rehearsal.
    pub known_hosts: Option<PathBuf>,
    /// What happens to a host that is not known.
    pub host_keys: HostKeyPolicy,
    /// Pinned host keys by node: one of them must be the node's, whatever the policy.
    pub pins: BTreeMap<String, Vec<KeyFingerprint>>,
    /// Longest time for one command (1 to 3600 s).
    pub timeout: Duration,
    /// Bytes kept of each output stream of a command (1 KiB to 64 MiB).
    pub max_output: usize,
    /// User in guests.
    pub guest_user: String,
    /// How we log in in guests.
    pub guest_login: SshLogin,
    /// In a rehearsal: only this machine may be contacted.
    pub only_loopback: bool,
}

impl Default for SshSettings {
    fn default() -> SshSettings {
        SshSettings {
            user: "root".into(),
            port: 22,
            login: SshLogin::default(),
            nodes: BTreeMap::new(),
            sudo: false,
            known_hosts: None,
            host_keys: HostKeyPolicy::Strict,
            pins: BTreeMap::new(),
            timeout: Duration::from_secs(120),
            max_output: 1 << 20,
            guest_user: "root".into(),
            guest_login: SshLogin::default(),
            only_loopback: false,
        }
    }
}

/// Who we are to an SSH server. Everything that is set is tried, in this order.
#[derive(Debug, Clone, Default)]
pub struct SshLogin {
    /// File with a private key.
    pub key_file: Option<PathBuf>,
    /// The key's passphrase.
    pub passphrase: Option<SecretString>,
    /// An agent that holds keys.
    pub agent: Option<SshAgent>,
    /// A password.
    pub password: Option<SecretString>,
}

/// Where an agent listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SshAgent {
    /// A Unix socket.
    Socket(PathBuf),
    /// PuTTY's agent on Windows.
    Pageant,
    /// A named pipe on Windows.
    Pipe(String),
}

/// What happens to a host whose key is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HostKeyPolicy {
    /// It is refused.
    #[default]
    Strict,
    /// Its key is added to the file; a changed one is still refused.
    AcceptNew,
    /// No host is verified, except those with a pin; a revoked key is still refused.
    Off,
}

/// `host` or `host:port`; an IPv6 address with a port stands in brackets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshAddress {
    /// A name or an IP address, without brackets.
    pub host: String,
    /// The port, where one was given.
    pub port: Option<u16>,
}

impl FromStr for SshAddress {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<SshAddress, &'static str> {
        let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, "")) => (host, None),
            Some((host, rest)) => (host, Some(rest.strip_prefix(':').ok_or("expected [address]:port")?)),
            None if text.matches(':').count() > 1 => (text, None),
            None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
        };
        let port = match port.map(str::parse::<u16>) {
            None => None,
            Some(Ok(port)) if port > 0 => Some(port),
            Some(_) => return Err("the port is no number from 1 to 65535"),
        };
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(SshAddress { host: address.to_string(), port });
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        if host.is_empty() || host.len() > 253 || host.starts_with(['-', '.']) || !host.chars().all(plain) {
            return Err("expected a host name or an IP address, such as 10.0.0.11 or 10.0.0.11:2222");
        }
        Ok(SshAddress { host: host.to_ascii_lowercase(), port })
    }
}

/// SHA-256 of a host key, written as `ssh-keygen -l` does: `SHA256:` and 43 characters of base64.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyFingerprint(pub [u8; 32]);

impl FromStr for KeyFingerprint {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<KeyFingerprint, &'static str> {
        const FORM: &str = "expected SHA256: and 43 characters, as 'ssh-keygen -lf' prints them";
        let digest = text.strip_prefix("SHA256:").ok_or(FORM)?.trim_end_matches('=');
        let bytes = STANDARD_NO_PAD.decode(digest).map_err(|_| FORM)?;
        bytes.try_into().map(KeyFingerprint).map_err(|_| FORM)
    }
}

impl fmt::Display for KeyFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SHA256:{}", STANDARD_NO_PAD.encode(self.0))
    }
}

impl fmt::Debug for KeyFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Reads the SSH variables; what is wrong is noted in the source. With `look`, files that are named must be there.
pub fn read(source: &mut Source, warnings: &mut Vec<String>, look: bool) -> SshSettings {
    let settings = SshSettings {
        user: user(source, "PROXMOX_SSH_USER"),
        port: source.number("PROXMOX_SSH_PORT", 22, 1, u16::MAX),
        login: login(source, warnings, look),
        nodes: nodes(source),
        sudo: source.flag("PROXMOX_SSH_SUDO", false),
        known_hosts: known_hosts(source),
        host_keys: policy(source, warnings),
        pins: pins(source),
        timeout: Duration::from_secs(source.number("PROXMOX_SSH_TIMEOUT_SECONDS", 120, 1, 3600)),
        max_output: source.number("PROXMOX_SSH_MAX_OUTPUT_BYTES", 1 << 20, 1 << 10, 1 << 26),
        guest_user: user(source, "PROXMOX_GUEST_SSH_USER"),
        guest_login: SshLogin {
            key_file: key_file(source, warnings, "PROXMOX_GUEST_SSH_KEY_FILE", look),
            password: source.secret("PROXMOX_GUEST_SSH_PASSWORD"),
            ..SshLogin::default()
        },
        only_loopback: false,
    };
    if settings.sudo && settings.user == "root" {
        warnings.push("PROXMOX_SSH_SUDO has no effect while PROXMOX_SSH_USER is root".into());
    }
    settings
}

fn user(source: &mut Source, name: &str) -> String {
    let Some(user) = source.text(name) else { return "root".into() };
    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, ':' | '/' | ',' | '"' | '\'');
    if user.len() > 64 || user.starts_with('-') || !user.chars().all(plain) {
        source.problem(name, "expected the name of a user, such as root");
    }
    user
}

fn login(source: &mut Source, warnings: &mut Vec<String>, look: bool) -> SshLogin {
    let login = SshLogin {
        key_file: key_file(source, warnings, "PROXMOX_SSH_KEY_FILE", look),
        passphrase: source.secret("PROXMOX_SSH_KEY_PASSPHRASE"),
        agent: agent(source),
        password: source.secret("PROXMOX_SSH_PASSWORD"),
    };
    if login.passphrase.is_some() && source.text("PROXMOX_SSH_KEY_FILE").is_none() {
        source.problem("PROXMOX_SSH_KEY_PASSPHRASE", "set without PROXMOX_SSH_KEY_FILE, the key it belongs to");
    }
    login
}

fn key_file(source: &mut Source, warnings: &mut Vec<String>, name: &str, look: bool) -> Option<PathBuf> {
    let file = path(&source.text(name)?);
    if !look {
        return Some(file);
    }
    let text = source.file(name, &file.to_string_lossy())?;
    let private = text.contains("PRIVATE KEY-----") || text.starts_with("PuTTY-User-Key-File-");
    let public = ["ssh-", "ecdsa-", "sk-"].iter().any(|start| text.trim_start().starts_with(start));
    if !private && public {
        source.problem(name, "the file holds a public key: name the private one, usually without .pub");
        return None;
    }
    if !private {
        source.problem(name, "the file holds no private key in OpenSSH, PKCS#8, PEM or PuTTY form");
        return None;
    }
    if others_can_read(&file) {
        warnings.push(format!("{name}: other users of this machine can read the key; 'chmod 600' it"));
    }
    Some(file)
}

#[cfg(unix)]
fn others_can_read(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn others_can_read(_: &Path) -> bool {
    false
}

/// A path; `~/` is the home directory, because no shell has read the variable.
fn path(text: &str) -> PathBuf {
    match (text.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(text),
    }
}

fn agent(source: &mut Source) -> Option<SshAgent> {
    const NAME: &str = "PROXMOX_SSH_AGENT";
    let text = source.text(NAME)?;
    let windows = text.eq_ignore_ascii_case("pageant") || text.starts_with(r"\\.\pipe\");
    if windows && !cfg!(windows) {
        source.problem(NAME, "that kind of agent is found on Windows only; expected the path of a socket");
        return None;
    }
    if windows {
        let pageant = text.eq_ignore_ascii_case("pageant");
        return Some(if pageant { SshAgent::Pageant } else { SshAgent::Pipe(text) });
    }
    let socket = path(&text);
    if !socket.is_absolute() || cfg!(windows) {
        source.problem(NAME, "expected the whole path of the agent's socket, such as the value of SSH_AUTH_SOCK");
        return None;
    }
    Some(SshAgent::Socket(socket))
}

fn known_hosts(source: &mut Source) -> Option<PathBuf> {
    match source.text("PROXMOX_SSH_KNOWN_HOSTS") {
        Some(file) => Some(path(&file)),
        None => Some(std::env::home_dir()?.join(".ssh").join("known_hosts")),
    }
}

fn policy(source: &mut Source, warnings: &mut Vec<String>) -> HostKeyPolicy {
    match source.choice("PROXMOX_SSH_HOST_KEY_POLICY", &["strict", "accept-new", "off"]) {
        "accept-new" => HostKeyPolicy::AcceptNew,
        "off" => {
            warnings.push(
                "host keys are not verified: anybody on the way can be the node and run what is sent to it. Pin them \
                 with PROXMOX_SSH_FINGERPRINTS instead"
                    .into(),
            );
            HostKeyPolicy::Off
        }
        _ => HostKeyPolicy::Strict,
    }
}

fn nodes(source: &mut Source) -> BTreeMap<String, SshAddress> {
    const NAME: &str = "PROXMOX_SSH_NODES";
    let mut nodes = BTreeMap::new();
    for (node, address) in pairs(source, NAME, "pve1=10.0.0.11,pve2=10.0.0.12") {
        let parsed = address.as_str().ok_or("expected an address as a string").and_then(str::parse);
        match parsed {
            Ok(parsed) => {
                if nodes.insert(node.clone(), parsed).is_some() {
                    source.problem(NAME, format!("'{node}' is named twice"));
                }
            }
            Err(why) => source.problem(NAME, format!("'{node}': {why}")),
        }
    }
    nodes
}

fn pins(source: &mut Source) -> BTreeMap<String, Vec<KeyFingerprint>> {
    const NAME: &str = "PROXMOX_SSH_FINGERPRINTS";
    let mut pins: BTreeMap<String, Vec<KeyFingerprint>> = BTreeMap::new();
    for (node, given) in pairs(source, NAME, "pve1=SHA256:…") {
        let list = match given {
            Value::Array(list) => list,
            one => vec![one],
        };
        if list.is_empty() {
            source.problem(NAME, format!("'{node}': an empty list pins nothing"));
        }
        for pin in list {
            match pin.as_str().ok_or("expected a fingerprint as a string").and_then(str::parse) {
                Ok(pin) => pins.entry(node.clone()).or_default().push(pin),
                Err(why) => source.problem(NAME, format!("'{node}': {why}")),
            }
        }
    }
    pins
}

/// `name=value,name=value`, or a JSON object. Names are names of nodes.
fn pairs(source: &mut Source, name: &str, example: &str) -> Vec<(String, Value)> {
    let Some(text) = source.text(name) else { return Vec::new() };
    let given: Vec<(String, Value)> = if text.starts_with('{') {
        match serde_json::from_str::<Map<String, Value>>(&text) {
            Ok(map) => map.into_iter().collect(),
            Err(error) => {
                source.problem(name, format!("it begins like a JSON object and is none: {error}"));
                return Vec::new();
            }
        }
    } else {
        let split = |entry: String| match entry.split_once('=') {
            Some((node, value)) => (node.trim().to_string(), Value::from(value.trim())),
            None => (entry, Value::Null),
        };
        source.list(name).into_iter().map(split).collect()
    };
    let mut good = Vec::new();
    for (node, value) in given {
        if value.is_null() {
            source.problem(name, format!("'{node}' has no value; expected for instance {example}"));
        } else if !is_node_name(&node) {
            source.problem(name, format!("'{node}' is no name of a node; expected for instance {example}"));
        } else {
            good.push((node, value));
        }
    }
    good
}

/// Whether a text can be the name of a node: letters, digits, and hyphens inside.
pub fn is_node_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    !text.is_empty() && text.len() <= 63 && text.chars().all(plain) && !text.starts_with('-') && !text.ends_with('-')
}

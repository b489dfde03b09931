//! The file of known host keys: what it says about a host, and how a new host gets into it.
//!
//! The form is OpenSSH's: patterns with `*` and `?`, negation, `[host]:port`, hashed names, `@revoked` and
//! `@cert-authority`. A line that cannot be read but is about the host in question counts against it, never for it.

use std::path::Path;

use hmac::{Hmac, KeyInit, Mac};
use russh::keys::ssh_key::known_hosts::{HostPatterns, Marker};
use russh::keys::{Algorithm, PublicKey};
use sha1::Sha1;

/// The lines of a file of known hosts.
#[derive(Debug, Default)]
pub struct KnownHosts {
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    /// Counted from 1.
    number: usize,
    marker: Option<Marker>,
    hosts: HostPatterns,
    /// `None` where the key cannot be read.
    key: Option<PublicKey>,
}

/// What the file says about a host that shows a certain key. Lines are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// This key is the host's.
    Known,
    /// The file does not speak of this host.
    Unknown,
    /// The host has other keys, of the same type or of another, in these lines.
    OtherKey(Vec<usize>),
    /// This key was revoked.
    Revoked(usize),
    /// Only an authority vouches for the host.
    Authority(usize),
}

impl KnownHosts {
    /// Reads the text of a file.
    pub fn parse(text: &str) -> KnownHosts {
        let numbered = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
        KnownHosts { lines: numbered.filter_map(|(number, line)| Line::parse(number, line)).collect() }
    }

    /// Reads a file; one that is not there holds nothing.
    ///
    /// # Errors
    /// When it is there and cannot be read.
    pub fn read(file: &Path) -> std::io::Result<KnownHosts> {
        match std::fs::read(file) {
            Ok(bytes) => Ok(KnownHosts::parse(&String::from_utf8_lossy(&bytes))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(KnownHosts::default()),
            Err(error) => Err(error),
        }
    }

    /// What is said about a host that showed this key.
    pub fn standing(&self, host: &str, port: u16, key: &PublicKey) -> Standing {
        let name = lookup_name(host, port);
        let same = |line: &&Line| line.key.as_ref().is_some_and(|known| known.key_data() == key.key_data());
        // A revoked key is revoked for the host, whatever port it now shows up on.
        let revoked =
            |line: &&Line| line.marker == Some(Marker::Revoked) && (line.is_about(&name) || line.is_about(host));
        if let Some(line) = self.lines.iter().filter(revoked).find(same) {
            return Standing::Revoked(line.number);
        }
        let about: Vec<&Line> = self.lines.iter().filter(|line| line.is_about(&name)).collect();
        let plain: Vec<&Line> = about.iter().copied().filter(|line| line.marker.is_none()).collect();
        if plain.iter().any(same) {
            return Standing::Known;
        }
        if !plain.is_empty() {
            return Standing::OtherKey(plain.iter().map(|line| line.number).collect());
        }
        match about.iter().find(|line| line.marker == Some(Marker::CertAuthority)) {
            Some(line) => Standing::Authority(line.number),
            None => Standing::Unknown,
        }
    }

    /// The types of key that are known of a host: those to ask it for first, so that a host that has several is
    /// recognised by the one that is known.
    pub fn algorithms(&self, host: &str, port: u16) -> Vec<Algorithm> {
        let name = lookup_name(host, port);
        let about = self.lines.iter().filter(|line| line.marker.is_none() && line.is_about(&name));
        about.filter_map(|line| Some(line.key.as_ref()?.algorithm())).collect()
    }
}

/// How a host is looked up: by its name, with the port in brackets where it is not 22.
pub fn lookup_name(host: &str, port: u16) -> String {
    let host = host.to_ascii_lowercase();
    if port == 22 { host } else { format!("[{host}]:{port}") }
}

impl Line {
    fn parse(number: usize, line: &str) -> Option<Line> {
        if line.is_empty() || line.starts_with('#') {
            return None;
        }
        // Fields may be apart by several blanks, which the parsers of single fields do not take.
        let mut fields = line.split_whitespace().peekable();
        let marker = match fields.next_if(|field| field.starts_with('@')) {
            // A marker that nobody knows: what the line means is not known either.
            Some(marker) => Some(marker.parse().ok()?),
            None => None,
        };
        let hosts = fields.next()?.parse().ok()?;
        let key = fields.take(2).collect::<Vec<_>>().join(" ");
        Some(Line { number, marker, hosts, key: PublicKey::from_openssh(&key).ok() })
    }

    /// Whether the line is about a host, by the name it is looked up by.
    fn is_about(&self, name: &str) -> bool {
        match &self.hosts {
            HostPatterns::HashedName { salt, hash } => {
                Hmac::<Sha1>::new_from_slice(salt).is_ok_and(|mac| mac.chain_update(name).verify_slice(hash).is_ok())
            }
            HostPatterns::Patterns(patterns) => {
                let fits = |pattern: &str| matches(pattern.to_ascii_lowercase().as_bytes(), name.as_bytes());
                let mut found = false;
                for pattern in patterns {
                    match pattern.strip_prefix('!') {
                        Some(not) if fits(not) => return false,
                        Some(_) => {}
                        None => found |= fits(pattern),
                    }
                }
                found
            }
        }
    }
}

/// Whether a pattern with `*` and `?` fits the whole text. Linear in both but for the last star.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut seen) = (0, 0);
    // Where to go on after the last star, when what follows it does not fit.
    let mut star: Option<(usize, usize)> = None;
    while seen < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, seen));
                at += 1;
            }
            Some(&c) if c == b'?' || c == text[seen] => (at, seen) = (at + 1, seen + 1),
            _ => match star {
                Some((starred, from)) => {
                    star = Some((starred, from + 1));
                    (at, seen) = (starred + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|c| *c == b'*')
}

/// Adds a host to the file and says how the host stands afterwards: somebody else may have added another key meanwhile.
///
/// The file is created for its owner only, never reached through a symbolic link, and locked while it is looked at and
/// written; a last line without its end gets one first.
///
/// # Errors
/// When the file, or its directory, cannot be made or written.
pub fn add(file: &Path, host: &str, port: u16, key: &PublicKey) -> std::io::Result<Standing> {
    use std::io::{Read, Write};

    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        create_folder(folder)?;
    }
    let mut opened = open_to_append(file)?;
    opened.lock()?;
    let mut bytes = Vec::new();
    opened.read_to_end(&mut bytes)?;
    let standing = KnownHosts::parse(&String::from_utf8_lossy(&bytes)).standing(host, port, key);
    if standing != Standing::Unknown {
        return Ok(standing);
    }
    let mut plain = PublicKey::from(key.key_data().clone());
    plain.set_comment("");
    let written = plain.to_openssh().map_err(std::io::Error::other)?;
    let end = if bytes.is_empty() || bytes.ends_with(b"\n") { "" } else { "\n" };
    opened.write_all(format!("{end}{} {}\n", lookup_name(host, port), written.trim_end()).as_bytes())?;
    opened.sync_data()?;
    Ok(Standing::Known)
}

#[cfg(unix)]
fn create_folder(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn create_folder(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)
}

#[cfg(unix)]
fn open_to_append(file: &Path) -> std::io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    options.read(true).append(true).create(true).mode(0o600);
    // One step, so that nothing can become a link between looking and opening; and a pipe must not keep us waiting.
    let opened = options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC).open(file)?;
    if opened.metadata()?.is_file() { Ok(opened) } else { Err(std::io::Error::other("it is no ordinary file")) }
}

#[cfg(not(unix))]
fn open_to_append(file: &Path) -> std::io::Result<std::fs::File> {
    if std::fs::symlink_metadata(file).is_ok_and(|metadata| metadata.is_symlink()) {
        return Err(std::io::Error::other("it is a symbolic link"));
    }
    std::fs::OpenOptions::new().read(true).append(true).create(true).open(file)
}

#[cfg(test)]
#[path = "known_hosts_tests.rs"]
mod tests;

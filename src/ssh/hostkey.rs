//! Whether the host on the other side is the one we mean: decided before anything secret is sent.

use std::path::PathBuf;

use russh::client::Config;
use russh::keys::{Algorithm, EcdsaCurve, HashAlg, PublicKey};

use super::known_hosts::{self, KnownHosts, Standing};
use crate::config::{HostKeyPolicy, KeyFingerprint};
use crate::error::{Code, Fault};

/// What a host has to show.
#[derive(Debug, Clone)]
pub struct HostCheck {
    /// What it is called in messages: `node pve1`.
    pub who: String,
    /// The address that is connected to; known hosts are looked up by it.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Which key is believed.
    pub trust: Trust,
    /// The file of known hosts, if there is one. A key that it revokes is refused, whoever vouches for it.
    pub known_hosts: Option<PathBuf>,
}

/// Which key is believed.
#[derive(Debug, Clone)]
pub enum Trust {
    /// One with such a fingerprint; the text says where a person would change it.
    Pinned(Vec<KeyFingerprint>, String),
    /// One of these, which were read over a way that is trusted already.
    Keys(Vec<PublicKey>),
    /// What the file of known hosts says, and this about hosts that it does not know.
    KnownHosts(HostKeyPolicy),
}

/// A host key that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenKey {
    /// `ssh-ed25519`.
    pub kind: String,
    /// Its SHA-256.
    pub fingerprint: KeyFingerprint,
    /// Why it was accepted.
    pub by: &'static str,
}

/// Types of host key, most wanted first. SHA-1 signatures are not accepted.
const WANTED: [Algorithm; 6] = [
    Algorithm::Ed25519,
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 },
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP384 },
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP521 },
    Algorithm::Rsa { hash: Some(HashAlg::Sha512) },
    Algorithm::Rsa { hash: Some(HashAlg::Sha256) },
];

impl HostCheck {
    /// The types of key to ask for, round by round: a host shows one key per connection. Where a pin does not tell its
    /// type, the host is asked for its other keys before it counts as the wrong one.
    pub fn rounds(&self) -> Vec<Vec<Algorithm>> {
        let is = |kind: fn(&Algorithm) -> bool| WANTED.iter().filter(|key| kind(key)).cloned().collect::<Vec<_>>();
        match &self.trust {
            Trust::Pinned(..) => vec![
                WANTED.to_vec(),
                is(|key| matches!(key, Algorithm::Ecdsa { .. })),
                is(|key| matches!(key, Algorithm::Rsa { .. })),
            ],
            Trust::Keys(keys) => vec![known_first(&keys.iter().map(PublicKey::algorithm).collect::<Vec<_>>())],
            Trust::KnownHosts(_) => {
                let known = self.read().map(|known| known.algorithms(&self.host, self.port)).unwrap_or_default();
                vec![known_first(&known)]
            }
        }
    }

    /// Decides about the key that the host showed. With the policy `accept-new` an unknown host's key is added to the file.
    ///
    /// This reads, and may write, a file: not for the async threads.
    ///
    /// # Errors
    /// `host_key_unknown` or `host_key_mismatch`, with the fingerprint that was seen.
    pub fn decide(&self, key: &PublicKey) -> Result<SeenKey, Fault> {
        let fingerprint = fingerprint(key);
        let seen = |by| SeenKey { kind: key.algorithm().to_string(), fingerprint, by };
        let known = self.read();
        let standing = known.as_ref().map(|known| known.standing(&self.host, self.port, key));
        if let Ok(Standing::Revoked(line)) = standing {
            return Err(self.revoked(&seen("revoked"), line));
        }
        match &self.trust {
            Trust::Pinned(pins, _) if pins.contains(&fingerprint) => Ok(seen("its fingerprint is pinned")),
            Trust::Pinned(pins, place) => Err(self.not_pinned(&seen("pinned"), pins, place)),
            Trust::Keys(keys) if keys.iter().any(|known| known.key_data() == key.key_data()) => {
                Ok(seen("it was read from the guest by its node"))
            }
            Trust::Keys(_) => Err(self.not_the_guests(&seen("keys"))),
            Trust::KnownHosts(policy) => match (&standing, policy) {
                (Ok(Standing::Known), _) => Ok(seen("it stands in the file of known hosts")),
                (_, HostKeyPolicy::Off) => Ok(seen("nothing: PROXMOX_SSH_HOST_KEY_POLICY=off")),
                (Ok(Standing::OtherKey(lines)), _) => Err(self.changed(&seen("changed"), lines)),
                (Ok(Standing::Unknown), HostKeyPolicy::AcceptNew) => self.add(key, seen("it was new and was added")),
                (Ok(standing), _) => Err(self.unknown(&seen("unknown"), standing)),
                (Err(error), _) => Err(self.unreadable(&seen("unknown"), error)),
            },
        }
    }

    fn read(&self) -> std::io::Result<KnownHosts> {
        self.known_hosts.as_deref().map_or_else(|| Ok(KnownHosts::default()), KnownHosts::read)
    }

    fn add(&self, key: &PublicKey, seen: SeenKey) -> Result<SeenKey, Fault> {
        let Some(file) = &self.known_hosts else { return Err(self.unknown(&seen, &Standing::Unknown)) };
        match known_hosts::add(file, &self.host, self.port, key) {
            Ok(Standing::Known) => Ok(seen),
            Ok(Standing::OtherKey(lines)) => Err(self.changed(&seen, &lines)),
            Ok(Standing::Revoked(line)) => Err(self.revoked(&seen, line)),
            Ok(standing) => Err(self.unknown(&seen, &standing)),
            Err(error) => Err(self.fault(
                Code::HostKeyUnknown,
                &seen,
                format!("is new and could not be added to {}: {error}", file.display()),
                "make that file writable (it may be no symbolic link), or pin the key".into(),
            )),
        }
    }

    fn unknown(&self, seen: &SeenKey, standing: &Standing) -> Fault {
        let file = self.file();
        let what = match standing {
            Standing::Authority(line) => format!(
                "is not known: line {line} of {file} names an authority for certificates, which are not supported here"
            ),
            _ => format!("is not known: {file} has no line for {}", known_hosts::lookup_name(&self.host, self.port)),
        };
        self.fault(Code::HostKeyUnknown, seen, what, self.how_to_trust(seen))
    }

    fn unreadable(&self, seen: &SeenKey, error: &std::io::Error) -> Fault {
        let what = format!("cannot be verified: {} cannot be read: {error}", self.file());
        self.fault(Code::HostKeyUnknown, seen, what, self.how_to_trust(seen))
    }

    fn changed(&self, seen: &SeenKey, lines: &[usize]) -> Fault {
        let lines = lines.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        let what = format!("is another one than {} says (line {lines})", self.file());
        let hint = format!(
            "was it installed anew? {} If it is right, take the old lines out ('ssh-keygen -R {}') and enter the new key; \
             otherwise somebody stands in between",
            COMPARE,
            known_hosts::lookup_name(&self.host, self.port)
        );
        self.fault(Code::HostKeyMismatch, seen, what, hint)
    }

    fn revoked(&self, seen: &SeenKey, line: usize) -> Fault {
        let what = format!("was revoked: line {line} of {}", self.file());
        self.fault(
            Code::HostKeyMismatch,
            seen,
            what,
            "the host needs a new key; whoever has this one may be anybody".into(),
        )
    }

    fn not_pinned(&self, seen: &SeenKey, pins: &[KeyFingerprint], place: &str) -> Fault {
        let pinned = pins.iter().map(ToString::to_string).collect::<Vec<_>>();
        let what = format!("is not the pinned one ({})", pinned.join(" or "));
        let hint =
            format!("was it installed anew? {COMPARE} Then change {place}; otherwise somebody stands in between");
        self.fault(Code::HostKeyMismatch, seen, what, hint).detail("pinned", pinned)
    }

    fn not_the_guests(&self, seen: &SeenKey) -> Fault {
        let hint = "another machine answers at this address: check the guest's address, or give 'host'";
        self.fault(Code::HostKeyMismatch, seen, "is none of the guest's own".into(), hint.into())
    }

    fn fault(&self, code: Code, seen: &SeenKey, what: String, hint: String) -> Fault {
        let message = format!(
            "the host key of {} ({}:{}) {what}; it showed {} {}. Nothing was sent to it",
            self.who, self.host, self.port, seen.kind, seen.fingerprint
        );
        Fault::new(code, message)
            .hint(hint)
            .detail("fingerprint", seen.fingerprint.to_string())
            .detail("key_type", seen.kind.clone())
            .detail("host", self.host.clone())
            .detail("port", self.port)
    }

    fn how_to_trust(&self, seen: &SeenKey) -> String {
        match self.who.strip_prefix("node ") {
            Some(node) => {
                format!("{COMPARE} Only if they are equal, set PROXMOX_SSH_FINGERPRINTS={node}={}", seen.fingerprint)
            }
            None => format!("{COMPARE} Only if they are equal, give fingerprint={}", seen.fingerprint),
        }
    }

    fn file(&self) -> String {
        self.known_hosts.as_ref().map_or_else(|| "the file of known hosts".into(), |file| file.display().to_string())
    }
}

const COMPARE: &str = "compare the fingerprint with 'ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub' (or the file of that \
                       type) in the machine's own console, not over SSH.";

/// SHA-256 of a public key.
pub fn fingerprint(key: &PublicKey) -> KeyFingerprint {
    let digest = key.fingerprint(HashAlg::Sha256);
    KeyFingerprint(digest.as_bytes().try_into().expect("SHA-256 has 32 bytes"))
}

/// The wanted types, those that are known of the host first.
fn known_first(known: &[Algorithm]) -> Vec<Algorithm> {
    let is_known = |wanted: &Algorithm| match wanted {
        Algorithm::Rsa { .. } => known.iter().any(|key| matches!(key, Algorithm::Rsa { .. })),
        wanted => known.contains(wanted),
    };
    let (first, rest): (Vec<_>, Vec<_>) = WANTED.iter().cloned().partition(is_known);
    [first, rest].concat()
}

/// The client's settings for a connection that asks for these types of host key. Certificates are never asked for.
pub(super) fn asking_for(mut config: Config, keys: Vec<Algorithm>) -> Config {
    config.preferred.key = keys.into();
    config
}

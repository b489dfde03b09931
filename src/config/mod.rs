//! Settings: the only reader of the environment, and of files of settings.
//!
//! Parsing is strict: a misspelt or malformed value stops the start with a message that names the variable, the value
//! and what is accepted, and everything wrong is said at once. A value that would open something never has a fallback.

mod catalog;
mod connection;
mod load;
mod ssh;
mod value;
pub mod variables;

use std::path::PathBuf;
use std::time::Duration;

use pve_catalog::Catalog;
use secrecy::SecretString;

pub use catalog::text_of as text_of_catalog;
pub use load::{Purpose, all_toolsets};
pub use ssh::{HostKeyPolicy, KeyFingerprint, SshAddress, SshAgent, SshLogin, SshSettings, is_node_name};
pub use value::ConfigError;

/// Everything the server was told.
#[derive(Debug)]
pub struct Settings {
    /// The clusters; one for now.
    pub instances: Vec<Instance>,
    /// Which tools are offered.
    pub offer: Offer,
    /// What the API is taken to be: the embedded catalogue, or that of `PROXMOX_CATALOG`.
    pub catalog: &'static Catalog,
    /// Longest answer, in characters (2,000 to 5,000,000).
    pub max_response_chars: usize,
    /// What to tell a person on stderr at the start.
    pub warnings: Vec<String>,
}

/// One cluster.
#[derive(Debug)]
pub struct Instance {
    /// Its name in results and resources.
    pub name: String,
    /// How to reach it.
    pub connection: Connection,
    /// How its nodes and guests are reached over SSH.
    pub ssh: SshSettings,
    /// What may be done to it.
    pub access: Access,
    /// Node taken when a tool without `vmid` gets none.
    pub default_node: Option<String>,
    /// How long a tool waits for a task unless told otherwise (0 to 3600 s).
    pub task_wait: Duration,
}

/// How to reach a cluster's API.
#[derive(Debug, Clone)]
pub struct Connection {
    /// `https://host:port`, without a path.
    pub url: String,
    /// Who we are.
    pub credentials: Credentials,
    /// How the certificate is verified.
    pub tls: Tls,
    /// Longest time for one request (1 to 3600 s).
    pub timeout: Duration,
    /// In a rehearsal: no other address than this one may be contacted.
    pub only_loopback: bool,
}

/// Where a node is and whom to trust there; who we are is not told.
#[derive(Debug, Clone)]
pub struct Address {
    /// `https://host:port`, without a path.
    pub url: String,
    /// How the certificate is verified.
    pub tls: Tls,
    /// Longest time for one request (1 to 3600 s).
    pub timeout: Duration,
}

/// Who we are to Proxmox.
#[derive(Debug, Clone)]
pub enum Credentials {
    /// An API token: `user@realm!id` and its secret.
    Token {
        /// `user@realm!id`.
        id: String,
        /// The UUID.
        secret: SecretString,
    },
    /// A login with a password.
    Password {
        /// `user@realm`.
        username: String,
        /// The password.
        password: SecretString,
    },
}

/// How the server's certificate is verified.
#[derive(Debug, Clone)]
pub enum Tls {
    /// Against the system's authorities.
    System,
    /// Against this authority only (PEM file).
    CaFile(PathBuf),
    /// The certificate must have this SHA-256 fingerprint.
    Fingerprint([u8; 32]),
    /// Not at all.
    Off,
}

/// What may be done to one cluster.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// `PROXMOX_ALLOW_WRITES`.
    pub writes: bool,
    /// `PROXMOX_ALLOW_ELEVATED`.
    pub elevated: bool,
    /// `PROXMOX_ALLOW_GUEST_EXEC`.
    pub guest_exec: bool,
    /// `PROXMOX_ALLOW_SSH`.
    pub ssh: bool,
    /// `PROXMOX_ALLOW_SENSITIVE`.
    pub sensitive: bool,
    /// `PROXMOX_DRY_RUN`: writes are shown, never sent.
    pub dry_run: bool,
    /// `PROXMOX_PROTECTED_VMIDS`.
    pub protected_vmids: Vec<u32>,
    /// `PROXMOX_PROTECTED_TAGS`.
    pub protected_tags: Vec<String>,
    /// `PROXMOX_LOCAL_DIR`: the only folder of this machine that files come from and go to.
    pub local_dir: Option<PathBuf>,
    /// `PROXMOX_UNBLOCK`, as keys of the catalogue: `POST /nodes/{node}/execute`.
    pub unblock: Vec<String>,
    /// `PROXMOX_CONFIRM_FALLBACK`.
    pub confirm_fallback: ConfirmFallback,
    /// `PROXMOX_ELICIT=false`: nobody is asked, and the fallback decides.
    pub never_ask: bool,
}

/// What a destructive call does when nobody can be asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ConfirmFallback {
    /// It is done.
    #[default]
    Allow,
    /// It is shown first, and done when the same call comes again with the value that was given out.
    Plan,
    /// It is refused.
    Deny,
}

/// Which tools are offered, within the open gates.
#[derive(Debug, Clone, Default)]
pub struct Offer {
    /// Domains to load (`PROXMOX_TOOLSETS`).
    pub toolsets: Vec<String>,
    /// Only these (`PROXMOX_TOOLS`): names or `*` patterns; empty for all.
    pub only: Vec<String>,
    /// Not these (`PROXMOX_EXCLUDE_TOOLS`).
    pub exclude: Vec<String>,
    /// `PROXMOX_SCHEMA_DETAIL=full`.
    pub full_schemas: bool,
}

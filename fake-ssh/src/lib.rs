//! The shells of a fake cluster's nodes: an SSH server for each, over the same world as [`fake_pve`].
//!
//! ```no_run
//! # async fn example(pve: fake_pve::FakePve) -> Result<(), fake_ssh::Error> {
//! use fake_ssh::FakeSsh;
//!
//! let ssh = FakeSsh::builder().join(&pve).start().await?;
//! let node = &ssh.nodes()["pve1"];
//! // … log in at `node.address` as root with `ssh.password()`, trusting `node.fingerprint` …
//! # Ok(()) }
//! ```
//!
//! # Map
//! `server` speaks SSH; `shell` starts a real shell in a sandbox; `rootfs` makes the files of a node or container;
//! `inside` is this program under other names within a sandbox; `stub` carries the call of `qm` or `pct` out of the sandbox
//! to `program`, which acts on the cluster by calling its API in process, with `cli` for what all of them share; `beneath`
//! opens files so that no path leads out of its root.
//!
//! # What confinement means, and where it ends
//! Each command runs in namespaces of its own, without a network, on the files of its node or container and this machine's
//! programs, read-only. Processes, memory, open files, file sizes, room on the disk and time are limited: by the kernel where
//! it can for one process, by a warden that looks every 150 ms where it cannot. Nothing outlives its command, and one
//! command does not see another's processes. When this process is root, commands run as somebody who is nobody outside, and
//! each user inside is another one; otherwise all users inside are this process's user, and only names tell them apart.
//! Files show no other owner than that: `chown` and `chgrp` inside check names and write down who was meant.
//!
//! # What a program that uses this must do
//! The sandboxes run this code too, so [`inside::main`] is called first in `main` of the program that
//! [`Builder::program`] names (by default the running one).

mod beneath;
mod cli;
pub mod inside;
mod program;
mod rootfs;
mod server;
mod shell;
mod site;
mod stub;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fake_pve::{Direct, FakePve};

pub use shell::Limits;

/// Why the nodes do not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Commands could not be confined.
    #[error(
        "commands cannot be confined: {0}; install bubblewrap and allow user namespaces, or ask for no confinement"
    )]
    Confinement(String),
    /// No cluster was named.
    #[error("no cluster was joined: call join before start")]
    NotJoined,
    /// A file or socket.
    #[error("{about}: {source}")]
    Io {
        /// What was being done.
        about: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// A key that cannot be read.
    #[error("not an OpenSSH public key: {0}")]
    Key(String),
}

impl Error {
    pub(crate) fn io(about: impl Into<String>) -> impl FnOnce(std::io::Error) -> Error {
        |source| Error::Io { about: about.into(), source }
    }
}

/// Something that goes wrong on a node's SSH until it is mended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Every connection and command waits this long first.
    Slow(Duration),
    /// Connections are closed at once.
    Refuse,
    /// Another host key is shown.
    WrongKey,
    /// The connection is cut after so many bytes of output.
    Cut(usize),
    /// `sudo -n` asks for a password, which it cannot get.
    NoSudo,
}

/// Somebody who can log in, on every node.
#[derive(Clone, Debug)]
pub struct User {
    /// Name.
    pub name: String,
    /// Number inside; 0 is root.
    pub uid: u32,
    /// Password; without one only keys count.
    pub password: Option<String>,
    /// Public keys, as in `authorized_keys`.
    pub keys: Vec<String>,
    /// Whether `sudo -n` works.
    pub sudo: bool,
}

/// Where a node listens, and how it is known.
#[derive(Clone, Debug)]
pub struct NodeAddress {
    /// Loopback, a port of its own.
    pub address: SocketAddr,
    /// `SHA256:…`
    pub fingerprint: String,
    /// `ssh-ed25519 AAAA…`
    pub host_key: String,
}

/// How to start the nodes.
pub struct Builder {
    direct: Option<Direct>,
    password: Option<String>,
    users: Vec<User>,
    keys: Vec<String>,
    program: Option<PathBuf>,
    limits: Limits,
    confined: bool,
    port: u16,
}

impl Builder {
    /// The cluster whose nodes they are.
    pub fn join(mut self, pve: &FakePve) -> Builder {
        self.direct = Some(pve.direct());
        self
    }

    /// A cluster without a network.
    pub fn join_direct(mut self, direct: Direct) -> Builder {
        self.direct = Some(direct);
        self
    }

    /// root's password (default: random).
    pub fn password(mut self, password: impl Into<String>) -> Builder {
        self.password = Some(password.into());
        self
    }

    /// A public key of root's, as in `authorized_keys`.
    pub fn authorized_key(mut self, key: impl Into<String>) -> Builder {
        self.keys.push(key.into());
        self
    }

    /// Somebody else.
    pub fn user(mut self, user: User) -> Builder {
        self.users.push(user);
        self
    }

    /// The program that runs in the sandboxes: it calls [`inside::main`] first (default: the running one).
    pub fn program(mut self, program: impl Into<PathBuf>) -> Builder {
        self.program = Some(program.into());
        self
    }

    /// What commands may take.
    pub fn limits(mut self, limits: Limits) -> Builder {
        self.limits = limits;
        self
    }

    /// Runs commands on this machine, unconfined: only where nothing that matters can be reached.
    pub fn without_confinement(mut self) -> Builder {
        self.confined = false;
        self
    }

    /// Port of the first node; the next take the ports after it (default: free ports).
    pub fn port(mut self, port: u16) -> Builder {
        self.port = port;
        self
    }

    /// Starts a server for every node of the cluster that is online.
    ///
    /// # Errors
    /// [`Error`]: no confinement, a port in use, no cluster.
    pub async fn start(self) -> Result<FakeSsh, Error> {
        let direct = self.direct.clone().ok_or(Error::NotJoined)?;
        let password = self.password.clone().unwrap_or_else(|| site::random_word(24));
        let root =
            User { name: "root".into(), uid: 0, password: Some(password.clone()), keys: self.keys.clone(), sudo: true };
        let users = std::iter::once(root).chain(self.users.clone()).collect();
        let site = Arc::new(site::Site::make(direct, users, self.program, self.limits, self.confined)?);
        let mut nodes = BTreeMap::new();
        let mut tasks = Vec::new();
        for (number, node) in (0..).zip(site.nodes.values()) {
            let port = if self.port == 0 { 0 } else { self.port + number };
            let (address, task) = server::listen(Arc::clone(&site), Arc::clone(node), port).await?;
            tasks.push(task);
            let key = node.key.public_key();
            let fingerprint = key.fingerprint(russh::keys::HashAlg::Sha256).to_string();
            let host_key = key.to_openssh().map_err(|error| Error::Key(error.to_string()))?;
            nodes.insert(node.name.clone(), NodeAddress { address, fingerprint, host_key });
        }
        Ok(FakeSsh { site, nodes, password, tasks })
    }
}

/// Running SSH servers. They stop, with all that they started, when this is dropped.
pub struct FakeSsh {
    site: Arc<site::Site>,
    nodes: BTreeMap<String, NodeAddress>,
    password: String,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl FakeSsh {
    /// How to start them: random password, free ports, confined.
    pub fn builder() -> Builder {
        Builder {
            direct: None,
            password: None,
            users: Vec::new(),
            keys: Vec::new(),
            program: None,
            limits: Limits::default(),
            confined: true,
            port: 0,
        }
    }

    /// The nodes by name.
    pub fn nodes(&self) -> &BTreeMap<String, NodeAddress> {
        &self.nodes
    }

    /// root's password.
    pub fn password(&self) -> &str {
        &self.password
    }

    /// Who can log in.
    pub fn users(&self) -> &[User] {
        &self.site.users
    }

    /// Lets something go wrong on a node, from the next connection or command on. An unknown node is left alone.
    pub fn fault(&self, node: &str, fault: Fault) {
        if let Some(node) = self.site.nodes.get(node) {
            node.faults().push(fault);
        }
    }

    /// Mends a node.
    pub fn mend(&self, node: &str) {
        if let Some(node) = self.site.nodes.get(node) {
            node.faults().clear();
        }
    }

    /// Every argument list that a node's programs were called with, oldest first (the last 10,000).
    pub fn calls(&self) -> Vec<Vec<String>> {
        self.site.calls()
    }

    /// Every command line that clients sent, with its node, oldest first (the last 10,000).
    pub fn commands(&self) -> Vec<(String, String)> {
        self.site.commands()
    }
}

impl Drop for FakeSsh {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
        self.site.stop();
    }
}

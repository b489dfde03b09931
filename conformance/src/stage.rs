//! One cluster with one server in front of it, in this process: the server speaks MCP over a pipe, the cluster HTTPS.

use std::collections::HashMap;

use fake_pve::{FakePve, Scenario};
use pve_catalog::Method;
use pvemcp::config::{Purpose, Settings};
use pvemcp::mcp;
use pvemcp::server::Server;

use crate::session::{Session, SessionError};

/// Room in the pipe: the whole list of tools fits.
const PIPE_BYTES: usize = 1 << 20;

/// Which gates the server's settings open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Gates {
    /// `PROXMOX_ALLOW_WRITES`.
    pub writes: bool,
    /// `PROXMOX_ALLOW_ELEVATED`.
    pub elevated: bool,
    /// `PROXMOX_ALLOW_GUEST_EXEC`.
    pub guest_exec: bool,
    /// `PROXMOX_ALLOW_SENSITIVE`.
    pub sensitive: bool,
    /// `PROXMOX_DRY_RUN`.
    pub dry_run: bool,
}

impl Gates {
    /// Everything open.
    pub const ALL: Gates = Gates { writes: true, elevated: true, guest_exec: true, sensitive: true, dry_run: false };

    /// Every combination.
    pub fn every() -> impl Iterator<Item = Gates> {
        (0..32u8).map(|bits| {
            let bit = |at: u8| bits & (1 << at) != 0;
            Gates { writes: bit(0), elevated: bit(1), guest_exec: bit(2), sensitive: bit(3), dry_run: bit(4) }
        })
    }

    fn variables(self) -> Vec<(String, String)> {
        let flags = [
            ("PROXMOX_ALLOW_WRITES", self.writes),
            ("PROXMOX_ALLOW_ELEVATED", self.elevated),
            ("PROXMOX_ALLOW_GUEST_EXEC", self.guest_exec),
            ("PROXMOX_ALLOW_SENSITIVE", self.sensitive),
            ("PROXMOX_DRY_RUN", self.dry_run),
        ];
        flags.iter().map(|(name, on)| (name.to_string(), on.to_string())).collect()
    }
}

/// Why a stage does not stand.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// The cluster.
    #[error(transparent)]
    Cluster(#[from] fake_pve::Error),
    /// The server's settings.
    #[error("the server refuses its settings: {0}")]
    Settings(String),
    /// The connection between client and server.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// A cluster, a server, a client.
pub struct Stage {
    /// The cluster.
    pub fake: FakePve,
    /// The client.
    pub session: Session,
}

impl Stage {
    /// The cluster `cluster`, and a server that offers every toolset.
    ///
    /// # Errors
    /// When one of the three does not start.
    pub async fn set(gates: Gates) -> Result<Stage, StageError> {
        Stage::of(FakePve::builder().scenario(Scenario::cluster()).start().await?, &gates.variables()).await
    }

    /// As [`Stage::set`], for one method: with a login where it refuses tokens or is for `root@pam` alone.
    ///
    /// # Errors
    /// As [`Stage::set`].
    pub async fn for_method(method: &Method) -> Result<Stage, StageError> {
        let mut variables = Gates::ALL.variables();
        if !method.allow_token || method.permissions().is_empty() {
            variables.push(("PROXMOX_USERNAME".into(), "root@pam".into()));
        }
        Stage::of(FakePve::builder().scenario(Scenario::cluster()).start().await?, &variables).await
    }

    /// The same cluster seen by a server with other gates: a second connection to it.
    ///
    /// # Errors
    /// As [`Stage::set`].
    pub async fn second(&self, gates: Gates) -> Result<Session, StageError> {
        connect(&self.fake, &gates.variables()).await
    }

    /// A server with some variables in front of a cluster.
    ///
    /// # Errors
    /// As [`Stage::set`].
    pub async fn of(fake: FakePve, variables: &[(String, String)]) -> Result<Stage, StageError> {
        let session = connect(&fake, variables).await?;
        Ok(Stage { fake, session })
    }

    /// Paths and verbs of the requests since the last time this was asked.
    pub fn take_requests(&self) -> Vec<String> {
        let requests = self.fake.requests().iter().map(|entry| format!("{} {}", entry.verb, entry.path)).collect();
        self.fake.forget_requests();
        requests
    }
}

async fn connect(fake: &FakePve, variables: &[(String, String)]) -> Result<Session, StageError> {
    let mut env: HashMap<String, String> = variables.iter().cloned().collect();
    env.insert("PROXMOX_URL".into(), fake.url());
    match env.contains_key("PROXMOX_USERNAME") {
        true => env.insert("PROXMOX_PASSWORD".into(), fake.credentials().password.clone()),
        false => env.insert("PROXMOX_TOKEN".into(), fake.token()),
    };
    env.insert("PROXMOX_FINGERPRINT".into(), fake.fingerprint().into());
    env.entry("PROXMOX_TOOLSETS".into()).or_insert_with(|| "all".into());
    let names: Vec<String> = env.keys().cloned().collect();
    let told = |errors: Vec<pvemcp::config::ConfigError>| {
        StageError::Settings(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
    };
    let settings = Settings::load(&|name| env.get(name).cloned(), &names, Purpose::Connect).map_err(told)?;
    let server = Server::new(settings).map_err(|fault| StageError::Settings(fault.to_string()))?;
    let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
    let (reader, writer) = tokio::io::split(theirs);
    tokio::spawn(mcp::stdio::serve_on(server, reader, writer));
    let (reader, writer) = tokio::io::split(ours);
    Ok(Session::open(reader, writer).await?)
}

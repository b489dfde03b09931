//! One cluster with one server in front of it: in this process over a pipe, or any program on its standard streams.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::Arc;

use fake_pve::{FakePve, Scenario};
use pve_catalog::Method;
use pvemcp::config::{Purpose, Settings};
use pvemcp::mcp;
use pvemcp::server::Server;
use tokio::process::Command;

use crate::prerequisites;
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

    /// The variables that open them.
    pub fn variables(self) -> Vec<(String, String)> {
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
    /// The program that is judged.
    #[error("{0}")]
    Program(String),
    /// The connection between client and server.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Which server is judged.
#[derive(Clone, Debug, Default)]
pub enum Subject {
    /// This build's own, in this process.
    #[default]
    Here,
    /// Any MCP server that takes pvemcp's variables and speaks on stdio: program and arguments.
    Program(Vec<String>),
}

/// A cluster, a server, a client.
pub struct Stage {
    /// The cluster.
    pub fake: FakePve,
    /// The client.
    pub session: Session,
    subject: Subject,
}

impl Stage {
    /// The cluster `cluster`, and a server that offers every toolset.
    ///
    /// # Errors
    /// When one of the three does not start.
    pub async fn set(subject: &Subject, gates: Gates) -> Result<Stage, StageError> {
        Stage::with(subject, Scenario::cluster(), &gates.variables()).await
    }

    /// As [`Stage::set`], for one method: in the world that it needs, with a login where it refuses tokens or is for `root@pam` alone.
    ///
    /// # Errors
    /// As [`Stage::set`].
    pub async fn for_method(subject: &Subject, method: &Method) -> Result<Stage, StageError> {
        let mut variables = Gates::ALL.variables();
        if !method.allow_token || method.permissions().is_empty() {
            variables.push(("PROXMOX_USERNAME".into(), "root@pam".into()));
        }
        Stage::with(subject, prerequisites::scenario(method), &variables).await
    }

    /// The same cluster seen by a server with other gates: a second connection to it.
    ///
    /// # Errors
    /// As [`Stage::set`].
    pub async fn second(&self, gates: Gates) -> Result<Session, StageError> {
        connect(&self.subject, &self.fake, &gates.variables()).await
    }

    /// The same cluster seen by a server with these variables and no others.
    ///
    /// # Errors
    /// As [`Stage::set`].
    pub async fn session_with(&self, variables: &[(String, String)]) -> Result<Session, StageError> {
        connect(&self.subject, &self.fake, variables).await
    }

    async fn with(subject: &Subject, scenario: Scenario, variables: &[(String, String)]) -> Result<Stage, StageError> {
        let fake = FakePve::builder().scenario(scenario).start().await?;
        let session = connect(subject, &fake, variables).await?;
        Ok(Stage { fake, session, subject: subject.clone() })
    }

    /// Paths and verbs of the requests since the last time this was asked.
    pub fn take_requests(&self) -> Vec<String> {
        let requests = self.fake.requests().iter().map(|entry| format!("{} {}", entry.verb, entry.path)).collect();
        self.fake.forget_requests();
        requests
    }
}

async fn connect(subject: &Subject, fake: &FakePve, variables: &[(String, String)]) -> Result<Session, StageError> {
    let env = environment(fake, variables);
    match subject {
        Subject::Here => here(&env).await,
        Subject::Program(command) => program(command, &env).await,
    }
}

/// What a server is told so that it reaches a cluster, beside the variables given.
pub(crate) fn environment(fake: &FakePve, variables: &[(String, String)]) -> HashMap<String, String> {
    let mut env: HashMap<String, String> = variables.iter().cloned().collect();
    env.insert("PROXMOX_URL".into(), fake.url());
    match env.contains_key("PROXMOX_USERNAME") {
        true => env.insert("PROXMOX_PASSWORD".into(), fake.credentials().password.clone()),
        false => env.insert("PROXMOX_TOKEN".into(), fake.token()),
    };
    env.insert("PROXMOX_FINGERPRINT".into(), fake.fingerprint().into());
    env.entry("PROXMOX_TOOLSETS".into()).or_insert_with(|| "all".into());
    env
}

/// This build's own server.
pub(crate) fn server(env: &HashMap<String, String>) -> Result<Arc<Server>, StageError> {
    let names: Vec<String> = env.keys().cloned().collect();
    let told = |errors: Vec<pvemcp::config::ConfigError>| {
        StageError::Settings(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
    };
    let settings = Settings::load(&|name| env.get(name).cloned(), &names, Purpose::Connect).map_err(told)?;
    Server::new(settings).map_err(|fault| StageError::Settings(fault.to_string()))
}

async fn here(env: &HashMap<String, String>) -> Result<Session, StageError> {
    let server = server(env)?;
    let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
    let (reader, writer) = tokio::io::split(theirs);
    tokio::spawn(mcp::stdio::serve_on(server, reader, writer));
    let (reader, writer) = tokio::io::split(ours);
    Ok(Session::open(reader, writer).await?)
}

/// The program gets pvemcp's variables and nothing else of this environment but its search path and home.
async fn program(command: &[String], env: &HashMap<String, String>) -> Result<Session, StageError> {
    let (name, arguments) = command.split_first().ok_or(StageError::Program("no program was named".into()))?;
    let inherited = ["PATH", "HOME", "LANG", "TMPDIR", "SystemRoot"];
    #[expect(clippy::disallowed_methods, reason = "what a child needs to run at all")]
    let inherited = inherited.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
    let mut child = Command::new(name)
        .args(arguments)
        .env_clear()
        .envs(inherited)
        .envs(env)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| StageError::Program(format!("{name} does not start: {error}")))?;
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(StageError::Program(format!("{name} has no standard streams")));
    };
    Ok(Session::open(output, input).await?.holding(child))
}

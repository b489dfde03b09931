//! Logging in: key, agent, password, in this order, and only after the host key was accepted.

use std::path::Path;
use std::sync::Arc;

use russh::client::{AuthResult, Handle, Handler, KeyboardInteractiveAuthResponse};
use russh::keys::agent::AgentIdentity;
use russh::keys::agent::client::{AgentClient, AgentStream};
use russh::keys::{Error as KeyError, HashAlg, PrivateKey, PrivateKeyWithHashAlg, load_secret_key};
use russh::{MethodKind, MethodSet};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::OnceCell;

use crate::config::{SshAgent, SshLogin};
use crate::error::{Code, Fault};

/// Most keys of an agent that are tried: servers hang up after six attempts of any kind.
const MOST_AGENT_KEYS: usize = 4;
/// Most rounds of questions of a server that asks for the password in a dialogue.
const MOST_QUESTIONS: usize = 3;

/// An agent's connection, of whatever kind.
type Agent = AgentClient<Box<dyn AgentStream + Send + Unpin>>;

/// Who we are, with the key once it was read.
#[derive(Debug)]
pub(super) struct Keychain {
    login: SshLogin,
    /// Which variables it comes from: `PROXMOX_SSH` or `PROXMOX_GUEST_SSH`.
    variables: &'static str,
    key: OnceCell<Arc<PrivateKey>>,
}

/// Where a login stands after an attempt.
enum Step {
    Done,
    /// Refused, or only one of several; these ways are left.
    Left(MethodSet),
}

impl Keychain {
    /// Who we are by these settings, which come from variables with this prefix.
    pub(super) fn new(login: SshLogin, variables: &'static str) -> Keychain {
        Keychain { login, variables, key: OnceCell::new() }
    }

    /// Refuses to go anywhere without anything to log in with.
    ///
    /// # Errors
    /// `ssh_auth_failed`.
    pub(super) fn check(&self) -> Result<(), Fault> {
        let login = &self.login;
        if login.key_file.is_some() || login.agent.is_some() || login.password.is_some() {
            return Ok(());
        }
        Err(Fault::new(Code::SshAuthFailed, "there is nothing to log in with over SSH").hint(self.advice()))
    }

    /// Logs in. The host was verified before.
    ///
    /// # Errors
    /// `ssh_auth_failed` with what was tried.
    pub(super) async fn log_in<H: Handler>(&self, handle: &mut Handle<H>, user: &str, who: &str) -> Result<(), Fault> {
        let mut tried = Vec::new();
        // Asked with nothing in hand, a server says which ways it knows: no password goes where none is taken.
        let mut left = match step(handle.authenticate_none(user).await) {
            Step::Done => return Ok(()),
            Step::Left(methods) => methods,
        };
        if let Some(file) = self.login.key_file.as_ref().filter(|_| left.contains(&MethodKind::PublicKey)) {
            let key = self.key(file).await?;
            tried.push(format!("key {} ({})", file.display(), key.public_key().fingerprint(HashAlg::Sha256)));
            let hash = rsa_hash(handle, key.algorithm().is_rsa()).await;
            let attempt = handle.authenticate_publickey(user, PrivateKeyWithHashAlg::new(key, hash)).await;
            match step(attempt) {
                Step::Done => return Ok(()),
                Step::Left(methods) => left = methods,
            }
        }
        if let Some(agent) = self.login.agent.as_ref().filter(|_| left.contains(&MethodKind::PublicKey)) {
            match self.with_agent(agent, handle, user, &mut tried).await? {
                Step::Done => return Ok(()),
                Step::Left(methods) => left = methods,
            }
        }
        if let Some(password) = &self.login.password {
            if left.contains(&MethodKind::Password) {
                tried.push("password".into());
                match step(handle.authenticate_password(user, password.expose_secret()).await) {
                    Step::Done => return Ok(()),
                    Step::Left(methods) => left = methods,
                }
            }
            if left.contains(&MethodKind::KeyboardInteractive) {
                tried.push("password in a dialogue".into());
                if answer_questions(handle, user, password).await {
                    return Ok(());
                }
            }
        }
        let tried = if tried.is_empty() { "nothing it accepts was at hand".into() } else { tried.join(", ") };
        let message = format!("{who} refused the login of user {user}: {tried}");
        Err(Fault::new(Code::SshAuthFailed, message).hint(self.advice()))
    }

    fn advice(&self) -> String {
        let variables = self.variables;
        let agent = if variables == "PROXMOX_SSH" { ", PROXMOX_SSH_AGENT" } else { "" };
        format!(
            "set {variables}_KEY_FILE{agent} or {variables}_PASSWORD, check {variables}_USER, and that the public key \
             stands in the user's authorized_keys"
        )
    }

    /// The private key, decrypted once. Decrypting takes time on purpose: not on the async threads.
    async fn key(&self, file: &Path) -> Result<Arc<PrivateKey>, Fault> {
        let read = || async {
            let (path, passphrase) = (file.to_path_buf(), self.login.passphrase.clone());
            let load = move || load_secret_key(path, passphrase.as_ref().map(ExposeSecret::expose_secret));
            let loaded = tokio::task::spawn_blocking(load).await;
            let loaded =
                loaded.map_err(|error| Fault::new(Code::Internal, format!("reading a key failed: {error}")))?;
            loaded.map(Arc::new).map_err(|error| self.unusable(file, error))
        };
        self.key.get_or_try_init(read).await.cloned()
    }

    fn unusable(&self, file: &Path, error: KeyError) -> Fault {
        let variables = self.variables;
        let (why, hint) = match (&error, &self.login.passphrase) {
            (KeyError::IO(error), _) => (format!("cannot be read: {error}"), format!("see {variables}_KEY_FILE")),
            (KeyError::KeyIsEncrypted, _) | (KeyError::SshKey(russh::keys::ssh_key::Error::Encrypted), _) => {
                let hint = match variables {
                    "PROXMOX_SSH" => "set PROXMOX_SSH_KEY_PASSPHRASE, or use an agent with PROXMOX_SSH_AGENT",
                    _ => "use a key without a passphrase for guests",
                };
                ("is encrypted".into(), hint.to_string())
            }
            (_, Some(_)) => ("cannot be decrypted".into(), format!("is {variables}_KEY_PASSPHRASE right?")),
            (error, None) => (format!("cannot be used: {error}"), "ed25519, ECDSA and RSA keys can".to_string()),
        };
        Fault::new(Code::SshAuthFailed, format!("the key {} {why}", file.display())).hint(hint)
    }

    async fn with_agent<H: Handler>(
        &self,
        agent: &SshAgent,
        handle: &mut Handle<H>,
        user: &str,
        tried: &mut Vec<String>,
    ) -> Result<Step, Fault> {
        let unusable = |error: KeyError| {
            Fault::new(Code::SshAuthFailed, format!("the SSH agent does not answer: {error}"))
                .hint("does it run, and is PROXMOX_SSH_AGENT the path of its socket?")
        };
        let mut agent = connect(agent).await.map_err(unusable)?;
        if let Some(binding) = handle.agent_session_binding() {
            // Agents that know nothing of it refuse, and give their keys all the same.
            let _ = agent.bind_session(binding, false).await;
        }
        let identities = agent.request_identities().await.map_err(unusable)?;
        let keys = identities.into_iter().filter_map(|identity| match identity {
            AgentIdentity::PublicKey { key, .. } => Some(key),
            AgentIdentity::Certificate { .. } => None,
        });
        let keys: Vec<_> = keys.collect();
        tried.push(format!("{} of {} keys of the agent", keys.len().min(MOST_AGENT_KEYS), keys.len()));
        let mut left = MethodSet::client_supported();
        for key in keys.into_iter().take(MOST_AGENT_KEYS) {
            let hash = rsa_hash(handle, key.algorithm().is_rsa()).await;
            // An agent may decline one key and sign with the next.
            if let Ok(attempt) = handle.authenticate_publickey_with(user, key, hash, &mut agent).await {
                match step(Ok(attempt)) {
                    Step::Done => return Ok(Step::Done),
                    Step::Left(methods) => left = methods,
                }
            }
        }
        Ok(Step::Left(left))
    }
}

fn step(attempt: Result<AuthResult, russh::Error>) -> Step {
    match attempt {
        Ok(AuthResult::Success) => Step::Done,
        Ok(AuthResult::Failure { remaining_methods, .. }) => Step::Left(remaining_methods),
        // The connection is gone: nothing is left to try.
        Err(_) => Step::Left(MethodSet::empty()),
    }
}

/// The hash to sign with an RSA key: the best that the server says it takes, never SHA-1.
async fn rsa_hash<H: Handler>(handle: &Handle<H>, rsa: bool) -> Option<HashAlg> {
    if !rsa {
        return None;
    }
    let best = handle.best_supported_rsa_hash().await.ok().flatten().flatten();
    Some(best.unwrap_or(HashAlg::Sha512))
}

/// The dialogue that PAM holds: one question without echo, the password. Any other question is not for us.
async fn answer_questions<H: Handler>(handle: &mut Handle<H>, user: &str, password: &SecretString) -> bool {
    let mut reply = handle.authenticate_keyboard_interactive_start(user, None).await;
    let mut told = false;
    for _ in 0..MOST_QUESTIONS {
        let prompts = match reply {
            Ok(KeyboardInteractiveAuthResponse::Success) => return true,
            Ok(KeyboardInteractiveAuthResponse::InfoRequest { prompts, .. }) => prompts,
            _ => return false,
        };
        let answers = match &prompts[..] {
            [] => Vec::new(),
            [prompt] if !prompt.echo && !told => {
                told = true;
                vec![password.expose_secret().to_string()]
            }
            _ => return false,
        };
        reply = handle.authenticate_keyboard_interactive_respond(answers).await;
    }
    matches!(reply, Ok(KeyboardInteractiveAuthResponse::Success))
}

#[cfg(unix)]
async fn connect(agent: &SshAgent) -> Result<Agent, KeyError> {
    match agent {
        SshAgent::Socket(socket) => Ok(AgentClient::connect_uds(socket).await?.dynamic()),
        SshAgent::Pageant | SshAgent::Pipe(_) => Err(KeyError::BadAuthSock),
    }
}

#[cfg(windows)]
async fn connect(agent: &SshAgent) -> Result<Agent, KeyError> {
    match agent {
        SshAgent::Pageant => Ok(AgentClient::connect_pageant().await?.dynamic()),
        SshAgent::Pipe(pipe) => Ok(AgentClient::connect_named_pipe(pipe).await?.dynamic()),
        SshAgent::Socket(_) => Err(KeyError::BadAuthSock),
    }
}

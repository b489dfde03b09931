//! From an address to a connection that is logged in: TCP, key exchange, the host's key, our login.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use russh::client::{self, Config, Handle, Msg};
use russh::keys::{Algorithm, PublicKeyOrCertificate};
use russh::{Channel, Disconnect};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use super::hostkey::{HostCheck, SeenKey, asking_for};
use super::login::Keychain;
use crate::error::{Code, Fault};
use crate::pve::Clock;

/// Longest time to a connection that is logged in.
const CONNECT: Duration = Duration::from_secs(20);
/// Channels at once on one connection: OpenSSH takes ten.
const CHANNELS: usize = 8;
/// A sign of life is asked for this often while nothing comes, so that a connection that died is noticed.
const KEEPALIVE: Duration = Duration::from_secs(15);

/// Where to connect, as whom, and which host key is believed.
#[derive(Debug, Clone)]
pub(super) struct Target {
    /// What must be the same for a connection to be used again.
    pub key: String,
    /// What the host must show; also its address.
    pub check: HostCheck,
    /// As whom.
    pub user: String,
    /// With what.
    pub keychain: Arc<Keychain>,
    /// The connection to go through, where there is one.
    pub via: Option<Arc<Connection>>,
    /// Only this machine may be contacted.
    pub only_loopback: bool,
}

/// A connection that is logged in.
pub(super) struct Connection {
    handle: Handle<Verifier>,
    /// What the host showed.
    pub seen: SeenKey,
    /// As whom we are logged in.
    pub user: String,
    /// Room for further channels.
    pub room: Arc<Semaphore>,
    /// When it was last taken, by the clock.
    pub used: Mutex<Duration>,
    /// Kept open while this one is.
    _via: Option<Arc<Connection>>,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Connection({} {})", self.user, self.seen.fingerprint)
    }
}

impl Connection {
    /// Whether it still stands, as far as we know.
    pub(super) fn is_open(&self) -> bool {
        !self.handle.is_closed()
    }

    /// A channel for one command, transfer or terminal.
    pub(super) async fn channel(&self) -> Result<Channel<Msg>, russh::Error> {
        self.handle.channel_open_session().await
    }

    /// Ends it in an orderly way; what still runs on it is cut off.
    pub(super) async fn close(&self) {
        // It may be gone already.
        let _ = self.handle.disconnect(Disconnect::ByApplication, "", "").await;
    }
}

/// Connects and logs in.
///
/// # Errors
/// `ssh_unreachable`, `host_key_unknown`, `host_key_mismatch`, `ssh_auth_failed`.
pub(super) async fn connect(target: &Target, clock: &dyn Clock) -> Result<Connection, Fault> {
    target.keychain.check()?;
    let slow = || unreachable(target, "there was no answer in time");
    within(clock, CONNECT, establish(target)).await.unwrap_or_else(|| Err(slow()))
}

/// The result of some work, or nothing when it takes too long.
pub(super) async fn within<T>(clock: &dyn Clock, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        done = work => Some(done),
        () = clock.sleep(limit) => None,
    }
}

async fn establish(target: &Target) -> Result<Connection, Fault> {
    let rounds = tokio::task::spawn_blocking({
        let check = target.check.clone();
        move || check.rounds()
    });
    let rounds = rounds.await.map_err(internal)?;
    let mut first_refusal: Option<Fault> = None;
    for (at, keys) in rounds.into_iter().enumerate() {
        match handshake(target, keys).await {
            Ok((mut handle, seen)) => {
                target.keychain.log_in(&mut handle, &target.user, &target.check.who).await?;
                return Ok(Connection {
                    handle,
                    seen,
                    user: target.user.clone(),
                    room: Arc::new(Semaphore::new(CHANNELS)),
                    used: Mutex::new(Duration::ZERO),
                    _via: target.via.clone(),
                });
            }
            // The host may have a key of another type, and that one may be the pinned one.
            Err(fault) if fault.code == Code::HostKeyMismatch => drop(first_refusal.get_or_insert(fault)),
            Err(fault) if at == 0 => return Err(fault),
            // It has no key of this type.
            Err(_) => {}
        }
    }
    Err(first_refusal.unwrap_or_else(|| unreachable(target, "no type of host key is common")))
}

/// The key exchange, up to the point where the host's key was accepted. Nothing of ours has been sent.
async fn handshake(target: &Target, keys: Vec<Algorithm>) -> Result<(Handle<Verifier>, SeenKey), Fault> {
    let config = Config {
        keepalive_interval: Some(KEEPALIVE),
        nodelay: true,
        client_id: russh::SshId::Standard(concat!("SSH-2.0-pvemcp_", env!("CARGO_PKG_VERSION")).into()),
        ..Config::default()
    };
    let config = Arc::new(asking_for(config, keys));
    let verdict: Verdict = Arc::default();
    let verifier = Verifier { check: target.check.clone(), verdict: verdict.clone() };
    let connected = match &target.via {
        None => client::connect_stream(config, reach(target).await?, verifier).await,
        Some(via) => client::connect_stream(config, tunnel(target, via).await?, verifier).await,
    };
    let decided = verdict.lock().map(|mut verdict| verdict.take()).ok().flatten();
    match (connected, decided) {
        (Ok(handle), Some(Ok(seen))) => Ok((handle, seen)),
        // The verdict says more than the error that it led to.
        (_, Some(Err(fault))) => Err(fault),
        (Err(error), _) => Err(unreachable(target, &error.to_string())),
        (Ok(_), None) => Err(Fault::new(Code::Internal, "the host key was never looked at")),
    }
}

async fn reach(target: &Target) -> Result<TcpStream, Fault> {
    let (host, port) = (target.check.host.as_str(), target.check.port);
    let found = tokio::net::lookup_host((host, port)).await.map_err(|error| unreachable(target, &error.to_string()))?;
    let addresses: Vec<SocketAddr> = found.collect();
    if target.only_loopback && !addresses.iter().all(|address| address.ip().is_loopback()) {
        return Err(Fault::new(Code::Blocked, format!("a rehearsal contacts this machine only, not {host}")));
    }
    let mut last = None;
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => {
                // Without it single keystrokes wait; it is no reason to give up.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Err(error) => last = Some(error),
        }
    }
    Err(unreachable(target, &last.map_or_else(|| "the name has no address".into(), |error| error.to_string())))
}

async fn tunnel(
    target: &Target,
    via: &Connection,
) -> Result<impl AsyncRead + AsyncWrite + Unpin + Send + use<>, Fault> {
    let (host, port) = (target.check.host.clone(), target.check.port);
    let opened = via.handle.channel_open_direct_tcpip(host, port.into(), "127.0.0.1", 0).await;
    let channel =
        opened.map_err(|error| unreachable(target, &format!("the node does not connect us through: {error}")))?;
    Ok(channel.into_stream())
}

fn unreachable(target: &Target, why: &str) -> Fault {
    let check = &target.check;
    let hint = match check.who.strip_prefix("node ") {
        Some(node) => {
            format!("is it up, does a firewall stand in between, is the address right (PROXMOX_SSH_NODES={node}=…)?")
        }
        None => "does it run an SSH server, and can it be reached from here ('via_node' goes through a node)?".into(),
    };
    let message = format!("no SSH connection to {} ({}:{}): {why}", check.who, check.host, check.port);
    Fault::new(Code::SshUnreachable, message).hint(hint)
}

pub(super) fn internal(error: impl std::fmt::Display) -> Fault {
    Fault::new(Code::Internal, format!("a part of this server failed: {error}"))
}

/// What was made of the host's key.
type Verdict = Arc<Mutex<Option<Result<SeenKey, Fault>>>>;

/// Answers the library's questions about a connection.
pub(super) struct Verifier {
    check: HostCheck,
    verdict: Verdict,
}

impl client::Handler for Verifier {
    type Error = russh::Error;

    /// Called once the host has proved that it holds this key, and before anything else is sent to it.
    async fn check_server_key(&mut self, shown: &PublicKeyOrCertificate) -> Result<bool, russh::Error> {
        let PublicKeyOrCertificate::PublicKey { key, .. } = shown else {
            // Never asked for.
            return Ok(false);
        };
        let (check, key) = (self.check.clone(), key.clone());
        let decided = tokio::task::spawn_blocking(move || check.decide(&key)).await;
        let decided = decided.unwrap_or_else(|error| Err(internal(error)));
        let accepted = decided.is_ok();
        if let Ok(mut verdict) = self.verdict.lock() {
            *verdict = Some(decided);
        }
        Ok(accepted)
    }
}

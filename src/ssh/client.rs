//! The one type that talks SSH, and it takes permits only.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use russh::Channel;
use russh::client::Msg;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use super::address::{self, Resolver};
use super::connect::{self, Connection, Target, within};
use super::container;
use super::exec::{self, Job};
use super::hostkey::{HostCheck, SeenKey, Trust};
use super::login::Keychain;
use super::output::Output;
use super::quote;
use super::sudo;
use super::terminal::Terminals;
use crate::config::{SshAddress, SshSettings};
use crate::error::{Code, Fault};
use crate::policy::{Act, Guest, GuestTrust, Permit, Place, SshCommand};
use crate::pve::Clock;
use crate::redact::{self, Scrubber};

/// A connection that was not used for so long is closed when the next one is looked for.
const IDLE: Duration = Duration::from_secs(300);
/// Longest time for a channel on a connection that stands.
const OPEN: Duration = Duration::from_secs(20);

/// SSH to one cluster's nodes and guests. [`Ssh::run`], [`Ssh::upload`], [`Ssh::download`] and [`Ssh::open_terminal`] are
/// the only ways, and each uses a permit up. Connections are used again.
#[derive(Debug)]
pub struct Ssh {
    pub(super) settings: SshSettings,
    pub(super) clock: Arc<dyn Clock>,
    keychain: Arc<Keychain>,
    guest_keychain: Arc<Keychain>,
    scrubber: Scrubber,
    pool: Mutex<HashMap<String, Slot>>,
    pub(super) terminals: Terminals,
}

/// A connection, or the place for one: whoever holds the lock is connecting.
type Slot = Arc<tokio::sync::Mutex<Option<Arc<Connection>>>>;

/// A channel, and what has to live as long.
pub(super) struct Line {
    pub channel: Channel<Msg>,
    pub connection: Arc<Connection>,
    pub room: OwnedSemaphorePermit,
}

impl Ssh {
    /// SSH by these settings; nothing is contacted, no file is read. Terminals end when `shutdown` is cancelled.
    pub fn new(settings: SshSettings, clock: Arc<dyn Clock>, shutdown: CancellationToken) -> Ssh {
        let keychain = Arc::new(Keychain::new(settings.login.clone(), "PROXMOX_SSH"));
        let guest_keychain = Arc::new(Keychain::new(settings.guest_login.clone(), "PROXMOX_GUEST_SSH"));
        let logins = [&settings.login, &settings.guest_login];
        let secrets = logins.iter().flat_map(|login| [&login.passphrase, &login.password]).flatten();
        let scrubber = Scrubber::of(secrets.map(SecretString::expose_secret));
        let terminals = Terminals::new(clock.clone(), shutdown);
        Ssh { settings, clock, keychain, guest_keychain, scrubber, pool: Mutex::default(), terminals }
    }

    /// The terminals that were opened.
    pub fn terminals(&self) -> &Terminals {
        &self.terminals
    }

    /// Runs what the policy allowed, to its end. When the caller goes away (the future is dropped) the command is told to
    /// end.
    ///
    /// # Errors
    /// `host_key_unknown`, `host_key_mismatch`, `ssh_auth_failed`, `ssh_unreachable`, `timeout`, `ssh_output_too_large`;
    /// for a container `guest_not_running`, `guest_locked`, `not_found`. Texts are masked already.
    pub async fn run(&self, permit: Permit<SshCommand>, cluster: &dyn Resolver) -> Result<Output, Fault> {
        let command = permit.into_action();
        let scrubber = self.scrubber.with(command.secrets());
        let output = self.exchange(&command, &scrubber, cluster).await;
        output.map_err(|fault| redact::fault(scrubber.fault(fault)))
    }

    async fn exchange(
        &self,
        command: &SshCommand,
        scrubber: &Scrubber,
        cluster: &dyn Resolver,
    ) -> Result<Output, Fault> {
        if !matches!(command.act(), Act::Run(_)) {
            return Err(Fault::new(Code::Internal, "this permit is for something else"));
        }
        let target = self.target(command.place(), cluster).await?;
        let bounds = command.bounds();
        let job = Job {
            argv: command.argv(self.sudo()),
            sudo: self.sudo() && !matches!(command.place(), Place::Guest(_)),
            input: command.input().to_vec(),
            time: bounds.time.unwrap_or(self.settings.timeout),
            most: bounds.output.unwrap_or(self.settings.max_output),
            whole: bounds.whole,
            who: target.check.who.clone(),
            scrubber: scrubber.clone(),
        };
        let sudo = job.sudo;
        let line = self.open(&target).await?;
        let output = exec::run(line.channel, line.connection, job, self.clock.as_ref()).await;
        drop(line.room);
        let output = output?;
        if let Some(fault) = sudo::refusal(&target.check.who, &output).filter(|_| sudo) {
            return Err(fault);
        }
        match command.place() {
            Place::Container { vmid, .. } => container::refusal(*vmid, &output).map_or(Ok(output), Err),
            _ => Ok(output),
        }
    }

    /// What would be done, as it may be shown: `{name, on, run?, upload?, download?, terminal?, stdin_bytes?}`. `run` is
    /// the exact line for the shell on the other side (in front of which only the process id is asked for).
    pub fn shown(&self, command: &SshCommand) -> Value {
        let scrubber = self.scrubber.with(command.secrets());
        let mask = |text: &str| redact::text(&scrubber.text(text)).into_owned();
        let mut shown = Map::new();
        shown.insert("name".into(), command.name().into());
        shown.insert("on".into(), command.place().to_string().into());
        match command.act() {
            Act::Run(_) | Act::Terminal { .. } => {
                let argv: Vec<String> = command.argv(self.sudo()).iter().map(|argument| mask(argument)).collect();
                let line = quote::line(&argv).map_or_else(|_| "the user's own shell".into(), |line| mask(&line));
                shown.insert("run".into(), line.into());
            }
            Act::Upload { to, mode, overwrite } => {
                let mode = mode.map(|mode| format!("{mode:04o}"));
                shown.insert("upload".into(), json!({"to": mask(to), "mode": mode, "overwrite": overwrite}));
            }
            Act::Download { from } => drop(shown.insert("download".into(), json!({"from": mask(from)}))),
        }
        if let Act::Terminal { columns, rows } = command.act() {
            shown.insert("terminal".into(), json!({"columns": columns, "rows": rows}));
        }
        if !command.input().is_empty() {
            shown.insert("stdin_bytes".into(), command.input().len().into());
        }
        Value::Object(shown)
    }

    /// Who is on the other side of the connection to a place, connecting if need be: the host key that was accepted and the
    /// user. The command of the permit is not run.
    ///
    /// # Errors
    /// As [`Ssh::run`], without those of the command.
    pub async fn greet(&self, permit: Permit<SshCommand>, cluster: &dyn Resolver) -> Result<Greeting, Fault> {
        let command = permit.into_action();
        let greeting = async {
            let target = self.target(command.place(), cluster).await?;
            let connection = self.connection(&target).await?;
            let (host, port) = (target.check.host, target.check.port);
            Ok(Greeting { host, port, user: connection.user.clone(), key: connection.seen.clone() })
        };
        greeting.await.map_err(|fault| redact::fault(self.scrubber.fault(fault)))
    }

    /// The line for the shell on the other side that opens a terminal; nothing for the user's own shell.
    pub(super) fn line(&self, command: &SshCommand) -> Option<String> {
        quote::line(&command.argv(self.sudo())).ok()
    }

    fn sudo(&self) -> bool {
        self.settings.sudo && self.settings.user != "root"
    }

    pub(super) fn scrubber(&self) -> &Scrubber {
        &self.scrubber
    }

    /// Where a place is reached, and what it must show.
    pub(super) async fn target(&self, place: &Place, cluster: &dyn Resolver) -> Result<Target, Fault> {
        match place {
            Place::Node(node) | Place::Container { node, .. } => self.node(node, cluster).await,
            Place::Guest(guest) => self.guest(guest, place.to_string(), cluster).await,
        }
    }

    async fn node(&self, node: &str, cluster: &dyn Resolver) -> Result<Target, Fault> {
        let SshAddress { host, port } = address::of(node, &self.settings, cluster).await?;
        let port = port.unwrap_or(self.settings.port);
        let trust = match self.settings.pins.get(node) {
            Some(pins) => Trust::Pinned(pins.clone(), "PROXMOX_SSH_FINGERPRINTS".into()),
            None => Trust::KnownHosts(self.settings.host_keys),
        };
        Ok(Target {
            key: format!("node {node} {host} {port}"),
            check: HostCheck {
                who: format!("node {node}"),
                host,
                port,
                trust,
                known_hosts: self.settings.known_hosts.clone(),
            },
            user: self.settings.user.clone(),
            keychain: self.keychain.clone(),
            via: None,
            only_loopback: self.settings.only_loopback,
        })
    }

    async fn guest(&self, guest: &Guest, who: String, cluster: &dyn Resolver) -> Result<Target, Fault> {
        let via = match &guest.via_node {
            // Where a node connects us to is out of our sight.
            Some(_) if self.settings.only_loopback => {
                return Err(Fault::new(Code::Blocked, "a rehearsal contacts this machine only, not through a node"));
            }
            Some(node) => Some(self.connection(&self.node(node, cluster).await?).await?),
            None => None,
        };
        let SshAddress { host, port } = guest.address.clone();
        let port = port.unwrap_or(22);
        let trust = match &guest.trust {
            GuestTrust::KnownHosts => Trust::KnownHosts(self.settings.host_keys),
            GuestTrust::Fingerprint(pin) => Trust::Pinned(vec![*pin], "the argument 'fingerprint'".into()),
            GuestTrust::Keys(keys) => Trust::Keys(keys.iter().filter_map(|key| key.parse().ok()).collect()),
        };
        Ok(Target {
            // A connection that was made under another trust is not used again.
            key: format!("{who} {host} {port} {:?} {:?}", guest.via_node, guest.trust),
            check: HostCheck { who, host, port, trust, known_hosts: self.settings.known_hosts.clone() },
            user: self.settings.guest_user.clone(),
            keychain: self.guest_keychain.clone(),
            via,
            only_loopback: self.settings.only_loopback,
        })
    }

    /// A channel to a target, on a connection that stands or on a new one. A connection that turns out to be gone is made
    /// once more: nothing has been asked of it yet.
    pub(super) async fn open(&self, target: &Target) -> Result<Line, Fault> {
        let mut again = true;
        loop {
            let connection = self.connection(target).await?;
            let room = connection.room.clone().acquire_owned().await.map_err(connect::internal)?;
            match within(self.clock.as_ref(), OPEN, connection.channel()).await {
                Some(Ok(channel)) => return Ok(Line { channel, connection, room }),
                _ if again => again = false,
                Some(Err(error)) => return Err(no_channel(target, &error.to_string())),
                None => return Err(no_channel(target, "there was no answer in time")),
            }
            self.forget(target, &connection).await;
        }
    }

    /// A connection of its own, for what lasts.
    pub(super) async fn own_line(&self, target: &Target) -> Result<Line, Fault> {
        let connection = Arc::new(connect::connect(target, self.clock.as_ref()).await?);
        let room = connection.room.clone().acquire_owned().await.map_err(connect::internal)?;
        let opened = within(self.clock.as_ref(), OPEN, connection.channel()).await;
        let channel = opened.and_then(Result::ok).ok_or_else(|| no_channel(target, "no channel was opened"))?;
        Ok(Line { channel, connection, room })
    }

    async fn connection(&self, target: &Target) -> Result<Arc<Connection>, Fault> {
        let now = self.clock.now();
        self.close_idle(now);
        let slot = self.pool().entry(target.key.clone()).or_default().clone();
        let mut slot = slot.lock().await;
        let connection = match slot.as_ref().filter(|connection| connection.is_open()) {
            Some(connection) => connection.clone(),
            None => slot.insert(Arc::new(connect::connect(target, self.clock.as_ref()).await?)).clone(),
        };
        *connection.used.lock().unwrap_or_else(PoisonError::into_inner) = now;
        Ok(connection)
    }

    async fn forget(&self, target: &Target, gone: &Arc<Connection>) {
        let slot = self.pool().get(&target.key).cloned();
        let Some(slot) = slot else { return };
        let mut slot = slot.lock().await;
        if slot.as_ref().is_some_and(|connection| Arc::ptr_eq(connection, gone)) {
            *slot = None;
        }
    }

    /// Lets go of connections that nobody uses. One that is being made, or is in use, stays.
    fn close_idle(&self, now: Duration) {
        self.pool().retain(|_, slot| {
            let Ok(held) = slot.try_lock() else { return true };
            held.as_ref().is_none_or(|connection| {
                let used = *connection.used.lock().unwrap_or_else(PoisonError::into_inner);
                Arc::strong_count(connection) > 1 || now.saturating_sub(used) < IDLE
            })
        });
    }

    fn pool(&self) -> MutexGuard<'_, HashMap<String, Slot>> {
        // A panic while the lock was held leaves a map that is still whole.
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who is on the other side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    /// The address that was connected to.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// As whom we are logged in.
    pub user: String,
    /// The host key that was accepted.
    pub key: SeenKey,
}

fn no_channel(target: &Target, why: &str) -> Fault {
    let who = &target.check.who;
    Fault::new(Code::SshUnreachable, format!("{who} is connected but takes no further channel: {why}"))
        .hint("look at MaxSessions in its sshd_config, and try again")
}

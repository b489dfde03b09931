//! A node to try things on, and a client for it.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fake_pve::{FakePve, Scenario};
use fake_ssh::{Builder, FakeSsh};
use russh::client::{self, Handle};
use russh::keys::PublicKeyOrCertificate;
use russh::{Channel, ChannelMsg, Sig};

/// The program under test, which is also what runs in the sandboxes.
pub fn program() -> PathBuf {
    env!("CARGO_BIN_EXE_fake-ssh").into()
}

/// How many tests were skipped.
static SKIPPED: AtomicUsize = AtomicUsize::new(0);

/// Whether commands can be confined here. A test that needs it and cannot have it says so, and fails where CI=true.
pub fn confined(test: &str) -> bool {
    let there = ["/usr/bin/bwrap", "/bin/bwrap"].iter().any(|path| std::path::Path::new(path).exists());
    if !there {
        let count = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
        let _told = writeln!(std::io::stdout(), "skipped ({count} so far): {test} needs bubblewrap");
        #[expect(clippy::disallowed_methods, reason = "whether a skip is a failure stands in the environment")]
        let ci = std::env::var("CI");
        assert_ne!(ci.as_deref(), Ok("true"), "bubblewrap must be installed where CI=true");
    }
    there
}

/// A cluster with its nodes' SSH.
pub struct Place {
    pub pve: FakePve,
    pub ssh: FakeSsh,
}

impl Place {
    pub async fn with(scenario: Scenario, how: impl FnOnce(Builder) -> Builder) -> Place {
        let pve = FakePve::builder().scenario(scenario).start().await.expect("a cluster");
        let builder = FakeSsh::builder().join(&pve).program(program());
        let ssh = how(builder).start().await.expect("its nodes");
        Place { pve, ssh }
    }

    pub async fn cluster() -> Place {
        Place::with(Scenario::cluster(), |builder| builder).await
    }

    /// A connection as root.
    pub async fn root(&self) -> Connection {
        self.login("pve1", "root", self.ssh.password()).await.expect("root may log in")
    }

    pub async fn login(&self, node: &str, user: &str, password: &str) -> Option<Connection> {
        let mut handle = self.connect(node).await.ok()?;
        let result = handle.authenticate_password(user, password).await.ok()?;
        result.success().then_some(Connection(handle))
    }

    pub async fn connect(&self, node: &str) -> Result<Handle<Trusting>, russh::Error> {
        let node = &self.ssh.nodes()[node];
        let config = Arc::new(client::Config { nodelay: true, ..client::Config::default() });
        client::connect(config, node.address, Trusting(node.fingerprint.clone())).await
    }

    /// What a command says and how it ends, as root on pve1.
    pub async fn run(&self, command: &str) -> Said {
        self.root().await.run(command).await
    }
}

/// Trusts one key.
pub struct Trusting(String);

/// Trusts the key with this fingerprint.
pub fn trusting(fingerprint: &str) -> Trusting {
    Trusting(fingerprint.into())
}

impl client::Handler for Trusting {
    type Error = russh::Error;

    async fn check_server_key(&mut self, shown: &PublicKeyOrCertificate) -> Result<bool, russh::Error> {
        let PublicKeyOrCertificate::PublicKey { key, .. } = shown else { return Ok(false) };
        Ok(key.fingerprint(russh::keys::HashAlg::Sha256).to_string() == self.0)
    }
}

pub struct Connection(pub Handle<Trusting>);

/// How a command ended.
#[derive(Debug, Default)]
pub struct Said {
    pub out: String,
    pub err: String,
    pub status: Option<u32>,
    pub signal: Option<String>,
}

impl Said {
    /// Its output, when it went well.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!((self.status, self.err.as_str()), (Some(0), ""), "{self:?}");
        self.out
    }
}

impl Connection {
    pub async fn run(&self, command: &str) -> Said {
        self.run_with(command, b"").await
    }

    pub async fn run_with(&self, command: &str, input: &[u8]) -> Said {
        let channel = self.start(command).await;
        channel.data_bytes(input.to_vec()).await.expect("it listens");
        channel.eof().await.expect("it listens");
        hear(channel).await
    }

    pub async fn start(&self, command: &str) -> Channel<client::Msg> {
        let channel = self.0.channel_open_session().await.expect("a channel");
        channel.exec(true, command).await.expect("sent");
        channel
    }
}

/// Everything until the channel closes.
pub async fn hear(mut channel: Channel<client::Msg>) -> Said {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut said = Said::default();
    // Longer silence than any test needs: it hangs, and says so.
    let patience = std::time::Duration::from_secs(120);
    while let Some(message) = tokio::time::timeout(patience, channel.wait()).await.expect("it says nothing any more") {
        match message {
            ChannelMsg::Data { data } => out.extend_from_slice(&data),
            ChannelMsg::ExtendedData { data, .. } => err.extend_from_slice(&data),
            ChannelMsg::ExitStatus { exit_status } => said.status = Some(exit_status),
            ChannelMsg::ExitSignal { signal_name, .. } => said.signal = Some(name(&signal_name)),
            _ => {}
        }
    }
    said.out = String::from_utf8_lossy(&out).into_owned();
    said.err = String::from_utf8_lossy(&err).into_owned();
    said
}

fn name(signal: &Sig) -> String {
    format!("{signal:?}")
}

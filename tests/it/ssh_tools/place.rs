//! A fake cluster with its nodes' SSH, and servers over it.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fake_pve::{FakePve, Scenario};
use fake_ssh::{Builder, FakeSsh, User};
use pvemcp::config::{Access, Connection, Credentials, SshAddress, SshLogin, SshSettings, Tls};
use pvemcp::pve::WallClock;
use pvemcp::server::Server;
use pvemcp::tools::Reply;
use serde_json::{Value, json};

use crate::served::{self, everything, settings};

/// How many tests were skipped.
static SKIPPED: AtomicUsize = AtomicUsize::new(0);

/// A fake cluster, its nodes, and a server with every gate open.
pub struct Place {
    pub pve: FakePve,
    pub ssh: FakeSsh,
    pub server: Arc<Server>,
}

/// A user who is not root, and may use sudo.
pub const USER: (&str, &str) = ("mcp", "mcp-password");

impl Place {
    /// `None` where commands cannot be confined, which is told, and fails where CI=true.
    pub async fn start() -> Option<Place> {
        Place::with(|builder| builder).await
    }

    pub async fn with(how: impl FnOnce(Builder) -> Builder) -> Option<Place> {
        if !["/usr/bin/bwrap", "/bin/bwrap"].iter().any(|path| std::path::Path::new(path).exists()) {
            let count = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
            let _told = writeln!(std::io::stdout(), "skipped ({count} so far): needs bubblewrap");
            #[expect(clippy::disallowed_methods, reason = "whether a skip is a failure stands in the environment")]
            let ci = std::env::var("CI");
            assert_ne!(ci.as_deref(), Ok("true"), "bubblewrap must be installed where CI=true");
            return None;
        }
        let pve = FakePve::builder().scenario(Scenario::cluster()).start().await.expect("a cluster");
        let (name, password) = (USER.0.to_string(), Some(USER.1.to_string()));
        let user = User { name, uid: 1000, password, keys: Vec::new(), sudo: true };
        let builder = FakeSsh::builder().join(&pve).program(env!("CARGO_BIN_EXE_pvemcp")).user(user);
        let ssh = how(builder).start().await.expect("its nodes");
        let server = server(&pve, over(&ssh), everything());
        Some(Place { pve, ssh, server })
    }

    /// A server with these gates.
    pub fn server(&self, access: Access) -> Arc<Server> {
        server(&self.pve, over(&self.ssh), access)
    }

    /// A server with these settings of SSH.
    pub fn server_as(&self, change: impl FnOnce(&mut SshSettings)) -> Arc<Server> {
        let mut ssh = over(&self.ssh);
        change(&mut ssh);
        server(&self.pve, ssh, everything())
    }

    pub async fn call(&self, tool: &str, arguments: Value) -> Reply {
        served::call(&self.server, tool, arguments).await
    }

    pub async fn done(&self, tool: &str, arguments: Value) -> Value {
        served::done(&self.server, tool, arguments).await
    }

    pub async fn fails(&self, tool: &str, arguments: Value, code: &str) -> Value {
        served::fails(&self.server, tool, arguments, code).await
    }

    /// Stdout of a command on `pve1` that has to succeed.
    pub async fn sh(&self, command: &str) -> String {
        let said = self.done("pve_ssh_exec", json!({"node": "pve1", "command": command})).await;
        assert_eq!(said["exit_status"], 0, "{said}");
        said["stdout"].as_str().expect("text").to_string()
    }
}

/// Settings for the nodes: root, by password, with pinned keys.
fn over(ssh: &FakeSsh) -> SshSettings {
    let (mut nodes, mut pins) = (std::collections::BTreeMap::new(), std::collections::BTreeMap::new());
    for (name, node) in ssh.nodes() {
        let address = SshAddress { host: node.address.ip().to_string(), port: Some(node.address.port()) };
        nodes.insert(name.clone(), address);
        pins.insert(name.clone(), vec![node.fingerprint.parse().expect("a fingerprint")]);
    }
    let login = SshLogin { password: Some(ssh.password().to_string().into()), ..SshLogin::default() };
    SshSettings { login, nodes, pins, only_loopback: true, ..SshSettings::default() }
}

fn server(pve: &FakePve, ssh: SshSettings, access: Access) -> Arc<Server> {
    let whole = pve.token();
    let (id, secret) = whole.rsplit_once('=').expect("id and secret");
    let pin = pve.fingerprint().split(':').map(|pair| u8::from_str_radix(pair, 16).expect("hex")).collect::<Vec<u8>>();
    let connection = Connection {
        url: pve.url(),
        credentials: Credentials::Token { id: id.into(), secret: secret.into() },
        tls: Tls::Fingerprint(pin.try_into().expect("32 bytes")),
        timeout: Duration::from_secs(20),
        only_loopback: true,
    };
    let mut settings = settings(connection, access);
    settings.instances[0].ssh = ssh;
    Server::with_clock(settings, Arc::new(WallClock::default())).expect("usable settings")
}

//! OpenSSH's server on a free port of this machine, with keys of its own, and a client for it.
//!
//! The port is ours: each connection is handed to an `sshd -i`, so that nothing has to be guessed or waited for.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use pvemcp::config::{Access, HostKeyPolicy, KeyFingerprint, SshAddress, SshLogin, SshSettings};
use pvemcp::error::Fault;
use pvemcp::policy::{Admission, Effect, Permit, Place, Policy, SshCommand};
use pvemcp::pve::{Clock, WallClock};
use pvemcp::ssh::{Output, Resolver, Ssh};
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::programs::{self, find, run};

/// What a test of this needs.
pub const PROGRAMS: [&str; 3] = ["sshd", "ssh-keygen", "bash"];

/// A running server.
pub struct Sshd {
    pub dir: TempDir,
    pub address: SocketAddr,
    stop: Arc<AtomicBool>,
    children: Arc<Mutex<Vec<Child>>>,
}

impl Sshd {
    /// A server with an Ed25519 host key, which lets the key `user` in; `None` when a program is missing.
    pub fn start() -> Option<Sshd> {
        Sshd::with(&["ed25519"], "")
    }

    /// The same with these types of host key, and further lines of configuration.
    pub fn with(host_keys: &[&str], config: &str) -> Option<Sshd> {
        programs::have(&PROGRAMS).then(|| Sshd::launch(host_keys, config))
    }

    fn launch(host_keys: &[&str], extra: &str) -> Sshd {
        let dir = tempfile::tempdir().expect("a folder");
        let path = |name: &str| dir.path().join(name).display().to_string();
        keygen(&dir.path().join("user"), "ed25519", "");
        std::fs::copy(path("user.pub"), path("authorized_keys")).expect("copied");
        std::fs::create_dir(path("bin")).expect("made");
        let mut config = format!(
            "AuthorizedKeysFile {}\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n\
             KbdInteractiveAuthentication no\nPermitRootLogin yes\nUseDNS no\nPidFile none\nLogLevel DEBUG1\n\
             Subsystem sftp internal-sftp\nSetEnv PATH={}:/usr/sbin:/usr/bin:/sbin:/bin HOME={}\n{extra}\n",
            path("authorized_keys"),
            path("bin"),
            // Nobody's start files are run, however long they take.
            dir.path().display(),
        );
        for kind in host_keys {
            keygen(&dir.path().join(format!("host_{kind}")), kind, "");
            config += &format!("HostKey {}\n", path(&format!("host_{kind}")));
        }
        std::fs::write(path("sshd_config"), config).expect("written");
        // Where the server runs as root it wants this folder; elsewhere it does not look.
        let _ = std::fs::create_dir_all("/run/sshd");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        let (stop, children) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let server = Sshd { address, stop: stop.clone(), children: Arc::clone(&children), dir };
        let (config, log) = (server.path("sshd_config"), server.path("log"));
        std::thread::spawn(move || serve(&listener, &stop, &children, &config, &log));
        server
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A file in the server's folder, as it is named on both sides.
    pub fn file(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// What the server wrote into its log.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    /// A program on the server's path.
    pub fn install(&self, name: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt;
        let file = self.path("bin").join(name);
        std::fs::write(&file, script).expect("written");
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).expect("changed");
    }

    /// A pipe with a name, in the server's folder.
    pub fn fifo(&self, name: &str) -> PathBuf {
        run("mkfifo", &[&self.file(name)]);
        self.path(name)
    }

    /// The text of a host key, as it stands in a file of known hosts.
    pub fn host_key(&self, kind: &str) -> String {
        public_key(&self.path(&format!("host_{kind}.pub")))
    }

    pub fn host_fingerprint(&self, kind: &str) -> KeyFingerprint {
        fingerprint(&self.path(&format!("host_{kind}.pub")))
    }

    /// Settings for this server as node `pve1`, with its Ed25519 host key pinned.
    pub fn settings(&self) -> SshSettings {
        let mut settings = self.unpinned();
        settings.pins = [("pve1".to_string(), vec![self.host_fingerprint("ed25519")])].into();
        settings
    }

    /// Settings for this server as node `pve1`, with an empty file of known hosts.
    pub fn unpinned(&self) -> SshSettings {
        let address = SshAddress { host: "127.0.0.1".into(), port: Some(self.address.port()) };
        SshSettings {
            user: whoami(),
            login: SshLogin { key_file: Some(self.path("user")), ..SshLogin::default() },
            nodes: [("pve1".to_string(), address)].into(),
            known_hosts: Some(self.path("known_hosts")),
            host_keys: HostKeyPolicy::Strict,
            only_loopback: true,
            ..SshSettings::default()
        }
    }

    /// A client for it.
    pub fn client(&self) -> Client {
        Client::new(self.settings())
    }

    /// Writes the file of known hosts; `HOST` stands for this server's address.
    pub fn know(&self, lines: &str) {
        let host = format!("[127.0.0.1]:{}", self.address.port());
        std::fs::write(self.path("known_hosts"), lines.replace("HOST", &host)).expect("written");
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
        for child in self.children.lock().expect("no panic inside").iter_mut() {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn serve(listener: &TcpListener, stop: &AtomicBool, children: &Mutex<Vec<Child>>, config: &Path, log: &Path) {
    let sshd = find("sshd").expect("looked for");
    while let Ok((stream, _)) = listener.accept() {
        if stop.load(Ordering::SeqCst) {
            return;
        }
        let [input, output] =
            [&stream, &stream].map(|end| Stdio::from(OwnedFd::from(end.try_clone().expect("cloned"))));
        let mut command = Command::new(&sshd);
        command.arg("-i").arg("-f").arg(config).arg("-E").arg(log).stdin(input).stdout(output).stderr(Stdio::null());
        children.lock().expect("no panic inside").push(command.spawn().expect("sshd starts"));
    }
}

pub fn keygen(file: &Path, kind: &str, passphrase: &str) {
    let file = file.display().to_string();
    let bits = if kind == "rsa" { "2048" } else { "256" };
    run("ssh-keygen", &["-q", "-t", kind, "-b", bits, "-N", passphrase, "-C", "test", "-f", &file]);
}

/// Type and key, without the comment.
pub fn public_key(file: &Path) -> String {
    let text = std::fs::read_to_string(file).expect("a public key");
    text.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
}

pub fn fingerprint(file: &Path) -> KeyFingerprint {
    let shown = run("ssh-keygen", &["-lf", &file.display().to_string()]);
    shown.split_whitespace().nth(1).expect("a fingerprint").parse().expect("SHA-256")
}

pub fn whoami() -> String {
    run("id", &["-un"]).trim().to_string()
}

/// A client, and the cluster that it must not need to ask.
pub struct Client {
    pub ssh: Ssh,
    cluster: Cluster,
}

/// A cluster whose status is what a test says.
pub struct Cluster {
    pub status: Value,
    pub api: String,
}

impl Resolver for Cluster {
    fn cluster_status(&self) -> Pin<Box<dyn Future<Output = Result<Value, Fault>> + Send + '_>> {
        let status = self.status.clone();
        Box::pin(async move { Ok(status) })
    }

    fn api_host(&self) -> String {
        self.api.clone()
    }
}

impl Client {
    pub fn new(settings: SshSettings) -> Client {
        Client::with_clock(settings, Arc::new(WallClock::default()))
    }

    pub fn with_clock(settings: SshSettings, clock: Arc<dyn Clock>) -> Client {
        let cluster = Cluster { status: Value::Null, api: String::new() };
        Client { ssh: Ssh::new(settings, clock, CancellationToken::new()), cluster }
    }

    pub fn cluster(&self) -> &dyn Resolver {
        &self.cluster
    }

    pub async fn run(&self, argv: &[&str]) -> Result<Output, Fault> {
        self.command(command(argv)).await
    }

    /// A script of the shell.
    pub async fn sh(&self, script: &str) -> Result<Output, Fault> {
        self.run(&["sh", "-c", script]).await
    }

    pub async fn command(&self, command: SshCommand) -> Result<Output, Fault> {
        self.ssh.run(permit(command), &self.cluster).await
    }

    /// Stdout of a command that has to succeed.
    pub async fn stdout(&self, argv: &[&str]) -> String {
        let output = self.run(argv).await.unwrap_or_else(|fault| panic!("{argv:?}: {fault}"));
        assert!(output.is_success(), "{argv:?}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    }
}

pub fn node() -> Place {
    Place::Node("pve1".into())
}

pub fn command(argv: &[&str]) -> SshCommand {
    SshCommand::run("test", node(), argv.iter().copied(), Effect::Changes).expect("it can be sent")
}

pub fn permit(command: SshCommand) -> Permit<SshCommand> {
    let access = Access { ssh: true, writes: true, ..Access::default() };
    match Policy::new(access).admit_ssh(command, false).expect("the gates are open") {
        Admission::Go(permit) => permit,
        Admission::Dry(command) => panic!("dry: {command:?}"),
    }
}

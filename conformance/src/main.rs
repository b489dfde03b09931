//! `conformance run -- COMMAND`: drives any MCP server that takes pvemcp's variables against the fake, tool by tool.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use conformance::report::{Report, Row, Verdict};
use conformance::serve::{self, Way};
use conformance::stage::StageError;
use conformance::{Subject, expected, over_ssh, trial, workflow};
use pve_catalog::{Catalog, Method};

/// Drives every tool of an MCP server for Proxmox against a fake cluster.
#[derive(Debug, Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// One trial per tool, each on a cluster of its own; exit status 1 when one fails
    Run {
        /// Only tools whose name contains this
        #[arg(long, default_value = "")]
        only: String,
        /// Write the whole report as JSON
        #[arg(long)]
        json: Option<PathBuf>,
        /// Write the whole report as JUnit XML
        #[arg(long)]
        junit: Option<PathBuf>,
        /// The server and its arguments; without one, this build's own server
        #[arg(last = true)]
        server: Vec<String>,
    },
    /// This build's server with the ordinary writes open, in front of a fresh cluster, on stdin and stdout
    Serve {
        /// Over HTTP on a free port of loopback instead, with the fixtures of the official MCP suite and without a token,
        /// until Ctrl-C
        #[arg(long)]
        fixtures: bool,
        /// Real seconds per virtual second
        #[arg(long, default_value_t = 0.0)]
        time_scale: f64,
    },
}

#[tokio::main]
async fn main() -> ExitCode {
    // The sandboxes of the nodes' shells run this same program.
    if let Some(status) = fake_ssh::inside::main() {
        return status;
    }
    let (only, json, junit, server) = match Cli::parse().command {
        Command::Run { only, json, junit, server } => (only, json, junit, server),
        Command::Serve { fixtures, time_scale } => return served(fixtures, time_scale).await,
    };
    let subject = if server.is_empty() { Subject::Here } else { Subject::Program(server) };
    let report = run(&subject, &only).await;
    print(&report.table());
    let files = [(json, report.json()), (junit, report.junit())];
    for (file, text) in files.into_iter().filter_map(|(file, text)| Some((file?, text))) {
        if let Err(error) = std::fs::write(&file, text) {
            print(&format!("{} cannot be written: {error}\n", file.display()));
            return ExitCode::FAILURE;
        }
    }
    if report.count(Verdict::Failed) == 0 && !report.rows.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn served(fixtures: bool, time_scale: f64) -> ExitCode {
    let done = match fixtures {
        true => until_stopped(time_scale).await,
        false => serve::on_stdio(time_scale).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

async fn until_stopped(time_scale: f64) -> Result<(), StageError> {
    let served = serve::over_http(Way::Fixtures, time_scale).await?;
    print(&format!("{}\n", served.url));
    tokio::signal::ctrl_c().await.map_err(|error| StageError::Program(error.to_string()))
}

async fn run(subject: &Subject, only: &str) -> Report {
    let known = expected::not_modelled().tools;
    let methods = Catalog::embedded().methods().iter().filter_map(|method| Some((method, method.tool?)));
    let mut wanted: Vec<(&Method, &str)> = methods.filter(|(_, tool)| tool.contains(only)).collect();
    wanted.sort_by_key(|(_, tool)| *tool);
    let mut rows = Vec::new();
    for (method, tool) in wanted {
        let outcome = trial::of_tool(subject, method, tool).await;
        let effect = outcome.as_ref().ok().and_then(|outcome| outcome.effect);
        let (verdict, detail) = match outcome.map(|outcome| outcome.called) {
            Ok(called) if !called.is_error => (Verdict::Passed, String::new()),
            Ok(_) if known.contains_key(tool) => (Verdict::NotModelled, known[tool].clone()),
            Ok(called) => (Verdict::Failed, called.raw),
            Err(problem) => (Verdict::Failed, problem),
        };
        rows.push(Row { tool: tool.into(), method: method.key(), verdict, effect, detail });
    }
    for workflow in workflow::all().iter().filter(|workflow| workflow.tool.contains(only)) {
        let (verdict, detail) = match workflow::of_tool(subject, workflow).await {
            Ok(called) if !called.is_error => (Verdict::Passed, String::new()),
            Ok(called) => (Verdict::Failed, called.raw),
            Err(problem) => (Verdict::Failed, problem),
        };
        rows.push(Row { tool: workflow.tool.clone(), method: "workflow".into(), verdict, effect: None, detail });
    }
    for tool in over_ssh::all().iter().filter(|one| one.tool.contains(only)) {
        let (verdict, detail) = match over_ssh::of_tool(subject, tool).await {
            Ok(Some(_)) => (Verdict::Passed, String::new()),
            Ok(None) => (Verdict::NotModelled, "commands cannot be confined here".into()),
            Err(problem) => (Verdict::Failed, problem),
        };
        rows.push(Row { tool: tool.tool.clone(), method: "ssh".into(), verdict, effect: None, detail });
    }
    rows.sort_by(|one, other| one.tool.cmp(&other.tool));
    Report { rows }
}

/// A reader that went away is no error.
fn print(text: &str) {
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

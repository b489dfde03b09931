//! The command line.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Parser, Subcommand};
use pvemcp::config::{Purpose, Settings};
use pvemcp::console::{note, say};
use pvemcp::server::Server;
use pvemcp::{call, catalog, doctor, list_tools, mcp};
use tracing_subscriber::EnvFilter;

/// MCP server for the whole Proxmox VE API, with gates. Without a subcommand it speaks MCP on stdio; the environment
/// configures it (PROXMOX_URL, PROXMOX_TOKEN …).
#[derive(Debug, Parser)]
#[command(name = "pvemcp", version, args_conflicts_with_subcommands = true)]
struct Cli {
    /// Print the offered tools (domain, gate, name) and exit; needs no connection
    #[arg(long)]
    list_tools: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Call one tool; the result goes to stdout, the exit status is 0, 1 (tool error) or 2 (usage)
    Call {
        /// Its name, such as pve_list_nodes
        tool: String,
        /// Its arguments as a JSON object
        json: Option<String>,
        /// On a fake cluster made for this one call
        #[cfg(feature = "rehearse")]
        #[arg(long)]
        rehearse: bool,
    },
    /// Serve a fake cluster: nothing else can be reached, everything may be tried
    #[cfg(feature = "rehearse")]
    Rehearse(Rehearse),
    /// Check address, certificate, token, rights, clock, SSH, version and context cost; exit status 1 when something fails
    Doctor,
    /// The catalogue of API methods
    #[command(subcommand)]
    Catalog(CatalogCommand),
}

#[cfg(feature = "rehearse")]
#[derive(Debug, clap::Args)]
struct Rehearse {
    /// A built-in scenario (cluster, empty, ceph …: a name that is none of them lists all), or a file with one
    #[arg(long)]
    scenario: Option<String>,
    /// Real seconds per virtual second: 0 waits for nothing
    #[arg(long, default_value_t = 0.0)]
    time_scale: f64,
    /// Open no gate
    #[arg(long)]
    read_only: bool,
    /// Write the requests to this file at the end, as JSON lines
    #[arg(long)]
    journal: Option<PathBuf>,
    /// Print variables for a shell, serve no MCP, and end when stdin closes
    #[arg(long)]
    print_env: bool,
}

#[derive(Debug, Subcommand)]
enum CatalogCommand {
    /// Turn the apidoc.js of a Proxmox version into a file for PROXMOX_CATALOG
    Import {
        /// An apidoc.js, or a node that serves its own: https://node:8006 (trusted as PROXMOX_FINGERPRINT and its kin say)
        #[arg(long, value_name = "FILE|URL")]
        from: String,
        /// The file of facts to write
        #[arg(long)]
        to: PathBuf,
        /// Keep Proxmox's own texts; nobody has read them for what they tell a model
        #[arg(long)]
        texts: bool,
        /// The version it is of, such as 9.3: the document does not say
        #[arg(long, value_name = "VERSION")]
        pve_version: Option<String>,
    },
    /// What changes from one catalogue to another: methods, parameters, and the gates that hold for them
    Diff {
        /// `embedded`, a file (facts or apidoc.js), or https://node:8006
        before: String,
        /// The same
        after: String,
    },
    /// Everything about one method: a tool, `GET /pools`, or a path
    Show {
        /// Its name, or its verb and path
        #[arg(required = true, num_args = 1..=2)]
        method: Vec<String>,
        /// `embedded`, a file (facts or apidoc.js), or https://node:8006
        #[arg(long, default_value = "embedded")]
        catalog: String,
    },
}

/// What the shell is told: usage and settings that are wrong.
const USAGE: u8 = 2;
/// What went wrong while it ran.
const FAILED: u8 = 1;

fn main() -> ExitCode {
    // The sandboxes of a rehearsal's shells run this same program.
    #[cfg(all(feature = "rehearse", target_os = "linux"))]
    if let Some(status) = fake_ssh::inside::main() {
        return status;
    }
    let cli = Cli::parse();
    log_to_stderr();
    let done = match cli.command {
        None if cli.list_tools => list(),
        None => run(serve()),
        #[cfg(feature = "rehearse")]
        Some(Command::Call { tool, json, rehearse: true }) => run(rehearse_call(tool, json)),
        Some(Command::Call { tool, json, .. }) => run(call_tool(tool, json)),
        #[cfg(feature = "rehearse")]
        Some(Command::Rehearse(how)) => run(rehearse(how)),
        Some(Command::Doctor) => run(examine()),
        Some(Command::Catalog(command)) => run(of_catalog(command)),
    };
    done.unwrap_or_else(|(status, message)| {
        note(&message);
        ExitCode::from(status)
    })
}

/// An exit status and what to say.
type Failure = (u8, String);

fn list() -> Result<ExitCode, Failure> {
    let settings = settings(Purpose::List)?;
    say(&list_tools::of(&list_tools::registry(&settings)));
    Ok(ExitCode::SUCCESS)
}

async fn serve() -> Result<ExitCode, Failure> {
    let server = server()?;
    mcp::stdio::serve(server).await.map_err(|error| (FAILED, error.to_string()))?;
    Ok(ExitCode::SUCCESS)
}

async fn call_tool(tool: String, json: Option<String>) -> Result<ExitCode, Failure> {
    let arguments = call::arguments(json.as_deref()).map_err(|problem| (USAGE, problem))?;
    let server = server()?;
    let called = call::call(&server, &tool, arguments).await;
    say(&called.output);
    Ok(ExitCode::from(called.status))
}

#[cfg(feature = "rehearse")]
async fn rehearse(how: Rehearse) -> Result<ExitCode, Failure> {
    if !how.time_scale.is_finite() || how.time_scale < 0.0 {
        return Err((USAGE, "--time-scale takes a number of seconds that is not negative".into()));
    }
    let Rehearse { scenario, time_scale, read_only, journal, print_env } = how;
    let options = pvemcp::rehearse::Options { scenario, time_scale, read_only, journal };
    pvemcp::rehearse::run(options, print_env).await.map_err(|error| (FAILED, error.to_string()))?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(feature = "rehearse")]
async fn rehearse_call(tool: String, json: Option<String>) -> Result<ExitCode, Failure> {
    let arguments = call::arguments(json.as_deref()).map_err(|problem| (USAGE, problem))?;
    let called = pvemcp::rehearse::call_once(&tool, arguments).await.map_err(|error| (FAILED, error.to_string()))?;
    say(&called.output);
    Ok(ExitCode::from(called.status))
}

async fn examine() -> Result<ExitCode, Failure> {
    let findings = doctor::examine(settings(Purpose::Connect)?).await;
    say(&doctor::report(&findings));
    Ok(ExitCode::from(doctor::status(&findings)))
}

async fn of_catalog(command: CatalogCommand) -> Result<ExitCode, Failure> {
    let failed = |error: catalog::CatalogError| {
        let usage = matches!(error, catalog::CatalogError::Usage(_) | catalog::CatalogError::Settings(_));
        (if usage { USAGE } else { FAILED }, error.to_string())
    };
    match command {
        CatalogCommand::Import { from, to, texts, pve_version } => {
            let told = to.display().to_string();
            let import = catalog::Import { from, to, texts, pve_version };
            let imported = catalog::import(import).await.map_err(failed)?;
            note(&format!("{} methods written to {told}; use it with PROXMOX_CATALOG", imported.methods().len()));
        }
        CatalogCommand::Diff { before, after } => {
            let before = catalog::open(&before).await.map_err(failed)?;
            let after = catalog::open(&after).await.map_err(failed)?;
            say(catalog::diff(before, after).trim_end());
        }
        CatalogCommand::Show { method, catalog: from } => {
            let of = catalog::open(&from).await.map_err(failed)?;
            say(catalog::show(of, &method.join(" ")).map_err(failed)?.trim_end());
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The settings of this environment; warnings go to stderr.
fn settings(purpose: Purpose) -> Result<Settings, Failure> {
    let settings = Settings::from_env(purpose).map_err(|errors| {
        let told = errors.iter().map(ToString::to_string).collect::<Vec<_>>();
        (USAGE, told.join("\n"))
    })?;
    settings.warnings.iter().for_each(|warning| note(&format!("warning: {warning}")));
    Ok(settings)
}

/// The server of this environment.
fn server() -> Result<Arc<Server>, Failure> {
    Server::new(settings(Purpose::Connect)?).map_err(|fault| (USAGE, fault.to_string()))
}

fn run(work: impl Future<Output = Result<ExitCode, Failure>>) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| (FAILED, format!("cannot start: {error}")))?;
    let done = runtime.block_on(work);
    // A read of stdin cannot be cancelled and must not keep the process.
    runtime.shutdown_background();
    done
}

/// Logs never touch stdout, which carries the protocol; rmcp is talkative.
fn log_to_stderr() {
    let filter = EnvFilter::new("info,rmcp=warn");
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false).init();
}

//! Serving a rehearsal: on stdio for a client, over HTTP beside a person, or as exported variables for a shell.

use std::io::IsTerminal;
use std::sync::Arc;

use secrecy::SecretString;
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;

use super::{Error, Options, Rehearsal, show};
use crate::console::{note, say};
use crate::server::Server;
use crate::tools::context::Caller;
use crate::{call, http, mcp};

/// Runs until the client closes stdin, or Ctrl-C.
///
/// # Errors
/// When it cannot begin, or the connection breaks.
pub async fn run(options: Options, print_env: bool) -> Result<(), Error> {
    let rehearsal = Rehearsal::start(options).await?;
    let served = match (print_env, std::io::stdin().is_terminal()) {
        (true, _) => exports(&rehearsal).await,
        (false, true) => beside_a_person(&rehearsal).await,
        (false, false) => for_a_client(&rehearsal).await,
    };
    served?;
    note(&rehearsal.report());
    rehearsal.write_journal().map_err(Error::Io)
}

/// One tool call on a fresh cluster.
///
/// # Errors
/// When the cluster does not start or a variable that counts is wrong.
pub async fn call_once(tool: &str, arguments: Map<String, Value>) -> Result<call::Called, Error> {
    let rehearsal = Rehearsal::start(Options::default()).await?;
    Ok(call::call(&server(&rehearsal)?, tool, arguments).await)
}

fn server(rehearsal: &Rehearsal) -> Result<Arc<Server>, Error> {
    let (settings, ignored) = rehearsal.settings()?;
    if !ignored.is_empty() {
        note(&format!("a rehearsal does not take {} from the environment", ignored.join(", ")));
    }
    settings.warnings.iter().for_each(|warning| note(&format!("warning: {warning}")));
    Server::new(settings).map_err(|fault| Error::Settings(fault.to_string()))
}

async fn for_a_client(rehearsal: &Rehearsal) -> Result<(), Error> {
    let server = server(rehearsal)?;
    note(&format!("rehearsing on a fake cluster at {}", rehearsal.cluster().url()));
    mcp::stdio::serve(server).await.map_err(|error| Error::Io(std::io::Error::other(error.to_string())))
}

async fn beside_a_person(rehearsal: &Rehearsal) -> Result<(), Error> {
    let server = server(rehearsal)?;
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(Error::Io)?;
    let url = format!("http://{}{}", listener.local_addr().map_err(Error::Io)?, http::PATH);
    let token = token();
    say(&format!("A fake Proxmox VE cluster at {}, made for this rehearsal.\n", rehearsal.cluster().url()));
    say(&overview(&server).await);
    say(&format!("\nMCP over HTTP at {url}, for instance in a client's configuration:\n"));
    say(&show::client_configuration(&url, &token));
    say("\nCtrl-C ends the rehearsal and says what changed.");
    let shutdown = server.shutdown().clone();
    let stop = shutdown.clone();
    tokio::spawn(async move {
        // Without signals there is no other way to stop than to end the process.
        if tokio::signal::ctrl_c().await.is_ok() {
            stop.cancel();
        }
    });
    http::serve(server, listener, SecretString::from(token), shutdown).await.map_err(Error::Io)
}

/// Nodes and guests, as the tools themselves tell them.
async fn overview(server: &Arc<Server>) -> String {
    let read = |kind: &str| {
        let arguments = json!({"type": kind}).as_object().cloned().unwrap_or_default();
        server.call("pve_list_cluster_resources", arguments, Caller::default())
    };
    let mut lines = Vec::new();
    for (kind, fields) in [("node", ["node", "status", ""]), ("vm", ["vmid", "name", "status"])] {
        let reply = read(kind).await;
        let rows = reply.structured.get("data").and_then(Value::as_array).cloned().unwrap_or_default();
        for row in rows {
            let cell = |field: &&str| match &row[*field] {
                Value::String(text) => text.clone(),
                Value::Null => String::new(),
                other => other.to_string(),
            };
            let cells: Vec<String> = fields.iter().map(cell).collect();
            lines.push(format!("  {:<5} {}", row["type"].as_str().unwrap_or(kind), cells.join("  ").trim_end()));
        }
    }
    lines.join("\n")
}

async fn exports(rehearsal: &Rehearsal) -> Result<(), Error> {
    let ca = std::env::temp_dir().join(format!("pvemcp-rehearsal-{}.pem", std::process::id()));
    std::fs::write(&ca, rehearsal.cluster().ca_pem()).map_err(Error::Io)?;
    say(&show::exports(rehearsal.cluster(), &ca.to_string_lossy()));
    let (mut stdin, mut nowhere) = (tokio::io::stdin(), tokio::io::sink());
    tokio::select! {
        _ = tokio::io::copy(&mut stdin, &mut nowhere) => {}
        _ = tokio::signal::ctrl_c() => {}
    }
    std::fs::remove_file(&ca).map_err(Error::Io)
}

/// 128 random bits in hexadecimal.
fn token() -> String {
    let bits: u128 = rand::random();
    format!("{bits:032x}")
}

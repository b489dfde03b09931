//! `conformance serve`: this build's server in front of a fresh cluster, for clients that are judges themselves.

use std::sync::Arc;

use fake_pve::{FakePve, Scenario};
use pvemcp::http;
use pvemcp::mcp::{Handler, stdio};
use pvemcp::server::Server;
use secrecy::SecretString;
use tokio::net::TcpListener;

use crate::fixtures::Fixtures;
use crate::stage::{self, Gates, StageError};

/// How the server is reached.
#[derive(Clone, Debug)]
pub enum Way {
    /// On loopback without a token, with the fixtures of the official suite.
    Fixtures,
    /// On loopback with this token.
    Http(String),
}

/// A cluster, and a server that listens in front of it for as long as this lives.
pub struct Served {
    /// Where MCP is.
    pub url: String,
    /// The cluster.
    pub fake: FakePve,
    server: Arc<Server>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.server.shutdown().cancel();
    }
}

/// The scenario `cluster`, where this many real seconds pass per virtual one, and a server with the ordinary writes open:
/// some calls succeed, others are refused.
async fn server(time_scale: f64) -> Result<(FakePve, Arc<Server>), StageError> {
    let fake = FakePve::builder().scenario(Scenario::cluster()).time_scale(time_scale).start().await?;
    let gates = Gates { writes: true, ..Gates::default() };
    let server = stage::server(&stage::environment(&fake, &gates.variables()))?;
    Ok((fake, server))
}

/// Serves over HTTP on a free port.
///
/// # Errors
/// When something does not start.
pub async fn over_http(way: Way, time_scale: f64) -> Result<Served, StageError> {
    let (fake, server) = server(time_scale).await?;
    let told = |error: std::io::Error| StageError::Program(format!("no port to listen on: {error}"));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(told)?;
    let url = format!("http://{}{}", listener.local_addr().map_err(told)?, http::PATH);
    let shutdown = server.shutdown().clone();
    match way {
        Way::Fixtures => {
            let fixtures = Fixtures::around(Handler::new(server.clone()));
            let app = http::router(move || fixtures.for_session(), &shutdown);
            let stopped = async move { shutdown.cancelled().await };
            tokio::spawn(async move { axum::serve(listener, app).with_graceful_shutdown(stopped).await });
        }
        Way::Http(token) => {
            tokio::spawn(http::serve(server.clone(), listener, SecretString::from(token), shutdown));
        }
    }
    Ok(Served { url, fake, server })
}

/// Serves on stdin and stdout until stdin ends.
///
/// # Errors
/// When something does not start, or the connection breaks.
pub async fn on_stdio(time_scale: f64) -> Result<(), StageError> {
    let (_fake, server) = server(time_scale).await?;
    stdio::serve(server).await.map_err(|error| StageError::Program(error.to_string()))
}

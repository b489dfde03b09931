//! MCP over streamable HTTP at `/mcp`, on loopback only, behind a bearer token.

use std::io;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use secrecy::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::mcp::Handler;
use crate::server::Server;

/// The only path.
pub const PATH: &str = "/mcp";

/// Largest body of a request.
const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// Pages that may ask: those served by this machine. An `Origin` of anywhere else is refused.
const ORIGINS: [&str; 3] = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];

/// Serves until `shutdown` is cancelled; requests under way may finish, but nobody waits for tasks any more.
///
/// `Host` must name this machine and `Origin`, where there is one, too: a page of another site cannot get in through a
/// name that suddenly points here.
///
/// # Errors
/// When the listener is not on loopback, or stops working.
pub async fn serve(
    server: Arc<Server>,
    listener: TcpListener,
    token: SecretString,
    shutdown: CancellationToken,
) -> io::Result<()> {
    if !listener.local_addr()?.ip().is_loopback() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "this version serves MCP over HTTP on loopback only"));
    }
    if token.expose_secret().is_empty() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "MCP over HTTP needs a bearer token that is not empty",
        ));
    }
    let ends = server.shutdown().clone();
    let handler = Handler::new(server);
    let app = router(move || handler.for_session(), &shutdown)
        .layer(middleware::from_fn_with_state(Arc::new(token), with_token));
    let stopped = async move {
        shutdown.cancelled().await;
        ends.cancel();
    };
    axum::serve(listener, app).with_graceful_shutdown(stopped).await
}

/// What answers below [`PATH`], with every limit of [`serve`] but the token, for one handler per session.
pub fn router<H: ServerHandler>(make: impl Fn() -> H + Send + Sync + 'static, shutdown: &CancellationToken) -> Router {
    let config = StreamableHttpServerConfig::default()
        .with_allowed_origins(ORIGINS)
        .with_max_request_body_bytes(MAX_BODY_BYTES)
        .with_cancellation_token(shutdown.child_token());
    let service = StreamableHttpService::new(move || Ok(make()), Arc::new(LocalSessionManager::default()), config);
    Router::new().nest_service(PATH, service)
}

/// Lets a request through when it carries the token, compared in constant time.
async fn with_token(State(token): State<Arc<SecretString>>, request: Request, next: Next) -> Response {
    let given = request.headers().get(header::AUTHORIZATION).and_then(bearer).unwrap_or_default();
    if bool::from(given.as_bytes().ct_eq(token.expose_secret().as_bytes())) {
        return next.run(request).await;
    }
    let challenge = [(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))];
    (StatusCode::UNAUTHORIZED, challenge, "a bearer token is needed\n").into_response()
}

fn bearer(value: &HeaderValue) -> Option<&str> {
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

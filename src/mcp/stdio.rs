//! MCP on stdin and stdout.

use std::sync::Arc;

use rmcp::ServiceExt;

use super::Handler;
use crate::server::Server;

/// Why the session ended badly.
#[derive(Debug, thiserror::Error)]
#[error("the session on stdio could not be served: {0}")]
pub struct StdioError(String);

/// Serves until stdin ends. Then requests under way may finish, but nobody waits for tasks any more.
///
/// # Errors
/// When the session cannot be set up.
pub async fn serve(server: Arc<Server>) -> Result<(), StdioError> {
    let (stdin, stdout) = rmcp::transport::io::stdio_pipes();
    serve_on(server, stdin, stdout).await
}

/// The same on any pair of streams.
///
/// # Errors
/// As [`serve`].
pub async fn serve_on<R, W>(server: Arc<Server>, reader: R, writer: W) -> Result<(), StdioError>
where
    R: tokio::io::AsyncRead + Send + Unpin + 'static,
    W: tokio::io::AsyncWrite + Send + Unpin + 'static,
{
    serve_handler(Handler::new(server), reader, writer).await
}

/// The same for a handler that shares what it watches with others.
///
/// # Errors
/// As [`serve`].
pub async fn serve_handler<R, W>(handler: Handler, reader: R, writer: W) -> Result<(), StdioError>
where
    R: tokio::io::AsyncRead + Send + Unpin + 'static,
    W: tokio::io::AsyncWrite + Send + Unpin + 'static,
{
    let shutdown = handler.server().shutdown().clone();
    let reader = EndOfInput { inner: reader, shutdown: shutdown.clone() };
    let service = handler.serve((reader, writer)).await;
    let ended = match service {
        Ok(service) => service.waiting().await.map(drop).map_err(|error| StdioError(error.to_string())),
        // A client that leaves before it says hello is no fault.
        Err(_) if shutdown.is_cancelled() => Ok(()),
        Err(error) => Err(StdioError(error.to_string())),
    };
    shutdown.cancel();
    ended
}

/// Notices the end of input, so that waits for tasks do not keep a server alive that nobody listens to.
struct EndOfInput<R> {
    inner: R,
    shutdown: tokio_util::sync::CancellationToken,
}

impl<R: tokio::io::AsyncRead + Unpin> tokio::io::AsyncRead for EndOfInput<R> {
    fn poll_read(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
        buf: &mut tokio::io::ReadBuf<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        let before = buf.filled().len();
        let had_room = buf.remaining() > 0;
        let polled = std::pin::Pin::new(&mut self.inner).poll_read(cx, buf);
        let ended = match &polled {
            std::task::Poll::Ready(Ok(())) => had_room && buf.filled().len() == before,
            std::task::Poll::Ready(Err(_)) => true,
            std::task::Poll::Pending => false,
        };
        if ended {
            self.shutdown.cancel();
        }
        polled
    }
}

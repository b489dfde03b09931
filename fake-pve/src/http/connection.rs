//! One connection: TLS or not, request after request, and when it ends.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::body::{Body, Reader};
use super::head::{Head, Refused};
use super::websocket;
use super::wire::{Wire, bytes, parts};
use super::{Cut, Patience, Reply, Request};

/// How many requests one connection may carry.
const REQUESTS: u32 = 100;
/// Bodies that are shorter go out with their head.
const ONE_PIECE: usize = 8 << 10;
/// How much of an unread body is taken from a peer that is being turned away, and for how long.
const DRAIN: usize = 4 << 20;
const DRAIN_TIME: Duration = Duration::from_secs(2);

/// The first byte tells TLS from plain HTTP, which is sent to the right scheme.
pub(super) async fn accepted<F, Fut>(stream: TcpStream, acceptor: TlsAcceptor, patience: Patience, handle: F)
where
    F: Fn(Request) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Reply> + Send + 'static,
{
    let _best_effort = stream.set_nodelay(true);
    let mut first = [0u8; 1];
    if !matches!(timeout(patience.head, stream.peek(&mut first)).await, Ok(Ok(1))) {
        return;
    }
    if first[0] != 0x16 {
        return plain(stream, patience).await;
    }
    if let Ok(Ok(stream)) = timeout(patience.head, acceptor.accept(stream)).await {
        secured(stream, patience, handle).await;
    }
}

/// Request after request, until one side has had enough.
async fn secured<F, Fut>(stream: TlsStream<TcpStream>, patience: Patience, handle: F)
where
    F: Fn(Request) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Reply> + Send + 'static,
{
    let (read, mut write) = tokio::io::split(stream);
    let reader = Arc::new(Mutex::new(Reader::new(read, patience)));
    for number in 1..=REQUESTS {
        let head = match reader.lock().await.head().await {
            Ok(Some(head)) => head,
            Ok(None) => break,
            Err(refused) => {
                let _gone = write.write_all(&refusal(&refused)).await;
                break;
            }
        };
        let length = head.headers.get("content-length").and_then(|value| value.trim().parse().ok()).unwrap_or(0);
        reader.lock().await.left = length;
        let mut wire = Wire::of(&head, number < REQUESTS);
        let body = Body::new(Arc::clone(&reader), length);
        let Head { verb, path, query, headers, .. } = head;
        let mut reply = handle(Request { verb, path, query, headers, body }).await;
        // What was not read of the body would be taken for the next request.
        wire.keep &= reply.status < 400 && !reply.closes && reader.lock().await.left == 0;
        let console = reply.console.take();
        if let Some(cut) = reply.cut {
            return reset(write, reader, reply, &wire, cut).await;
        }
        let sent = send(&mut write, reply, &wire).await.is_ok();
        let _gone = write.flush().await;
        if let Some(ticket) = console.filter(|_| sent) {
            websocket::console(&mut *reader.lock().await, &mut write, &ticket).await;
            break;
        }
        if !sent || !wire.keep {
            break;
        }
    }
    let _gone = write.shutdown().await;
    let _in_time = timeout(DRAIN_TIME, async { reader.lock().await.drain(DRAIN).await }).await;
}

/// Sends a reply: a short one in one piece, a long one without copying its body.
async fn send(write: &mut WriteHalf<TlsStream<TcpStream>>, reply: Reply, wire: &Wire) -> std::io::Result<()> {
    let (mut head, body) = parts(reply, wire);
    if body.len() < ONE_PIECE {
        head.extend_from_slice(&body);
        return write.write_all(&head).await;
    }
    write.write_all(&head).await?;
    write.write_all(&body).await
}

/// Sends as much of a reply as a fault lets through, then resets the connection.
async fn reset(
    mut write: WriteHalf<TlsStream<TcpStream>>,
    reader: Arc<Mutex<Reader>>,
    reply: Reply,
    wire: &Wire,
    cut: Cut,
) {
    if cut == Cut::InBody {
        let whole = bytes(reply, wire);
        let body = whole.windows(4).position(|window| window == b"\r\n\r\n").map_or(whole.len(), |at| at + 4);
        let _gone = write.write_all(&whole[..body + (whole.len() - body) / 2]).await;
        let _gone = write.flush().await;
    }
    let read: Option<ReadHalf<TlsStream<TcpStream>>> =
        Arc::into_inner(reader).and_then(|reader| reader.into_inner().into_half());
    if let Some(read) = read {
        let _best_effort = read.unsplit(write).get_ref().0.set_zero_linger();
    }
}

/// Plain HTTP: the verb is judged, then the same address is named with the right scheme.
async fn plain(stream: TcpStream, patience: Patience) {
    let (read, mut write) = tokio::io::split(stream);
    let mut reader = Reader::new(read, patience);
    let answer = match reader.head().await {
        Ok(Some(head)) => redirect(&head).map(|reply| bytes(reply, &Wire::of(&head, false))),
        Ok(None) => None,
        Err(refused) => Some(refusal(&refused)),
    };
    if let Some(answer) = answer {
        let _gone = write.write_all(&answer).await;
    }
    let _gone = write.shutdown().await;
}

/// `None` without a `Host` to name.
fn redirect(head: &Head) -> Option<Reply> {
    let verb = head.verb.as_str();
    if !["GET", "POST", "PUT", "DELETE"].contains(&verb) {
        return Some(Reply::bare(501, &format!("method '{verb}' not available")));
    }
    let host = head.headers.get("host")?;
    let (status, reason) = if verb == "GET" { (301, "Moved Permanently") } else { (308, "Permanent Redirect") };
    let mut reply = Reply::text(status, reason);
    reply.headers.push(("Location", format!("https://{host}{}", head.target)));
    Some(reply)
}

fn refusal(refused: &Refused) -> Vec<u8> {
    let version = refused.version.clone().unwrap_or_else(|| "HTTP/1.0".into());
    bytes(Reply::text(refused.status, &refused.text), &Wire { version, keep: false, gzip: false, deflate: false })
}

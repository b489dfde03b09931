//! Files on their way to and from a cluster: streamed, never held in memory, through the same door as every request.

use std::time::Duration;

use futures_util::stream;
use reqwest::Body;
use reqwest::header::CONTENT_LENGTH;
use reqwest::multipart::{Form, Part};
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::client::Client;
use super::envelope::Answer;
use super::reply::{MOST_BYTES, Reply};
use crate::error::{Code, Fault};
use crate::policy::{ApiCall, Permit};

/// What is read from a file at a time, in bytes.
const PIECE: usize = 256 << 10;

/// The slowest transfer that is waited for, in bytes a second.
const SLOWEST: u64 = 64 << 10;

/// A file to send: exactly `size` bytes of it, under `name`.
#[derive(Debug)]
pub struct Source {
    /// Opened, at its beginning.
    pub file: tokio::fs::File,
    /// Bytes.
    pub size: u64,
    /// What Proxmox is to call it.
    pub name: String,
}

/// Hears how many bytes are through, and of how many.
pub type Bytes<'p> = dyn Fn(u64, Option<u64>) + Send + Sync + 'p;

impl Client {
    /// Sends a file with the parameters that the policy allowed, as Proxmox wants it: text parts first, then the file, with an
    /// exact length. It is never tried again.
    ///
    /// # Errors
    /// As [`Client::send`]. A file that turns out shorter than it was breaks the connection, so that nothing is stored.
    pub async fn upload(&self, permit: Permit<ApiCall>, source: Source, told: &Bytes<'_>) -> Result<Answer, Fault> {
        let call = permit.into_action();
        let Source { file, size, name } = source;
        let (through, mut seen) = tokio::sync::watch::channel(0_u64);
        let file = Part::stream_with_length(Body::wrap_stream(pieces(file, size, through)), size).file_name(name);
        let texts = call.params().iter().filter(|(name, _)| name != "filename");
        let form = texts.fold(Form::new(), |form, (name, value)| form.text(name.clone(), value.clone()));
        let patience = self.patience() + Duration::from_secs(size / SLOWEST);
        let sending = self.send_form(&call, form.part("filename", file), patience);
        tokio::pin!(sending);
        loop {
            tokio::select! {
                biased;
                answer = &mut sending => return answer,
                Ok(()) = seen.changed() => told(*seen.borrow_and_update(), Some(size)),
            }
        }
    }

    /// Reads an answer that is a file into `to`; its size in bytes.
    ///
    /// # Errors
    /// As [`Client::send`]; `local_dir` when it cannot be written, `timeout` when nothing comes any more.
    pub async fn download(
        &self,
        permit: Permit<ApiCall>,
        to: &mut (dyn AsyncWrite + Send + Unpin),
        told: &Bytes<'_>,
    ) -> Result<u64, Fault> {
        let call = permit.into_action();
        let mut response = self.open(&call).await?;
        let header = response.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        let total: Option<u64> = header;
        let mut done = 0;
        let broke = |done: u64| {
            Fault::new(Code::Unreachable, format!("the connection broke after {done} bytes of the file"))
                .hint("nothing was kept; try again")
        };
        let unwritten = |error: std::io::Error| {
            Fault::new(Code::LocalDir, format!("the file cannot be written: {error}")).hint("nothing was kept")
        };
        loop {
            let next = tokio::time::timeout(self.patience(), response.chunk()).await.map_err(|_| {
                Fault::new(Code::Timeout, format!("nothing came any more after {done} bytes of the file"))
                    .hint("nothing was kept; raise PROXMOX_TIMEOUT_SECONDS if the cluster is slow")
            })?;
            let Some(piece) = next.map_err(|_| broke(done))? else { break };
            to.write_all(&piece).await.map_err(unwritten)?;
            done += piece.len() as u64;
            told(done, total);
        }
        if total.is_some_and(|total| total != done) {
            return Err(broke(done));
        }
        to.flush().await.map_err(unwritten)?;
        Ok(done)
    }

    /// An answer of which only the head was read; one that is no success is read to its end.
    async fn open(&self, call: &ApiCall) -> Result<reqwest::Response, Fault> {
        let response = self.begin(call, Duration::from_secs(24 * 3600)).await?;
        if response.status() == 200 {
            return Ok(response);
        }
        let reply = Reply::read(response, MOST_BYTES).await;
        let reply = reply.map_err(|_| Fault::new(Code::Unreachable, "the connection broke").hint("try again"))?;
        Err(self.refused(&reply, call))
    }
}

/// Exactly `size` bytes of a file, piece by piece.
fn pieces(
    file: tokio::fs::File,
    size: u64,
    through: tokio::sync::watch::Sender<u64>,
) -> impl stream::Stream<Item = std::io::Result<Vec<u8>>> + Send + 'static {
    stream::try_unfold((file, 0_u64, through), move |(mut file, done, through)| async move {
        if done == size {
            return Ok(None);
        }
        let most = usize::try_from(size - done).unwrap_or(PIECE).min(PIECE);
        let mut piece = vec![0; most];
        let count = file.read(&mut piece).await?;
        if count == 0 {
            return Err(std::io::Error::other("the file became shorter while it was sent"));
        }
        piece.truncate(count);
        let done = done + count as u64;
        // Nobody listens when nobody wants to see progress.
        let _ = through.send(done);
        Ok(Some((piece, (file, done, through))))
    })
}

//! The body of a request, read when the pipeline wants it.

use std::any::Any;
use std::sync::Arc;

use bytes::Bytes;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::Patience;
use super::head::{Head, Refused};

/// Header lines of one request, at most (the empty one counts).
const MOST_LINES: usize = 64;
/// Bytes of header lines, at most.
const MOST_BYTES: usize = 8 << 10;
/// Longest piece of a body.
const PIECE: usize = 64 << 10;

/// What a connection is read from.
trait Source: AsyncRead + Send + Unpin + Any {}

impl<T: AsyncRead + Send + Unpin + Any> Source for T {}

/// The reading half of a connection.
pub(super) struct Reader {
    stream: BufReader<Box<dyn Source>>,
    patience: Patience,
    /// Bytes of the current body that were not read yet.
    pub left: u64,
}

/// A body that may not have been read yet.
pub(crate) struct Body {
    reader: Arc<Mutex<Reader>>,
    announced: u64,
}

/// Why a body was not read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BodyError {
    /// Longer than allowed.
    TooLarge,
    /// The connection ended, or its peer has gone silent.
    Cut,
}

impl Reader {
    pub fn new(stream: impl AsyncRead + Send + Unpin + 'static, patience: Patience) -> Reader {
        Reader { stream: BufReader::new(Box::new(stream)), patience, left: 0 }
    }

    /// The half that it was made of, when that is an `S`.
    pub fn into_half<S: 'static>(self) -> Option<S> {
        let source: Box<dyn Any> = self.stream.into_inner();
        source.downcast().ok().map(|half| *half)
    }

    /// The next head; `None` when the connection is over, silent for too long or carries too much to be answered.
    ///
    /// # Errors
    /// What is answered to a malformed head.
    pub async fn head(&mut self) -> Result<Option<Head>, Refused> {
        timeout(self.patience.head, self.whole_head()).await.unwrap_or(Ok(None))
    }

    async fn whole_head(&mut self) -> Result<Option<Head>, Refused> {
        let first = loop {
            match self.line(MOST_BYTES).await {
                None => return Ok(None),
                // Some browsers send empty lines between requests.
                Some(line) if line.is_empty() => {}
                Some(line) => break line,
            }
        };
        let mut head = Head::first_line(&first)?;
        let (mut lines, mut bytes) = (0, 0);
        loop {
            let Some(line) = self.line(MOST_BYTES).await else { return Ok(None) };
            lines += 1;
            bytes += line.len();
            if lines >= MOST_LINES || bytes >= MOST_BYTES {
                return Ok(None);
            }
            if line.is_empty() {
                return Ok(Some(head));
            }
            head.line(&line)?;
        }
    }

    /// So many bytes; `None` when the connection ends before.
    pub async fn exactly(&mut self, count: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; count];
        self.stream.read_exact(&mut bytes).await.ok()?;
        Some(bytes)
    }

    /// One line without its end; `None` at the end of the connection or when it is too long.
    async fn line(&mut self, most: usize) -> Option<String> {
        let mut line = Vec::new();
        let read = (&mut self.stream).take(most as u64 + 2).read_until(b'\n', &mut line).await.ok()?;
        if read == 0 || line.pop() != Some(b'\n') {
            return None;
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        Some(String::from_utf8_lossy(&line).into_owned())
    }

    async fn piece(&mut self) -> Result<Option<Bytes>, BodyError> {
        if self.left == 0 {
            return Ok(None);
        }
        let most = PIECE.min(usize::try_from(self.left).unwrap_or(PIECE));
        let mut piece = vec![0; most];
        let read = timeout(self.patience.body, self.stream.read(&mut piece)).await;
        let read = read.map_err(|_| BodyError::Cut)?.map_err(|_| BodyError::Cut)?;
        if read == 0 {
            return Err(BodyError::Cut);
        }
        piece.truncate(read);
        self.left -= read as u64;
        Ok(Some(piece.into()))
    }

    /// Reads and forgets what still comes, so that the peer reads the last reply before the connection is cut.
    pub async fn drain(&mut self, most: usize) {
        let mut rest = vec![0; PIECE];
        let mut read = 0;
        while read < most {
            match self.stream.read(&mut rest).await {
                Ok(0) | Err(_) => return,
                Ok(more) => read += more,
            }
        }
    }
}

impl Body {
    pub(super) fn new(reader: Arc<Mutex<Reader>>, announced: u64) -> Body {
        Body { reader, announced }
    }

    /// Bytes that the header announces.
    pub fn announced(&self) -> u64 {
        self.announced
    }

    /// Everything, up to `limit` bytes.
    pub async fn read(&mut self, limit: usize) -> Result<Vec<u8>, BodyError> {
        if self.announced > limit as u64 {
            return Err(BodyError::TooLarge);
        }
        let mut bytes = Vec::with_capacity(usize::try_from(self.announced).unwrap_or_default());
        while let Some(piece) = self.chunk().await? {
            bytes.extend_from_slice(&piece);
        }
        Ok(bytes)
    }

    /// The next piece; `None` at the end. For uploads that need not fit in memory.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, BodyError> {
        self.reader.lock().await.piece().await
    }
}

//! The body of a request, read when the pipeline wants it.

use http_body_util::BodyExt;
use hyper::HeaderMap;
use hyper::body::Incoming;
use hyper::header;

/// A body that may not have been read yet.
pub(crate) struct Body {
    incoming: Option<Incoming>,
    announced: u64,
}

/// Why a body was not read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BodyError {
    /// Longer than allowed.
    TooLarge,
    /// The connection ended.
    Cut,
}

impl Body {
    pub fn new(incoming: Incoming, headers: &HeaderMap) -> Body {
        let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
        Body { incoming: Some(incoming), announced: length.unwrap_or(0) }
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
        let mut bytes = Vec::with_capacity(self.announced as usize);
        while let Some(chunk) = self.chunk().await? {
            if bytes.len() + chunk.len() > limit {
                return Err(BodyError::TooLarge);
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }

    /// Reads up to `limit` bytes of it away, so that a client hears the answer before the connection ends.
    pub async fn skip(&mut self, limit: usize) {
        let mut skipped = 0;
        while let Ok(Some(piece)) = self.chunk().await {
            skipped += piece.len();
            if skipped > limit {
                return;
            }
        }
    }

    /// The next piece; `None` at the end. For uploads that need not fit in memory.
    pub async fn chunk(&mut self) -> Result<Option<bytes::Bytes>, BodyError> {
        let Some(incoming) = &mut self.incoming else { return Ok(None) };
        loop {
            match incoming.frame().await {
                None => {
                    self.incoming = None;
                    return Ok(None);
                }
                Some(Err(_)) => return Err(BodyError::Cut),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
            }
        }
    }
}

//! One HTTP answer as it came: status, reason phrase, body up to a limit.

use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, LOCATION};

use crate::error::{Code, Fault};

/// Largest body that is read, after decompression: 64 MiB.
pub(super) const MOST_BYTES: usize = 64 << 20;

/// What came back.
#[derive(Debug)]
pub(super) struct Reply {
    pub status: u16,
    /// Proxmox writes its message there; empty where it is only the standard phrase.
    pub reason: String,
    pub content_type: String,
    pub location: Option<String>,
    pub body: Vec<u8>,
}

/// Why a body was not read to its end.
#[derive(Debug)]
pub(super) enum Broken {
    /// The connection or the encoding broke.
    Transport(reqwest::Error),
    /// Over the limit.
    TooLarge,
}

impl Reply {
    /// Reads an answer to its end, or to `most` bytes.
    pub async fn read(mut response: Response, most: usize) -> Result<Reply, Broken> {
        let header =
            |name| response.headers().get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        let mut reply = Reply {
            status: response.status().as_u16(),
            reason: reason(&response),
            content_type: header(CONTENT_TYPE).unwrap_or_default(),
            location: header(LOCATION),
            body: Vec::new(),
        };
        while let Some(chunk) = response.chunk().await.map_err(Broken::Transport)? {
            if reply.body.len() + chunk.len() > most {
                return Err(Broken::TooLarge);
            }
            reply.body.extend_from_slice(&chunk);
        }
        Ok(reply)
    }

    /// The body as text; what is no UTF-8 is replaced.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }

    /// Whether the body says that it is JSON.
    pub fn is_json(&self) -> bool {
        self.content_type.starts_with("application/json")
    }
}

fn reason(response: &Response) -> String {
    match response.extensions().get::<hyper::ext::ReasonPhrase>() {
        Some(phrase) => String::from_utf8_lossy(phrase.as_bytes()).trim().to_string(),
        None => String::new(),
    }
}

/// The fault for a body over the limit.
pub(super) fn too_large(most: usize) -> Fault {
    Fault::new(Code::TooLarge, format!("the answer is larger than {} MiB", most >> 20))
        .hint("ask for less: a limit, a filter, one object instead of the list")
}

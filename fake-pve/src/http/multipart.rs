//! Uploads: the parts of a multipart body, read piece by piece so that a file need not fit in memory.
//!
//! What Proxmox knows: short text parts (`content`, `checksum-algorithm`, `checksum`), then one file under the name
//! `filename`. What follows the file is not looked at. The file's bytes are counted and summed, not kept.

use std::future::Future;

use bytes::Bytes;
use serde_json::{Map, Value};

use super::body::{Body, BodyError};
use super::checksum::Checksum;

/// Longest text part, and longest header of a part.
const TEXT_LIMIT: usize = 64 << 10;

/// Text parts that Proxmox reads.
const TEXTS: [&str; 3] = ["content", "checksum-algorithm", "checksum"];

/// A file that was uploaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Upload {
    /// Size in bytes.
    pub size: u64,
    /// Its checksum in the algorithm that was asked for.
    pub checksum: Option<String>,
}

/// Where pieces of a body come from.
pub(crate) trait Pieces {
    /// The next piece; `None` at the end.
    fn next(&mut self) -> impl Future<Output = Result<Option<Bytes>, BodyError>> + Send;
}

impl Pieces for Body {
    async fn next(&mut self) -> Result<Option<Bytes>, BodyError> {
        self.chunk().await
    }
}

/// The boundary of a content type, when it is `multipart/form-data`.
pub(crate) fn boundary(content_type: &str) -> Option<String> {
    let mut parts = content_type.split(';');
    if !parts.next()?.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let boundary = parts.find_map(|part| part.trim().strip_prefix("boundary="))?;
    Some(boundary.trim_matches('"').to_string()).filter(|boundary| !boundary.is_empty())
}

/// Reads a body to its end; the text parts, and the file. `algorithm` is the one that the query asks for.
///
/// # Errors
/// Proxmox's text: a file under another name, or a body that ends too early.
pub(crate) async fn read(
    body: &mut impl Pieces,
    boundary: &str,
    algorithm: Option<String>,
) -> Result<(Map<String, Value>, Option<Upload>), String> {
    let mut reader = Reader { body, buffer: b"\r\n".to_vec(), delimiter: format!("\r\n--{boundary}").into_bytes() };
    let mut params = Map::new();
    reader.until_delimiter(|_| {}, usize::MAX).await?;
    loop {
        let Some(header) = reader.header().await? else { return Ok((params, None)) };
        let name = field(&header, "name").unwrap_or_default();
        if let Some(filename) = field(&header, "filename") {
            if name != "filename" {
                return Err(format!("wrong field name '{name}' for file upload, expected 'filename' {PLACE}"));
            }
            params.insert("filename".into(), filename.trim().into());
            let asked = params.get("checksum-algorithm").and_then(Value::as_str).map(str::to_string).or(algorithm);
            let mut checksum = asked.as_deref().and_then(Checksum::new);
            let mut size = 0u64;
            let take = |bytes: &[u8]| {
                size += bytes.len() as u64;
                if let Some(checksum) = &mut checksum {
                    checksum.update(bytes);
                }
            };
            reader.until_delimiter(take, usize::MAX).await?;
            reader.to_end().await?;
            return Ok((params, Some(Upload { size, checksum: checksum.map(Checksum::finish) })));
        }
        let mut text = Vec::new();
        reader.until_delimiter(|bytes| text.extend_from_slice(bytes), TEXT_LIMIT).await?;
        if TEXTS.contains(&name.as_str()) {
            params.insert(name, String::from_utf8_lossy(&text).trim().into());
        }
    }
}

/// Where Proxmox's own server stumbles, as its message says.
const PLACE: &str = "at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line 1332.";

struct Reader<'b, B> {
    body: &'b mut B,
    buffer: Vec<u8>,
    delimiter: Vec<u8>,
}

impl<B: Pieces> Reader<'_, B> {
    async fn more(&mut self) -> Result<(), String> {
        match self.body.next().await {
            Ok(Some(piece)) => {
                self.buffer.extend_from_slice(&piece);
                Ok(())
            }
            Ok(None) | Err(_) => Err(format!("upload failed {PLACE}")),
        }
    }

    /// Hands out everything before the next delimiter and stands behind it.
    async fn until_delimiter(&mut self, mut take: impl FnMut(&[u8]), limit: usize) -> Result<(), String> {
        let mut taken = 0;
        loop {
            if let Some(at) = find(&self.buffer, &self.delimiter) {
                take(&self.buffer[..at]);
                self.buffer.drain(..at + self.delimiter.len());
                return Ok(());
            }
            let safe = self.buffer.len().saturating_sub(self.delimiter.len());
            taken += safe;
            if taken > limit {
                return Err(format!("upload failed {PLACE}"));
            }
            take(&self.buffer[..safe]);
            self.buffer.drain(..safe);
            self.more().await?;
        }
    }

    /// The header of the next part; `None` behind the last one.
    async fn header(&mut self) -> Result<Option<String>, String> {
        loop {
            if self.buffer.starts_with(b"--") {
                return Ok(None);
            }
            if let Some(at) = find(&self.buffer, b"\r\n\r\n") {
                let header = String::from_utf8_lossy(&self.buffer[..at]).into_owned();
                self.buffer.drain(..at + 4);
                return Ok(Some(header));
            }
            if self.buffer.len() > TEXT_LIMIT {
                return Err(format!("upload failed {PLACE}"));
            }
            self.more().await?;
        }
    }

    async fn to_end(&mut self) -> Result<(), String> {
        while !matches!(self.body.next().await, Ok(None)) {}
        Ok(())
    }
}

/// Looks for the first byte first: uploads are long.
fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + haystack[from..].iter().position(|byte| *byte == needle[0])?;
        if haystack[at..].starts_with(needle) {
            return Some(at);
        }
        from = at + 1;
    }
}

/// `name` of `Content-Disposition: form-data; name="content"`.
fn field(header: &str, name: &str) -> Option<String> {
    let line = header.lines().find(|line| line.to_ascii_lowercase().starts_with("content-disposition:"))?;
    let parts = line.split(';').map(str::trim);
    let mut values = parts.filter_map(|part| part.split_once('=')).filter(|(key, _)| *key == name);
    values.next().map(|(_, value)| value.trim_matches('"').to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Cut(Vec<Bytes>);

    impl Pieces for Cut {
        async fn next(&mut self) -> Result<Option<Bytes>, BodyError> {
            Ok(if self.0.is_empty() { None } else { Some(self.0.remove(0)) })
        }
    }

    const BODY: &str = "--B\r\nContent-Disposition: form-data; name=\"content\"\r\n\r\niso\r\n--B\r\n\
                        Content-Disposition: form-data; name=\"checksum-algorithm\"\r\n\r\nsha256\r\n--B\r\n\
                        Content-Disposition: form-data; name=\"filename\"; filename=\"a b.iso\"\r\n\
                        Content-Type: application/octet-stream\r\n\r\nx\r\n--B--\r\n";

    fn run<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(future)
    }

    fn read_in_pieces(body: &str, piece: usize) -> Result<(Map<String, Value>, Option<Upload>), String> {
        let pieces = body.as_bytes().chunks(piece).map(Bytes::copy_from_slice).collect();
        run(read(&mut Cut(pieces), "B", None))
    }

    #[test]
    fn a_body_may_come_in_any_pieces() {
        for piece in 1..BODY.len() {
            let (params, upload) = read_in_pieces(BODY, piece).expect("an upload");
            assert_eq!((&params["content"], &params["filename"]), (&"iso".into(), &"a b.iso".into()));
            let upload = upload.expect("a file");
            let sum = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";
            assert_eq!((upload.size, upload.checksum.as_deref()), (1, Some(sum)));
        }
    }

    #[test]
    fn empty_and_odd_bodies() {
        let empty = BODY.replace("\r\n\r\nx\r\n", "\r\n\r\n\r\n");
        assert_eq!(read_in_pieces(&empty, 7).expect("an upload").1.map(|upload| upload.size), Some(0));
        let wrong = BODY.replace("name=\"filename\";", "name=\"file\";");
        assert!(
            read_in_pieces(&wrong, 9).is_err_and(|text| text.starts_with("wrong field name 'file' for file upload"))
        );
        assert!(read_in_pieces(&BODY[..BODY.len() - 8], 9).is_err_and(|text| text.starts_with("upload failed")));
        assert_eq!(read_in_pieces("--B--\r\n", 3), Ok((Map::new(), None)));
        assert_eq!(boundary("multipart/form-data; boundary=\"x y\""), Some("x y".into()));
        assert_eq!((boundary("application/json"), boundary("multipart/form-data")), (None, None));
    }

    proptest::proptest! {
        #[test]
        fn a_file_is_counted_whatever_it_holds(file in proptest::collection::vec(0u8.., 0..300), piece in 1usize..40) {
            proptest::prop_assume!(find(&file, b"\r\n--B").is_none());
            let mut body = BODY.split("x\r\n--B--").next().expect("a head").as_bytes().to_vec();
            body.extend_from_slice(&file);
            body.extend_from_slice(b"\r\n--B--\r\n");
            let pieces = body.chunks(piece).map(Bytes::copy_from_slice).collect();
            let (_, upload) = run(read(&mut Cut(pieces), "B", None)).expect("an upload");
            proptest::prop_assert_eq!(upload.map(|upload| upload.size), Some(file.len() as u64));
        }
    }
}

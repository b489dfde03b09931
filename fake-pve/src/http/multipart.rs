//! Uploads: the parts of a form with one file, read as they come; the file itself is measured and summed, not kept.

use serde_json::{Map, Value};

use super::body::{Body, BodyError};
use crate::checksum::Checksum;

/// What became of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Upload {
    /// Where Proxmox would have put it: `/var/tmp/pveupload-<32 hexadecimal digits>`.
    pub tmpfilename: String,
    /// Size in bytes.
    pub size: u64,
    /// The checksum that was asked for, by the API's name of its method, in lower case.
    checksum: Option<(String, String)>,
}

impl Upload {
    /// Its checksum in a method, when that is the one that came before the file or in the query.
    pub fn checksum(&self, algorithm: &str) -> Option<&str> {
        self.checksum.as_ref().filter(|(name, _)| name == algorithm).map(|(_, sum)| sum.as_str())
    }
}

/// Text parts that a form may carry, in any order before the file.
const TEXTS: [&str; 3] = ["content", "checksum-algorithm", "checksum"];

/// Longest head of a part and longest text part.
const MOST: usize = 16 << 10;

/// The boundary of `multipart/form-data; boundary=…`.
pub(crate) fn boundary(content_type: &str) -> Option<String> {
    let (kind, rest) = content_type.split_once(';')?;
    let value = rest.split(';').find_map(|part| part.trim().strip_prefix("boundary="))?;
    (kind.trim() == "multipart/form-data").then(|| value.trim_matches('"').to_string())
}

/// Reads a form. `algorithm` is the checksum that the query asks for.
///
/// # Errors
/// Proxmox's words for a form that is no upload.
pub(crate) async fn read(
    body: &mut Body,
    boundary: &str,
    tmpfilename: String,
    algorithm: Option<String>,
) -> Result<(Map<String, Value>, Upload), String> {
    const FAILED: &str = "upload failed at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line 1333.";
    let mut source = Source { body, held: b"\r\n".to_vec(), ended: false };
    let delimiter = format!("\r\n--{boundary}").into_bytes();
    let mut texts = Map::new();
    source.text_until(&delimiter).await.ok_or(FAILED)?;
    loop {
        let head = source.text_until(b"\r\n\r\n").await.ok_or(FAILED)?;
        let head = String::from_utf8_lossy(&head).into_owned();
        let name = parameter(&head, "name").ok_or(FAILED)?;
        if let Some(filename) = parameter(&head, "filename") {
            if name != "filename" {
                return Err(format!(
                    "wrong field name '{name}' for file upload, expected 'filename' at /usr/share/perl5/PVE/APIServer/AnyEvent.pm \
                     line 1349."
                ));
            }
            texts.insert("filename".into(), filename.into());
            texts.insert("tmpfilename".into(), tmpfilename.clone().into());
            let asked = texts.get("checksum-algorithm").and_then(Value::as_str).map(str::to_string).or(algorithm);
            let upload = source.file_until(&delimiter, tmpfilename, asked).await.ok_or(FAILED)?;
            return Ok((texts, upload));
        }
        let text = source.text_until(&delimiter).await.ok_or(FAILED)?;
        if TEXTS.contains(&name.as_str()) {
            texts.insert(name, String::from_utf8_lossy(&text).trim().into());
        }
    }
}

/// `form-data; name="content"` -> `content`.
fn parameter(head: &str, key: &str) -> Option<String> {
    let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with("content-disposition:"))?;
    let at = line.find(&format!(" {key}=\""))? + key.len() + 3;
    line[at..].split('"').next().map(str::to_string)
}

struct Source<'b> {
    body: &'b mut Body,
    held: Vec<u8>,
    ended: bool,
}

impl Source<'_> {
    async fn more(&mut self) -> Option<()> {
        if self.ended {
            return None;
        }
        match self.body.chunk().await {
            Ok(Some(piece)) => self.held.extend_from_slice(&piece),
            Ok(None) | Err(BodyError::Cut | BodyError::TooLarge) => self.ended = true,
        }
        (!self.ended).then_some(())
    }

    /// Everything before a mark, which is taken too.
    async fn text_until(&mut self, mark: &[u8]) -> Option<Vec<u8>> {
        loop {
            if let Some(at) = find(&self.held, mark) {
                let text = self.held[..at].to_vec();
                self.held.drain(..at + mark.len());
                return Some(text);
            }
            if self.held.len() > MOST {
                return None;
            }
            self.more().await?;
        }
    }

    /// As [`Source::text_until`], without keeping what comes before the mark.
    async fn file_until(&mut self, mark: &[u8], tmpfilename: String, asked: Option<String>) -> Option<Upload> {
        let mut sum = asked.and_then(|algorithm| Checksum::new(&algorithm).map(|sum| (algorithm, sum)));
        let mut size = 0;
        loop {
            let found = find(&self.held, mark);
            // The end of what is held may be the beginning of the mark.
            let sure = found.unwrap_or_else(|| self.held.len().saturating_sub(mark.len()));
            size += sure as u64;
            if let Some((_, sum)) = &mut sum {
                sum.update(&self.held[..sure]);
            }
            self.held.drain(..sure);
            if found.is_some() {
                break;
            }
            self.more().await?;
        }
        while self.more().await.is_some() {
            self.held.clear();
        }
        let checksum = sum.map(|(algorithm, sum)| (algorithm, sum.finish()));
        Some(Upload { tmpfilename, size, checksum })
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::sync::Mutex;

    use super::*;
    use crate::http::Patience;
    use crate::http::body::Reader;

    async fn read_form(form: &str) -> Result<(Map<String, Value>, Upload), String> {
        let bytes = form.as_bytes().to_vec();
        let length = bytes.len() as u64;
        let mut reader = Reader::new(std::io::Cursor::new(bytes), Patience::of_idle(Duration::from_secs(5)));
        reader.left = length;
        let mut body = Body::new(Arc::new(Mutex::new(reader)), length);
        read(&mut body, "B", "/var/tmp/x".into(), Some("sha256".into())).await
    }

    #[tokio::test]
    async fn a_file_is_measured() {
        let form = "--B\r\nContent-Disposition: form-data; name=\"content\"\r\n\r\n iso \r\n--B\r\n\
            Content-Disposition: form-data; name=\"filename\"; filename=\"a b.iso\"\r\nContent-Type: x/y\r\n\r\nx\r\n--B--\r\n";
        let (texts, upload) = read_form(form).await.expect("an upload");
        assert_eq!((texts["content"].as_str(), texts["filename"].as_str()), (Some("iso"), Some("a b.iso")));
        assert_eq!(upload.size, 1);
        let sum = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";
        assert_eq!((upload.checksum("sha256"), upload.checksum("md5")), (Some(sum), None));
        assert!(read_form(&form[..form.len() - 12]).await.is_err_and(|text| text.starts_with("upload failed at ")));
    }

    #[test]
    fn boundaries() {
        assert_eq!(boundary("multipart/form-data; boundary=\"x y\"").as_deref(), Some("x y"));
        assert_eq!(boundary("multipart/mixed; boundary=x"), None);
    }
}

//! The Internet as the nodes see it: what lies behind a URL or in a registry.
//!
//! Nothing is fetched. A URL that is not listed leads to a file whose size follows from its name; hosts that cannot be
//! (`*.invalid`) and paths that say so (`404`, `missing`) lead nowhere. Checksums are known
//! when somebody described the file, and follow from its URL otherwise.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{World, digest};
use crate::checksum::Checksum;

/// A file behind a URL.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WebFile {
    /// Size in bytes.
    pub size: u64,
    /// Checksums in lower-case hexadecimal digits, by algorithm.
    pub checksums: BTreeMap<String, String>,
    /// What the server calls it, when the URL does not say it.
    pub filename: Option<String>,
    /// Media type, when the name does not say it.
    pub mimetype: Option<String>,
}

impl World {
    /// What lies behind a URL.
    ///
    /// # Errors
    /// The host's name leads nowhere (500), or the server has no such file (404): status line of the answer.
    pub fn behind(&self, url: &str) -> Result<WebFile, String> {
        if let Some(file) = self.web.get(url) {
            return Ok(file.clone());
        }
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let name = host.rsplit('@').next().unwrap_or_default();
        let name = super::server::host(name);
        if name.is_empty() || name.ends_with(".invalid") {
            return Err(format!("500 Can't connect to {host} (Name or service not known)"));
        }
        if path.is_empty() || path.contains("404") || path.contains("missing") {
            return Err("404 Not Found".into());
        }
        let number = u64::from_str_radix(&digest(&json!(url))[..4], 16).unwrap_or(0);
        Ok(WebFile { size: (64 + number % 640) << 20, ..WebFile::default() })
    }

    /// The checksum of the file behind a URL: the one that is known of it. A file that nobody described is taken to hold
    /// the text of its URL, so that everybody can tell its checksums (`printf %s URL | sha256sum`).
    pub fn checksum_behind(&self, url: &str, algorithm: &str) -> String {
        let known = self.web.get(url).and_then(|file| file.checksums.get(algorithm));
        known.map_or_else(|| Checksum::of(algorithm, url.as_bytes()), |sum| sum.to_ascii_lowercase())
    }
}

/// Media type by a file's name.
pub fn mimetype(filename: &str) -> &'static str {
    match filename.rsplit('.').next().unwrap_or_default() {
        "iso" => "application/x-iso9660-image",
        "gz" | "tgz" => "application/gzip",
        "xz" => "application/x-xz",
        "zst" => "application/zstd",
        "bz2" => "application/x-bzip2",
        "html" | "htm" => "text/html",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_that_are_known_or_follow_from_the_url() {
        let mut world = World::default();
        let url = "https://example.com/a.iso";
        assert_eq!(world.checksum_behind("x", "md5"), "9dd4e461268c8034f5c8564e155c67a6");
        assert_ne!(world.checksum_behind(url, "md5"), world.checksum_behind("https://example.com/b.iso", "md5"));
        let file = WebFile { checksums: [("md5".to_string(), "AB".repeat(16))].into(), ..WebFile::default() };
        world.web.insert(url.into(), file);
        assert_eq!(world.checksum_behind(url, "md5"), "ab".repeat(16));
        assert_eq!(
            world.behind("https://example.com/b").map(|f| f.size),
            World::default().behind("https://example.com/b").map(|f| f.size)
        );
        assert!(world.behind("https://x.invalid/a").is_err() && world.behind("https://example.com/404.iso").is_err());
    }
}

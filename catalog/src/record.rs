//! The stored form of a method: what `build.rs` writes and the library reads back without copying.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::gate::Gate;
use crate::schema::Schema;
use crate::verb::Verb;

/// One method. The head is read at start; the body (schemas and permissions) when somebody asks for it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Record<'a> {
    pub verb: Verb,
    pub path: &'a str,
    pub name: &'a str,
    pub tool: Option<&'a str>,
    pub gate: Gate,
    pub stricter: Option<&'a str>,
    pub domains: Vec<&'a str>,
    pub summary: &'a str,
    pub destructive: bool,
    pub idempotent: bool,
    pub task: bool,
    pub protected: bool,
    pub proxyto: Option<&'a str>,
    pub allow_token: bool,
    pub download: bool,
    #[serde(with = "bytes")]
    pub body: &'a [u8],
}

/// What a call takes, gives and needs.
#[derive(Debug, Serialize, Deserialize)]
pub struct Body {
    /// Parameters: an object schema.
    pub parameters: Schema,
    /// Result.
    pub returns: Schema,
    /// The permission expression as JSON text, read by `permission`.
    pub permissions: String,
    /// The official texts that were imported with it; ours has none.
    pub texts: BTreeMap<String, String>,
}

/// Borrowed byte strings without another dependency.
mod bytes {
    use serde::de::{Error, Visitor};
    use serde::{Deserializer, Serializer};

    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytes)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<&'de [u8], D::Error> {
        struct Borrowed;
        impl<'de> Visitor<'de> for Borrowed {
            type Value = &'de [u8];
            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("borrowed bytes")
            }
            fn visit_borrowed_bytes<E: Error>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
                Ok(bytes)
            }
        }
        deserializer.deserialize_bytes(Borrowed)
    }
}

//! The four verbs of the Proxmox API.

use serde::{Deserialize, Serialize};

/// `GET`, `POST`, `PUT` or `DELETE`: Proxmox answers 501 to every other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verb {
    /// Reads.
    Get,
    /// Creates or acts.
    Post,
    /// Changes.
    Put,
    /// Removes.
    Delete,
}

impl Verb {
    /// All of them, in the order of the catalogue.
    pub const ALL: [Verb; 4] = [Verb::Get, Verb::Post, Verb::Put, Verb::Delete];

    /// As it stands on the request line.
    pub fn word(self) -> &'static str {
        match self {
            Verb::Get => "GET",
            Verb::Post => "POST",
            Verb::Put => "PUT",
            Verb::Delete => "DELETE",
        }
    }

    /// Whether parameters travel in the body (`POST`, `PUT`) and not in the query.
    pub fn has_body(self) -> bool {
        matches!(self, Verb::Post | Verb::Put)
    }
}

impl std::fmt::Display for Verb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}

impl std::str::FromStr for Verb {
    type Err = UnknownVerb;

    /// Upper or lower case.
    fn from_str(text: &str) -> Result<Self, UnknownVerb> {
        Verb::ALL
            .into_iter()
            .find(|verb| verb.word().eq_ignore_ascii_case(text))
            .ok_or_else(|| UnknownVerb(text.into()))
    }
}

/// The text names no verb of the API.
#[derive(Debug, Clone, thiserror::Error)]
#[error("unknown verb '{0}': expected GET, POST, PUT or DELETE")]
pub struct UnknownVerb(pub String);

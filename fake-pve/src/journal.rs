//! What was asked of the cluster: the last 10,000 requests, older ones counted.

use std::collections::VecDeque;

use serde::Serialize;
use serde_json::{Map, Value};

/// How many entries are kept.
pub const CAPACITY: usize = 10_000;

/// What gave an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The pipeline itself refused: authentication, permission, verification, no such path.
    Pipeline,
    /// A hand-written behaviour.
    Behaviour,
    /// The generic index of a path's children.
    Index,
    /// The declared shape with nothing in it (GET only).
    Shape,
    /// Nothing models it: 501.
    Unmodelled,
}

/// One request and how it was answered.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// Virtual time in milliseconds since the epoch.
    pub at_ms: i64,
    /// As on the request line.
    pub verb: String,
    /// Decoded path beneath the format: `/nodes/pve1/qemu`.
    pub path: String,
    /// `json`, `extjs` …; empty when the request never got that far.
    pub format: String,
    /// The template of the catalogue, when one was found.
    pub template: Option<&'static str>,
    /// Decoded parameters of query and body, before verification. Secrets are in it: this is a test's own cluster.
    pub params: Map<String, Value>,
    /// User or full token id.
    pub authid: Option<String>,
    /// Status of the answer (the real one for `extjs`).
    pub status: u16,
    /// Reason or message of the answer when it is a refusal.
    pub message: Option<String>,
    /// What gave the answer.
    pub level: Level,
}

/// The requests, oldest first.
#[derive(Debug, Default)]
pub struct Journal {
    entries: VecDeque<Entry>,
    dropped: u64,
}

impl Journal {
    /// Adds one; the oldest goes when it is full.
    pub fn push(&mut self, entry: Entry) {
        if self.entries.len() == CAPACITY {
            self.entries.pop_front();
            self.dropped += 1;
        }
        self.entries.push_back(entry);
    }

    /// The kept entries.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// How many older ones are gone.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Journal::default();
    }
}

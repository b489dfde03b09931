//! What a command left behind.

use serde_json::{Map, Value, json};

use super::clean::clean;
use crate::redact::Scrubber;

/// A command's output and how it ended. A status that is not zero is a result, not an error.
#[derive(Debug)]
pub struct Output {
    /// What it wrote to stdout, as it came: for reading, not for showing.
    pub stdout: Vec<u8>,
    /// What it wrote to stderr, as it came.
    pub stderr: Vec<u8>,
    /// Whether more was written than was kept.
    pub truncated: bool,
    /// How it ended.
    pub end: End,
    /// The command ended, but something that it started still holds its output open: it runs on.
    pub left_running: bool,
    /// Knows what may not be shown.
    pub(super) scrubber: Scrubber,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// By itself, with this status.
    Exit(u32),
    /// By a signal (`TERM`).
    Signal(String),
    /// The other side did not say.
    Unknown,
}

impl Output {
    /// One that ended by itself, for tests of what is read from it.
    #[cfg(test)]
    pub(super) fn ended(stdout: &str, stderr: &str, status: u32) -> Output {
        Output {
            stdout: stdout.into(),
            stderr: stderr.into(),
            truncated: false,
            end: End::Exit(status),
            left_running: false,
            scrubber: Scrubber::default(),
        }
    }

    /// Whether it ended by itself with status 0.
    pub fn is_success(&self) -> bool {
        self.end == End::Exit(0)
    }

    /// Its stdout as it may be shown. It comes from the other side and is not to be trusted.
    pub fn text(&self) -> String {
        self.scrubber.text(&clean(&self.stdout))
    }

    /// Its stderr as it may be shown.
    pub fn error_text(&self) -> String {
        self.scrubber.text(&clean(&self.stderr))
    }

    /// `{untrusted: true, exit_status | signal, stdout, stderr?, truncated?, left_running?}`, as it may be shown.
    pub fn to_json(&self) -> Map<String, Value> {
        let mut json = Map::new();
        json.insert("untrusted".into(), true.into());
        match &self.end {
            End::Exit(status) => json.insert("exit_status".into(), json!(status)),
            End::Signal(signal) => json.insert("signal".into(), json!(signal)),
            End::Unknown => json.insert("exit_status".into(), Value::Null),
        };
        json.insert("stdout".into(), self.text().into());
        let stderr = self.error_text();
        if !stderr.is_empty() {
            json.insert("stderr".into(), stderr.into());
        }
        for (name, holds) in [("truncated", self.truncated), ("left_running", self.left_running)] {
            if holds {
                json.insert(name.into(), true.into());
            }
        }
        json
    }
}

//! Tasks as they are remembered: identifier, log and end. What a running one will still do is in `work`.

use serde::{Deserialize, Serialize};

/// One log line, visible from its moment on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// When it is written, in milliseconds since the epoch.
    pub at_ms: i64,
    /// The text.
    pub text: String,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// `UPID:pve1:000003F2:0001E240:65A0B1C2:qmstart:100:root@pam:`.
    pub upid: String,
    /// Where it runs.
    pub node: String,
    /// Process id.
    pub pid: u32,
    /// Start of the process in ticks since boot.
    pub pstart: u64,
    /// When it began, in seconds.
    pub starttime: i64,
    /// `qmstart`, `vzdump` …
    pub worker_type: String,
    /// What it works on; may be empty.
    pub id: String,
    /// Who started it: a user or a full token id.
    pub user: String,
    /// When it will end by itself, in milliseconds since the epoch.
    pub ends_ms: i64,
    /// When it ended, in seconds; `None` while it runs.
    pub endtime: Option<i64>,
    /// `OK`, `WARNINGS: 1` or the error; `None` while it runs.
    pub exitstatus: Option<String>,
    /// Its log, in order.
    pub log: Vec<Line>,
    /// How many lines were warnings.
    pub warnings: u32,
    /// Guests whose configuration lock it holds; released when it ends, however it ends.
    pub locks: Vec<u32>,
}

impl Task {
    /// Whether it still runs.
    pub fn running(&self) -> bool {
        self.exitstatus.is_none()
    }

    /// The log as it stands at a moment.
    pub fn log_at(&self, now_ms: i64) -> Vec<&str> {
        self.log.iter().filter(|line| line.at_ms <= now_ms).map(|line| line.text.as_str()).collect()
    }

    /// The user without the token, and the token's name.
    pub fn user_and_token(&self) -> (&str, Option<&str>) {
        match self.user.split_once('!') {
            Some((user, token)) => (user, Some(token)),
            None => (&self.user, None),
        }
    }
}

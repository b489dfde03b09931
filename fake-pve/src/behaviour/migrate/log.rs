//! The log of a migration: lines with the time at which each is written.

use std::time::Duration;

use crate::work::NewTask;

/// Lines to come, by seconds from the start.
#[derive(Clone, Debug)]
pub(super) struct Log {
    start: i64,
    at: i64,
    lines: Vec<(i64, String)>,
}

impl Log {
    /// A log that starts at a moment, in seconds since the epoch.
    pub fn new(start: i64) -> Log {
        Log { start, at: 0, lines: Vec::new() }
    }

    /// A line now.
    pub fn say(&mut self, text: impl Into<String>) {
        self.lines.push((self.at, text.into()));
    }

    /// Time goes by, in seconds.
    pub fn wait(&mut self, seconds: i64) {
        self.at += seconds.max(0);
    }

    /// How long it took until here: `00:01:05`.
    pub fn duration(&self) -> String {
        format!("{:02}:{:02}:{:02}", self.at / 3600, self.at / 60 % 60, self.at % 60)
    }

    /// The end of a migration that is given up.
    pub fn abort(&mut self, why: &str) {
        let duration = self.duration();
        self.say(format!("ERROR: migration aborted (duration {duration}): {why}"));
    }

    /// The task with these lines, that lasts as long as they do.
    pub fn written(self, mut task: NewTask) -> NewTask {
        for (at, text) in self.lines {
            let after = Duration::from_secs(u64::try_from(at).unwrap_or(0));
            let time = jiff::Timestamp::from_second(self.start + at).unwrap_or_default();
            task = task.line_after(after, format!("{} {text}", time.strftime("%Y-%m-%d %H:%M:%S")));
        }
        task.lasts(Duration::from_millis(u64::try_from(self.at * 1000).unwrap_or(0).max(500)))
    }
}

//! What all node programs share: their commands as a table, options, usage, output forms.

pub(crate) mod command;
pub(crate) mod json;
pub(crate) mod options;
pub(crate) mod output;
pub(crate) mod perform;
pub(crate) mod table;
pub(crate) mod usage;

use std::collections::BTreeMap;

use fake_pve::Told;
use serde_json::{Map, Value};

use crate::program::Call;

/// Why a call failed, as the API says it.
#[derive(Debug, Default)]
pub(crate) struct Failure {
    pub status: u16,
    pub message: String,
    pub errors: BTreeMap<String, String>,
}

impl Failure {
    /// A plain error, as Perl's `die` makes it.
    pub fn die(message: impl Into<String>) -> Failure {
        Failure { status: 500, message: message.into(), ..Failure::default() }
    }

    /// The exit status that the real tools leave behind: what `errno` was, 255 where nothing had set it.
    pub fn exit(&self) -> i32 {
        let missing = self.message.starts_with("Configuration file '") && self.message.contains("' does not exist");
        if missing { 2 } else { 255 }
    }

    /// As it is printed.
    pub fn text(&self, usage: &str) -> String {
        let message = self.message.trim_end();
        let mut text = match self.status {
            500 => format!("{message}\n"),
            status => format!("{status} {message}\n"),
        };
        for (name, error) in &self.errors {
            text.push_str(&format!("{name}: {error}\n"));
        }
        if self.status == 400 {
            text.push_str(usage);
            text.push('\n');
        }
        text
    }
}

impl Call {
    /// Calls the API as root.
    pub fn api(&self, verb: &str, path: &str, params: Map<String, Value>) -> Result<Value, Failure> {
        let Told { status, message, errors, data, .. } = self.site.direct.call(Some("root@pam"), verb, path, params);
        if status == 200 {
            return Ok(data);
        }
        Err(Failure { status, message: message.unwrap_or_default(), errors })
    }

    /// Reads from the API.
    pub fn get(&self, path: &str) -> Result<Value, Failure> {
        self.api("GET", path, Map::new())
    }

    /// Waits for a task: its log, and how it ended.
    pub fn finish(&self, upid: &str) -> (Vec<String>, String) {
        let node = upid.split(':').nth(1).unwrap_or_default();
        loop {
            // Reading the status is what moves a clock that waits for nothing.
            let _state = self.get(&format!("/nodes/{node}/tasks/{upid}/status"));
            let done = self.site.direct.world(|world| {
                let task = world.tasks.iter().rev().find(|task| task.upid == upid)?;
                let status = task.exitstatus.clone()?;
                let log = task.log.iter().map(|line| line.text.clone());
                Some((log.filter(|line| !line.starts_with("TASK ")).collect(), status))
            });
            if let Some(done) = done {
                return done;
            }
            #[expect(clippy::disallowed_methods, reason = "a program waits for a task that takes real time")]
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }

    /// Prints a task as the tools do that run it in front; the exit status.
    pub fn show_task(&mut self, upid: &str) -> i32 {
        let (log, status) = self.finish(upid);
        for line in log {
            self.out(&format!("{line}\n"));
        }
        match status.as_str() {
            "OK" => 0,
            warnings if warnings.starts_with("WARNINGS: ") => {
                let count = warnings.trim_start_matches("WARNINGS: ").to_string();
                self.err(&format!("Task finished with {count} warning(s)!\n"));
                0
            }
            error => {
                let error = error.to_string();
                self.err(&format!("{error}\n"));
                255
            }
        }
    }

    /// Whether tables are drawn with box characters: where the locale is UTF-8.
    pub fn boxes(&self) -> bool {
        let locale =
            ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| self.env.get(*name).filter(|v| !v.is_empty()));
        locale.is_some_and(|locale| locale.to_uppercase().replace('-', "").contains("UTF8"))
    }
}

/// A value as a cell or line shows it.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(on) => u8::from(*on).to_string(),
        Value::Array(_) | Value::Object(_) => json::compact(value),
        Value::Number(number) => match number.as_f64() {
            Some(whole) if number.is_f64() && whole.fract() == 0.0 => format!("{whole:.0}"),
            _ => number.to_string(),
        },
    }
}

//! What tools over SSH share: how they are stated, and how what came back is told.

use std::borrow::Cow;
use std::time::Duration;

use pve_catalog::Gate;
use serde_json::{Map, Value, json};

use crate::error::Fault;
use crate::policy::Limits;
use crate::ssh::Output;
use crate::tools::context::Performed;
use crate::tools::{Given, Hand, HandFn, Parameter, Reply, Run, Tool, result};

/// Their toolset.
const DOMAINS: &[&str] = &["ssh"];

/// A fixed command that only reads.
pub fn reads(
    name: &'static str,
    summary: &'static str,
    parameters: &'static [Parameter],
    output: fn() -> Value,
    run: HandFn,
) -> Tool {
    let run = Run::Hand(Hand { parameters, output, run });
    let (summary, domains) = (Cow::Borrowed(summary), Cow::Borrowed(DOMAINS));
    let (title, gate) = (None, Gate::SshRead);
    Tool { name, title, summary, gate, domains, reads: true, destructive: false, idempotent: true, run }
}

/// Something that changes, or may do anything. Whether it is destructive is said by whoever calls this.
pub fn changes(
    name: &'static str,
    summary: &'static str,
    destructive: bool,
    parameters: &'static [Parameter],
    output: fn() -> Value,
    run: HandFn,
) -> Tool {
    let run = Run::Hand(Hand { parameters, output, run });
    let (summary, domains) = (Cow::Borrowed(summary), Cow::Borrowed(DOMAINS));
    let (title, gate) = (None, Gate::SshWrite);
    Tool { name, title, summary, gate, domains, reads: false, destructive, idempotent: false, run }
}

/// The schema of a result: these members, and those that a dry run and a command's output have.
pub fn output(members: Value) -> Value {
    let mut properties = json!({
        "node": {"type": "string"}, "untrusted": {"type": "boolean"}, "exit_status": {}, "signal": {"type": "string"},
        "stdout": {"type": "string"}, "stderr": {"type": "string"}, "left_running": {"type": "boolean"},
        "dry_run": {"type": "boolean"}, "request": {"type": "object"}, "hint": {"type": "string"},
    });
    if let (Some(all), Value::Object(members)) = (properties.as_object_mut(), members) {
        all.extend(members);
    }
    let mut schema = result::schema(properties);
    // Output that was cut where it was made says `true`; an answer that was cut for its length says what was kept.
    schema["properties"]["truncated"] = json!({});
    schema.into()
}

/// A reply that begins with these facts.
pub fn reply(facts: Value, rest: Map<String, Value>) -> Reply {
    let mut told = facts.as_object().cloned().unwrap_or_default();
    told.extend(rest);
    Reply::new(told)
}

/// What would have been done.
pub fn dry(facts: Value, shown: Value) -> Reply {
    let rest = json!({"dry_run": true, "request": shown});
    reply(facts, rest.as_object().cloned().unwrap_or_default())
}

/// The output of a command as it is, behind these facts; or the command, when it was only to be shown.
pub fn told(facts: Value, performed: Performed<Output>) -> Reply {
    match performed {
        Performed::Done(output) => reply(facts, output.to_json()),
        Performed::Dry(shown) => dry(facts, shown),
    }
}

/// The bounds that a caller asked for.
pub fn limits(given: &Given) -> Limits {
    let seconds = given.integer("timeout_seconds").and_then(|seconds| u64::try_from(seconds).ok());
    Limits { time: seconds.map(Duration::from_secs), output: given.count("max_bytes"), whole: false }
}

/// The program that runs a caller's line in a shell, with variables and in a folder of the caller's.
///
/// # Errors
/// `bad_argument` for a variable that no shell knows, an empty line, or a folder that is not whole.
pub fn shell(given: &Given) -> Result<Vec<String>, Fault> {
    let line = given.text("command").unwrap_or_default();
    if line.trim().is_empty() {
        return Err(Fault::argument("command", "is empty"));
    }
    let mut argv = Vec::new();
    let env = given.object("env");
    if !env.is_empty() {
        argv.push("env".to_string());
        for (name, value) in &env {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') || !name.chars().all(plain) {
                return Err(Fault::argument("env", "a variable's name has letters, digits and _ only"));
            }
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_string);
            argv.push(format!("{name}={value}"));
        }
    }
    match given.text("cwd") {
        Some(cwd) if !cwd.starts_with('/') => return Err(Fault::argument("cwd", "takes a whole path, from / on")),
        Some(cwd) => {
            let script = r#"cd -- "$1" && exec sh -c "$2""#;
            argv.extend(["sh", "-c", script, "sh", cwd, line].map(str::to_string));
        }
        None => argv.extend(["sh", "-c", line].map(str::to_string)),
    }
    Ok(argv)
}

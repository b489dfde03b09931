//! Cluster formats: nodes, HA resources, replication jobs, task states, command batches.

use serde_json::Value;

use super::{Check, expect};
use crate::pattern::whole;

pub(super) const FORMATS: &[(&str, Check)] = &[
    ("pve-node", |v| {
        let fits = whole(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-]*[a-zA-Z0-9])?", v);
        expect(fits, "value does not look like a valid node name\n")
    }),
    ("pve-ha-node", |v| {
        let fits = whole(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-]*[a-zA-Z0-9])?(?::\d+)?", v);
        expect(fits, "value does not look like a valid ha node\n")
    }),
    ("pve-ha-resource-id", |v| expect(whole(r"[a-z]+:\S+", v), "value does not look like a valid ha resource id\n")),
    ("pve-ha-resource-or-vm-id", |v| {
        expect(whole(r"[a-z]+:\S+|\d+", v), "value does not look like a valid ha resource id\n")
    }),
    ("pve-replication-job-id", replication),
    ("pve-task-status-type", |v| expect(whole("(?^i:ok|error|warning|unknown)", v), format!("invalid status '{v}'\n"))),
    ("pve-command-batch", batch),
];

fn replication(value: &str) -> Result<(), String> {
    let guest = value.split_once('-').map(|(guest, _)| guest).unwrap_or_default();
    expect(whole(r"\d+-\d+", value), format!("invalid replication job id '{value}'\n"))?;
    let reserved = guest.parse::<u64>().is_ok_and(|guest| guest < 100);
    let message = format!("invalid replication job id '{value}' (guest IDs < 100 are reserved)\n");
    expect(!reserved, message)
}

/// A JSON array of commands: `path` and `method`, and `args` where there are any.
fn batch(value: &str) -> Result<(), String> {
    let commands: Value = serde_json::from_str(value)
        .map_err(|error| format!("commands param did not contain valid JSON: {error} at line 1\n"))?;
    let invalid = |at: &str, what: &str| {
        let intro = "commands is not a valid array of commands: 400 Parameter verification failed.";
        format!("{intro}\n{at}: {what}\n")
    };
    let commands = commands.as_array().ok_or_else(|| invalid("_root", "type check ('array') failed"))?;
    for (at, command) in commands.iter().enumerate() {
        let command = command.as_object().ok_or_else(|| invalid(&format!("[{at}]"), "type check ('object') failed"))?;
        for key in ["path", "method"] {
            let text = command.get(key).is_some_and(|value| value.is_string() || value.is_number());
            expect(text, invalid(&format!("[{at}].{key}"), "property is missing and it is not optional"))?;
        }
        let method = command.get("method").and_then(Value::as_str).unwrap_or_default();
        let fits = matches!(method, "GET" | "POST" | "PUT" | "DELETE");
        let message = format!("value '{method}' does not have a value in the enumeration 'GET, POST, PUT, DELETE'");
        expect(fits, invalid(&format!("[{at}].method"), &message))?;
        let args = command.get("args").is_none_or(|args| args.is_object() || args.is_null());
        expect(args, invalid(&format!("[{at}].args"), "type check ('object') failed"))?;
    }
    Ok(())
}

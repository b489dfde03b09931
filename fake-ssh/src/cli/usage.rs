//! How a command is used, in one line; and the list of all.

use pve_catalog::schema::{Kind, Schema};

use super::command::{Command, Program};

/// The type of an option in a usage line: `<string>`.
pub(crate) fn word(schema: &Schema) -> &'static str {
    match schema.kind {
        Kind::Integer => "<integer>",
        Kind::Number => "<number>",
        Kind::Boolean => "<boolean>",
        _ => "<string>",
    }
}

/// `qm start <vmid> [OPTIONS]`
pub(crate) fn line(program: &Program, command: &Command) -> String {
    let params = command.params();
    let find = |name: &str| params.iter().find(|(known, _)| known == name).map(|(_, schema)| schema);
    let mut parts = Vec::new();
    for arg in command.args {
        let optional = *arg == "extra-args" || find(arg).is_none_or(|schema| schema.optional);
        parts.push(if optional { format!("[<{arg}>]") } else { format!("<{arg}>") });
    }
    let free = |name: &str| !command.args.contains(&name) && !command.fixes(name) && name != "output-format";
    let others = || params.iter().filter(|(name, _)| free(name));
    for (name, schema) in others().filter(|(_, schema)| !schema.optional) {
        parts.push(format!("--{name} {}", word(schema)));
    }
    let mut text = format!("{} {} {}", program.name, command.words, parts.join(" "));
    if command.words.is_empty() {
        text = format!("{} {}", program.name, parts.join(" "));
    }
    if others().any(|(_, schema)| schema.optional) {
        text.push_str(" [OPTIONS]");
    }
    if command.formats() {
        text.push_str(" [FORMAT_OPTIONS]");
    }
    text
}

/// All commands, for whoever asked for none of them.
pub(crate) fn all(program: &Program) -> String {
    let mut text = format!("USAGE: {} <COMMAND> [ARGS] [OPTIONS]\n", program.name);
    let mut group = 0;
    for command in program.commands.iter().filter(|command| command.group > 0) {
        if command.group != group {
            text.push('\n');
            group = command.group;
        }
        text.push_str(&format!("       {}\n", line(program, command)));
    }
    text.push_str(&format!("\n       {} help [<extra-args>] [OPTIONS]\n", program.name));
    text
}

/// A command at length: its parameters with their types. The official texts are not there, our own line is.
pub(crate) fn long(program: &Program, command: &Command) -> String {
    let mut text = format!("USAGE: {}\n\n", line(program, command));
    if let Some(summary) = command.summary() {
        text.push_str(&format!("  {summary}\n\n"));
    }
    for (name, schema) in command.params().iter().filter(|(name, _)| !command.fixes(name)) {
        let shown = if command.args.contains(&name.as_str()) { format!("<{name}>") } else { format!("--{name}") };
        text.push_str(&format!("  {shown:<10} {}\n\n", word(schema)));
    }
    text
}

//! A container's own state, in files beneath its root: what is installed, what runs, who is known.

use std::io::Write as _;

/// Where a container's state lies.
const FOLDER: &str = "/var/lib/fake";

/// The lines of a state file, each a name and what belongs to it.
pub(super) fn read(name: &str) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(format!("{FOLDER}/{name}")).unwrap_or_default();
    let pair = |line: &str| match line.split_once(' ') {
        Some((name, rest)) => (name.to_string(), rest.to_string()),
        None => (line.to_string(), String::new()),
    };
    text.lines().filter(|line| !line.is_empty()).map(pair).collect()
}

/// Replaces a state file; whether it could be written.
pub(super) fn write(name: &str, lines: &[(String, String)]) -> bool {
    let text: String =
        lines.iter().map(|(name, rest)| format!("{name} {rest}").trim_end().to_string() + "\n").collect();
    std::fs::write(format!("{FOLDER}/{name}"), text).is_ok()
}

/// Whether a state file names something.
pub(super) fn has(file: &str, name: &str) -> bool {
    read(file).iter().any(|(known, _)| known == name)
}

/// Adds a name, or changes what belongs to it.
pub(super) fn set(file: &str, name: &str, rest: &str) {
    let mut lines = read(file);
    match lines.iter_mut().find(|(known, _)| known == name) {
        Some(line) => line.1 = rest.into(),
        None => lines.push((name.into(), rest.into())),
    }
    lines.sort();
    write(file, &lines);
}

/// Takes a name out; whether it was there.
pub(super) fn unset(file: &str, name: &str) -> bool {
    let mut lines = read(file);
    let before = lines.len();
    lines.retain(|(known, _)| known != name);
    write(file, &lines);
    lines.len() != before
}

/// A line of the container's log.
pub(super) fn log(unit: &str, text: &str) {
    let opened = std::fs::OpenOptions::new().create(true).append(true).open(format!("{FOLDER}/log"));
    if let Ok(mut file) = opened {
        let now = jiff::Timestamp::now().as_second();
        let _best_effort = writeln!(file, "{now} {unit} {text}");
    }
}

/// The distribution's word for itself.
pub(super) fn id() -> String {
    let text = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("ID="));
    line.unwrap_or("debian").trim_matches('"').to_string()
}

/// Prints to standard output.
pub(super) fn out(text: &str) {
    let _gone = std::io::stdout().write_all(text.as_bytes());
}

/// Prints to standard error.
pub(super) fn err(text: &str) {
    let _gone = std::io::stderr().write_all(text.as_bytes());
}

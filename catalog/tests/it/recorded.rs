//! Answers recorded from Proxmox's own code: the whole through `PVE_FACTS`, a sample from `tests/data`.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

/// One JSON value per line.
pub fn sample(text: &str) -> Vec<Value> {
    let lines = text.lines().filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

/// The lines of a recorded file, packed or not; `None` without `PVE_FACTS`.
pub fn lines(name: &str) -> Option<Vec<Value>> {
    Some(sample(&text(name)?))
}

/// A recorded file that is one JSON value; `None` without `PVE_FACTS`.
pub fn json(name: &str) -> Option<Value> {
    Some(serde_json::from_str(&text(name)?).expect("JSON"))
}

fn text(name: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "where the recorded data lies")]
    let facts = std::env::var_os("PVE_FACTS")?;
    let file = PathBuf::from(facts).join(name);
    if file.extension().is_none_or(|extension| extension != "gz") {
        return Some(std::fs::read_to_string(&file).expect("a readable file below PVE_FACTS"));
    }
    let unpacked = Command::new("gzip").arg("-dc").arg(&file).output().expect("gzip is installed");
    assert!(unpacked.status.success(), "{} cannot be unpacked", file.display());
    Some(String::from_utf8(unpacked.stdout).expect("UTF-8"))
}

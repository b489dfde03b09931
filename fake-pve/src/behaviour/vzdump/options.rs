//! What a backup is told: which options go together, which guests are meant, who may use what.

use std::collections::BTreeMap;

use pve_catalog::format::split_list;
use serde_json::{Map, Value, json};

use crate::behaviour::params::scalar;
use crate::behaviour::{Call, Failure};
use crate::world::World;
use crate::world::retention::Retention;

/// Options of a backup that the worker looks at.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// The command line that would do the same, as the log shows it.
    pub command: String,
    /// `None` is `dumpdir`.
    pub storage: Option<String>,
    pub dumpdir: Option<String>,
    /// `snapshot`, `suspend`, `stop`.
    pub mode: String,
    /// `zst`, `gz`, `lzo`, or nothing.
    pub compression: Option<&'static str>,
    pub bwlimit: u64,
    pub ionice: u64,
    pub remove: bool,
    /// `None` is the storage's own.
    pub retention: Option<Retention>,
    pub protected: bool,
    pub notes: Option<String>,
    pub all: bool,
}

impl Options {
    /// Reads verified options.
    pub fn of(given: &Map<String, Value>) -> Options {
        let text = |key: &str| given.get(key).and_then(scalar);
        let number = |key: &str| text(key).and_then(|value| value.parse().ok());
        let dumpdir = text("dumpdir").filter(|_| !given.contains_key("storage"));
        let storage = text("storage").or_else(|| dumpdir.is_none().then(|| "local".into()));
        Options {
            command: command(given),
            storage,
            dumpdir,
            mode: text("mode").unwrap_or_else(|| "snapshot".into()),
            compression: match text("compress").unwrap_or_default().as_str() {
                "1" | "lzo" => Some("lzo"),
                "gzip" => Some("gz"),
                "zstd" => Some("zst"),
                _ => None,
            },
            bwlimit: number("bwlimit").unwrap_or(0),
            ionice: number("ionice").unwrap_or(7),
            remove: text("remove").as_deref() != Some("0"),
            retention: text("prune-backups").map(|text| Retention::parse(&text)),
            protected: text("protected").as_deref() == Some("1"),
            notes: text("notes-template").filter(|template| !template.is_empty()),
            all: text("all").as_deref() == Some("1"),
        }
    }
}

fn command(given: &Map<String, Value>) -> String {
    const NOT_SHOWN: [&str; 6] = ["id", "vmid", "starttime", "dow", "stdout", "enabled"];
    let mut command = String::from("vzdump");
    if let Some(vmids) = given.get("vmid").and_then(scalar) {
        for vmid in split_list(&vmids) {
            command.push_str(&format!(" {vmid}"));
        }
    }
    for (key, value) in given.iter().filter(|(key, _)| !NOT_SHOWN.contains(&key.as_str())) {
        let values = match value {
            Value::Array(items) => items.iter().filter_map(scalar).collect(),
            other => scalar(other).into_iter().collect::<Vec<String>>(),
        };
        for value in values.iter().filter(|value| !value.is_empty()) {
            command.push_str(&format!(" --{key} {}", quoted(value)));
        }
    }
    command
}

fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_!%+,-./:=@^".contains(c);
    if text.chars().all(plain) { text.to_string() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// Refuses options that only `root@pam` may use.
///
/// # Errors
/// 400 on the first of them.
pub(crate) fn check_root_only(call: &Call<'_>, keys: &[&str]) -> Result<(), Failure> {
    match keys.iter().find(|key| call.params.has(key)) {
        Some(key) if !call.is_root() => Err(Failure::param(key, "Only root may set this option.")),
        _ => Ok(()),
    }
}

/// Privileges for limits on the node, and for the storage of fleecing.
///
/// # Errors
/// 403.
pub(crate) fn check_rights(call: &Call<'_>, given: &Map<String, Value>) -> Result<(), Failure> {
    if ["bwlimit", "ionice", "performance"].iter().any(|key| given.contains_key(*key)) {
        call.require("/", &["Sys.Modify"])?;
    }
    let fleecing = given.get("fleecing").and_then(scalar).unwrap_or_default();
    let storage = fleecing.split(',').find_map(|part| part.trim().strip_prefix("storage=").map(str::to_string));
    match storage {
        Some(storage) => call.require(&format!("/storage/{storage}"), &["Datastore.AllocateSpace"]),
        None => Ok(()),
    }
}

/// Options that go together; with those that follow from others filled in.
///
/// # Errors
/// 400 on the option that does not fit.
pub(crate) fn verified(given: &Map<String, Value>, complete: bool) -> Result<Map<String, Value>, Failure> {
    let on = |key: &str| given.get(key).and_then(scalar).is_some_and(|value| !value.is_empty() && value != "0");
    for key in ["all", "exclude", "pool"] {
        if on(key) && on("vmid") {
            return Err(Failure::param(key, "option conflicts with option 'vmid'"));
        }
    }
    if let Some(template) = given.get("notes-template").and_then(scalar) {
        check_notes(&template)?;
    }
    let mut verified = given.clone();
    if given.contains_key("exclude") && !on("pool") {
        verified.insert("all".into(), json!(1));
    }
    let names_some = ["all", "stop", "pool", "vmid"]
        .iter()
        .any(|key| verified.get(*key).and_then(scalar).is_some_and(|value| !value.is_empty() && value != "0"));
    if complete && !names_some {
        return Err(Failure::param("vmid", "property is missing"));
    }
    Ok(verified)
}

const VARIABLES: [&str; 4] = ["cluster", "guestname", "node", "vmid"];

/// A template for notes knows four variables and two escapes.
fn check_notes(template: &str) -> Result<(), Failure> {
    let mut unknown = Vec::new();
    let bytes = template.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'\\' && at + 1 < bytes.len() {
            let escaped = template[at + 1..].chars().next().unwrap_or('\\');
            if !matches!(escaped, 'n' | '\\') {
                unknown.push(format!("escape sequence '\\{escaped}' at char {at}"));
            }
            at += 1 + escaped.len_utf8();
        } else {
            at += 1;
        }
    }
    for (start, _) in template.match_indices("{{") {
        let name = template[start + 2..].split("}}").next().unwrap_or_default();
        let plain = !name.is_empty() && !name.contains(['{', '}', ' ']) && template[start..].contains("}}");
        if plain && !VARIABLES.contains(&name) {
            unknown.push(format!("variable '{name}' at char {start}"));
        }
    }
    if unknown.is_empty() {
        Ok(())
    } else {
        Err(Failure::param("notes-template", format!("found unknown: {}", unknown.join(", "))))
    }
}

/// Guests that a job includes, by node; those that do not exist are under the empty name.
///
/// # Errors
/// The pool does not exist.
pub(crate) fn included(world: &World, given: &Map<String, Value>) -> Result<BTreeMap<String, Vec<u32>>, String> {
    let text = |key: &str| given.get(key).and_then(scalar).filter(|value| !value.is_empty() && value != "0");
    let numbers = |list: &str| split_list(list).iter().filter_map(|vmid| vmid.parse::<u32>().ok()).collect::<Vec<_>>();
    let mut vmids: Vec<u32> = if let Some(pool) = text("pool") {
        let found = world.access.config.pools.get(&pool).ok_or_else(|| format!("pool '{pool}' does not exist"))?;
        found.vms.iter().copied().collect()
    } else if let Some(list) = text("vmid") {
        numbers(&list)
    } else if text("all").is_some() {
        let left_out = numbers(&text("exclude").unwrap_or_default());
        world.guests.keys().copied().filter(|vmid| !left_out.contains(vmid)).collect()
    } else {
        Vec::new()
    };
    vmids.sort_unstable();
    vmids.dedup();
    let only = text("node");
    let mut by_node: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for vmid in vmids {
        match world.guests.get(&vmid) {
            Some(guest) if only.as_ref().is_some_and(|only| *only != guest.node) => {}
            Some(guest) => by_node.entry(guest.node.clone()).or_default().push(vmid),
            None => by_node.entry(String::new()).or_default().push(vmid),
        }
    }
    Ok(by_node)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_know_four_variables() {
        assert!(check_notes("{{guestname}} \\n on {{node}}").is_ok());
        let refused = check_notes("{{x}} \\t").expect_err("unknown");
        assert_eq!(
            refused.errors["notes-template"],
            "found unknown: escape sequence '\\t' at char 6, variable 'x' at char 0"
        );
    }

    #[test]
    fn the_command_is_written_as_for_a_shell() {
        let given = json!({"vmid": "100,101", "mode": "stop", "notes-template": "{{node}}", "node": "pve1"});
        let Value::Object(given) = given else { return };
        assert_eq!(command(&given), "vzdump 100 101 --mode stop --notes-template '{{node}}' --node pve1");
    }
}

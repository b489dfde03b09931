//! Tags: who may set which, and how they are stored.

use serde_json::Value;

use super::stage::Stage;
use crate::behaviour::Failure;
use crate::behaviour::params::split_list;
use crate::world::option;

/// Tags as they are stored: lower case, each once, sorted, unless the datacenter wants their case or order kept.
pub(crate) fn stored(stage: &dyn Stage, text: &str) -> String {
    let style = datacenter(stage, "tag-style").unwrap_or_default();
    let has = |part: &str| style.split(',').any(|item| item.trim() == part);
    let mut tags: Vec<String> = Vec::new();
    for tag in split(text) {
        let tag = if has("case-sensitive=1") { tag } else { tag.to_lowercase() };
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    if !has("ordering=config") {
        tags.sort();
    }
    tags.join(";")
}

/// Refuses tags that the caller may not set or take off.
///
/// # Errors
/// 403: the right to change options, or `/, Sys.Modify for modifying tag '…'`.
pub(crate) fn check(stage: &dyn Stage, vmid: u32, before: &str, after: &str) -> Result<(), Failure> {
    if stage.by_root() {
        return Ok(());
    }
    stage.need(&format!("/vms/{vmid}"), &["VM.Config.Options"])?;
    if stage.holds("/", &["Sys.Modify"]) {
        return Ok(());
    }
    let registered = split(&datacenter(stage, "registered-tags").unwrap_or_default());
    let access = datacenter(stage, "user-tag-access").unwrap_or_default();
    let part = |key: &str| access.split(',').find_map(|part| part.trim().strip_prefix(key).map(str::to_string));
    let mode = part("user-allow=").unwrap_or_else(|| "free".into());
    let listed = split(&part("user-allow-list=").unwrap_or_default());
    let existing =
        || stage.world().guests.values().filter_map(|guest| guest.option("tags")).flat_map(|tags| split(&tags));
    let (before, after) = (split(before), split(after));
    let changed =
        before.iter().filter(|tag| !after.contains(tag)).chain(after.iter().filter(|tag| !before.contains(tag)));
    for tag in changed {
        let allowed = !registered.contains(tag)
            && match mode.as_str() {
                "free" => true,
                "existing" => listed.contains(tag) || existing().any(|other| other == *tag),
                "list" => listed.contains(tag),
                _ => false,
            };
        if !allowed {
            return Err(Failure::denied(&format!("/, Sys.Modify for modifying tag '{tag}'")));
        }
    }
    Ok(())
}

fn split(text: &str) -> Vec<String> {
    split_list(text)
}

fn datacenter(stage: &dyn Stage, key: &str) -> Option<String> {
    let value = stage.world().documents.options.get("/cluster/options")?.get(key)?;
    match value {
        Value::Object(parts) => {
            let parts = parts.iter().map(|(name, value)| format!("{name}={}", option::text(value)));
            Some(parts.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => Some(items.iter().map(option::text).collect::<Vec<_>>().join(";")),
        value => Some(option::text(value)),
    }
}

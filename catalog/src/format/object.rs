//! Formats that are property strings by name (`pve-qm-ide`, `bwlimit` …): their keys, and the rules across keys.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::expect;
use crate::schema::{Properties, Schema};

static OBJECTS: LazyLock<BTreeMap<String, Properties>> = LazyLock::new(|| {
    include_str!("../../data/formats.jsonl").lines().map(read).collect::<Option<_>>().expect("a test reads every line")
});

/// `{"format":"pve-qm-boot","keys":{…}}`, keys in the dialect of the facts.
fn read(line: &str) -> Option<(String, Properties)> {
    let line: Value = serde_json::from_str(line).ok()?;
    let keys = line.get("keys")?.as_object()?;
    let keys = keys.iter().map(|(key, schema)| (key.clone(), Schema::from_json(schema))).collect();
    Some((line.get("format")?.as_str()?.to_string(), Properties(keys)))
}

/// The keys of a property-string format by its name.
pub(crate) fn keys(format: &str) -> Option<&'static Properties> {
    OBJECTS.get(format)
}

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    OBJECTS.keys().map(String::as_str)
}

/// The rules that Proxmox attaches to four of them, over parsed values.
///
/// # Errors
/// The message after `invalid format - `.
pub(super) fn validate(format: &str, values: &Map<String, Value>) -> Result<(), String> {
    match format {
        "prune-backups" => prune(values),
        "backup-fleecing" => expect(
            !is_true(values, "enabled") || is_true(values, "storage"),
            "'storage' parameter is required when 'enabled' is set\n",
        ),
        "pve-cpu-conf" => expect(is_true(values, "cputype"), "CPU is missing cputype\n"),
        "pve-vm-cpu-conf" => vm_cpu(values),
        _ => Ok(()),
    }
}

fn text<'v>(values: &'v Map<String, Value>, key: &str) -> Option<&'v str> {
    values.get(key)?.as_str()
}

/// Perl's truth: present, and neither empty nor `0`.
fn is_true(values: &Map<String, Value>, key: &str) -> bool {
    text(values, key).is_some_and(|text| !text.is_empty() && text != "0")
}

/// Counters that are all zero mean "keep all", which goes with no counter.
fn prune(values: &Map<String, Value>) -> Result<(), String> {
    let counts = values.iter().any(|(key, value)| {
        key != "keep-all" && value.as_str().and_then(|text| text.trim().parse::<f64>().ok()).is_some_and(|n| n != 0.0)
    });
    expect(!(is_true(values, "keep-all") && counts), "keep-all cannot be set together with other options.\n")
}

/// Flags that a VM's own configuration may set; the others need a custom model.
const VM_FLAGS: [&str; 13] = [
    "nested-virt",
    "md-clear",
    "pcid",
    "spec-ctrl",
    "ssbd",
    "ibpb",
    "virt-ssbd",
    "amd-ssbd",
    "amd-no-ssb",
    "pdpe1gb",
    "hv-tlbflush",
    "hv-evmcs",
    "aes",
];

/// Models that are levels of QEMU's x86-64 baseline, which a custom model cannot report.
const LEVELS: [&str; 4] = ["x86-64-v2", "x86-64-v2-AES", "x86-64-v3", "x86-64-v4"];

/// Whether a custom model exists is not known here.
fn vm_cpu(values: &Map<String, Value>) -> Result<(), String> {
    let Some(model) = text(values, "cputype").filter(|model| !model.is_empty() && *model != "0") else {
        return Err("CPU is missing cputype\n".into());
    };
    if !model.starts_with("custom-") {
        let built_in = keys("pve-vm-cpu-conf").and_then(|keys| keys.get("reported-model"));
        let listed = built_in.is_some_and(|schema| schema.enumeration.iter().any(|name| name == model));
        let defined = listed || LEVELS.contains(&model);
        let message = format!("Built-in cputype '{model}' is not defined (missing 'custom-' prefix?)\n");
        expect(defined, message)?;
    }
    let flags = text(values, "flags").filter(|flags| !flags.is_empty() && *flags != "0").unwrap_or_default();
    let flags = || flags.split(';').filter(|flag| !flag.is_empty());
    let supported = flags().all(|flag| VM_FLAGS.contains(&flag.trim_start_matches(['+', '-'])));
    let allowed = VM_FLAGS.join(", ");
    expect(supported, format!("VM-specific CPU flags must be a subset of: {allowed}\n"))?;
    let message = "Property 'reported-model' not allowed in VM-specific CPU config.\n";
    expect(!values.contains_key("reported-model"), message)
}

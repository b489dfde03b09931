//! Registered formats against the recorded verdicts and texts.

use std::collections::{BTreeMap, BTreeSet};

use pve_catalog::format;
use serde_json::Value;

use crate::{oracle, recorded};

fn compare(vectors: &[Value], whole: bool) {
    let mut wrong = BTreeMap::new();
    for vector in vectors {
        let text = |key: &str| vector[key].as_str().expect("a recorded text");
        let (name, value) = (text("format"), text("value"));
        // The path that the recording used.
        let answer = format::check_at(name, value, "p");
        let expected = vector["error"].as_str().map(|text| text.strip_prefix("invalid format - ").unwrap_or(text));
        let same = match (&answer, expected) {
            (Ok(()), None) => true,
            (Err(_), Some(_)) if name.starts_with("pve-command-batch") => true,
            (Err(answer), Some(expected)) => oracle::comparable(answer) == oracle::comparable(expected),
            _ => false,
        };
        if !same {
            wrong.insert(format!("{name} {}", Value::from(value)), format!("{answer:?}, recorded {expected:?}"));
        }
    }
    oracle::judge("format-vectors", vectors.len(), &wrong, whole);
}

#[test]
fn sample_of_recorded_formats() {
    compare(&recorded::sample(include_str!("../data/format-vectors.jsonl")), false);
}

#[test]
fn all_recorded_formats() {
    if let Some(vectors) = recorded::lines("oracle/format-vectors.jsonl.gz") {
        compare(&vectors, true);
    }
}

/// Every format named anywhere in the facts, also inside property strings and results.
#[test]
fn every_format_of_the_facts_is_known() {
    let mut named = BTreeSet::new();
    for line in include_str!("../../data/facts.jsonl").lines().chain(include_str!("../../data/formats.jsonl").lines()) {
        collect(&serde_json::from_str(line).unwrap(), &mut named);
    }
    assert!(named.len() > 90, "only {} formats found", named.len());
    let unknown: Vec<&String> = named.iter().filter(|name| !format::known(name)).collect();
    assert!(unknown.is_empty(), "no function for {unknown:?}");
}

fn collect(value: &Value, named: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            // A property may itself be called `format`: then its value is a schema, not a name.
            if let Some(name) = object.get("format").and_then(Value::as_str) {
                named.insert(name.to_string());
            }
            object.values().for_each(|value| collect(value, named));
        }
        Value::Array(list) => list.iter().for_each(|value| collect(value, named)),
        _ => {}
    }
}

#[test]
fn names_are_known_and_sorted() {
    let names = format::names();
    assert!(names.is_sorted());
    assert!(names.len() >= 115, "{}", names.len());
    assert!(names.iter().all(|name| format::known(name)));
    assert!(format::known("pve-vmid-list") && format::known("email-opt"));
    assert!(!format::known("pve-qm-ide-list") && !format::known("pve-vmid-alist") && !format::known(""));
}

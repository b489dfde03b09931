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

/// Registered by a newer Proxmox than the recording's, or only inside of others.
const NOT_RECORDED: [&str; 6] = [
    "FullRangeCIDR",
    "pve-fw-comment-spec",
    "pve-sdn-fabric-wireguard-interface",
    "pve-sdn-prefix-list-id",
    "pve-sdn-route-map-id",
    "pve-sdn-wireguard-iface-name",
];

#[test]
fn the_sample_has_every_format() {
    let sample = recorded::sample(include_str!("../data/format-vectors.jsonl"));
    let sampled: BTreeSet<&str> = sample.iter().filter_map(|vector| vector["format"].as_str()).collect();
    let absent = format::names().into_iter().filter(|name| !sampled.contains(name) && !NOT_RECORDED.contains(name));
    assert_eq!(absent.collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn formats_without_a_recording() {
    let fits = |name: &str, value: &str| format::check(name, value).is_ok();
    assert!(fits("FullRangeCIDR", "0.0.0.0/0") && fits("FullRangeCIDR", "::/0") && !fits("CIDR", "0.0.0.0/0"));
    assert!(!fits("FullRangeCIDR", "10.0.0.0/33") && !fits("FullRangeCIDR", "10.0.0.0"));
    assert!(fits("pve-fw-comment-spec", "any text") && !fits("pve-fw-comment-spec", "two\nlines"));
    assert!(fits("pve-sdn-prefix-list-id", "uplinks") && !fits("pve-sdn-prefix-list-id", "only_default"));
    assert!(fits("pve-sdn-route-map-id", "rm-1") && !fits("pve-sdn-route-map-id", "pve_x"));
    assert!(fits("pve-sdn-wireguard-iface-name", "wg0") && !fits("pve-sdn-wireguard-iface-name", "wireguard0"));
    assert!(fits("pve-sdn-fabric-wireguard-interface", "name=wg0,listen_port=51820,ip=10.0.0.1/24"));
}

#[test]
fn what_the_recording_does_not_ask() {
    let fits = |name: &str, value: &str| format::check(name, value).is_ok();
    assert!(fits("timezone", "UTC") && fits("timezone", "Europe/Vienna") && !fits("timezone", "Europe/Nowhere"));
    assert!(fits("pve-vm-cpu-conf", "x86-64-v2-AES") && fits("pve-vm-cpu-conf", "custom-mine,flags=+aes"));
    assert!(fits("pve-fw-icmp-type-spec", "echo-request") && fits("pve-fw-dport-spec", "echo-request"));
    assert!(!fits("pve-fw-sport-spec", "echo-request"));
    assert!(fits("pve-dir-override-list", "images=custom/images,iso=templates/iso"));
    assert!(!fits("pve-dir-override", "iso=../x") && !fits("pve-dir-override", "iso=a/../b"));
    assert!(fits("pve-qm-bootdev-list", "scsi0;net0;ide2") && !fits("pve-qm-bootdev", "scsi31"));
    assert!(fits("lxc-ip-with-ll-iface", "fe80::1%eth0") && !fits("lxc-ip-with-ll-iface", "10.0.0.1%eth0"));
    let pem = "-----BEGIN CERTIFICATE-----\nMIIB\nAAA=\n-----END CERTIFICATE-----\n";
    let chain = format!("{pem}{pem}");
    assert!(fits("pem-certificate", pem) && !fits("pem-certificate", &chain) && fits("pem-certificate-chain", &chain));
    assert!(fits("pem-string", &pem.replace("CERTIFICATE", "PRIVATE KEY")));
    for event in ["mon..fri", "sat,sun 2:30", "*-*-1 0:0", "2..20/4:15 UTC", "22:00:30", "*/2:0", "monday"] {
        assert!(fits("pve-calendar-event", event), "{event}");
    }
    let said = format::check("pve-calendar-event", " ").unwrap_err();
    assert_eq!(said, "invalid calendar event ' ' - unable to parse calendar event - event is empty\n\n");
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

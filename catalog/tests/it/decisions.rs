//! Every method has a decision, every rule a method, every name is unique and short.

use std::collections::{BTreeMap, HashSet};

use pve_catalog::{Catalog, Gate, Verb};

/// The longest tool name: with a client's prefix it stays under 64 characters.
const LONGEST_NAME: usize = 48;

#[test]
fn the_api_is_whole() {
    let catalog = Catalog::embedded();
    assert_eq!(catalog.methods().len(), 680);
    assert_eq!(catalog.templates().count(), 449);
}

#[test]
fn gates_are_counted() {
    let mut counts = BTreeMap::new();
    let mut stricter = 0;
    for method in Catalog::embedded().methods() {
        *counts.entry(method.gate).or_insert(0) += 1;
        stricter += usize::from(method.stricter.is_some());
    }
    let count = |gate| counts.get(&gate).copied().unwrap_or(0);
    assert_eq!(stricter, 5, "methods that are stricter on purpose");
    assert_eq!(count(Gate::Read), 314);
    assert_eq!(count(Gate::Sensitive), 21);
    assert_eq!(count(Gate::Write), 108 - stricter);
    assert_eq!(count(Gate::Elevated), 209 + stricter);
    assert_eq!(count(Gate::GuestExec), 7);
    assert_eq!(count(Gate::Console), 10);
    assert_eq!(count(Gate::Blocked), 11);
}

#[test]
fn no_rule_is_stale() {
    let methods: Vec<(Verb, &str)> = Catalog::embedded().methods().iter().map(|m| (m.verb, m.path)).collect();
    assert_eq!(Catalog::rules().stale(&methods), Vec::<String>::new());
}

#[test]
fn names_are_unique_short_and_free() {
    let reserved: HashSet<&str> = Catalog::rules().reserved.values().flatten().map(String::as_str).collect();
    assert_eq!(reserved.len(), 22 + 13 + 53 + 5 + 1, "a name is reserved twice");
    let mut seen: BTreeMap<&str, String> = BTreeMap::new();
    let mut problems = Vec::new();
    for method in Catalog::embedded().methods() {
        let Some(tool) = method.tool else { continue };
        if tool.len() > LONGEST_NAME || !tool.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        {
            problems.push(format!("{tool} is too long or has an odd character"));
        }
        if reserved.contains(tool) {
            problems.push(format!("{tool} is reserved ({})", method.key()));
        }
        if let Some(other) = seen.insert(tool, method.key()) {
            problems.push(format!("{tool} is both {other} and {}", method.key()));
        }
    }
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(seen.len(), 668);
}

#[test]
fn names_snapshot() {
    let lines = Catalog::embedded().methods().iter().map(|method| {
        let danger = if method.destructive { " destructive" } else { "" };
        format!("{:<48} {:<10} {}{danger}\n", method.tool.unwrap_or("-"), method.gate.word(), method.key())
    });
    insta::assert_snapshot!(lines.collect::<String>());
}

#[test]
fn gates_and_domains_equal_the_reference() {
    #[expect(clippy::disallowed_methods, reason = "where the recorded data lies")]
    let Some(facts) = std::env::var_os("PVE_FACTS") else { return };
    let file = std::path::Path::new(&facts).join("domains-and-gates.tsv");
    let reference = std::fs::read_to_string(&file).expect("the reference of PVE_FACTS is readable");
    let mut wrong = Vec::new();
    for line in reference.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [verb, path, domain, gate] = cells[..] else { panic!("four cells expected: {line}") };
        let method = Catalog::embedded().get(verb.parse().expect("a verb"), path);
        let Some(method) = method else {
            wrong.push(format!("{verb} {path} is missing"));
            continue;
        };
        let gate_fits = method.stricter.is_some() || method.gate.word() == gate;
        if !gate_fits || method.domains[0] != domain {
            wrong.push(format!("{verb} {path}: {} {} instead of {gate} {domain}", method.gate, method.domains[0]));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

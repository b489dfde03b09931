//! House rules that a reader relies on: what may depend on what, how files begin, how long they grow.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Longest source file, tests apart.
const MOST_LINES: usize = 600;
/// Files that are data although they are Rust: one line per entry.
const DATA: [&str; 1] = ["fake-pve/src/behaviour/table.rs"];
/// File names that hide what is inside.
const VAGUE: [&str; 9] = ["util", "utils", "helper", "helpers", "common", "misc", "extra", "manager", "v2"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders: Vec<PathBuf> =
        ["src", "catalog", "fake-pve", "fake-ssh", "conformance", "tests"].map(|name| root().join(name)).into();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of the tree") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.extension().is_some_and(|ext| ext == "rs") => files.push(path),
                false => {}
            }
        }
    }
    assert!(files.len() > 20, "the walk found the tree");
    files
}

#[test]
fn every_file_says_what_it_holds_and_stays_short() {
    let mut problems = Vec::new();
    for file in rust_files() {
        let shown = file.strip_prefix(root()).unwrap_or(&file).display().to_string();
        let text = std::fs::read_to_string(&file).expect("a source file");
        if !text.starts_with("//! ") {
            problems.push(format!("{shown}: the first line does not say what the file holds"));
        }
        let is_test = file.components().any(|part| part.as_os_str() == "tests");
        if text.lines().count() > MOST_LINES && !is_test && !DATA.contains(&shown.as_str()) {
            problems.push(format!("{shown}: more than {MOST_LINES} lines"));
        }
        if file.file_stem().is_some_and(|stem| VAGUE.iter().any(|vague| stem == *vague)) {
            problems.push(format!("{shown}: the name does not say what is inside"));
        }
        let forbidden = [concat!("#[", "ignore"), concat!("#![", "allow("), concat!("#[", "allow(")];
        for word in forbidden.iter().filter(|word| text.contains(**word)) {
            problems.push(format!("{shown}: {word}"));
        }
    }
    assert_eq!(problems, Vec::<String>::new());
}

/// Which packages of the workspace each may use (not counting development dependencies).
const MAY_USE: [(&str, &[&str]); 5] = [
    ("pve-catalog", &[]),
    ("fake-pve", &["pve-catalog"]),
    ("fake-ssh", &["pve-catalog", "fake-pve"]),
    ("pvemcp", &["pve-catalog", "fake-pve", "fake-ssh"]),
    ("conformance", &["pve-catalog", "fake-pve", "fake-ssh", "pvemcp"]),
];

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline", "--locked"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON")
}

#[test]
fn dependencies_go_one_way() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("packages");
    assert_eq!(packages.len(), MAY_USE.len());
    for package in packages {
        let name = package["name"].as_str().expect("a name");
        let (_, may_use) = MAY_USE.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("{name} is new"));
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let used = dependency["name"].as_str().expect("a name");
            let ours = MAY_USE.iter().any(|(known, _)| *known == used);
            let normal = dependency["kind"].is_null();
            assert!(!ours || !normal || may_use.contains(&used), "{name} may not use {used}");
            let is_fake = used.starts_with("fake-");
            assert!(
                name != "pvemcp" || !normal || !is_fake || dependency["optional"] == true,
                "{used} must be optional"
            );
        }
    }
}

#[test]
fn a_fake_never_knows_the_server() {
    for file in rust_files() {
        let in_fake = ["catalog", "fake-pve", "fake-ssh"].iter().any(|package| file.starts_with(root().join(package)));
        let text = std::fs::read_to_string(&file).expect("a source file");
        assert!(!in_fake || !text.contains("pvemcp::"), "{} uses the server", file.display());
    }
}

#[test]
fn ring_is_the_only_crypto_provider() {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).expect("the lock file is committed");
    for banned in ["aws-lc-rs", "aws-lc-sys", "openssl", "openssl-sys", "native-tls"] {
        assert!(!lock.contains(&format!("name = \"{banned}\"")), "{banned} is in the graph");
    }
}

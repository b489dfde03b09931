//! Quoting, by execution: whatever the arguments hold, real shells hand them on unchanged and run nothing else.

use std::process::{Command, Stdio};

use proptest::prelude::*;
use pvemcp::ssh::quote;

use super::programs::{find, have};

/// Prints its arguments, each with a NUL behind it.
const PRINT: [&str; 4] = ["sh", "-c", "for each do printf '%s\\0' \"$each\"; done", "sh"];

/// A shell: the program and what comes before `-c`.
type Shell = (&'static str, &'static [&'static str]);
const SHELLS: [Shell; 3] = [("dash", &[]), ("bash", &[]), ("busybox", &["sh"])];

/// Runs a line as an SSH server does, and gives what it printed.
fn run((program, before): Shell, line: &str) -> Vec<u8> {
    let mut command = Command::new(find(program).expect("looked for"));
    let output = command.args(before).args(["-c", line]).stdin(Stdio::null()).output().expect("it starts");
    assert!(output.stderr.is_empty(), "{program}: {line:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn printed(arguments: &[String]) -> Vec<u8> {
    arguments.iter().flat_map(|argument| argument.bytes().chain([0])).collect()
}

/// Everything that means something to some shell, and letters of several alphabets.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[ '\"\\\\$`!*?\\[\\]{}()<>|&;#~=%^\n\r\t]",
        2 => "\\PC{1,3}",
        2 => "[a-z]{1,4}",
        1 => Just("$(touch /tmp/pvemcp-injected)".to_string()),
        1 => Just("`id`".to_string()),
        1 => Just("'; id; '".to_string()),
        1 => Just("${IFS}".to_string()),
        1 => Just("-n".to_string()),
        1 => Just("--".to_string()),
        1 => Just("\u{1b}[31m\u{7}\u{1}".to_string()),
        1 => Just("\u{202e}é漢😀".to_string()),
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arguments_arrive_unchanged(arguments in prop::collection::vec(hostile(), 0..5)) {
        if !have(&["dash", "bash", "busybox"]) {
            return Ok(());
        }
        let argv: Vec<String> = PRINT.iter().map(|word| word.to_string()).chain(arguments.clone()).collect();
        let line = quote::line(&argv).expect("it can be sent");
        for shell in SHELLS {
            prop_assert_eq!(run(shell, &line), printed(&arguments), "{:?}: {:?}", shell, &line);
        }
    }

    /// As through `pct exec`, where another shell is started with the inner line as one argument: once more for each.
    #[test]
    fn arguments_arrive_unchanged_through_three_shells(arguments in prop::collection::vec(hostile(), 0..4)) {
        if !have(&["dash", "bash", "busybox"]) {
            return Ok(());
        }
        let argv: Vec<String> = PRINT.iter().map(|word| word.to_string()).chain(arguments.clone()).collect();
        let inner = quote::in_shell(&argv).expect("it can be sent");
        let middle = quote::in_shell(&inner).expect("it can be sent");
        let outer: Vec<String> = ["env", "--"].iter().map(|word| word.to_string()).chain(middle).collect();
        let line = quote::line(&outer).expect("it can be sent");
        for shell in SHELLS {
            prop_assert_eq!(run(shell, &line), printed(&arguments), "{:?}: {:?}", shell, &line);
        }
    }
}

/// Some builds of busybox run their own applet whatever PATH says, even after `exec`: no quoting changes that.
fn prefers_applets(dir: &std::path::Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let program = dir.join("true");
    std::fs::write(&program, "#!/bin/sh\nprintf found\n").expect("written");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("changed");
    let busybox = find("busybox").expect("looked for");
    let output = Command::new(busybox).args(["sh", "-c", "exec true"]).env("PATH", dir).output().expect("it starts");
    output.stdout != b"found"
}

fn is_applet(name: &str) -> bool {
    let busybox = find("busybox").expect("looked for");
    let output = Command::new(busybox).arg("--list").output().expect("it starts");
    String::from_utf8_lossy(&output.stdout).lines().any(|applet| applet == name)
}

#[test]
fn the_program_is_run_and_not_what_a_shell_makes_of_the_word() {
    if !have(&["dash", "bash", "busybox"]) {
        return;
    }
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().expect("a folder");
    // Keywords, builtins, an assignment, names with blanks and signs.
    for name in ["if", "echo", "test", "exit", "A=b", "{", "!", "a b", "x;id", "~", "*", "é", "time", "[["] {
        let program = dir.path().join(name);
        std::fs::write(&program, "#!/bin/sh\nprintf '%s' \"ran $1\"\n").expect("written");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("changed");
        let line = quote::line(&[name, "me"]).expect("it can be sent");
        for (shell, before) in SHELLS {
            if shell == "busybox" && prefers_applets(dir.path()) && is_applet(name) {
                continue;
            }
            let mut command = Command::new(find(shell).expect("looked for"));
            let path = format!("{}:/usr/bin:/bin", dir.path().display());
            let output = command.args(before).args(["-c", &line]).env("PATH", path).output().expect("it starts");
            assert_eq!(String::from_utf8_lossy(&output.stdout), "ran me", "{shell}: {line:?}: {output:?}");
        }
    }
}

#[test]
fn a_line_of_the_longest_kind_is_accepted() {
    if !have(&["dash", "bash", "busybox"]) {
        return;
    }
    let argument = "x'".repeat(quote::LONGEST / 6);
    let argv: Vec<String> = PRINT.iter().map(|word| word.to_string()).chain([argument.clone()]).collect();
    let line = quote::line(&argv).expect("it just fits");
    assert!(line.len() > quote::LONGEST * 4 / 6);
    for shell in SHELLS {
        assert_eq!(run(shell, &line), printed(std::slice::from_ref(&argument)));
    }
}

//! The command line: exit statuses, what goes where, and nothing that needs a connection.

use assert_cmd::Command;

fn pvemcp() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pvemcp"));
    command.env_clear();
    command
}

fn configured() -> Command {
    let mut command = pvemcp();
    command
        .env("PROXMOX_URL", "https://127.0.0.1:1")
        .env("PROXMOX_TOKEN", "a@pam!b=01234567-89ab-cdef-0123-456789abcdef");
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

#[test]
fn tools_are_listed_without_a_connection() {
    let output = pvemcp().env("PROXMOX_TOOLSETS", "pools").arg("--list-tools").output().expect("it runs");
    assert!(output.status.success());
    let listed = text(&output.stdout);
    assert!(listed.contains("pools         read        pve_list_pools"), "{listed}");
    assert!(!listed.contains("pve_create_pool"), "{listed}");
}

#[test]
fn a_wrong_setting_stops_the_start_and_names_it() {
    let output = configured().env("PROXMOX_ALLOW_WRITES", "ture").output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    assert!(text(&output.stderr).contains("PROXMOX_ALLOW_WRITES"), "{}", text(&output.stderr));
}

#[test]
fn a_call_answers_on_stdout() {
    let output = configured().args(["call", "pve_api_search", r#"{"query":"list vms"}"#]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(0));
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON and nothing else");
    assert!(answer["results"].is_array());
}

#[test]
fn a_failing_call_exits_with_one_and_bad_usage_with_two() {
    let failing = configured().args(["call", "pve_start_vm", r#"{"vmid":100}"#]).output().expect("it runs");
    assert_eq!(failing.status.code(), Some(1));
    let answer: serde_json::Value = serde_json::from_slice(&failing.stdout).expect("JSON and nothing else");
    assert_eq!(answer["code"], "gate_closed");
    for bad in [&["call", "pve_list_nodes", "{"][..], &["call", "pve_list_nodes", "[]"], &["call"], &["--nonsense"]] {
        let output = configured().args(bad).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{bad:?}");
        assert!(output.stdout.is_empty(), "{bad:?}");
    }
}

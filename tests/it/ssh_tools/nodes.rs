//! Tools on nodes: who is there, how it is, commands.

use fake_ssh::Fault;
use pvemcp::config::{Access, SshLogin};
use serde_json::json;

use super::place::{Place, USER};
use crate::served::{done, everything, fails};

#[tokio::test]
async fn a_test_says_who_is_there() {
    let Some(place) = Place::start().await else { return };
    let told = place.done("pve_ssh_test", json!({"node": "pve1"})).await;
    assert_eq!(told["host_key"]["fingerprint"], place.ssh.nodes()["pve1"].fingerprint.as_str());
    assert_eq!((&told["user"], &told["connected"], &told["exit_status"]), (&json!("root"), &json!(true), &json!(0)));
    assert!(told["stdout"].as_str().unwrap().starts_with("pve-manager/"), "{told}");
    place.fails("pve_ssh_test", json!({}), "bad_argument").await;
    place.fails("pve_ssh_test", json!({"node": "nosuch"}), "not_found").await;
    place.fails("pve_ssh_test", json!({"node": "-x"}), "bad_argument").await;
    let denied = place.server_as(|ssh| ssh.login.password = Some("wrong".to_string().into()));
    fails(&denied, "pve_ssh_test", json!({"node": "pve1"}), "ssh_auth_failed").await;
    place.ssh.fault("pve2", Fault::WrongKey);
    place.fails("pve_ssh_test", json!({"node": "pve2"}), "host_key_mismatch").await;
    place.ssh.mend("pve2");
    place.ssh.fault("pve2", Fault::Refuse);
    place.fails("pve_ssh_test", json!({"node": "pve2"}), "ssh_unreachable").await;
}

#[tokio::test]
async fn without_root_it_needs_sudo() {
    let Some(place) = Place::start().await else { return };
    let mcp = place.server_as(|ssh| {
        ssh.user = USER.0.into();
        ssh.sudo = true;
        ssh.login = SshLogin { password: Some(USER.1.to_string().into()), ..SshLogin::default() };
    });
    let told = done(&mcp, "pve_ssh_pct_list", json!({"node": "pve1"})).await;
    assert_eq!(told["total"], 1, "{told}");
    place.ssh.fault("pve1", Fault::NoSudo);
    let fault = fails(&mcp, "pve_ssh_test", json!({"node": "pve1"}), "forbidden").await;
    assert!(fault["hint"].as_str().unwrap().contains("NOPASSWD"), "{fault}");
}

#[tokio::test]
async fn diagnostics_come_in_sections() {
    let Some(place) = Place::start().await else { return };
    let told = place.done("pve_ssh_host_diagnostics", json!({"node": "pve1"})).await;
    let version = told["sections"]["version"]["stdout"].as_str().expect("text");
    assert!(version.contains("pve-manager"), "{told}");
    assert!(told["sections"]["disks"]["stdout"].as_str().unwrap().contains("Filesystem"), "{told}");
    assert_eq!(told["sections"].as_object().map(serde_json::Map::len), Some(12));
    let told = place.done("pve_ssh_host_diagnostics", json!({"node": "pve1", "sections": "uptime,storage"})).await;
    assert_eq!(told["sections"].as_object().map(serde_json::Map::len), Some(2));
    assert!(told["sections"]["storage"]["stdout"].as_str().unwrap().contains("local-lvm"), "{told}");
    place.fails("pve_ssh_host_diagnostics", json!({"node": "pve1", "sections": ["nosuch"]}), "bad_argument").await;
}

#[tokio::test]
async fn the_journal_takes_no_options_from_its_arguments() {
    let Some(place) = Place::start().await else { return };
    let told = place.done("pve_ssh_journal", json!({"node": "pve1", "unit": "pvedaemon", "lines": 5})).await;
    assert!(told["stdout"].as_str().is_some_and(|text| text.lines().count() <= 5), "{told}");
    assert_eq!(told["untrusted"], true);
    for wrong in [
        json!({"unit": "--file=/etc/shadow"}),
        json!({"unit": "a b"}),
        json!({"unit": "*"}),
        json!({"since": "$(id)"}),
        json!({"until": "x\n--all"}),
        json!({"priority": "loud"}),
        json!({"lines": 0}),
    ] {
        let mut arguments = wrong;
        arguments["node"] = "pve1".into();
        place.fails("pve_ssh_journal", arguments, "bad_argument").await;
    }
    let all = json!({"node": "pve1", "unit": "ssh", "since": "-2h", "until": "now", "priority": "err", "this_boot": 1});
    place.done("pve_ssh_journal", all).await;
    let (_, line) = place.ssh.commands().pop().expect("it was sent");
    for option in ["--unit=ssh", "--since=-2h", "--until=now", "--priority=err", "--boot", "--lines=100"] {
        assert!(line.contains(option), "{line}");
    }
}

#[tokio::test]
async fn guests_as_the_node_knows_them() {
    let Some(place) = Place::start().await else { return };
    let told = place.done("pve_ssh_qm_list", json!({"node": "pve1"})).await;
    let vms = told["guests"].as_array().expect("a list");
    assert_eq!(vms.iter().map(|vm| &vm["vmid"]).collect::<Vec<_>>(), [100, 101, 9000]);
    assert_eq!(
        (&vms[0]["name"], &vms[0]["status"], &vms[1]["status"]),
        (&json!("web"), &json!("running"), &json!("stopped"))
    );
    let told = place.done("pve_ssh_pct_list", json!({"node": "pve2"})).await;
    assert_eq!(told["guests"], json!([{"vmid": 201, "status": "running", "name": "build"}]));
    place.done("pve_delete_lxc", json!({"vmid": 200})).await;
    let none = place.done("pve_ssh_pct_list", json!({"node": "pve1"})).await;
    assert_eq!(none["total"], 0, "{none}");
}

#[tokio::test]
async fn any_command_with_input_variables_and_a_folder() {
    let Some(place) = Place::start().await else { return };
    let arguments = json!({
        "node": "pve1", "command": "echo \"$A\"; pwd; cat; echo err >&2; exit 7", "stdin": "in\n",
        "env": {"A": "it's $(id) *"}, "cwd": "/etc",
    });
    let told = place.done("pve_ssh_exec", arguments).await;
    assert_eq!(told["stdout"], "it's $(id) *\n/etc\nin\n");
    assert_eq!((&told["stderr"], &told["exit_status"], &told["untrusted"]), (&json!("err\n"), &json!(7), &json!(true)));
    let key = "-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\\n-----END PRIVATE KEY-----\\n";
    let hostile = place.sh(&format!("printf '\\033[31mred\\033[0m \\342\\200\\256turned\\n{key}'")).await;
    assert_eq!(hostile, "red turned\n[REDACTED]\n");
    let long = json!({"node": "pve1", "command": "head -c 2000000 /dev/zero | tr '\\0' x"});
    assert!(!place.call("pve_ssh_exec", long).await.structured["truncated"].is_null());
    let slow = json!({"node": "pve1", "command": "exec sleep 100", "timeout_seconds": 1});
    let fault = place.fails("pve_ssh_exec", slow, "timeout").await;
    assert_eq!(fault["may_go_on"], false, "{fault}");
    for wrong in
        [json!({"command": " "}), json!({"command": "id", "env": {"A B": 1}}), json!({"command": "id", "cwd": "etc"})]
    {
        let mut arguments = wrong;
        arguments["node"] = "pve1".into();
        place.fails("pve_ssh_exec", arguments, "bad_argument").await;
    }
}

#[tokio::test]
async fn gates_dry_runs_and_masks() {
    let Some(place) = Place::start().await else { return };
    let closed = place.server(Access::default());
    let reading = place.server(Access { ssh: true, ..Access::default() });
    let dry = place.server(Access { ssh: true, dry_run: true, ..Access::default() });
    let exec = json!({"node": "pve1", "command": "true", "stdin": "canary-0123456789"});
    fails(&closed, "pve_ssh_test", json!({"node": "pve1"}), "gate_closed").await;
    fails(&reading, "pve_ssh_exec", exec.clone(), "gate_closed").await;
    for (server, wish) in [(&place.server, true), (&dry, false)] {
        let mut arguments = exec.clone();
        arguments["dry_run"] = wish.into();
        let told = done(server, "pve_ssh_exec", arguments).await;
        assert_eq!((&told["dry_run"], &told["request"]["run"]), (&json!(true), &json!("exec sh -c true")));
        assert_eq!(told["request"]["stdin_bytes"], 17);
        assert!(!told.to_string().contains("canary"), "{told}");
    }
    let masked = json!({"node": "pve1", "command": "cat", "stdin": "key=[REDACTED]\n"});
    place.fails("pve_ssh_exec", masked, "redacted_body").await;
    assert!(place.ssh.commands().is_empty(), "{:?}", place.ssh.commands());
    done(&reading, "pve_ssh_test", json!({"node": "pve1"})).await;
    done(&dry, "pve_ssh_test", json!({"node": "pve1"})).await;
    assert_eq!(place.ssh.commands().len(), 2);
    let secret = json!({"node": "pve1", "command": "cat >/dev/null", "stdin": "canary-0123456789"});
    place.done("pve_ssh_exec", secret).await;
    assert!(!format!("{:?}{:?}", place.ssh.commands(), place.ssh.calls()).contains("canary"));
    let guarded = place.server(Access { protected_vmids: [200].into(), ..everything() });
    let conf = json!({"node": "pve1", "path": "/etc/pve/lxc/200.conf", "content": "arch: amd64\n", "overwrite": true});
    fails(&guarded, "pve_ssh_write_file", conf, "protected_guest").await;
    let conf = json!({"node": "pve1", "path": "/etc/pve/nodes/pve1/lxc/200.conf"});
    fails(&guarded, "pve_ssh_delete_file", conf, "protected_guest").await;
}

//! Tools to guests, against a real sshd that is node and guest at once: a container's host key comes by `pct`.

use std::sync::Arc;

use pvemcp::config::{Access, SshLogin};
use pvemcp::pve::WallClock;
use pvemcp::server::Server;
use serde_json::{Value, json};

use crate::scripted::Scripted;
use crate::served::{cluster, done, everything, fails, settings};
use crate::ssh::sshd::{Sshd, whoami};

async fn server(sshd: &Sshd, access: Access) -> (Scripted, Arc<Server>) {
    let scripted = cluster(|_| None).await;
    let mut settings = settings(scripted.connection(), access);
    let mut ssh = sshd.settings();
    ssh.nodes.insert("pve2".into(), ssh.nodes["pve1"].clone());
    ssh.pins.insert("pve2".into(), ssh.pins["pve1"].clone());
    ssh.guest_user = whoami();
    ssh.guest_login = SshLogin { key_file: Some(sshd.path("user")), ..SshLogin::default() };
    settings.instances[0].ssh = ssh;
    let server = Server::with_clock(settings, Arc::new(WallClock::default())).expect("usable settings");
    (scripted, server)
}

fn at(sshd: &Sshd, more: Value) -> Value {
    let mut arguments = json!({"host": "127.0.0.1", "port": sshd.address.port()});
    arguments.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("an object"));
    arguments
}

/// `pct` that prints a key for `exec 101 -- …`.
fn pct(sshd: &Sshd, key: &str) {
    sshd.install(
        "pct",
        &format!("#!/bin/sh\n[ \"$1 $2\" = 'exec 101' ] || exit 9\necho asked >>{}\n{key}\n", sshd.file("asked")),
    );
}

#[tokio::test]
async fn the_key_of_a_container_comes_by_pct() {
    let Some(sshd) = Sshd::start() else { return };
    let (_scripted, server) = server(&sshd, everything()).await;
    pct(&sshd, &format!("echo '{} comment'", sshd.host_key("ed25519")));
    let told = done(&server, "pve_guest_ssh_test", at(&sshd, json!({"vmid": 101}))).await;
    assert_eq!((&told["connected"], &told["vmid"]), (&json!(true), &json!(101)));
    assert!(told["stdout"].as_str().unwrap().contains("Linux"), "{told}");
    let run =
        at(&sshd, json!({"vmid": 101, "command": "cat; echo \"$A\"; exit 3", "stdin": "in\n", "env": {"A": "b c"}}));
    let told = done(&server, "pve_guest_ssh_exec", run).await;
    assert_eq!(
        (&told["stdout"], &told["exit_status"], &told["untrusted"]),
        (&json!("in\nb c\n"), &json!(3), &json!(true))
    );
    let other = "echo 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f'";
    pct(&sshd, other);
    fails(&server, "pve_guest_ssh_test", at(&sshd, json!({"vmid": 101})), "host_key_mismatch").await;
    pct(&sshd, "echo 'cat: no such file' >&2; exit 1");
    fails(&server, "pve_guest_ssh_test", at(&sshd, json!({"vmid": 101})), "host_key_unknown").await;
    pct(&sshd, "echo \"container '101' not running!\" >&2; exit 255");
    fails(&server, "pve_guest_ssh_test", at(&sshd, json!({"vmid": 101})), "guest_not_running").await;
}

#[tokio::test]
async fn a_vm_needs_a_fingerprint_or_known_hosts() {
    let Some(sshd) = Sshd::start() else { return };
    let (_scripted, server) = server(&sshd, everything()).await;
    fails(&server, "pve_guest_ssh_test", at(&sshd, json!({"vmid": 100})), "host_key_unknown").await;
    let pin = sshd.host_fingerprint("ed25519").to_string();
    let told = done(&server, "pve_guest_ssh_test", at(&sshd, json!({"vmid": 100, "fingerprint": pin}))).await;
    assert_eq!(told["host_key"]["fingerprint"], pin.as_str());
    let wrong = at(&sshd, json!({"fingerprint": "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}));
    fails(&server, "pve_guest_ssh_test", wrong, "host_key_mismatch").await;
    fails(&server, "pve_guest_ssh_test", at(&sshd, json!({"fingerprint": "x"})), "bad_argument").await;
    sshd.know(&format!("HOST {}\n", sshd.host_key("ed25519")));
    done(&server, "pve_guest_ssh_test", at(&sshd, json!({"vmid": 100}))).await;
    fails(&server, "pve_guest_ssh_test", json!({}), "bad_argument").await;
    fails(&server, "pve_guest_ssh_test", json!({"host": "-oProxyCommand=id"}), "bad_argument").await;
    fails(&server, "pve_guest_ssh_test", json!({"vmid": 101}), "not_found").await;
    fails(&server, "pve_guest_ssh_test", json!({"vmid": 555}), "not_found").await;
}

#[tokio::test]
async fn dry_runs_and_protected_guests() {
    let Some(sshd) = Sshd::start() else { return };
    let (_scripted, open) = server(&sshd, everything()).await;
    pct(&sshd, "exit 1");
    let run = at(&sshd, json!({"vmid": 101, "command": "id", "dry_run": true}));
    let told = done(&open, "pve_guest_ssh_exec", run).await;
    assert_eq!((&told["dry_run"], &told["request"]["run"]), (&json!(true), &json!("exec sh -c id")));
    assert!(!sshd.path("asked").exists(), "a dry run sends no command");
    let (_scripted, guarded) = server(&sshd, Access { protected_vmids: [101].into(), ..everything() }).await;
    pct(&sshd, &format!("echo '{}'", sshd.host_key("ed25519")));
    let run = at(&sshd, json!({"vmid": 101, "command": "id"}));
    fails(&guarded, "pve_guest_ssh_exec", run.clone(), "protected_guest").await;
    done(&guarded, "pve_guest_ssh_test", at(&sshd, json!({"vmid": 101}))).await;
    let (_scripted, reading) = server(&sshd, Access { ssh: true, ..Access::default() }).await;
    fails(&reading, "pve_guest_ssh_exec", run, "gate_closed").await;
}

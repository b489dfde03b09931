//! The policy for SSH: gates, protected guests, dry run, and what a dry run shows.

use proptest::prelude::*;
use pvemcp::config::{Access, ConfirmFallback, SshSettings};
use pvemcp::error::{Code, Fault};
use pvemcp::policy::{Admission, Effect, Guest, GuestTrust, Place, Policy, SshCommand};
use serde_json::json;

use super::sshd::{Client, node};

fn open() -> Access {
    Access { ssh: true, writes: true, ..Access::default() }
}

fn container(vmid: u32) -> Place {
    Place::Container { node: "pve1".into(), vmid }
}

fn guest(vmid: u32) -> Place {
    let address = "192.0.2.7".parse().expect("an address");
    Place::Guest(Guest { vmid: Some(vmid), address, via_node: None, trust: GuestTrust::KnownHosts })
}

fn run(place: Place, argv: &[&str], effect: Effect) -> SshCommand {
    SshCommand::run("pve_test", place, argv.iter().copied(), effect).expect("plain")
}

fn refusal(access: Access, command: SshCommand) -> Fault {
    match Policy::new(access).admit_ssh(command, false) {
        Err(fault) => fault,
        Ok(admitted) => panic!("admitted: {admitted:?}"),
    }
}

fn goes(access: &Access, command: SshCommand) -> bool {
    matches!(Policy::new(access.clone()).admit_ssh(command, false), Ok(Admission::Go(_)))
}

fn dry(access: &Access, command: SshCommand, dry_run: bool) -> bool {
    matches!(Policy::new(access.clone()).admit_ssh(command, dry_run), Ok(Admission::Dry(_)))
}

#[test]
fn gates() {
    let read = || run(node(), &["uptime"], Effect::Reads);
    let write = || run(node(), &["reboot"], Effect::Destroys);
    let fault = refusal(Access::default(), read());
    assert_eq!(fault.code, Code::GateClosed);
    assert_eq!(
        fault.to_string(),
        "gate_closed: pve_test on node pve1 needs the gate ssh_read, which is closed \
         (a person can open it by starting the server with PROXMOX_ALLOW_SSH=true)"
    );
    let ssh_only = Access { ssh: true, ..Access::default() };
    assert!(goes(&ssh_only, read()));
    assert!(refusal(ssh_only, write()).hint.is_some_and(|hint| hint.contains("PROXMOX_ALLOW_WRITES=true")));
    let writes_only = Access { writes: true, elevated: true, ..Access::default() };
    assert_eq!(refusal(writes_only, write()).code, Code::GateClosed);
    assert!(goes(&open(), write()));
    let terminal = SshCommand::terminal("pve_test", node(), 80, 24).expect("plain");
    assert_eq!(refusal(Access { ssh: true, ..Access::default() }, terminal).code, Code::GateClosed);
}

#[test]
fn protected_guests_are_not_written_to() {
    let access = Access { protected_vmids: vec![101], ..open() };
    let terminal = SshCommand::terminal("pve_test", container(101), 80, 24).expect("plain");
    for command in [
        run(container(101), &["rm", "x"], Effect::Changes),
        run(guest(101), &["rm", "x"], Effect::Changes),
        run(node(), &["pct", "set", "101", "-memory", "512"], Effect::Changes),
        run(node(), &["/usr/sbin/qm", "stop", "101"], Effect::Destroys),
        run(node(), &["something"], Effect::Changes).touching(101),
        terminal,
    ] {
        assert_eq!(refusal(access.clone(), command).code, Code::ProtectedGuest);
    }
    for command in [
        run(container(101), &["cat", "x"], Effect::Reads),
        run(container(102), &["kill", "101"], Effect::Changes),
        run(node(), &["pct", "config", "101"], Effect::Reads),
        run(node(), &["pct", "exec", "102", "--", "kill", "101"], Effect::Changes),
        run(node(), &["echo", "101"], Effect::Changes),
    ] {
        assert!(goes(&access, command));
    }
}

#[test]
fn a_dry_run_sends_no_command() {
    let read = || run(node(), &["uptime"], Effect::Reads);
    let write = || run(node(), &["reboot"], Effect::Destroys);
    let dry_mode = Access { ssh: true, dry_run: true, ..Access::default() };
    assert!(dry(&dry_mode, write(), false), "PROXMOX_DRY_RUN stands in for ALLOW_WRITES");
    assert!(dry(&Access { writes: true, ..dry_mode.clone() }, write(), false));
    assert!(goes(&dry_mode, read()), "a tool that only reads works");
    assert!(dry(&dry_mode, read().for_a_write(), false), "a read that is part of a write is not sent");
    assert!(dry(&open(), read(), true) && dry(&open(), write(), true));
    assert!(Policy::new(Access::default()).admit_ssh(read(), true).is_err(), "it opens nothing");
    let protected = Access { protected_vmids: vec![101], ..dry_mode };
    assert_eq!(refusal(protected, run(container(101), &["rm", "x"], Effect::Changes)).code, Code::ProtectedGuest);
}

#[test]
fn what_cannot_be_taken_back_can_be_refused_when_nobody_can_be_asked() {
    let access = Access { confirm_fallback: ConfirmFallback::Deny, ..open() };
    assert_eq!(refusal(access.clone(), run(node(), &["reboot"], Effect::Destroys)).code, Code::ConfirmationRequired);
    assert!(goes(&access, run(node(), &["touch", "x"], Effect::Changes)));
}

#[test]
fn a_dry_run_shows_the_exact_line_and_no_secret() {
    let settings = SshSettings { user: "mcp".into(), sudo: true, ..SshSettings::default() };
    let client = Client::new(settings);
    let command = run(container(101), &["sh", "-c", "echo 'a b' > \"$1\"", "sh", "/tmp/x y"], Effect::Changes)
        .stdin("canary-secret")
        .hiding("canary-secret");
    assert_eq!(
        client.ssh.shown(&command),
        json!({
            "name": "pve_test",
            "on": "container 101 on node pve1",
            "run": r#"exec sudo -n -- pct exec 101 -- sh -c 'echo '\''a b'\'' > "$1"' sh '/tmp/x y'"#,
            "stdin_bytes": 13,
        })
    );
    let careless = run(node(), &["mount", "-o", "username=u,password=canary2", "canary-secret"], Effect::Changes)
        .hiding("canary-secret");
    let shown = client.ssh.shown(&careless).to_string();
    assert!(!shown.contains("canary"), "{shown}");
    assert!(!format!("{command:?}").contains("canary"), "what stands on stdin does not show in debug output");
    let terminal = SshCommand::terminal("pve_test", container(101), 80, 24).expect("plain");
    assert_eq!(client.ssh.shown(&terminal)["run"], "exec sudo -n -- pct enter 101");
}

#[test]
fn what_cannot_be_described_is_refused_at_once() {
    let bad = |argv: &[&str]| {
        let command = SshCommand::run("pve_test", node(), argv.iter().copied(), Effect::Changes);
        command.expect_err("it cannot be sent").code
    };
    assert_eq!(bad(&[]), Code::BadArgument);
    assert_eq!(bad(&["-rf"]), Code::BadArgument);
    assert_eq!(bad(&["echo", "a\0b"]), Code::BadArgument);
    assert_eq!(bad(&["echo", &"x".repeat(200_000)]), Code::BadArgument);
    let place = Place::Node("pve1; id".into());
    assert_eq!(SshCommand::run("t", place, ["id"], Effect::Reads).expect_err("no node").code, Code::BadArgument);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Nothing goes that the settings do not open, and what goes is not dry.
    #[test]
    fn only_what_is_open_goes(ssh: bool, writes: bool, dry_mode: bool, dry_run: bool, protect: bool, at in 0..3usize) {
        let effect = [Effect::Reads, Effect::Changes, Effect::Destroys][at];
        let protected_vmids = if protect { vec![101] } else { vec![] };
        let access = Access { ssh, writes, dry_run: dry_mode, protected_vmids, ..Access::default() };
        let admitted = Policy::new(access).admit_ssh(run(container(101), &["x"], effect), dry_run);
        let is_write = effect != Effect::Reads;
        match admitted {
            Ok(Admission::Go(_)) => prop_assert!(ssh && !dry_run && (!is_write || (writes && !dry_mode && !protect))),
            Ok(Admission::Dry(_)) => prop_assert!(ssh && (dry_run || dry_mode)),
            Err(_) => prop_assert!(!ssh || (is_write && (protect || !(writes || dry_mode)))),
        }
    }
}

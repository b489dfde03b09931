//! Host keys of a real sshd: which are believed, and that nothing is sent to the others.

use pvemcp::config::{HostKeyPolicy, SshLogin, SshSettings};
use pvemcp::error::{Code, Fault};
use pvemcp::policy::{Effect, Guest, GuestTrust, Place, SshCommand};

use super::programs::run;
use super::sshd::{Client, Sshd, keygen, permit, public_key};

fn known_hosts(sshd: &Sshd, policy: HostKeyPolicy) -> Client {
    Client::new(SshSettings { host_keys: policy, ..sshd.unpinned() })
}

async fn refusal(sshd: &Sshd, client: &Client) -> Fault {
    let fault = client.run(&["true"]).await.expect_err("this host is not to be believed");
    assert!(!sshd.log().contains("userauth-request"), "something was sent to it:\n{}", sshd.log());
    fault
}

#[tokio::test]
async fn an_unknown_host_is_refused_and_its_fingerprint_told() {
    let Some(sshd) = Sshd::start() else { return };
    let fault = refusal(&sshd, &known_hosts(&sshd, HostKeyPolicy::Strict)).await;
    let fingerprint = sshd.host_fingerprint("ed25519").to_string();
    assert_eq!(fault.code, Code::HostKeyUnknown);
    assert_eq!(fault.details["fingerprint"], fingerprint);
    assert_eq!(fault.details["key_type"], "ssh-ed25519");
    assert!(fault.message.contains(&fingerprint), "{fault}");
    let pin = format!("PROXMOX_SSH_FINGERPRINTS=pve1={fingerprint}");
    assert!(fault.hint.is_some_and(|hint| hint.contains(&pin)));
    assert!(!sshd.path("known_hosts").exists(), "strict writes nothing");
}

#[tokio::test]
async fn known_hosts_as_openssh_writes_them() {
    let Some(sshd) = Sshd::start() else { return };
    let client = known_hosts(&sshd, HostKeyPolicy::Strict);
    sshd.know(&format!("HOST {}\n", sshd.host_key("ed25519")));
    client.stdout(&["true"]).await;
    // Hashed by OpenSSH itself.
    run("ssh-keygen", &["-q", "-H", "-f", &sshd.file("known_hosts")]);
    let text = std::fs::read_to_string(sshd.path("known_hosts")).expect("text");
    assert!(text.starts_with("|1|") && !text.contains("127.0.0.1"));
    known_hosts(&sshd, HostKeyPolicy::Strict).stdout(&["true"]).await;
    sshd.know(&format!("# a note\n\n*,![127.0.0.2]:* \t {}  root@pve1\n", sshd.host_key("ed25519")));
    known_hosts(&sshd, HostKeyPolicy::Strict).stdout(&["true"]).await;
}

#[tokio::test]
async fn a_changed_key_is_a_mismatch_whatever_the_type() {
    for kind in ["ed25519", "ecdsa", "rsa"] {
        let Some(sshd) = Sshd::start() else { return };
        keygen(&sshd.path("other"), kind, "");
        sshd.know(&format!("HOST {}\n", public_key(&sshd.path("other.pub"))));
        for policy in [HostKeyPolicy::Strict, HostKeyPolicy::AcceptNew] {
            let fault = refusal(&sshd, &known_hosts(&sshd, policy)).await;
            assert_eq!(fault.code, Code::HostKeyMismatch, "{kind} {policy:?}: {fault}");
            assert_eq!(fault.details["fingerprint"], sshd.host_fingerprint("ed25519").to_string());
            assert!(fault.message.contains("line 1"), "{fault}");
        }
    }
}

#[tokio::test]
async fn a_host_with_several_keys_is_recognised_by_the_one_that_is_known() {
    for kind in ["ecdsa", "rsa", "ed25519"] {
        let Some(sshd) = Sshd::with(&["ed25519", "ecdsa", "rsa"], "") else { return };
        sshd.know(&format!("HOST {}\n", sshd.host_key(kind)));
        known_hosts(&sshd, HostKeyPolicy::Strict).stdout(&["true"]).await;
        let mut pinned = sshd.unpinned();
        pinned.pins = [("pve1".to_string(), vec![sshd.host_fingerprint(kind)])].into();
        pinned.known_hosts = None;
        Client::new(pinned).stdout(&["true"]).await;
    }
}

#[tokio::test]
async fn revoked_keys_and_authorities_are_refused() {
    let Some(sshd) = Sshd::start() else { return };
    let key = sshd.host_key("ed25519");
    sshd.know(&format!("HOST {key}\n@revoked * {key}\n"));
    for policy in [HostKeyPolicy::Strict, HostKeyPolicy::AcceptNew, HostKeyPolicy::Off] {
        let fault = refusal(&sshd, &known_hosts(&sshd, policy)).await;
        assert_eq!(fault.code, Code::HostKeyMismatch);
        assert!(fault.message.contains("revoked: line 2"), "{fault}");
    }
    let fault = refusal(&sshd, &Client::new(sshd.settings())).await;
    assert_eq!(fault.code, Code::HostKeyMismatch, "a pin does not help a revoked key");
    sshd.know(&format!("@cert-authority HOST {key}\n"));
    let fault = refusal(&sshd, &known_hosts(&sshd, HostKeyPolicy::Strict)).await;
    assert_eq!(fault.code, Code::HostKeyUnknown);
    assert!(fault.message.contains("authority"), "{fault}");
    let fault = refusal(&sshd, &known_hosts(&sshd, HostKeyPolicy::AcceptNew)).await;
    assert_eq!(fault.code, Code::HostKeyUnknown, "an authority is no first meeting either");
}

#[tokio::test]
async fn accept_new_enters_a_host_once() {
    let Some(sshd) = Sshd::start() else { return };
    known_hosts(&sshd, HostKeyPolicy::AcceptNew).stdout(&["true"]).await;
    let text = std::fs::read_to_string(sshd.path("known_hosts")).expect("written");
    assert_eq!(text, format!("[127.0.0.1]:{} {}\n", sshd.address.port(), sshd.host_key("ed25519")));
    // OpenSSH reads it.
    let found =
        run("ssh-keygen", &["-F", &format!("[127.0.0.1]:{}", sshd.address.port()), "-f", &sshd.file("known_hosts")]);
    assert!(found.contains("ssh-ed25519"));
    known_hosts(&sshd, HostKeyPolicy::AcceptNew).stdout(&["true"]).await;
    known_hosts(&sshd, HostKeyPolicy::Strict).stdout(&["true"]).await;
    assert_eq!(std::fs::read_to_string(sshd.path("known_hosts")).expect("text"), text);
}

#[tokio::test]
async fn accept_new_that_cannot_write_accepts_nothing() {
    let Some(sshd) = Sshd::start() else { return };
    std::os::unix::fs::symlink(sshd.path("elsewhere"), sshd.path("known_hosts")).expect("a link");
    let fault = refusal(&sshd, &known_hosts(&sshd, HostKeyPolicy::AcceptNew)).await;
    assert_eq!(fault.code, Code::HostKeyUnknown);
    assert!(!sshd.path("elsewhere").exists());
    let nowhere =
        Client::new(SshSettings { host_keys: HostKeyPolicy::AcceptNew, known_hosts: None, ..sshd.unpinned() });
    assert_eq!(refusal(&sshd, &nowhere).await.code, Code::HostKeyUnknown);
}

#[tokio::test]
async fn off_believes_everybody_but_pins_hold() {
    let Some(sshd) = Sshd::start() else { return };
    keygen(&sshd.path("other"), "ed25519", "");
    sshd.know(&format!("HOST {}\n", public_key(&sshd.path("other.pub"))));
    let wrong = [("pve1".to_string(), vec![super::sshd::fingerprint(&sshd.path("other.pub"))])].into();
    let pinned = Client::new(SshSettings { host_keys: HostKeyPolicy::Off, pins: wrong, ..sshd.unpinned() });
    let fault = refusal(&sshd, &pinned).await;
    assert_eq!(fault.code, Code::HostKeyMismatch);
    assert_eq!(fault.details["pinned"].as_array().map(Vec::len), Some(1));
    known_hosts(&sshd, HostKeyPolicy::Off).stdout(&["true"]).await;
    assert!(!sshd.path("known_hosts.old").exists());
    let both = vec![super::sshd::fingerprint(&sshd.path("other.pub")), sshd.host_fingerprint("ed25519")];
    let rotating = SshSettings { pins: [("pve1".to_string(), both)].into(), ..sshd.unpinned() };
    Client::new(rotating).stdout(&["true"]).await;
}

#[tokio::test]
async fn guests_are_believed_by_what_was_read_of_them() {
    let Some(sshd) = Sshd::start() else { return };
    keygen(&sshd.path("other"), "ed25519", "");
    let mut settings = sshd.unpinned();
    settings.guest_user = settings.user.clone();
    settings.guest_login = SshLogin { key_file: Some(sshd.path("user")), ..SshLogin::default() };
    settings.login = SshLogin::default();
    let client = Client::new(settings);
    let into = |trust: GuestTrust| {
        let address = format!("127.0.0.1:{}", sshd.address.port()).parse().expect("an address");
        let place = Place::Guest(Guest { vmid: Some(101), address, via_node: None, trust });
        permit(SshCommand::run("test", place, ["echo", "in"], Effect::Changes).expect("plain"))
    };
    let other = public_key(&sshd.path("other.pub"));
    for (trust, code) in [
        (GuestTrust::KnownHosts, Code::HostKeyUnknown),
        (GuestTrust::Fingerprint(super::sshd::fingerprint(&sshd.path("other.pub"))), Code::HostKeyMismatch),
        (GuestTrust::Keys(vec![other.clone()]), Code::HostKeyMismatch),
        (GuestTrust::Keys(vec!["ssh-ed25519 broken".into()]), Code::HostKeyMismatch),
    ] {
        let fault = client.ssh.run(into(trust.clone()), client.cluster()).await.expect_err("not believed");
        assert_eq!(fault.code, code, "{trust:?}: {fault}");
    }
    assert!(!sshd.log().contains("userauth-request"));
    for trust in [
        GuestTrust::Keys(vec![other, sshd.host_key("ed25519")]),
        GuestTrust::Fingerprint(sshd.host_fingerprint("ed25519")),
    ] {
        assert_eq!(client.ssh.run(into(trust), client.cluster()).await.expect("it ran").text(), "in\n");
    }
}

#[tokio::test]
async fn a_guest_is_reached_through_its_node() {
    let (Some(node), Some(guest)) = (Sshd::start(), Sshd::start()) else { return };
    let mut settings = node.settings();
    settings.only_loopback = false;
    settings.guest_user = settings.user.clone();
    settings.guest_login = SshLogin { key_file: Some(guest.path("user")), ..SshLogin::default() };
    guest.install("where", "#!/bin/sh\necho guest\n");
    let into = |via_node: &str| {
        let address = format!("127.0.0.1:{}", guest.address.port()).parse().expect("an address");
        let trust = GuestTrust::Keys(vec![guest.host_key("ed25519")]);
        let place = Place::Guest(Guest { vmid: Some(101), address, via_node: Some(via_node.into()), trust });
        permit(SshCommand::run("test", place, ["where"], Effect::Changes).expect("plain"))
    };
    let client = Client::new(settings.clone());
    assert_eq!(client.ssh.run(into("pve1"), client.cluster()).await.expect("it ran").text(), "guest\n");
    assert!(node.log().contains("direct-tcpip"), "through the node");
    settings.only_loopback = true;
    let client = Client::new(settings);
    let fault = client.ssh.run(into("pve1"), client.cluster()).await.expect_err("a rehearsal does not go further");
    assert_eq!(fault.code, Code::Blocked);
}

#[tokio::test]
async fn a_greeting_says_who_is_there_and_runs_nothing() {
    let Some(sshd) = Sshd::start() else { return };
    let client = sshd.client();
    let touch = super::sshd::command(&["touch", &sshd.file("touched")]);
    let greeting = client.ssh.greet(permit(touch), client.cluster()).await.expect("it is there");
    assert_eq!(greeting.key.fingerprint, sshd.host_fingerprint("ed25519"));
    assert_eq!((greeting.port, greeting.user), (sshd.address.port(), super::sshd::whoami()));
    assert!(!sshd.path("touched").exists());
}

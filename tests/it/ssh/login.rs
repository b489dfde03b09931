//! Logging in on a real sshd with keys and a real agent; with passwords on a server of our own.

use std::process::{Child, Command, Stdio};

use pvemcp::config::{SshAgent, SshLogin};
use pvemcp::error::Code;

use super::answering::{Answering, Ways};
use super::programs::{find, have, run};
use super::sshd::{Client, Sshd, keygen};

#[tokio::test]
async fn keys_of_every_type_with_and_without_a_passphrase() {
    for kind in ["ed25519", "ecdsa", "rsa"] {
        let Some(sshd) = Sshd::start() else { return };
        for passphrase in ["", "correct horse"] {
            let file = sshd.path(&format!("{kind}{}", passphrase.len()));
            keygen(&file, kind, passphrase);
            std::fs::copy(file.with_extension("pub"), sshd.path("authorized_keys")).expect("copied");
            let mut settings = sshd.settings();
            settings.login = SshLogin { key_file: Some(file.clone()), ..SshLogin::default() };
            if !passphrase.is_empty() {
                let fault = Client::new(settings.clone()).run(&["true"]).await.expect_err("it is encrypted");
                assert_eq!(fault.code, Code::SshAuthFailed, "{fault}");
                assert!(fault.hint.is_some_and(|hint| hint.contains("PROXMOX_SSH_KEY_PASSPHRASE")));
                settings.login.passphrase = Some("wrong canary".to_string().into());
                let fault = Client::new(settings.clone()).run(&["true"]).await.expect_err("a wrong passphrase");
                assert_eq!(fault.code, Code::SshAuthFailed);
                assert!(!fault.to_string().contains("canary"), "{fault}");
                settings.login.passphrase = Some(passphrase.to_string().into());
            }
            Client::new(settings).stdout(&["true"]).await;
        }
    }
}

#[tokio::test]
async fn a_key_that_is_refused_is_named() {
    let Some(sshd) = Sshd::start() else { return };
    keygen(&sshd.path("stranger"), "ed25519", "");
    let mut settings = sshd.settings();
    settings.login.key_file = Some(sshd.path("stranger"));
    let fault = Client::new(settings.clone()).run(&["true"]).await.expect_err("nobody knows it");
    assert_eq!(fault.code, Code::SshAuthFailed);
    let fingerprint = super::sshd::fingerprint(&sshd.path("stranger.pub")).to_string();
    assert!(fault.message.contains("stranger") && fault.message.contains(&fingerprint), "{fault}");
    settings.login = SshLogin::default();
    let fault = Client::new(settings).run(&["true"]).await.expect_err("nothing to show");
    assert_eq!(fault.code, Code::SshAuthFailed);
    assert_eq!(sshd.log().matches("Connection from").count(), 1, "without anything to show nobody is bothered");
}

/// An agent of OpenSSH, with a socket in a folder.
struct Agent(Child);

impl Agent {
    fn start(sshd: &Sshd) -> Agent {
        let program = find("ssh-agent").expect("looked for");
        let mut command = Command::new(program);
        command.args(["-D", "-a", &sshd.file("agent")]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("it starts");
        // It says where it listens once it does.
        let mut said = String::new();
        let stdout = child.stdout.take().expect("piped");
        std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut said).expect("it speaks");
        assert!(said.contains("SSH_AUTH_SOCK"), "{said}");
        Agent(child)
    }

    fn add(&self, sshd: &Sshd, key: &str) {
        let mut command = Command::new(find("ssh-add").expect("looked for"));
        let command = command.arg("-q").arg(sshd.path(key)).env("SSH_AUTH_SOCK", sshd.path("agent"));
        assert!(command.stderr(Stdio::null()).status().expect("it runs").success());
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn an_agent_signs_for_us() {
    let Some(sshd) = Sshd::start() else { return };
    if !have(&["ssh-agent", "ssh-add"]) {
        return;
    }
    let mut settings = sshd.settings();
    settings.login = SshLogin { agent: Some(SshAgent::Socket(sshd.path("agent"))), ..SshLogin::default() };
    let fault = Client::new(settings.clone()).run(&["true"]).await.expect_err("no agent");
    assert_eq!(fault.code, Code::SshAuthFailed);
    assert!(fault.hint.is_some_and(|hint| hint.contains("PROXMOX_SSH_AGENT")));
    let agent = Agent::start(&sshd);
    let fault = Client::new(settings.clone()).run(&["true"]).await.expect_err("an agent without keys");
    assert_eq!(fault.code, Code::SshAuthFailed, "{fault}");
    for (key, kind) in [("first", "ed25519"), ("second", "rsa")] {
        keygen(&sshd.path(key), kind, "");
        agent.add(&sshd, key);
    }
    std::fs::copy(sshd.path("second.pub"), sshd.path("authorized_keys")).expect("copied");
    Client::new(settings.clone()).stdout(&["true"]).await;
    // The key of the file is refused first.
    settings.login.key_file = Some(sshd.path("user"));
    Client::new(settings).stdout(&["true"]).await;
    assert!(run("id", &["-u"]).trim().parse::<u32>().is_ok());
}

#[tokio::test]
async fn a_password_in_both_ways_and_only_to_the_right_host() {
    for ways in [Ways::Password, Ways::Dialogue] {
        let server = Answering::start(ways).await;
        let mut settings = server.settings();
        settings.login = SshLogin { password: Some("canary-secret".to_string().into()), ..SshLogin::default() };
        assert_eq!(Client::new(settings.clone()).stdout(&["anything"]).await, "answered\n", "{ways:?}");
        assert_eq!(server.passwords(), ["canary-secret"]);
        settings.login.password = Some("canary-wrong".to_string().into());
        let fault = Client::new(settings.clone()).run(&["true"]).await.expect_err("a wrong password");
        assert_eq!(fault.code, Code::SshAuthFailed);
        assert!(!fault.to_string().contains("canary"), "{fault}");
        let before = server.passwords().len();
        settings.pins.clear();
        let fault = Client::new(settings).run(&["true"]).await.expect_err("an unknown host");
        assert_eq!(fault.code, Code::HostKeyUnknown);
        assert_eq!(server.passwords().len(), before, "it was told a password");
    }
}

#[tokio::test]
async fn questions_that_are_not_for_a_password_get_none() {
    let server = Answering::start(Ways::Questions).await;
    let mut settings = server.settings();
    settings.login = SshLogin { password: Some("canary-secret".to_string().into()), ..SshLogin::default() };
    let fault = Client::new(settings).run(&["true"]).await.expect_err("it asks for a code");
    assert_eq!(fault.code, Code::SshAuthFailed);
    assert_eq!(server.passwords(), Vec::<String>::new());
}

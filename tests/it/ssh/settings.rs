//! The SSH variables: strict, everything wrong at once, secrets never shown.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use pvemcp::config::{HostKeyPolicy, Purpose, Settings, SshAddress, SshAgent};
use secrecy::ExposeSecret;

const PIN: &str = "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

fn load(vars: &[(&str, &str)]) -> Result<Settings, String> {
    let connection = [("PROXMOX_URL", "https://pve.example:8006"), ("PROXMOX_TOKEN", "a@pam!b=canary-token")];
    let map: HashMap<&str, &str> = vars.iter().chain(&connection).copied().collect();
    let names: Vec<String> = map.keys().map(|name| name.to_string()).collect();
    Settings::load(&|name| map.get(name).map(|value| value.to_string()), &names, Purpose::Connect)
        .map_err(|errors| errors.iter().map(|error| format!("{error}\n")).collect())
}

fn address(host: &str, port: Option<u16>) -> SshAddress {
    SshAddress { host: host.into(), port }
}

#[test]
fn defaults() {
    let settings = load(&[]).expect("nothing is needed");
    let ssh = &settings.instances[0].ssh;
    assert_eq!((ssh.user.as_str(), ssh.port, ssh.guest_user.as_str(), ssh.sudo), ("root", 22, "root", false));
    assert_eq!((ssh.timeout, ssh.max_output), (Duration::from_secs(120), 1_048_576));
    assert_eq!(ssh.host_keys, HostKeyPolicy::Strict);
    assert!(ssh.known_hosts.as_ref().is_none_or(|file| file.ends_with(".ssh/known_hosts")));
    assert!(ssh.nodes.is_empty() && ssh.pins.is_empty() && settings.warnings.is_empty(), "{:?}", settings.warnings);
}

#[test]
fn everything_given() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).expect("written");
        path.display().to_string()
    };
    let key = file("key", "-----BEGIN OPENSSH PRIVATE KEY-----\n");
    let guest_key = file("guest", "PuTTY-User-Key-File-3: ssh-ed25519\n");
    let passphrase = file("passphrase", "canary-passphrase\n");
    let settings = load(&[
        ("PROXMOX_SSH_USER", "mcp"),
        ("PROXMOX_SSH_PORT", "2222"),
        ("PROXMOX_SSH_KEY_FILE", &key),
        ("PROXMOX_SSH_KEY_PASSPHRASE_FILE", &passphrase),
        ("PROXMOX_SSH_PASSWORD", "canary-password"),
        ("PROXMOX_SSH_AGENT", "/run/agent"),
        ("PROXMOX_SSH_NODES", "pve1=10.0.0.11, pve2=PVE2.example:2223,pve3=fe80::3,pve4=[fe80::4]:22"),
        ("PROXMOX_SSH_SUDO", "yes"),
        ("PROXMOX_SSH_KNOWN_HOSTS", "/etc/ssh/ssh_known_hosts"),
        ("PROXMOX_SSH_HOST_KEY_POLICY", "accept-new"),
        ("PROXMOX_SSH_FINGERPRINTS", &format!("pve1={PIN},pve1={PIN}=")),
        ("PROXMOX_SSH_TIMEOUT_SECONDS", "5"),
        ("PROXMOX_SSH_MAX_OUTPUT_BYTES", "2048"),
        ("PROXMOX_GUEST_SSH_USER", "admin"),
        ("PROXMOX_GUEST_SSH_KEY_FILE", &guest_key),
        ("PROXMOX_GUEST_SSH_PASSWORD", "canary-guest"),
    ]);
    let settings = settings.unwrap_or_else(|errors| panic!("{errors}"));
    let ssh = &settings.instances[0].ssh;
    assert_eq!((ssh.user.as_str(), ssh.port, ssh.sudo), ("mcp", 2222, true));
    assert_eq!(ssh.login.key_file, Some(PathBuf::from(key)));
    assert_eq!(ssh.login.passphrase.as_ref().map(|secret| secret.expose_secret()), Some("canary-passphrase"));
    assert_eq!(ssh.login.agent, Some(SshAgent::Socket("/run/agent".into())));
    let nodes: Vec<_> = ssh.nodes.values().cloned().collect();
    let wanted = [
        address("10.0.0.11", None),
        address("pve2.example", Some(2223)),
        address("fe80::3", None),
        address("fe80::4", Some(22)),
    ];
    assert_eq!(nodes, wanted);
    assert_eq!(ssh.host_keys, HostKeyPolicy::AcceptNew);
    assert_eq!(ssh.pins["pve1"].iter().map(ToString::to_string).collect::<Vec<_>>(), [PIN, PIN]);
    assert_eq!((ssh.guest_user.as_str(), ssh.guest_login.passphrase.is_none()), ("admin", true));
    assert!(!format!("{settings:?}").contains("canary"), "debug output shows a secret");
    let told = settings.warnings.join("\n");
    assert_eq!(told.matches("other users of this machine can read the key").count(), 2, "{told}");
}

#[test]
fn json_forms() {
    let pins = format!(r#"{{"pve1": "{PIN}", "pve2": ["{PIN}", "{PIN}"]}}"#);
    let settings = load(&[
        ("PROXMOX_SSH_NODES", r#"{"pve1": "10.0.0.11", "pve2": "10.0.0.12:2222"}"#),
        ("PROXMOX_SSH_FINGERPRINTS", &pins),
    ]);
    let settings = settings.unwrap_or_else(|errors| panic!("{errors}"));
    let ssh = &settings.instances[0].ssh;
    assert_eq!(ssh.nodes["pve2"], address("10.0.0.12", Some(2222)));
    assert_eq!((ssh.pins["pve1"].len(), ssh.pins["pve2"].len()), (1, 2));
}

#[test]
fn everything_wrong_is_said_at_once() {
    let dir = tempfile::tempdir().expect("a folder");
    let public = dir.path().join("key.pub");
    std::fs::write(&public, "ssh-ed25519 AAAA\n").expect("written");
    let errors = load(&[
        ("PROXMOX_SSH_USER", "-oProxyCommand=id"),
        ("PROXMOX_SSH_PORT", "0"),
        ("PROXMOX_SSH_KEY_PASSPHRASE", "canary-passphrase"),
        ("PROXMOX_SSH_AGENT", "agent.sock"),
        ("PROXMOX_SSH_NODES", "pve1=10.0.0.11,pve1=10.0.0.12,pve2,-x=10.0.0.13,pve3=10.0.0.14:0,pve4=ssh://x"),
        ("PROXMOX_SSH_SUDO", "ture"),
        ("PROXMOX_SSH_HOST_KEY_POLICY", "accept_new"),
        ("PROXMOX_SSH_FINGERPRINTS", "pve1=MD5:aa:bb,pve2=SHA256:short"),
        ("PROXMOX_SSH_TIMEOUT_SECONDS", "0"),
        ("PROXMOX_SSH_MAX_OUTPUT_BYTES", "10"),
        ("PROXMOX_GUEST_SSH_USER", "a b"),
        ("PROXMOX_GUEST_SSH_KEY_FILE", &public.display().to_string()),
    ]);
    let errors = errors.expect_err("all of it is wrong").replace(&dir.path().display().to_string(), "DIR");
    assert!(!errors.contains("canary"), "{errors}");
    insta::assert_snapshot!(errors);
    for json in [r#"{"pve1": 1}"#, r#"{"pve1": "10.0.0.1""#, r#"{"pve1": null}"#] {
        assert!(load(&[("PROXMOX_SSH_NODES", json)]).is_err(), "{json}");
    }
    assert!(load(&[("PROXMOX_SSH_FINGERPRINTS", r#"{"pve1": []}"#)]).is_err(), "an empty list");
    assert!(load(&[("PROXMOX_SSH_KEY_FILE", "/no/such/key")]).expect_err("no file").contains("cannot be read"));
    assert!(load(&[("PROXMOX_SSH_AGENT", "pageant")]).is_err() || cfg!(windows));
}

#[test]
fn what_is_not_safe_is_warned_about() {
    let settings = load(&[("PROXMOX_SSH_HOST_KEY_POLICY", "off"), ("PROXMOX_SSH_SUDO", "true")]).expect("it starts");
    let told = settings.warnings.join("\n");
    assert!(
        told.contains("host keys are not verified") && told.contains("no effect while PROXMOX_SSH_USER is root"),
        "{told}"
    );
}

#[test]
fn a_rehearsal_takes_nothing_of_it() {
    let vars: HashMap<&str, &str> =
        [("PROXMOX_SSH_NODES", "pve1=10.0.0.11"), ("PROXMOX_SSH_PASSWORD", "canary")].into();
    let names: Vec<String> = vars.keys().map(|name| name.to_string()).collect();
    let get = |name: &str| vars.get(name).map(|value| value.to_string());
    let (settings, ignored) =
        Settings::for_rehearsal(&get, &names, crate::served::nowhere(), false).expect("it starts");
    let ssh = &settings.instances[0].ssh;
    assert!(ssh.nodes.is_empty() && ssh.login.password.is_none() && ssh.known_hosts.is_none() && ssh.only_loopback);
    assert_eq!(ignored.len(), 2);
}

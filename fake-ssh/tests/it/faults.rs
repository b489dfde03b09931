//! What goes wrong on demand, and who may become root.

use std::time::{Duration, Instant};

use fake_pve::Scenario;
use fake_ssh::{Fault, User};

use crate::client::{Place, confined};

fn ops(sudo: bool) -> User {
    User { name: "ops".into(), uid: 1000, password: Some("ops-secret".into()), keys: Vec::new(), sudo }
}

#[tokio::test]
async fn faults_strike_until_they_are_mended() {
    if !confined("faults beside a shell") {
        return;
    }
    let place = Place::with(Scenario::cluster(), |builder| builder).await;
    place.ssh.fault("pve1", Fault::Refuse);
    assert!(place.connect("pve1").await.is_err());
    place.ssh.mend("pve1");
    place.ssh.fault("pve1", Fault::WrongKey);
    let wrong = place.connect("pve1").await.err().expect("another key");
    assert!(matches!(wrong, russh::Error::UnknownKey), "{wrong:?}");
    place.ssh.mend("pve1");
    place.ssh.fault("pve1", Fault::Slow(Duration::from_millis(300)));
    let before = Instant::now();
    let root = place.root().await;
    root.run("true").await.ok();
    assert!(before.elapsed() >= Duration::from_millis(600), "the connection and the command each wait");
    place.ssh.mend("pve1");
    place.ssh.fault("pve1", Fault::Cut(1000));
    let said = place.root().await.run("head -c 5000 /dev/zero; sleep 30").await;
    assert!(said.out.len() <= 1000 && said.status.is_none(), "{} {:?}", said.out.len(), said.status);
    place.ssh.mend("pve1");
    assert_eq!(place.run("echo mended").await.ok(), "mended\n");
}

#[tokio::test]
async fn sudo_makes_root_of_who_may() {
    if !confined("sudo") {
        return;
    }
    let place = Place::with(Scenario::cluster(), |builder| builder.user(ops(true))).await;
    let ops = place.login("pve1", "ops", "ops-secret").await.expect("known");
    assert_eq!(ops.run("id -u; id -un; pwd").await.ok(), "1000\nops\n/home/ops\n");
    let plain = ops.run("/usr/sbin/qm list").await;
    assert_eq!((plain.status, plain.err.as_str()), (Some(255), "please run as root\n"));
    assert!(ops.run("pveversion").await.ok().starts_with("pve-manager/"));
    assert!(ops.run("sudo -n qm list").await.ok().contains("web"));
    assert_eq!(ops.run("sudo -n -- sh -c 'id -u; exit 5'").await.status, Some(5));
    assert_eq!(ops.run("sudo -n pct start 200 && sudo -n pct exec 200 -- id -u").await.ok(), "0\n");
    ops.run("sudo -n sh -c 'echo mine > /root/secret'").await.ok();
    if std::fs::metadata("/proc/self").is_ok_and(|status| std::os::unix::fs::MetadataExt::uid(&status) == 0) {
        // Only root outside can be two different users inside.
        assert_eq!(ops.run("cat /root/secret").await.status, Some(1));
        assert_eq!(ops.run("echo x > /etc/new").await.status, Some(1));
        let channel = ops.0.channel_open_session().await.expect("a channel");
        channel.request_subsystem(true, "sftp").await.expect("sent");
        let files = russh_sftp::client::SftpSession::new(channel.into_stream()).await.expect("a session");
        assert!(files.read("/root/secret").await.is_err());
        assert!(files.create("/etc/new").await.is_err());
        assert!(files.create_dir("/etc/folder").await.is_err());
        files.create("mine").await.expect("a file at home");
        assert_eq!(ops.run("stat -c %U mine; echo more >> mine; cat mine").await.ok(), "ops\nmore\n");
        assert!(!files.read("/etc/passwd").await.expect("for all").is_empty());
    }
    place.ssh.fault("pve1", Fault::NoSudo);
    let refused = ops.run("sudo -n qm list").await;
    assert_eq!((refused.status, refused.err.as_str()), (Some(1), "sudo: a password is required\n"));
}

#[tokio::test]
async fn keys_written_on_the_node_count() {
    if !confined("keys") {
        return;
    }
    let place = Place::with(Scenario::cluster(), |builder| builder).await;
    let key = russh::keys::PrivateKey::from(russh::keys::ssh_key::private::Ed25519Keypair::from_seed(&[9; 32]));
    let enter = || async {
        let mut handle = place.connect("pve1").await.expect("it listens");
        let with = russh::keys::PrivateKeyWithHashAlg::new(std::sync::Arc::new(key.clone()), None);
        handle.authenticate_publickey("root", with).await.expect("an answer").success()
    };
    assert!(!enter().await);
    let line = key.public_key().to_openssh().expect("a line");
    place.run(&format!("echo '{line} me@here' >> ~/.ssh/authorized_keys")).await.ok();
    assert!(enter().await);
}

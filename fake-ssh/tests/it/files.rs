//! File transfer: SFTP by a library and by OpenSSH's own programs, confined to the node's files.

use std::path::Path;
use std::process::Command;

use fake_pve::Scenario;
use russh_sftp::client::SftpSession;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::client::{Place, confined};

async fn sftp(place: &Place) -> SftpSession {
    let channel = place.root().await.0.channel_open_session().await.expect("a channel");
    channel.request_subsystem(true, "sftp").await.expect("sent");
    SftpSession::new(channel.into_stream()).await.expect("a session")
}

#[tokio::test]
async fn files_are_written_listed_and_read() {
    if !confined("SFTP beside a shell") {
        return;
    }
    let place = Place::with(Scenario::empty(), |builder| builder).await;
    let files = sftp(&place).await;
    let data: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
    let mut file = files.create("sub.bin").await.expect("a file");
    file.write_all(&data).await.expect("written");
    file.shutdown().await.expect("closed");
    let mut back = Vec::new();
    files.open("/root/sub.bin").await.expect("there").read_to_end(&mut back).await.expect("read");
    assert!(back == data);
    files.create_dir("dir").await.expect("a folder");
    files.rename("sub.bin", "dir/other.bin").await.expect("moved");
    let names: Vec<String> = files.read_dir("dir").await.expect("a list").map(|entry| entry.file_name()).collect();
    assert_eq!(names, ["other.bin"]);
    let root = place.root().await;
    assert_eq!(root.run("stat -c '%U %s' dir/other.bin").await.ok(), "root 3000000\n");
    root.run("echo shell > from-shell").await.ok();
    let text = files.read("from-shell").await.expect("seen at once");
    assert_eq!(text, b"shell\n");
    files.remove_file("from-shell").await.expect("gone");
    assert!(files.read("from-shell").await.is_err());
}

#[tokio::test]
async fn no_path_leaves_the_node() {
    if !confined("SFTP beside a shell") {
        return;
    }
    let place = Place::with(Scenario::empty(), |builder| builder).await;
    let folder = tempfile::tempdir().expect("a folder");
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "host-secret").expect("a file");
    let secret = secret.display().to_string();
    let files = sftp(&place).await;
    let root = place.root().await;
    root.run(&format!("ln -s {secret} link; ln -s / up; ln -s ../../../../../../ high")).await.ok();
    let ways = [
        secret.clone(),
        format!("/../../../..{secret}"),
        format!("../../../..{secret}"),
        "link".to_string(),
        format!("up/..{secret}"),
        format!("high{secret}"),
        format!("/proc/self/root{secret}"),
    ];
    for way in ways {
        assert!(files.read(&way).await.is_err(), "{way}");
        assert!(
            files.create(format!("{way}-new")).await.is_err() || !Path::new(&format!("{secret}-new")).exists(),
            "{way}"
        );
        let _here_or_nowhere = files.create(way).await;
    }
    assert_eq!(std::fs::read_to_string(&secret).expect("still there"), "host-secret");
    for kept in ["/.fake", "/usr", "/usr/lib", "/proc", "/dev"] {
        assert!(files.rename(kept, "/elsewhere").await.is_err(), "{kept}");
        assert!(files.remove_dir(kept).await.is_err(), "{kept}");
    }
    assert!(files.create("/etc/pve/storage.cfg").await.is_err(), "configuration is read-only");
    assert!(!files.read("/etc/pve/storage.cfg").await.expect("but can be read").is_empty());
    assert_eq!(root.run("echo still here").await.ok(), "still here\n");
}

#[tokio::test]
async fn the_programs_of_openssh_get_along_with_it() {
    if !confined("OpenSSH's programs") {
        return;
    }
    let there =
        ["/usr/bin/ssh", "/usr/bin/scp", "/usr/bin/sftp", "/usr/bin/ssh-keygen"].iter().all(|p| Path::new(p).exists());
    if !there {
        println!("skipped: OpenSSH's programs are not installed");
        #[expect(clippy::disallowed_methods, reason = "whether a skip is a failure stands in the environment")]
        let ci = std::env::var("CI");
        assert_ne!(ci.as_deref(), Ok("true"), "openssh-client must be installed where CI=true");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let made = Command::new("/usr/bin/ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f", &at("key")]).status();
    assert!(made.expect("ssh-keygen runs").success());
    let key = std::fs::read_to_string(at("key.pub")).expect("a key");
    let place = Place::with(Scenario::cluster(), |builder| builder.authorized_key(key.trim())).await;
    let node = &place.ssh.nodes()["pve1"];
    let port = node.address.port().to_string();
    std::fs::write(at("known"), format!("[127.0.0.1]:{port} {}\n", node.host_key)).expect("written");
    std::fs::write(at("big"), vec![7; 2_000_000]).expect("written");
    std::fs::write(at("batch"), format!("put {} two\nls\nget two {}\n", at("big"), at("back2"))).expect("written");
    let common = [
        format!("-oUserKnownHostsFile={}", at("known")),
        "-oStrictHostKeyChecking=yes".into(),
        "-oBatchMode=yes".into(),
        "-oIdentitiesOnly=yes".into(),
        format!("-i{}", at("key")),
        "-F/dev/null".into(),
    ];
    let run = |program: &str, args: Vec<String>| {
        let (program, common) = (program.to_string(), common.clone());
        async move {
            let done = tokio::task::spawn_blocking(move || Command::new(program).args(common).args(args).output());
            done.await.expect("no panic").expect("it runs")
        }
    };
    let ssh = run("/usr/bin/ssh", vec![format!("-p{port}"), "root@127.0.0.1".into(), "qm list; exit 7".into()]).await;
    assert_eq!(ssh.status.code(), Some(7), "{ssh:?}");
    assert!(String::from_utf8_lossy(&ssh.stdout).contains("web"), "{ssh:?}");
    let there = run("/usr/bin/scp", vec![format!("-P{port}"), at("big"), "root@127.0.0.1:one".into()]).await;
    assert!(there.status.success(), "{there:?}");
    let back = run("/usr/bin/scp", vec![format!("-P{port}"), "root@127.0.0.1:one".into(), at("back")]).await;
    assert!(back.status.success(), "{back:?}");
    assert!(std::fs::read(at("back")).expect("there") == vec![7; 2_000_000]);
    let batch =
        run("/usr/bin/sftp", vec![format!("-P{port}"), format!("-b{}", at("batch")), "root@127.0.0.1".into()]).await;
    assert!(batch.status.success(), "{batch:?}");
    assert!(std::fs::read(at("back2")).expect("there") == vec![7; 2_000_000]);
}

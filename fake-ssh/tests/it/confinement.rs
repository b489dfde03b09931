//! What a command may not do, proven by attempts: each fails, and the next command works.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use fake_pve::{FakePve, Scenario};
use fake_ssh::{Error, FakeSsh, Limits};
use serde_json::json;

use crate::client::{Connection, Place, confined};

/// A file of this machine that nobody inside may see, or change.
struct Secret(tempfile::TempDir);

impl Secret {
    fn make() -> Secret {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).expect("open to all");
        std::fs::write(folder.path().join("secret"), "host-secret").expect("a file");
        std::fs::set_permissions(folder.path().join("secret"), std::fs::Permissions::from_mode(0o666))
            .expect("as well");
        Secret(folder)
    }

    fn path(&self) -> String {
        self.0.path().join("secret").display().to_string()
    }

    fn untouched(&self) {
        assert_eq!(std::fs::read_to_string(self.path()).expect("still there"), "host-secret");
        assert_eq!(std::fs::read_dir(self.0.path()).expect("a folder").count(), 1, "nothing was put beside it");
    }
}

async fn small(limits: Limits) -> Place {
    let scenario = Scenario::empty().ct(201, "pve1", json!({"hostname": "one"})).running(201);
    Place::with(scenario, |builder| builder.limits(limits)).await
}

async fn works(root: &Connection) {
    assert_eq!(root.run("echo still here").await.ok(), "still here\n");
    assert_eq!(root.run("pct exec 201 -- echo here too").await.ok(), "here too\n");
}

#[tokio::test]
async fn nothing_of_this_machine_is_read_or_written() {
    if !confined("reading and writing outside") {
        return;
    }
    let (secret, place) = (Secret::make(), small(Limits::default()).await);
    let (root, path) = (place.root().await, secret.path());
    for inside in ["", "pct exec 201 -- "] {
        let attempts = [
            format!("cat {path}"),
            format!("cat /proc/1/root{path}"),
            format!("cat /proc/self/root/../../..{path}"),
            format!("sh -c 'ln -s {path} l$$ && cat l$$'"),
            format!("sh -c 'echo changed > {path}'"),
            format!("cp /etc/hostname {path}2"),
            "sh -c 'echo x > /usr/lib/x'".to_string(),
            "sh -c 'echo x > /.fake/program'".to_string(),
            "sh -c 'echo x > /dev/new'".to_string(),
            "sh -c 'rm -rf /.fake/program; mv /.fake /gone'".to_string(),
            "sh -c 'mv /usr /gone'".to_string(),
            "mount -t tmpfs none /mnt".to_string(),
            "chroot / true".to_string(),
            "perl -e 'exit(syscall(272, 0x10000000) == 0 ? 0 : 1)'".to_string(),
        ];
        for attempt in attempts {
            let said = root.run(&format!("{inside}{attempt}")).await;
            assert_ne!(said.status, Some(0), "{inside}{attempt}: {said:?}");
            assert!(!said.out.contains("host-secret"), "{attempt}");
        }
        let passwd = root.run(&format!("{inside}cat /etc/passwd")).await.ok();
        assert_ne!(passwd, std::fs::read_to_string("/etc/passwd").expect("this machine's"));
        let environment = root.run(&format!("{inside}env")).await.ok();
        assert!(!environment.contains("CARGO"), "{environment}");
    }
    root.run("rm -rf --one-file-system / 2>/dev/null").await;
    secret.untouched();
    works(&place.login("pve1", "root", place.ssh.password()).await.expect("still")).await;
}

#[tokio::test]
async fn no_process_and_no_network_of_this_machine_is_reached() {
    if !confined("processes and network") {
        return;
    }
    let place = small(Limits::default()).await;
    let root = place.root().await;
    let me = std::process::id();
    for inside in ["", "pct exec 201 -- "] {
        let count = root.run(&format!("{inside}sh -c 'ls -d /proc/[0-9]* | wc -l'")).await.ok();
        assert!(count.trim().parse::<u32>().expect("a number") < 10, "{count}");
        assert_ne!(root.run(&format!("{inside}sh -c 'kill -0 {me}'")).await.status, Some(0));
        let port = place.pve.address().port();
        let reach = format!("{inside}bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'");
        let said = root.run(&reach).await;
        assert!(said.status != Some(0) && said.err.contains("Connection refused"), "{said:?}");
        let interfaces = root.run(&format!("{inside}cat /proc/net/dev")).await.ok();
        assert_eq!(interfaces.lines().filter(|line| line.contains(':')).count(), 1, "{interfaces}");
    }
    works(&root).await;
}

#[tokio::test]
async fn too_much_of_anything_ends() {
    if !confined("limits") {
        return;
    }
    let limits = Limits {
        processes: 40,
        memory: 200 << 20,
        files: 64,
        file_size: 8 << 20,
        disk: 24 << 20,
        time: Duration::from_secs(4),
    };
    let place = small(limits).await;
    let root = place.root().await;
    for inside in ["", "pct exec 201 -- "] {
        let bomb = root.run(&format!("{inside}bash -c ':(){{ :|:& }};: ; sleep 1; echo over'")).await;
        assert!(bomb.err.contains("Resource temporarily unavailable"), "{bomb:?}");
        works(&root).await;

        let memory = root.run(&format!("{inside}sh -c 'head -c 1000000000 /dev/zero | tail'")).await;
        assert_ne!(memory.status, Some(0), "{memory:?}");
        let many = "for i in 1 2 3 4 5 6; do head -c 100000000 /dev/zero | tail -c 90000000 | sleep 3 & done; wait";
        root.run(&format!("{inside}sh -c '{many}'")).await;
        works(&root).await;

        let long = root.run(&format!("{inside}dd if=/dev/zero of=/tmp/big bs=1M count=50")).await;
        assert_ne!(long.status, Some(0), "{long:?}");
        let fill = "i=0; while :; do i=$((i+1)); head -c 4000000 /dev/zero > /tmp/f$i || exit 9; sleep 0.1; done";
        let full = root.run(&format!("{inside}sh -c '{fill}'")).await;
        assert_ne!(full.status, Some(9), "{full:?}");
        let left = root.run(&format!("{inside}sh -c 'ls /tmp/f* | wc -l; rm -f /tmp/f* /tmp/big'")).await.ok();
        assert!(left.trim().parse::<u32>().expect("a number") < 20, "{left}");
        works(&root).await;

        let before = std::time::Instant::now();
        let endless = root.run(&format!("{inside}sleep 60")).await;
        assert!(endless.status != Some(0) && before.elapsed() < Duration::from_secs(20), "{endless:?}");
        works(&root).await;
    }
}

#[tokio::test]
async fn sandboxes_asked_for_are_counted_too() {
    if !confined("sandboxes from sandboxes") {
        return;
    }
    let place = small(Limits { time: Duration::from_secs(5), ..Limits::default() }).await;
    let root = place.root().await;
    root.run("printf 'sudo -n sh bomb & sudo -n sh bomb & wait' > bomb").await.ok();
    let bomb = root.run("timeout 3 sh bomb").await;
    assert!(bomb.err.contains("Resource temporarily unavailable"), "{}", bomb.err.len());
    let flood = "for i in $(seq 200); do perl -MIO::Socket::UNIX -e \
'$s = IO::Socket::UNIX->new(Peer => \"/.fake/socket\"); sleep 3' & done; wait";
    root.run(flood).await;
    for _ in 0..100 {
        if root.run("pct exec 201 -- true").await.status == Some(0) {
            break;
        }
    }
    works(&root).await;
}

#[tokio::test]
async fn copies_do_not_leave_their_roots() {
    if !confined("pct push and pull") {
        return;
    }
    let (secret, place) = (Secret::make(), small(Limits::default()).await);
    let (root, path) = (place.root().await, secret.path());
    let attempts = [
        format!("pct push 201 {path} /root/x"),
        format!("pct push 201 /../../../..{path} /root/x"),
        format!("ln -s {path} l; pct push 201 l /root/x"),
        format!("ln -s / up; pct push 201 up/../..{path} /root/x"),
        "pct push 201 /proc/self/environ /root/x".to_string(),
        "pct push 201 /.fake/pve/storage.cfg /.fake/x".to_string(),
        format!("pct pull 201 {path} got"),
        format!("pct pull 201 /../..{path} got"),
        format!("pct exec 201 -- ln -s {path} /root/l2; pct pull 201 /root/l2 got"),
        format!("pct pull 201 /etc/hostname {path}"),
        format!("pct pull 201 /etc/hostname {path}3"),
        format!("ln -s {path} out; pct pull 201 /etc/hostname out"),
        "pct pull 201 /etc/hostname /etc/pve/storage.cfg".to_string(),
        format!("pct exec 201 -- ln -s {path} /root/l3; echo changed > f; pct push 201 f /root/l3"),
    ];
    for attempt in attempts {
        let said = root.run(&attempt).await;
        assert!(
            said.err.contains("failed to") || attempt.contains("l3") || attempt.contains(" out"),
            "{attempt}: {said:?}"
        );
    }
    let got = root
        .run("cat got 2>/dev/null; pct exec 201 -- cat /root/x 2>/dev/null; pct exec 201 -- sh -c 'cat /root/*'")
        .await;
    assert!(!got.out.contains("host-secret"), "{got:?}");
    secret.untouched();
    works(&root).await;
}

#[tokio::test]
async fn a_socket_serves_its_own_sandbox_alone() {
    if !confined("the stub's socket") {
        return;
    }
    let place = small(Limits::default()).await;
    let root = place.root().await;
    let container = root.run("pct exec 201 -- ls /.fake").await.ok();
    assert!(!container.contains("socket") && !container.contains("pve"), "{container}");
    let told = root.run("pct exec 201 -- /.fake/program").await;
    assert_ne!(told.status, Some(0), "{told:?}");

    // Somebody else on this machine finds the socket of a command that runs: only who runs in sandboxes is answered.
    let mut waiting = root.start("echo ready; sleep 3").await;
    let _ready = waiting.wait().await;
    let entries = std::fs::read_dir(std::env::temp_dir()).expect("a folder").flatten();
    let folders = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("fake-ssh-"));
    let mut tried = 0;
    for socket in folders.filter_map(|folder| std::fs::read_dir(folder.path()).ok()).flatten().flatten() {
        let name = socket.file_name().to_string_lossy().into_owned();
        let Ok(mut stream) = UnixStream::connect(socket.path()) else { continue };
        if !rustix_is_root() || !name.starts_with('s') {
            continue;
        }
        tried += 1;
        stream.set_read_timeout(Some(Duration::from_secs(5))).expect("a socket");
        let _refused = stream.write_all(b"\0\0\0\x30{\"argv\":[\"qm\",\"list\"],\"cwd\":\"/\",\"env\":{}}        ");
        let mut answer = Vec::new();
        let _closed = stream.read_to_end(&mut answer);
        assert_eq!(answer, b"", "{name}");
    }
    assert!(tried > 0 || !rustix_is_root());
    works(&root).await;
}

fn rustix_is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|status| std::os::unix::fs::MetadataExt::uid(&status) == 0)
}

#[tokio::test]
async fn where_nothing_confines_nothing_starts() {
    let pve = FakePve::builder().scenario(Scenario::empty()).start().await.expect("a cluster");
    let refused = FakeSsh::builder().join(&pve).program("/bin/false").start().await;
    assert!(matches!(refused, Err(Error::Confinement(_))), "it must not start");
    let bare = FakeSsh::builder().join(&pve).program(crate::client::program()).without_confinement().start().await;
    let place = Place { pve, ssh: bare.expect("because it was asked for") };
    let root = place.root().await;
    assert_eq!(root.run("qm list; echo done").await.ok(), "done\n");
}

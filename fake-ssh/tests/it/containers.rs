//! Containers: commands run for real inside, and what is done inside stays.

use fake_pve::Scenario;
use serde_json::json;

use crate::client::{Connection, Place, confined};

/// One node, a running container of each distribution.
async fn place() -> Place {
    let mut scenario = Scenario::empty();
    for (vmid, ostype) in [(201, "debian"), (202, "ubuntu"), (203, "alpine"), (204, "centos"), (205, "archlinux")] {
        scenario = scenario.ct(vmid, "pve1", json!({"hostname": ostype, "ostype": ostype})).running(vmid);
    }
    Place::with(scenario, |builder| builder).await
}

async fn inside(root: &Connection, vmid: u32, script: &str) -> String {
    let said = root.run_with(&format!("pct exec {vmid} -- sh -s 2>&1"), script.as_bytes()).await;
    format!("{}[{}]", said.out, said.status.expect("a status"))
}

#[tokio::test]
async fn commands_run_inside_with_argv_streams_and_status() {
    if !confined("containers") {
        return;
    }
    let place = place().await;
    let root = place.root().await;
    assert_eq!(root.run("pct exec 201 -- sh -c 'echo hi; exit 3'").await.status, Some(3));
    assert_eq!(root.run("pct exec 201 -- printf '%s|' 'a b' '*' '$HOME' \"it's\"").await.ok(), "a b|*|$HOME|it's|");
    assert_eq!(root.run_with("pct exec 201 -- cat", b"through").await.ok(), "through");
    let said = root.run("pct exec 201 -- sh -c 'echo out; echo err >&2'").await;
    assert_eq!((said.out.as_str(), said.err.as_str()), ("out\n", "err\n"));
    assert_eq!(root.run("pct exec 201 -- hostname").await.ok(), "debian\n");
    let missing = root.run("pct exec 201 -- nosuch-xyz").await;
    assert_eq!(missing.status, Some(127));
    assert!(missing.err.contains("Failed to exec \"nosuch-xyz\""), "{missing:?}");
    assert!(root.run("pct exec 201 ls -la").await.err.contains("Unknown option: la"));
    assert_eq!(root.run("pct exec 999 -- true").await.status, Some(2));
    root.run("pct stop 201").await;
    let stopped = root.run("pct exec 201 -- true").await;
    assert_eq!((stopped.status, stopped.err.as_str()), (Some(255), "container '201' not running!\n"));
}

#[tokio::test]
async fn a_container_is_one_in_the_api_and_on_the_node() {
    if !confined("containers") {
        return;
    }
    let place = place().await;
    let root = place.root().await;
    assert!(root.run("pct stop 201 && pct status 201").await.ok().ends_with("status: stopped\n"));
    assert!(!place.pve.world(|world| world.guests[&201].runs()));
    assert!(root.run("pct start 201 && pct status 201").await.ok().ends_with("status: running\n"));
    assert!(place.pve.world(|world| world.tasks.iter().any(|task| task.worker_type == "vzstart" && task.id == "201")));
    root.run("pct exec 201 -- touch /root/mine").await.ok();
    root.run("pct stop 201; pct destroy 201").await;
    assert!(place.pve.world(|world| !world.guests.contains_key(&201)));
}

#[tokio::test]
async fn what_is_installed_started_and_added_stays() {
    if !confined("containers") {
        return;
    }
    let place = place().await;
    let root = place.root().await;
    let debian = inside(
        &root,
        201,
        "apt-get install -y nginx >/dev/null && dpkg-query -W nginx && systemctl is-active nginx
systemctl stop nginx; systemctl is-active nginx; useradd -m -s /bin/bash ada; id -un ada 2>/dev/null; getent passwd ada
ls -d /home/ada; apt-get install -y nosuch-xyz >/dev/null",
    )
    .await;
    assert!(debian.starts_with("nginx\t1.26.2-1\nactive\ninactive\n"), "{debian}");
    assert!(debian.contains("ada:x:1000:1000::/home/ada:/bin/bash\n/home/ada\n"), "{debian}");
    assert!(debian.ends_with("E: Unable to locate package nosuch-xyz\n[100]"), "{debian}");
    let again =
        inside(&root, 201, "dpkg -s nginx | grep Status; systemctl is-enabled nginx; grep -c ada /etc/passwd").await;
    assert_eq!(again, "Status: install ok installed\nenabled\n1\n[0]");
    root.run("pct reboot 201").await;
    assert_eq!(inside(&root, 201, "systemctl is-active nginx").await, "active\n[0]", "enabled services start with it");

    let alpine = inside(
        &root,
        203,
        ". /etc/os-release; echo $ID; apk add nginx | tail -1; apk info -e nginx
rc-service nginx status; rc-service nginx start; rc-update add nginx default; rc-service nginx status
adduser -D bob; grep -c ^bob /etc/passwd; which apt-get",
    )
    .await;
    assert_eq!(
        alpine,
        "alpine\nOK: 14 MiB in 7 packages\nnginx\n * status: stopped\n * Starting nginx ... [ ok ]\n \
* service nginx added to runlevel default\n * status: started\n1\n[1]"
    );
    let rocky = inside(
        &root,
        204,
        "rpm -q nginx; dnf install -y nginx >/dev/null; rpm -q nginx; systemctl enable --now nginx
systemctl is-active nginx; useradd eve; ls -d /home/eve",
    )
    .await;
    assert!(rocky.starts_with("package nginx is not installed\nnginx-1.26.2-1.el9.x86_64\nCreated symlink"), "{rocky}");
    assert!(rocky.ends_with("active\n/home/eve\n[0]"), "{rocky}");
    let arch =
        inside(&root, 205, "pacman -S --noconfirm nginx >/dev/null; pacman -Q nginx; pacman -Q nosuch-xyz").await;
    assert_eq!(arch, "nginx 1.26.2-1\nerror: package 'nosuch-xyz' was not found\n[1]");
    let ubuntu = inside(
        &root,
        202,
        "grep ^ID= /etc/os-release; echo 'root:secret' | chpasswd; grep -c '^root:\\$6' /etc/shadow",
    )
    .await;
    assert_eq!(ubuntu, "ID=ubuntu\n1\n[0]");
    let sshd = inside(
        &root,
        202,
        "/usr/sbin/sshd -t; echo $?; echo 'Foo yes' > /etc/ssh/sshd_config.d/x.conf; /usr/sbin/sshd -t
rm /etc/ssh/sshd_config.d/x.conf; echo 'PermitRootLogin no' > /etc/ssh/sshd_config.d/y.conf; sshd -T | grep permitroot
passwd -S root; passwd -l root; passwd -S root",
    )
    .await;
    assert_eq!(
        sshd,
        "0\n/etc/ssh/sshd_config.d/x.conf: line 1: Bad configuration option: Foo\n\
/etc/ssh/sshd_config: terminating, 1 bad configuration options\npermitrootlogin no\n\
root P 2024-10-04 0 99999 7 -1\nroot L 2024-10-04 0 99999 7 -1\n[0]"
    );
}

#[tokio::test]
async fn files_go_in_and_out() {
    if !confined("containers") {
        return;
    }
    let place = place().await;
    let root = place.root().await;
    root.run("echo one > f && pct push 201 f /root/g --perms 0600").await.ok();
    assert_eq!(root.run("pct exec 201 -- sh -c 'cat /root/g; stat -c %a /root/g'").await.ok(), "one\n600\n");
    root.run("pct exec 201 -- sh -c 'echo two > /tmp/out' && pct pull 201 /tmp/out back").await.ok();
    assert_eq!(root.run("cat back").await.ok(), "two\n");
    let missing = root.run("pct push 201 nosuch /root/x").await;
    assert_eq!((missing.status, missing.err.as_str()), (Some(0), "failed to open nosuch for reading\n"));
    let no_folder = root.run("pct push 201 f /nosuch/x").await;
    assert_eq!(no_folder.err, "failed to create file: /nosuch/x: No such file or directory\n");
    assert_eq!(root.run("pct push 201 f /root/x --user nosuch").await.err, "failed to get uid for: nosuch\n");
}

#[tokio::test]
async fn snapshots_and_clones_have_files() {
    if !confined("containers") {
        return;
    }
    let place = place().await;
    let root = place.root().await;
    root.run("pct exec 201 -- sh -c 'echo before > /root/f' && pct snapshot 201 one").await;
    assert!(place.pve.world(|world| world.guests[&201].snapshots.contains_key("one")));
    root.run("pct exec 201 -- sh -c 'echo after > /root/f; echo x > /root/new'").await.ok();
    assert_eq!(root.run("pct exec 201 -- cat /root/f").await.ok(), "after\n");
    root.run("pct stop 201; pct rollback 201 one; pct start 201").await;
    assert_eq!(root.run("pct exec 201 -- sh -c 'cat /root/f; ls /root'").await.ok(), "before\nf\n");
    root.run("pct stop 201; pct clone 201 301 --hostname twin --full && pct start 301").await;
    assert_eq!(root.run("pct exec 301 -- sh -c 'cat /root/f; hostname'").await.ok(), "before\ntwin\n");
    root.run("pct delsnapshot 201 one; pct destroy 301 --force").await;
    assert!(place.pve.world(|world| !world.guests.contains_key(&301) && world.guests[&201].snapshots.is_empty()));
}

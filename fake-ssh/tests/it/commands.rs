//! Commands on a node: streams, status, signals, terminals, logins.

use russh::{ChannelMsg, Sig};

use crate::client::{Place, confined, hear};

#[tokio::test]
async fn a_command_has_streams_and_a_status_of_its_own() {
    if !confined("commands") {
        return;
    }
    let place = Place::cluster().await;
    let root = place.root().await;
    let said = root.run("echo out; echo err >&2; exit 7").await;
    assert_eq!((said.out.as_str(), said.err.as_str(), said.status), ("out\n", "err\n", Some(7)));
    assert_eq!(root.run_with("cat; id -un; hostname; pwd", b"in\n").await.ok(), "in\nroot\npve1\n/root\n");
    assert_eq!(root.run("nosuchcmd-xyz").await.status, Some(127));
    let sum = root.run_with("wc -c", &vec![b'x'; 3_000_000]).await.ok();
    assert_eq!(sum.trim(), "3000000");
    assert_eq!(root.run("head -c 5000000 /dev/zero").await.ok().len(), 5_000_000);
    assert!(root.run("pveversion").await.ok().starts_with("pve-manager/"));
    assert!(root.run("cat /etc/pve/qemu-server/100.conf").await.ok().contains("name: web\n"));
}

#[tokio::test]
async fn a_signal_reaches_the_command_and_all_it_started() {
    if !confined("signals") {
        return;
    }
    let place = Place::cluster().await;
    let root = place.root().await;
    let mut channel = root.start("trap 'echo told; exit 3' TERM; echo ready; sleep 100 & wait").await;
    while !matches!(channel.wait().await, Some(ChannelMsg::Data { .. })) {}
    channel.signal(Sig::TERM).await.expect("sent");
    let said = hear(channel).await;
    assert_eq!((said.out.as_str(), said.status), ("told\n", Some(3)));

    let mut channel = root.start("echo ready; exec sleep 100").await;
    while !matches!(channel.wait().await, Some(ChannelMsg::Data { .. })) {}
    channel.signal(Sig::KILL).await.expect("sent");
    assert_eq!(hear(channel).await.signal.as_deref(), Some("KILL"));
    assert_eq!(root.run("kill -9 $$").await.signal.as_deref(), Some("KILL"));
    assert_eq!(root.run("exit 137").await.status, Some(137), "a status that only looks like one");
    assert_eq!(root.run("pct start 200; pct exec 200 -- sh -c 'kill -TERM $$'").await.status, Some(143));
}

#[tokio::test]
async fn a_terminal_is_one() {
    if !confined("terminals") {
        return;
    }
    let place = Place::cluster().await;
    let root = place.root().await;
    let channel = root.0.channel_open_session().await.expect("a channel");
    channel.request_pty(true, "xterm", 91, 33, 0, 0, &[]).await.expect("sent");
    channel.request_shell(true).await.expect("sent");
    channel.data_bytes("stty size; tty; echo $((6*7)) $TERM; exit 4\n").await.expect("sent");
    let said = hear(channel).await;
    assert!(said.out.contains("33 91\r\n") && said.out.contains("/dev/"), "{said:?}");
    assert!(said.out.contains("42 xterm\r\n") && said.out.contains("root@pve1:~#"), "{said:?}");
    assert_eq!(said.status, Some(4));
}

#[tokio::test]
async fn only_who_is_known_comes_in() {
    if !confined("logins") {
        return;
    }
    let place = Place::cluster().await;
    assert!(place.login("pve1", "root", "wrong").await.is_none());
    assert!(place.login("pve1", "nobody", place.ssh.password()).await.is_none());
    assert!(place.login("pve2", "root", place.ssh.password()).await.is_some());
    assert_ne!(place.ssh.nodes()["pve1"].fingerprint, place.ssh.nodes()["pve2"].fingerprint);
}

/// What a terminal shows until a text has been there.
async fn shown_until(channel: &mut russh::Channel<russh::client::Msg>, text: &str) -> String {
    let mut shown = String::new();
    while !shown.contains(text) {
        let patience = std::time::Duration::from_secs(60);
        match tokio::time::timeout(patience, channel.wait()).await {
            Ok(Some(ChannelMsg::Data { data })) => shown.push_str(&String::from_utf8_lossy(&data)),
            Ok(Some(_)) => {}
            Ok(None) => panic!("it ended: {shown}"),
            Err(_) => panic!("no {text:?} in a minute: {shown}"),
        }
    }
    shown
}

#[tokio::test]
async fn a_container_is_entered_in_a_terminal() {
    if !confined("terminals") {
        return;
    }
    let place = Place::cluster().await;
    let root = place.root().await;
    root.run("pct start 200").await;
    let channel = root.0.channel_open_session().await.expect("a channel");
    channel.request_pty(true, "xterm", 91, 33, 0, 0, &[]).await.expect("sent");
    channel.exec(true, "pct enter 200; echo left $?").await.expect("sent");
    // A shell that waits, and no exec: a signal just before that would be lost.
    channel.data_bytes("stty size; sh -c 'hostname; read never'\n").await.expect("sent");
    let mut channel = channel;
    let shown = shown_until(&mut channel, "dns\r\n").await;
    channel.data_bytes("\x03").await.expect("sent");
    // What is typed before the shell asks again goes with the signal.
    shown_until(&mut channel, "root@dns:").await;
    channel.data_bytes("echo interrupted $((6*7)); exit 5\n").await.expect("sent");
    let said = hear(channel).await;
    assert!(shown.contains("root@dns:") && shown.contains("33 91\r\n"), "{shown}");
    assert!(said.out.contains("interrupted 42\r\n") && said.out.contains("left 5\r\n"), "{said:?}");
    assert!(!shown.contains("job control"), "{shown}");
}

#[tokio::test]
async fn a_node_has_services_and_a_journal() {
    if !confined("services") {
        return;
    }
    let place = Place::cluster().await;
    let root = place.root().await;
    assert_eq!(root.run("systemctl is-active pveproxy").await.ok(), "active\n");
    root.run("systemctl restart pveproxy").await.ok();
    assert_eq!(root.run("systemctl status nosuch").await.status, Some(4));
    assert_eq!(root.run("journalctl -n 2 --no-pager | wc -l").await.status, Some(0));
    root.run("cat /etc/ssh/ssh_host_ed25519_key.pub > k; qm set 100 --sshkeys k").await.ok();
    assert!(place.pve.world(|world| world.guests[&100].option("sshkeys").is_some_and(|keys| keys.contains("%20AAAA"))));
    let calls = place.ssh.calls();
    assert!(calls.iter().any(|call| call[..3] == ["qm", "set", "100"]), "{calls:?}");
}

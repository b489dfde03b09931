//! Commands on a real sshd: output, status, signals, time, bounds, connections.

use std::sync::Arc;
use std::time::Duration;

use pvemcp::config::SshAddress;
use pvemcp::error::{Code, Fault};
use pvemcp::policy::{Effect, Limits, Place, SshCommand};
use pvemcp::ssh::{End, Output};
use serde_json::json;

use super::clock::HandClock;
use super::sshd::{Client, Cluster, Sshd, command, node, permit};

#[tokio::test]
async fn output_status_and_signal() {
    let Some(sshd) = Sshd::start() else { return };
    let client = sshd.client();
    let output = client.run(&["sh", "-c", "echo out; echo err >&2; exit 7"]).await.expect("it ran");
    assert_eq!((&output.stdout[..], &output.stderr[..], &output.end), (&b"out\n"[..], &b"err\n"[..], &End::Exit(7)));
    assert!(!output.truncated && !output.is_success());
    let output = client.run(&["sh", "-c", "kill -9 $$"]).await.expect("it ran");
    assert_eq!(output.end, End::Signal("KILL".into()));
    assert_eq!(
        client.stdout(&["printf", "%s|", "a b", "$(id)", "*", "it's", "-n", "é\n"]).await,
        "a b|$(id)|*|it's|-n|é\n|"
    );
    let missing = client.run(&["no-such-program"]).await.expect("the shell says so");
    assert_eq!(missing.end, End::Exit(127));
    assert!(missing.error_text().contains("no-such-program"));
}

#[tokio::test]
async fn input_reaches_the_command_and_ends() {
    let Some(sshd) = Sshd::start() else { return };
    let client = sshd.client();
    let large: Vec<u8> = (0..5_000_000u32).map(|n| n as u8).collect();
    let counted = client.command(command(&["wc", "-c"]).stdin(large)).await.expect("it ran");
    assert_eq!(counted.text().trim(), "5000000");
    assert_eq!(client.stdout(&["cat"]).await, "", "without input it sees the end at once");
    // Nobody reads the input: that must not keep the command.
    let output = client.command(command(&["true"]).stdin(vec![b'x'; 5_000_000])).await.expect("it ran");
    assert!(output.is_success());
    let both = client.command(command(&["cat"]).stdin(vec![b'y'; 800_000])).await.expect("it ran");
    assert_eq!(both.stdout.len(), 800_000);
}

#[tokio::test]
async fn large_output_is_cut_or_refused() {
    let Some(sshd) = Sshd::start() else { return };
    let mut settings = sshd.settings();
    settings.max_output = 100_000;
    let client = Client::new(settings);
    let script = "head -c 50000000 /dev/zero; echo done >&2; exit 3";
    let output = client.run(&["sh", "-c", script]).await.expect("it ran");
    assert!(output.truncated);
    assert_eq!((output.stdout.len(), output.end.clone()), (100_000, End::Exit(3)), "it ran to its end all the same");
    assert_eq!(output.error_text(), "done\n");
    assert_eq!(output.to_json()["truncated"], true);
    let whole = command(&["sh", "-c", script]).limits(Limits { whole: true, ..Limits::default() });
    let fault = client.command(whole).await.expect_err("too much");
    assert_eq!(fault.code, Code::SshOutputTooLarge);
    let fits = command(&["head", "-c", "100000", "/dev/zero"]).limits(Limits { whole: true, ..Limits::default() });
    assert_eq!(client.command(fits).await.expect("just enough").stdout.len(), 100_000);
}

/// Reads what somebody writes into a pipe with a name.
pub async fn line(fifo: std::path::PathBuf) -> String {
    tokio::task::spawn_blocking(move || std::fs::read_to_string(fifo).expect("readable")).await.expect("no panic")
}

/// Once a command is up, its time is over, and every further pause too.
async fn out_of_patience(
    run: impl Future<Output = Result<Output, Fault>>,
    ready: std::path::PathBuf,
    clock: &HandClock,
) -> Fault {
    let hurry = async {
        line(ready).await;
        clock.wake(Duration::from_secs(120)).await;
        loop {
            clock.wake(Duration::from_secs(2)).await;
        }
    };
    tokio::select! {
        done = run => done.expect_err("it took too long"),
        () = hurry => unreachable!("it never ends"),
    }
}

#[tokio::test]
async fn a_command_that_takes_too_long_gets_a_signal() {
    let Some(sshd) = Sshd::start() else { return };
    let clock = Arc::new(HandClock::default());
    let client = Client::with_clock(sshd.settings(), clock.clone());
    let (ready, ended) = (sshd.fifo("ready"), sshd.fifo("ended"));
    let script = format!(
        "trap 'echo got TERM > {0}; exit 5' TERM; echo some output; echo up > {1}; sleep 1000 & wait",
        ended.display(),
        ready.display()
    );
    let (fault, said, ()) = tokio::join!(client.sh(&script), line(ended), async {
        assert_eq!(line(ready).await, "up\n");
        clock.wake(Duration::from_secs(120)).await;
    });
    let fault = fault.expect_err("it took too long");
    assert_eq!(said, "got TERM\n");
    assert_eq!((fault.code, &fault.details["may_go_on"]), (Code::Timeout, &json!(false)), "{fault:?}");
    assert_eq!(fault.details["stdout"], "some output\n");
}

#[tokio::test]
async fn what_ignores_the_signal_is_killed() {
    let Some(sshd) = Sshd::start() else { return };
    let clock = Arc::new(HandClock::default());
    let client = Client::with_clock(sshd.settings(), clock.clone());
    let (ready, alive) = (sshd.fifo("ready"), sshd.fifo("alive"));
    let script = format!(
        "trap '' TERM; exec 9> {}; echo up > {}; while :; do sleep 1000; done",
        alive.display(),
        ready.display()
    );
    // The second file ends when the last of its writers has ended. How soon sshd says so is sshd's own affair.
    let dead = tokio::time::timeout(Duration::from_secs(60), line(alive));
    let (fault, dead) = tokio::join!(out_of_patience(client.sh(&script), ready, &clock), dead);
    assert_eq!(fault.code, Code::Timeout, "{fault:?}");
    assert_eq!(dead.expect("it was killed"), "");
}

#[tokio::test]
async fn what_cannot_be_reached_by_a_signal_may_go_on_and_that_is_said() {
    let Some(sshd) = Sshd::start() else { return };
    let clock = Arc::new(HandClock::default());
    let client = Client::with_clock(sshd.settings(), clock.clone());
    let (ready, go) = (sshd.fifo("ready"), sshd.fifo("go"));
    // In a session of its own it is out of the signal's reach.
    let inner = format!("echo up > {}; cat {} > /dev/null", ready.display(), go.display());
    let argv = ["setsid", "--wait", "sh", "-c", &inner];
    let fault = out_of_patience(client.run(&argv), ready, &clock).await;
    std::fs::write(go, "").expect("somebody still reads it: it went on");
    assert_eq!((fault.code, &fault.details["may_go_on"]), (Code::Timeout, &json!(true)), "{fault:?}");
    assert!(fault.hint.is_some_and(|hint| hint.contains("may go on")));
}

#[tokio::test]
async fn output_that_is_held_open_is_not_waited_for() {
    let Some(sshd) = Sshd::start() else { return };
    let clock = Arc::new(HandClock::default());
    let client = Client::with_clock(sshd.settings(), clock.clone());
    let go = sshd.fifo("go");
    let script = format!("echo started; (cat {} > /dev/null) & exit 0", go.display());
    let (output, ()) = tokio::join!(client.sh(&script), clock.wake(Duration::from_secs(2)));
    let output = output.expect("it ended");
    assert!(output.is_success() && output.left_running, "{output:?}");
    assert_eq!(output.text(), "started\n");
    std::fs::write(go, "").expect("what it started runs on");
}

#[tokio::test]
async fn a_connection_is_used_again_and_made_anew_when_it_broke() {
    let Some(sshd) = Sshd::start() else { return };
    let client = sshd.client();
    let connections = || sshd.log().matches("Accepted publickey").count();
    // `$PPID` of a command is the server process of its connection.
    let server = ["sh", "-c", "echo $PPID"];
    let first = client.stdout(&server).await;
    let (a, b, c) = tokio::join!(client.stdout(&server), client.stdout(&server), client.stdout(&server));
    assert_eq!([&a, &b, &c], [&first; 3]);
    assert_eq!(connections(), 1);
    let cut = client.run(&["sh", "-c", "kill -9 $PPID; read x"]).await.expect_err("its connection is gone");
    assert_eq!(cut.code, Code::SshUnreachable, "{cut}");
    assert_ne!(client.stdout(&server).await, first);
    assert_eq!(connections(), 2);
}

#[tokio::test]
async fn many_commands_at_once_share_what_room_there_is() {
    let Some(sshd) = Sshd::start() else { return };
    let client = Arc::new(sshd.client());
    let runs = (0..25).map(|n| {
        let client = client.clone();
        tokio::spawn(async move { client.stdout(&["sh", "-c", "sleep 0.05; echo $0", &n.to_string()]).await })
    });
    for (n, run) in runs.collect::<Vec<_>>().into_iter().enumerate() {
        assert_eq!(run.await.expect("no panic"), format!("{n}\n"));
    }
    assert_eq!(sshd.log().matches("Accepted publickey").count(), 1);
}

#[tokio::test]
async fn several_nodes_and_addresses_from_the_cluster() {
    let (Some(one), Some(two)) = (Sshd::start(), Sshd::start()) else { return };
    let mut settings = one.settings();
    settings.nodes.insert("pve2".into(), SshAddress { host: "127.0.0.1".into(), port: Some(two.address.port()) });
    settings.pins.insert("pve2".into(), vec![two.host_fingerprint("ed25519")]);
    std::fs::copy(one.path("authorized_keys"), two.path("authorized_keys")).expect("copied");
    one.install("where", "#!/bin/sh\necho one\n");
    two.install("where", "#!/bin/sh\necho two\n");
    let client = Client::new(settings.clone());
    let on = |node: &str| SshCommand::run("test", Place::Node(node.into()), ["where"], Effect::Reads).expect("plain");
    assert_eq!(client.command(on("pve1")).await.expect("ran").text(), "one\n");
    assert_eq!(client.command(on("pve2")).await.expect("ran").text(), "two\n");

    settings.nodes.clear();
    settings.port = two.address.port();
    let client = Client::new(settings);
    let cluster = Cluster {
        status: json!([
            {"type": "cluster", "name": "c"},
            {"type": "node", "name": "pve1", "ip": "127.0.0.9"},
            {"type": "node", "name": "pve2", "ip": "127.0.0.1"},
            {"type": "node", "name": "pve3"},
        ]),
        api: "127.0.0.1".into(),
    };
    assert_eq!(client.ssh.run(permit(on("pve2")), &cluster).await.expect("ran").text(), "two\n");
    let fault = client.ssh.run(permit(on("pve9")), &cluster).await.expect_err("no such node");
    assert_eq!((fault.code, fault.hint.as_deref()), (Code::NotFound, Some("there are: pve1, pve2, pve3")));
    assert_eq!(client.ssh.run(permit(on("pve3")), &cluster).await.expect_err("no address").code, Code::SshUnreachable);
    // The only node is where the API is, whatever address it has for itself.
    let single =
        Cluster { status: json!([{"type": "node", "name": "pve2", "ip": "192.0.2.1"}]), api: "127.0.0.1".into() };
    assert_eq!(client.ssh.run(permit(on("pve2")), &single).await.expect("ran").text(), "two\n");
}

#[tokio::test]
async fn nobody_there() {
    let Some(sshd) = Sshd::start() else { return };
    let mut settings = sshd.settings();
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound").port();
    settings.nodes.insert("pve1".into(), SshAddress { host: "127.0.0.1".into(), port: Some(free) });
    let fault = Client::new(settings.clone()).run(&["true"]).await.expect_err("nobody listens");
    assert_eq!(fault.code, Code::SshUnreachable);
    assert!(fault.hint.as_ref().is_some_and(|hint| hint.contains("PROXMOX_SSH_NODES=pve1=")), "{fault}");
    // Somebody listens and says nothing.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = silent.local_addr().expect("bound").port();
    settings.nodes.insert("pve1".into(), SshAddress { host: "127.0.0.1".into(), port: Some(port) });
    let clock = Arc::new(HandClock::default());
    let client = Client::with_clock(settings.clone(), clock.clone());
    let (fault, ()) = tokio::join!(client.run(&["true"]), clock.wake(Duration::from_secs(20)));
    assert_eq!(fault.expect_err("no answer").code, Code::SshUnreachable);
    // A rehearsal goes nowhere else.
    settings.nodes.insert("pve1".into(), SshAddress { host: "192.0.2.1".into(), port: None });
    assert_eq!(Client::new(settings).run(&["true"]).await.expect_err("not here").code, Code::Blocked);
}

#[tokio::test]
async fn containers_go_through_pct_and_sudo_through_sudo() {
    let Some(sshd) = Sshd::start() else { return };
    // As the real one: the arguments after `--` are run as they are, without a shell.
    let pct = r#"#!/bin/sh
[ "$1" = exec ] && [ "$3" = -- ] || exit 255
case $2 in
  102) echo "container '102' not running!" >&2; exit 255;;
esac
shift 3
exec "$@"
"#;
    sshd.install("pct", pct);
    sshd.install("sudo", "#!/bin/sh\n[ \"$1 $2\" = '-n --' ] || exit 9\nshift 2\necho sudo >&2\nexec \"$@\"\n");
    let client = sshd.client();
    let inside = |vmid, argv: &[&str]| {
        let place = Place::Container { node: "pve1".into(), vmid };
        SshCommand::run("test", place, argv.iter().copied(), Effect::Reads).expect("plain")
    };
    let hostile = "a'b \"c\" $(id) `id` \\ * ~ \n;é";
    let output = client.command(inside(101, &["printf", "%s|", hostile, "--", "-x"])).await.expect("it ran");
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{hostile}|--|-x|"));
    let nested = pvemcp::ssh::quote::in_shell(&["printf", "%s|", hostile]).expect("plain");
    let nested: Vec<&str> = nested.iter().map(String::as_str).collect();
    let output = client.command(inside(101, &nested)).await.expect("it ran");
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{hostile}|"), "through two shells");
    assert_eq!(client.command(inside(102, &["true"])).await.expect_err("stopped").code, Code::GuestNotRunning);

    if super::sshd::whoami() == "root" {
        // sudo is for users that are not root.
        let mut settings = sshd.settings();
        settings.sudo = true;
        assert!(Client::new(settings).run(&["true"]).await.expect("it ran").stderr.is_empty());
    }
}

#[test]
fn sudo_stands_in_front_of_everything_but_guests() {
    let run = SshCommand::run("test", node(), ["ls", "/"], Effect::Reads).expect("plain");
    assert_eq!(run.argv(true), ["sudo", "-n", "--", "ls", "/"]);
    let container = Place::Container { node: "pve1".into(), vmid: 101 };
    let inside = SshCommand::run("test", container.clone(), ["ls", "/"], Effect::Reads).expect("plain");
    assert_eq!(inside.argv(true), ["sudo", "-n", "--", "pct", "exec", "101", "--", "ls", "/"]);
    let terminal = |place| SshCommand::terminal("test", place, 80, 24).expect("plain");
    assert_eq!(terminal(container).argv(false), ["pct", "enter", "101"]);
    assert_eq!(terminal(node()).argv(true), ["sudo", "-n", "-i"]);
    assert!(terminal(node()).argv(false).is_empty());
}

#[tokio::test]
async fn secrets_do_not_come_back() {
    let Some(sshd) = Sshd::start() else { return };
    let secret = command(&["cat"]).stdin("root:canary-secret\n\x1b[31mred\x1b[0m\n").hiding("canary-secret");
    let output = sshd.client().command(secret).await.expect("it ran");
    assert_eq!(output.text(), "root:[REDACTED]\nred\n");
    let json = output.to_json();
    assert_eq!((&json["untrusted"], &json["exit_status"]), (&json!(true), &json!(0)));
    assert!(json.get("stderr").is_none() && json.get("truncated").is_none());
}

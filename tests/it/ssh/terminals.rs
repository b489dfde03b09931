//! Terminals on a real sshd: typing, reading, bounds, and when they end.

use std::sync::Arc;
use std::time::Duration;

use pvemcp::config::SshSettings;
use pvemcp::error::Code;
use pvemcp::policy::{Place, SshCommand};
use pvemcp::ssh::End;
use pvemcp::ssh::terminal::{Ended, IDLE, KEPT, MOST, Printed};

use super::clock::HandClock;
use super::sshd::{Client, Sshd, node, permit};

const WAIT: Duration = Duration::from_secs(30);

async fn open(client: &Client) -> String {
    let command = SshCommand::terminal("test", node(), 80, 24).expect("plain");
    client.ssh.open_terminal(permit(command), client.cluster()).await.expect("it opens")
}

/// Reads until a text has come, or the end.
async fn until(client: &Client, id: &str, wanted: &str) -> Printed {
    let mut all = Printed { text: String::new(), missed: 0, ended: None };
    while !all.text.contains(wanted) && all.ended.is_none() {
        let more = client.ssh.terminals().read(id, WAIT).await.expect("it is there");
        assert_ne!((more.text.as_str(), &more.ended), ("", &None), "nothing more came after: {}", all.text);
        all.text += &more.text;
        all.missed += more.missed;
        all.ended = more.ended;
    }
    all
}

/// A server whose users get a shell that is the same everywhere.
fn start() -> Option<Sshd> {
    Sshd::with(&["ed25519"], "SetEnv PS1=ready> ENV=/dev/null HISTFILE=/dev/null")
}

#[tokio::test]
async fn typing_and_reading() {
    let Some(sshd) = start() else { return };
    let client = sshd.client();
    let id = open(&client).await;
    let terminals = client.ssh.terminals();
    terminals.send(&id, b"stty size; echo $((6*7)); tty > /dev/null && echo a-''terminal\n").expect("typed");
    let printed = until(&client, &id, "a-terminal\n").await;
    assert!(printed.text.contains("24 80\n42\n"), "{}", printed.text);
    terminals.send(&id, b"read x; echo \"got <$x>\"\n").expect("typed");
    terminals.send(&id, b"an answer\n").expect("typed");
    until(&client, &id, "got <an answer>\n").await;
    assert_eq!(terminals.list().iter().map(|listed| (&listed.id, listed.ended)).collect::<Vec<_>>(), [(&id, false)]);
    terminals.send(&id, b"exit 3\n").expect("typed");
    let last = until(&client, &id, "\u{0}").await;
    assert_eq!(last.ended, Some(Ended::Program(End::Exit(3))));
    assert_eq!(terminals.read(&id, WAIT).await.expect_err("it is gone").code, Code::NotFound);
    assert!(terminals.list().is_empty());
}

#[tokio::test]
async fn a_program_that_reads_nothing_does_not_block() {
    let Some(sshd) = start() else { return };
    let client = sshd.client();
    let id = open(&client).await;
    let terminals = client.ssh.terminals();
    terminals.send(&id, b"stty raw -echo; echo rea''dy; exec tail -f /dev/null\n").expect("typed");
    until(&client, &id, "ready").await;
    let mut fault = None;
    for _ in 0..1000 {
        fault = terminals.send(&id, &[b'x'; 100_000]).err();
        if fault.is_some() {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(fault.expect("there is an end to it").code, Code::Conflict);
    terminals.close(&id).expect("it can be closed all the same");
}

#[tokio::test]
async fn keys_and_escapes_do_not_show() {
    let Some(sshd) = start() else { return };
    super::sshd::keygen(&sshd.path("secret"), "ed25519", "");
    let client = sshd.client();
    let id = open(&client).await;
    let typed = format!("cat {}; printf '\\033[31mred\\033[0m %s\\n' over\n", sshd.file("secret"));
    client.ssh.terminals().send(&id, typed.as_bytes()).expect("typed");
    let printed = until(&client, &id, "red over\n").await;
    assert!(printed.text.contains("[REDACTED]") && !printed.text.contains("b3BlbnNzaC1rZXkt"), "{}", printed.text);
}

#[tokio::test]
async fn eight_at_most() {
    let Some(sshd) = start() else { return };
    let client = sshd.client();
    let mut ids = Vec::new();
    for _ in 0..MOST {
        ids.push(open(&client).await);
    }
    let command = || permit(SshCommand::terminal("test", node(), 80, 24).expect("plain"));
    let fault = client.ssh.open_terminal(command(), client.cluster()).await.expect_err("one too many");
    assert_eq!(fault.code, Code::Conflict);
    client.ssh.terminals().close(&ids[0]).expect("it is there");
    assert_eq!(client.ssh.terminals().close(&ids[0]).expect_err("not any more").code, Code::NotFound);
    open(&client).await;
    // A terminal that has ended makes room too.
    client.ssh.terminals().send(&ids[1], b"exit\n").expect("typed");
    while !client.ssh.terminals().list().iter().any(|listed| listed.ended) {
        tokio::task::yield_now().await;
    }
    open(&client).await;
    // Commands have their own connection and room.
    client.stdout(&["true"]).await;
}

#[tokio::test]
async fn nobody_uses_it_for_a_quarter_of_an_hour() {
    let Some(sshd) = start() else { return };
    let clock = Arc::new(HandClock::default());
    let client = Client::with_clock(sshd.settings(), clock.clone());
    let id = open(&client).await;
    clock.advance(IDLE - Duration::from_secs(1));
    client.ssh.terminals().send(&id, b"echo still here\n").expect("it is open");
    until(&client, &id, "still here\n").await;
    clock.advance(Duration::from_secs(2));
    client.ssh.terminals().send(&id, b"echo and now\n").expect("typing kept it open");
    until(&client, &id, "and now\n").await;
    clock.advance(IDLE);
    let last = until(&client, &id, "\u{0}").await;
    assert_eq!(last.ended, Some(Ended::Idle));
}

#[tokio::test]
async fn the_last_mebibyte_is_kept() {
    let Some(sshd) = start() else { return };
    let client = sshd.client();
    let id = open(&client).await;
    let script = b"stty -onlcr -echo; head -c 2000000 /dev/zero | tr '\\0' x; echo; echo the en''d; exit\n";
    client.ssh.terminals().send(&id, script).expect("typed");
    while !client.ssh.terminals().list()[0].ended {
        tokio::task::yield_now().await;
    }
    let printed = client.ssh.terminals().read(&id, WAIT).await.expect("its last words");
    assert!(printed.text.contains("the end\n"));
    assert!(printed.text.len() <= KEPT && printed.missed > 900_000, "{} {}", printed.text.len(), printed.missed);
}

#[tokio::test]
async fn terminals_end_with_the_server() {
    let Some(sshd) = start() else { return };
    let shutdown = tokio_util::sync::CancellationToken::new();
    let clock = Arc::new(HandClock::default());
    let ssh = pvemcp::ssh::Ssh::new(sshd.settings(), clock, shutdown.clone());
    let command = permit(SshCommand::terminal("test", node(), 80, 24).expect("plain"));
    let id = ssh.open_terminal(command, sshd.client().cluster()).await.expect("it opens");
    shutdown.cancel();
    loop {
        let printed = ssh.terminals().read(&id, WAIT).await.expect("it is there");
        if printed.ended.is_some() {
            assert_eq!(printed.ended, Some(Ended::Closed));
            break;
        }
    }
}

#[tokio::test]
async fn a_shell_in_a_container_and_servers_that_give_none() {
    let Some(sshd) = start() else { return };
    sshd.install("pct", "#!/bin/sh\n[ \"$1 $2\" = 'enter 101' ] && echo inside && exec sh\nexit 9\n");
    let client = sshd.client();
    let place = Place::Container { node: "pve1".into(), vmid: 101 };
    let command = SshCommand::terminal("test", place, 80, 24).expect("plain");
    let id = client.ssh.open_terminal(permit(command), client.cluster()).await.expect("it opens");
    until(&client, &id, "inside\n").await;

    let Some(sshd) = Sshd::with(&["ed25519"], "PermitTTY no") else { return };
    let client = Client::new(SshSettings { ..sshd.settings() });
    let command = permit(SshCommand::terminal("test", node(), 80, 24).expect("plain"));
    let fault = client.ssh.open_terminal(command, client.cluster()).await.expect_err("no terminal");
    assert_eq!(fault.code, Code::SshUnreachable);
    assert!(client.ssh.terminals().list().is_empty());
}

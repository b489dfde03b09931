//! What tools see: `Ctx::ssh` and its kin, over a scripted cluster and a real sshd.

use std::sync::Arc;

use pvemcp::config::Access;
use pvemcp::error::Code;
use pvemcp::policy::{Effect, Place, SshCommand};
use pvemcp::pve::WallClock;
use pvemcp::server::Server;
use pvemcp::tools::Ctx;
use pvemcp::tools::context::{Caller, Performed};

use super::running::line;
use super::sshd::{Sshd, command, node};
use crate::scripted::{self, Scripted};
use crate::served::{cluster, everything, settings};

async fn context(sshd: &Sshd, access: Access, caller: Caller) -> (Scripted, Ctx) {
    let scripted = cluster(|request| {
        (request.path() == "/cluster/status").then(|| {
            scripted::ok(r#"{"data":[{"type":"node","name":"pve1","ip":"192.0.2.1"},{"type":"node","name":"pve2","ip":"127.0.0.1"}]}"#)
        })
    })
    .await;
    let mut settings = settings(scripted.connection(), access);
    settings.instances[0].ssh = sshd.settings();
    settings.instances[0].ssh.port = sshd.address.port();
    let pin = settings.instances[0].ssh.pins["pve1"].clone();
    settings.instances[0].ssh.pins.insert("pve2".into(), pin);
    let server = Server::with_clock(settings, Arc::new(WallClock::default())).expect("usable settings");
    (scripted, Ctx::new(server, 0, caller))
}

#[tokio::test]
async fn a_command_through_the_policy() {
    let Some(sshd) = Sshd::start() else { return };
    let (_scripted, ctx) = context(&sshd, everything(), Caller::default()).await;
    let Performed::Done(output) = ctx.ssh(command(&["echo", "hello"]), false).await.expect("it ran") else {
        panic!("it was no dry run")
    };
    assert_eq!(output.text(), "hello\n");
    let Performed::Dry(shown) = ctx.ssh(command(&["echo", "hello"]), true).await.expect("it is shown") else {
        panic!("it was a dry run")
    };
    assert_eq!(shown["run"], "exec echo hello");
    let (_scripted, closed) = context(&sshd, Access::default(), Caller::default()).await;
    assert_eq!(closed.ssh(command(&["true"]), false).await.expect_err("closed").code, Code::GateClosed);
}

#[tokio::test]
async fn a_node_is_found_through_the_cluster() {
    let Some(sshd) = Sshd::start() else { return };
    let (_scripted, ctx) = context(&sshd, everything(), Caller::default()).await;
    let there = SshCommand::run("test", Place::Node("pve2".into()), ["echo", "there"], Effect::Reads).expect("plain");
    let Performed::Done(output) = ctx.ssh(there, false).await.expect("it ran") else { panic!("it was no dry run") };
    assert_eq!(output.text(), "there\n");
}

#[tokio::test]
async fn a_mask_is_not_written_back() {
    let Some(sshd) = Sshd::start() else { return };
    let (_scripted, ctx) = context(&sshd, everything(), Caller::default()).await;
    let write = command(&["tee", &sshd.file("x")]).stdin("key=[REDACTED]\n");
    assert_eq!(ctx.ssh(write, false).await.expect_err("a mask").code, Code::RedactedBody);
    assert!(!sshd.path("x").exists());
    let stars = command(&["tee", &sshd.file("y")]).stdin("# **********\n");
    ctx.ssh(stars, false).await.expect("an ordinary line of stars");
    let search = SshCommand::run("test", node(), ["grep", "-c", "[REDACTED]", "/etc/hostname"], Effect::Reads);
    ctx.ssh(search.expect("plain"), false).await.expect("a read writes nothing");
}

#[tokio::test]
async fn a_caller_that_cancels_and_a_server_that_stops() {
    let Some(sshd) = Sshd::start() else { return };
    for stop in [false, true] {
        let caller = Caller::default();
        let cancel = caller.cancel.clone();
        let (_scripted, ctx) = context(&sshd, everything(), caller).await;
        let [ready, ended] = ["ready", "ended"].map(|name| sshd.fifo(&format!("{name}{stop}")));
        let trap = format!("trap 'echo gone > {}; exit' TERM", ended.display());
        let script = format!("{trap}; echo up > {}; sleep 1000 & wait", ready.display());
        let argv = ["sh", "-c", &script];
        let (fault, ()) = tokio::join!(ctx.ssh(command(&argv), false), async {
            line(ready).await;
            if stop { ctx.server().shutdown().cancel() } else { cancel.cancel() }
        });
        let fault = fault.expect_err("it was cancelled");
        assert_eq!(fault.code, Code::Cancelled);
        assert!(fault.hint.is_some_and(|hint| hint.contains("may go on")));
        assert_eq!(line(ended).await, "gone\n");
    }
}

#[tokio::test]
async fn files_terminals_and_greetings() {
    let Some(sshd) = Sshd::start() else { return };
    let (steps, mut told) = tokio::sync::mpsc::unbounded_channel();
    let (_scripted, ctx) = context(&sshd, everything(), Caller { progress: Some(steps), ..Caller::default() }).await;
    let up = || SshCommand::upload("test", node(), sshd.file("file"), None, false).expect("plain");
    let dry = ctx.upload(up(), &mut &b"text"[..], Some(4), true).await.expect("shown");
    assert!(matches!(dry, Performed::Dry(shown) if shown["upload"]["to"] == sshd.file("file").as_str()));
    assert!(!sshd.path("file").exists());
    ctx.upload(up(), &mut &b"text"[..], Some(4), false).await.expect("sent");
    assert_eq!(told.recv().await.map(|step| (step.done, step.total)), Some((4.0, Some(4.0))));
    let down = SshCommand::download("test", node(), sshd.file("file"), Effect::Reads).expect("plain");
    let mut back = Vec::new();
    ctx.download(down, &mut back, 100, false).await.expect("fetched");
    assert_eq!(back, b"text");
    let greeting = ctx.greet(command(&["true"]), false).await.expect("there");
    assert!(matches!(greeting, Performed::Done(greeting) if greeting.key.kind == "ssh-ed25519"));
    let terminal = SshCommand::terminal("test", node(), 80, 24).expect("plain");
    let Performed::Done(id) = ctx.open_terminal(terminal, false).await.expect("open") else { panic!("not dry") };
    ctx.cluster().ssh.terminals().close(&id).expect("it is there");
}

//! `sudo -n`: the same node as root, for those who may.

use std::sync::Arc;

use super::Call;
use super::attached::run_here;
use crate::shell::Run;
use crate::stub::serve::Desk;
use crate::{Fault, User};

/// Runs a command as root; the exit status.
pub(super) fn run(call: &mut Call) -> i32 {
    let mut args = call.argv[1..].iter().map(String::as_str).peekable();
    while let Some(option) = args.next_if(|arg| arg.starts_with('-')) {
        match option {
            "--" => break,
            "-u" if args.next() != Some("root") => {
                call.err("sudo: only root is known here\n");
                return 1;
            }
            _ => {}
        }
    }
    let argv: Vec<String> = args.map(String::from).collect();
    if argv.is_empty() {
        call.err("usage: sudo [-n] [-u user] command [arg ...]\n");
        return 1;
    }
    let refused = call.node.has(&Fault::NoSudo) || !call.user.sudo;
    if refused && call.user.uid != 0 {
        call.err("sudo: a password is required\n");
        return 1;
    }
    let root = User { name: "root".into(), uid: 0, password: None, keys: Vec::new(), sudo: true };
    let Ok(desk) = Desk::open(Arc::clone(&call.site), Arc::clone(&call.node), root) else { return 1 };
    let mut env: Vec<(String, String)> = ["TERM", "LANG", "LC_ALL"]
        .iter()
        .filter_map(|name| Some((name.to_string(), call.env.get(*name)?.clone())))
        .collect();
    let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    let own = [("PATH", path), ("HOME", "/root"), ("USER", "root"), ("LOGNAME", "root"), ("SHELL", "/bin/bash")];
    env.extend(own.map(|(name, value)| (name.to_string(), value.to_string())));
    env.push(("SUDO_USER".into(), call.user.name.clone()));
    let run = Run {
        root: call.node.root.folder().into(),
        hostname: call.node.name.clone(),
        uid: 0,
        env,
        cwd: call.cwd.clone(),
        argv,
        tty: rustix::termios::isatty(&call.stdin),
        socket: Some(desk.socket().into()),
        config: Some(call.node.root.folder().join(".fake/pve")),
    };
    run_here(call, &run)
}

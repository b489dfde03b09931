//! The hidden side of the program: what it is when it runs inside a sandbox, under another name.
//!
//! Mounted into every sandbox, it is the launcher that sets limits, the stub behind `qm` and `pct`,
//! and a container's package manager, service manager and account tools.

mod accounts;
mod network;
mod owners;
mod packages;
mod services;
mod sshd;
mod state;

use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use rustix::process::{Resource, Rlimit, WaitOptions};

/// First argument of the launcher.
pub(crate) const LAUNCH: &str = "__fake-ssh-launch";
/// First argument of what becomes the command.
const BECOME: &str = "__fake-ssh-become";
/// Names the socket of the stubs where there is no sandbox.
pub(crate) const SOCKET: &str = "FAKE_SSH_SOCKET";

/// Does the work of the hidden side, when this process was started as such. A program that starts [`crate::FakeSsh`] with
/// itself as [`crate::Builder::program`] calls this first in `main`.
pub fn main() -> Option<ExitCode> {
    let argv: Vec<String> = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
    if argv.get(1).is_some_and(|first| first == LAUNCH) {
        return Some(launch(&argv[2..]));
    }
    if argv.get(1).is_some_and(|first| first == BECOME) {
        return Some(become_command(&argv[2..]));
    }
    let name = argv.first()?.rsplit('/').next()?.trim_start_matches('-').to_string();
    // Where there is no socket this is a container, whose own tools may have the same names.
    if crate::program::NAMES.contains(&name.as_str()) && crate::stub::reachable() {
        return Some(crate::stub::ask(&name, &argv[1..]));
    }
    let args = &argv[1..];
    let tool = packages::run(&name, args)
        .or_else(|| services::run(&name, args))
        .or_else(|| accounts::run(&name, args))
        .or_else(|| sshd::run(&name, args))
        .or_else(|| owners::run(&name, args))
        .or_else(|| network::run(&name, args));
    tool.map(ExitCode::from)
}

fn fail(text: &str, status: u8) -> ExitCode {
    use std::io::Write as _;
    let _written = writeln!(std::io::stderr(), "{text}");
    ExitCode::from(status)
}

/// Sets limits, starts the command as a process of its own, and waits for it: the first process of the sandbox, which also
/// takes leave of all that are left without a parent.
fn launch(args: &[String]) -> ExitCode {
    let [limits, rest @ ..] = args else { return ExitCode::SUCCESS };
    if rest.is_empty() {
        return ExitCode::SUCCESS;
    }
    let limits: Vec<u64> = limits.split(',').filter_map(|limit| limit.parse().ok()).collect();
    let kinds = [Resource::Nproc, Resource::As, Resource::Nofile, Resource::Fsize];
    for (kind, most) in kinds.into_iter().zip(limits).chain([(Resource::Core, 0)]) {
        if rustix::process::setrlimit(kind, Rlimit { current: Some(most), maximum: Some(most) }).is_err() {
            return fail("fake-ssh: cannot set the limits of the sandbox", 126);
        }
    }
    // When memory runs out, this goes first.
    let _best_effort = std::fs::write("/proc/self/oom_score_adj", "1000");
    let Ok(child) = Command::new("/proc/self/exe").arg(BECOME).args(rest).spawn() else {
        return fail("fake-ssh: cannot start a process in the sandbox", 126);
    };
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid.as_raw_nonzero().get().cast_unsigned() == child.id() => {
                let Some(signal) = status.terminating_signal() else {
                    return ExitCode::from(u8::try_from(status.exit_status().unwrap_or(126)).unwrap_or(126));
                };
                if crate::stub::reachable() {
                    // A status alone cannot tell a death by signal from a program that says so.
                    let _told = crate::stub::ask(crate::stub::DIED, &[signal.to_string()]);
                }
                return ExitCode::from(u8::try_from(128 + signal).unwrap_or(255));
            }
            Ok(_) => {}
            Err(_) => return ExitCode::from(126),
        }
    }
}

/// Makes a session of its own and becomes the command.
fn become_command(args: &[String]) -> ExitCode {
    let [terminal, cwd, argv @ ..] = args else { return ExitCode::SUCCESS };
    let _already_leads = rustix::process::setsid();
    if terminal == "tty" {
        let _no_terminal = rustix::process::ioctl_tiocsctty(std::io::stdin());
    }
    if std::env::set_current_dir(cwd).is_err() {
        let _root_is_there = std::env::set_current_dir("/");
    }
    let Some((program, rest)) = argv.split_first() else { return fail("fake-ssh: nothing to run", 126) };
    let _until_exec = heeded(&std::fs::read_to_string("/proc/self/status").unwrap_or_default());
    let mut command = Command::new(program.strip_prefix("login:").unwrap_or(program));
    if let Some(shell) = program.strip_prefix("login:") {
        command.arg0(format!("-{}", shell.rsplit('/').next().unwrap_or(shell)));
    }
    let error = command.args(rest).exec();
    not_started(program, &error)
}

/// Makes signals count again that whoever started this program had ignored (a shell does so with what it puts into the
/// background, `nohup` too): what ignores one hands that on, and a shell inside could not be interrupted. A handler ends
/// with `exec`, and the default is left.
fn heeded(status: &str) -> Option<tokio::runtime::Runtime> {
    use tokio::signal::unix::{SignalKind, signal};
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    let ignored = u64::from_str_radix(ignored.trim(), 16).ok()?;
    let kinds = [SignalKind::hangup(), SignalKind::interrupt(), SignalKind::quit(), SignalKind::terminate()];
    let deaf = |kind: &SignalKind| ignored & (1 << (kind.as_raw_value() - 1)) != 0;
    let mut deaf = kinds.into_iter().filter(deaf).peekable();
    deaf.peek()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().ok()?;
    let entered = runtime.enter();
    deaf.for_each(|kind| drop(signal(kind)));
    drop(entered);
    Some(runtime)
}

/// What is said when a command cannot be started, as `lxc-attach` ends.
fn not_started(program: &str, error: &std::io::Error) -> ExitCode {
    let missing = error.kind() == std::io::ErrorKind::NotFound;
    let reason = if missing { "No such file or directory" } else { "Permission denied" };
    fail(&format!("{reason} - Failed to exec \"{program}\""), if missing { 127 } else { 126 })
}

//! Commands that a program starts for its caller: on the caller's own streams, or in a terminal of their own that stands
//! behind the caller's.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal};
use rustix::termios::{OptionalActions, tcgetattr, tcgetwinsize, tcsetattr};

use super::Call;
use crate::shell::terminal::Terminal;
use crate::shell::{self, Run};

/// Runs a command for the caller; it ends when the caller goes. The exit status.
pub(super) fn run_here(call: &Call, run: &Run) -> i32 {
    let Some(_place) = call.site.place() else {
        let _gone = (&call.stderr).write_all(b"fork: Resource temporarily unavailable\n");
        return 1;
    };
    let ended = if run.tty { behind_terminal(call, run) } else { on_streams(call, run) };
    // What can go wrong is this machine's: no descriptors, no process.
    ended.unwrap_or(1)
}

fn on_streams(call: &Call, run: &Run) -> std::io::Result<i32> {
    let mut command = call.site.command(run);
    command.stdin(Stdio::from(call.stdin.try_clone()?));
    command.stdout(Stdio::from(call.stdout.try_clone()?)).stderr(Stdio::from(call.stderr.try_clone()?));
    let child = command.spawn()?;
    drop(command);
    wait(call, run, child)
}

/// Waits for a command, and ends it when the stub at the other end of the socket is gone.
fn wait(call: &Call, run: &Run, mut child: Child) -> std::io::Result<i32> {
    let pid = child.id();
    let _watch = call.site.watch(pid, run);
    let (mut heard, over) = (call.socket.try_clone()?, Arc::new(AtomicBool::new(false)));
    let ended = Arc::clone(&over);
    let listener = std::thread::spawn(move || {
        // The stub says nothing more: this returns when it is gone, or when the command has ended.
        let _nothing = heard.read(&mut [0]);
        if !ended.load(Ordering::Acquire) {
            shell::signal(pid, Signal::TERM);
            if let Some(pid) = Pid::from_raw(pid.cast_signed()) {
                let _gone = rustix::process::kill_process(pid, Signal::KILL);
            }
        }
    });
    let status = child.wait();
    over.store(true, Ordering::Release);
    let _gone = call.socket.shutdown(std::net::Shutdown::Read);
    let _joined = listener.join();
    Ok(status?.code().unwrap_or(137))
}

/// As `lxc-attach` does it: a new terminal for the command, the caller's made to hand everything on.
fn behind_terminal(call: &Call, run: &Run) -> std::io::Result<i32> {
    let size = tcgetwinsize(&call.stdin)?;
    let (terminal, ends) = Terminal::open(size.ws_col.into(), size.ws_row.into())?;
    let mut command = call.site.command(run);
    command.stdin(ends.0).stdout(ends.1).stderr(ends.2);
    let child = command.spawn()?;
    drop(command);
    let before = tcgetattr(&call.stdin)?;
    let mut raw = before.clone();
    raw.make_raw();
    tcsetattr(&call.stdin, OptionalActions::Now, &raw)?;
    let over = Arc::new(AtomicBool::new(false));
    let (input, output, ended) = (call.stdin.try_clone()?, call.stdout.try_clone()?, Arc::clone(&over));
    let relay = std::thread::spawn(move || hand_on(&terminal, input, output, &ended));
    let status = wait(call, run, child);
    over.store(true, Ordering::Release);
    let _joined = relay.join();
    tcsetattr(&call.stdin, OptionalActions::Now, &before)?;
    status
}

/// Hands on what is typed and what is shown, and the size, until the command has ended and all is shown.
fn hand_on(terminal: &Terminal, mut input: File, mut output: File, over: &AtomicBool) {
    let Ok(outer) = terminal.outer().try_clone() else { return };
    let mut outer = File::from(outer);
    let mut buffer = [0; 4096];
    let mut size = tcgetwinsize(&input).ok();
    loop {
        let ended = over.load(Ordering::Acquire);
        let both = [input.try_clone(), outer.try_clone()];
        let [Ok(typed), Ok(shown)] = both else { return };
        let mut waits = [PollFd::new(&typed, PollFlags::IN), PollFd::new(&shown, PollFlags::IN)];
        let longest = Timespec { tv_sec: 0, tv_nsec: if ended { 0 } else { 100_000_000 } };
        if poll(&mut waits, Some(&longest)).is_err() {
            return;
        }
        let ready = waits.map(|wait| wait.revents());
        if ready[1].intersects(PollFlags::IN | PollFlags::HUP) {
            match outer.read(&mut buffer) {
                Ok(length @ 1..) if output.write_all(&buffer[..length]).is_ok() => continue,
                _ => return,
            }
        }
        if ended {
            return;
        }
        if ready[0].intersects(PollFlags::IN | PollFlags::HUP) {
            match input.read(&mut buffer) {
                Ok(length @ 1..) if outer.write_all(&buffer[..length]).is_ok() => {}
                _ => return,
            }
        }
        let now = tcgetwinsize(&input).ok();
        if let Some(new) = now.filter(|_| now != size) {
            size = now;
            let _resized = terminal.resize(new.ws_col.into(), new.ws_row.into());
        }
    }
}

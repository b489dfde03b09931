//! Something that runs on the other side, and how it is told to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use russh::client::Msg;
use russh::{ChannelMsg, ChannelWriteHalf, Sig};

use super::connect::Connection;
use super::exec::name;
use super::quote;

/// The writing side of a channel whose command may still run. Dropped early (the caller went away), it tells the command
/// to end and closes the channel.
pub(super) struct Running {
    /// `None` once it was closed.
    open: Option<Open>,
}

struct Open {
    write: ChannelWriteHalf<Msg>,
    connection: Arc<Connection>,
    sudo: bool,
    /// The command's process group; 0 while it is not known.
    pid: AtomicU32,
}

impl Running {
    pub(super) fn new(write: ChannelWriteHalf<Msg>, connection: Arc<Connection>, sudo: bool) -> Running {
        Running { open: Some(Open { write, connection, sudo, pid: AtomicU32::new(0) }) }
    }

    fn open(&self) -> &Open {
        self.open.as_ref().expect("it is taken only when this value ends")
    }

    /// The channel, for writing.
    pub(super) fn half(&self) -> &ChannelWriteHalf<Msg> {
        &self.open().write
    }

    /// The command said its process id, which is its group's too: an SSH server starts a session for each command.
    /// 0 when there is none (any more).
    pub(super) fn has_pid(&self, pid: u32) {
        self.open().pid.store(pid, Ordering::Relaxed);
    }

    /// Sends it a signal. Whether it arrived is seen by the channel being closed.
    pub(super) async fn tell(&self, signal: Sig) {
        self.open().tell(signal).await;
    }

    /// The command ended, or nothing more can be done about it.
    pub(super) async fn close(mut self) {
        if let Some(open) = self.open.take() {
            // It may be closed already.
            let _ = open.write.close().await;
        }
    }
}

impl Open {
    async fn tell(&self, signal: Sig) {
        let pid = self.pid.load(Ordering::Relaxed);
        if pid > 1 && self.kill(pid, &signal).await == Some(0) {
            return;
        }
        // The protocol's own way, which servers may ignore.
        let _ = self.write.signal(signal).await;
    }

    /// Runs `kill` beside the command and gives its status.
    async fn kill(&self, pid: u32, signal: &Sig) -> Option<u32> {
        let script = "kill -s \"$1\" -- \"-$2\"";
        let (signal, pid) = (name(signal), pid.to_string());
        let kill = ["sh", "-c", script, "sh", &signal, &pid];
        let sudo: &[&str] = if self.sudo { &["sudo", "-n", "--"] } else { &[] };
        let line = quote::line(&[sudo, &kill].concat()).ok()?;
        let mut channel = self.connection.channel().await.ok()?;
        channel.exec(true, line).await.ok()?;
        loop {
            match channel.wait().await? {
                ChannelMsg::ExitStatus { exit_status } => return Some(exit_status),
                ChannelMsg::Failure | ChannelMsg::Close => return None,
                _ => {}
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(open) = self.open.take() else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                // Whoever could be told of a failure is gone.
                open.tell(Sig::TERM).await;
                let _ = open.write.close().await;
            });
        }
    }
}

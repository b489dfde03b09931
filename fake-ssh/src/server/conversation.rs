//! One channel: a command, a shell or a file transfer, from the request to its exit status.

use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;

use russh::server::{Handle, Msg};
use russh::{Channel, ChannelMsg, ChannelReadHalf};
use tokio::io::AsyncRead;
use tokio::process::Command;

use super::streams::{End, Writer, copy, feed, listen};
use super::{Line, sftp, slow};
use crate::User;
use crate::shell::Run;
use crate::shell::terminal::Terminal;
use crate::site::{Node, Site};
use crate::stub::serve::Desk;

/// Everything a channel needs.
pub(super) struct Conversation {
    pub site: Arc<Site>,
    pub node: Arc<Node>,
    pub user: User,
    pub from: SocketAddr,
    pub local: SocketAddr,
    pub line: Arc<Line>,
    pub handle: Handle,
}

/// Where a user is at home.
pub(super) fn home(user: &User) -> String {
    if user.uid == 0 { "/root".into() } else { format!("/home/{}", user.name) }
}

/// Which variables clients may set, as Debian's sshd has it.
pub(super) fn accepts_env(name: &str) -> bool {
    name == "LANG" || name.starts_with("LC_")
}

/// A terminal as it was asked for.
struct Wanted {
    term: String,
    columns: u32,
    rows: u32,
}

impl Conversation {
    /// Listens until something is asked for, and does it.
    pub async fn hold(self, mut channel: Channel<Msg>) {
        let (mut wanted, mut env) = (None, Vec::new());
        loop {
            match channel.wait().await {
                Some(ChannelMsg::RequestPty { term, col_width, row_height, .. }) => {
                    wanted = Some(Wanted { term, columns: col_width, rows: row_height });
                }
                Some(ChannelMsg::SetEnv { variable_name, variable_value, .. }) if accepts_env(&variable_name) => {
                    env.push((variable_name, variable_value));
                }
                Some(ChannelMsg::Exec { command, .. }) => {
                    return self.run(channel, Some(command), wanted, env).await;
                }
                Some(ChannelMsg::RequestShell { .. }) => return self.run(channel, None, wanted, env).await,
                Some(ChannelMsg::RequestSubsystem { name, .. }) if name == "sftp" => {
                    slow(&self.node).await;
                    self.site.refresh(&self.node);
                    let id = channel.id();
                    sftp::serve(channel, self.node.root.of(self.user.uid), &home(&self.user)).await;
                    let _gone = self.handle.exit_status_request(id, 0).await;
                    let _gone = self.handle.eof(id).await;
                    let _gone = self.handle.close(id).await;
                    return;
                }
                Some(ChannelMsg::Close) | None => return,
                Some(_) => {}
            }
        }
    }

    /// What is started for it: bash, as the user's login shell.
    fn what(&self, command: Option<Vec<u8>>, wanted: Option<&Wanted>, env: Vec<(String, String)>) -> Run {
        let home = home(&self.user);
        let root = self.user.uid == 0;
        let path = if root {
            "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        } else {
            "/usr/local/bin:/usr/bin:/bin:/usr/games"
        };
        let (from, local) = (self.from, self.local);
        let mut all: Vec<(String, String)> = [
            ("PATH", path.to_string()),
            ("HOME", home.clone()),
            ("USER", self.user.name.clone()),
            ("LOGNAME", self.user.name.clone()),
            ("SHELL", "/bin/bash".to_string()),
            ("SSH_CLIENT", format!("{} {} {}", from.ip(), from.port(), local.port())),
            ("SSH_CONNECTION", format!("{} {} {} {}", from.ip(), from.port(), local.ip(), local.port())),
        ]
        .map(|(name, value)| (name.to_string(), value))
        .into();
        all.extend(env.into_iter().filter(|(name, value)| !name.contains('\0') && !value.contains('\0')));
        if let Some(wanted) = wanted {
            all.push(("TERM".into(), wanted.term.replace('\0', "")));
        }
        let argv = match command {
            Some(command) => {
                let text = String::from_utf8_lossy(&command).replace('\0', "");
                self.site.remember_command(&self.node.name, &text);
                vec!["/bin/bash".into(), "-c".into(), text]
            }
            None => vec!["login:/bin/bash".into()],
        };
        Run {
            root: self.node.root.folder().into(),
            hostname: self.node.name.clone(),
            uid: self.user.uid,
            env: all,
            cwd: home,
            argv,
            tty: wanted.is_some(),
            socket: None,
            config: Some(self.node.root.folder().join(".fake/pve")),
        }
    }

    async fn run(
        self,
        channel: Channel<Msg>,
        command: Option<Vec<u8>>,
        wanted: Option<Wanted>,
        env: Vec<(String, String)>,
    ) {
        slow(&self.node).await;
        self.site.refresh(&self.node);
        let id = channel.id();
        let (read, write) = channel.split();
        let write: Writer = Arc::new(write);
        let mut run = self.what(command, wanted.as_ref(), env);
        let ended = match Desk::open(Arc::clone(&self.site), Arc::clone(&self.node), self.user.clone()) {
            Ok(desk) => {
                run.socket = Some(desk.socket().into());
                self.start(read, &write, &run, wanted, &desk).await
            }
            Err(error) => Err(error),
        };
        match ended {
            Ok(End::Status(status)) => drop(write.exit_status(status).await),
            Ok(End::Signal(signal)) => {
                let sent = self.handle.exit_signal_request(id, signal, false, String::new(), String::new());
                let _gone = sent.await;
            }
            Err(error) => {
                let text = format!("fake-ssh: the shell cannot be started: {error}\n");
                drop(write.extended_data_bytes(1, text.into_bytes()).await);
                drop(write.exit_status(255).await);
            }
        }
        // Whether the other side is still there to hear it no longer matters.
        drop(write.eof().await);
        drop(write.close().await);
    }

    async fn start(
        &self,
        read: ChannelReadHalf,
        write: &Writer,
        run: &Run,
        wanted: Option<Wanted>,
        desk: &Desk,
    ) -> std::io::Result<End> {
        let mut command = Command::from(self.site.command(run));
        command.kill_on_drop(true);
        let (input, outputs, mut child, terminal);
        if let Some(wanted) = wanted {
            let (open, ends) = Terminal::open(wanted.columns, wanted.rows)?;
            command.stdin(ends.0).stdout(ends.1).stderr(ends.2);
            child = command.spawn()?;
            drop(command);
            let (reading, writing) = open.halves()?;
            outputs = vec![tokio::spawn(self.clone_out(reading, Arc::clone(write), None))];
            (input, terminal) = (feed(writing), Some(open));
        } else {
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            child = command.spawn()?;
            let gone = || std::io::Error::other("a pipe is gone");
            let out = child.stdout.take().ok_or_else(gone)?;
            let err = child.stderr.take().ok_or_else(gone)?;
            outputs = vec![
                tokio::spawn(self.clone_out(out, Arc::clone(write), None)),
                tokio::spawn(self.clone_out(err, Arc::clone(write), Some(1))),
            ];
            (input, terminal) = (feed(child.stdin.take().ok_or_else(gone)?), None);
        }
        let pid = child.id().unwrap_or(0);
        let _watch = self.site.watch(pid, run);
        let status = listen(read, input, &mut child, pid, terminal.as_ref()).await?;
        for output in outputs {
            drop(output.await);
        }
        Ok(End::of(status, desk.died()))
    }

    fn clone_out<R: AsyncRead + Unpin + Send + 'static>(
        &self,
        from: R,
        to: Writer,
        kind: Option<u32>,
    ) -> impl Future<Output = ()> + Send + 'static {
        copy(from, to, kind, Arc::clone(&self.line))
    }
}

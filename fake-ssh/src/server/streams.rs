//! What goes to a command and comes from it, and how it ends.

use std::sync::Arc;

use russh::server::Msg;
use russh::{ChannelMsg, ChannelReadHalf, ChannelWriteHalf, Sig};
use rustix::process::Signal;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Child;
use tokio::sync::mpsc;

use super::Line;
use crate::shell::terminal::Terminal;

/// The outgoing side of a channel.
pub(super) type Writer = Arc<ChannelWriteHalf<Msg>>;

/// Passes output on until there is none, or the line is cut.
pub(super) async fn copy<R: AsyncRead + Unpin>(mut from: R, to: Writer, kind: Option<u32>, line: Arc<Line>) {
    let mut buffer = vec![0; 32 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        let may = line.may(length);
        let bytes = buffer[..may].to_vec();
        let sent = match kind {
            Some(kind) => to.extended_data_bytes(kind, bytes).await,
            None => to.data_bytes(bytes).await,
        };
        if may < length {
            line.cut();
        }
        if sent.is_err() {
            // Nobody listens: what the command still says is dropped.
            let mut rest = tokio::io::sink();
            drop(tokio::io::copy(&mut from, &mut rest).await);
            return;
        }
    }
}

/// Takes what goes to the command, in order, without holding up signals.
pub(super) fn feed<W: tokio::io::AsyncWrite + Unpin + Send + 'static>(
    mut to: W,
) -> mpsc::UnboundedSender<bytes::Bytes> {
    let (sender, mut receiver) = mpsc::unbounded_channel::<bytes::Bytes>();
    tokio::spawn(async move {
        while let Some(data) = receiver.recv().await {
            if to.write_all(&data).await.is_err() {
                return;
            }
            drop(to.flush().await);
        }
    });
    sender
}

/// Hands on input, signals and window sizes until the command ends; when the client goes, so does the command.
pub(super) async fn listen(
    mut read: ChannelReadHalf,
    input: mpsc::UnboundedSender<bytes::Bytes>,
    child: &mut Child,
    pid: u32,
    terminal: Option<&Terminal>,
) -> std::io::Result<std::process::ExitStatus> {
    let mut input = Some(input);
    loop {
        tokio::select! {
            status = child.wait() => return status,
            message = read.wait() => match message {
                Some(ChannelMsg::Data { data }) => drop(input.as_ref().map(|input| input.send(data))),
                Some(ChannelMsg::Eof) if terminal.is_none() => input = None,
                Some(ChannelMsg::Signal { signal }) => {
                    if let Some(known) = known(&signal) {
                        crate::shell::signal(pid, known);
                    }
                }
                Some(ChannelMsg::WindowChange { col_width, row_height, .. }) => {
                    drop(terminal.map(|terminal| terminal.resize(col_width, row_height)));
                }
                Some(ChannelMsg::Close) | None => {
                    drop(child.start_kill());
                    return child.wait().await;
                }
                Some(_) => {}
            },
        }
    }
}

/// How a command ended.
pub(super) enum End {
    Status(u32),
    Signal(Sig),
}

impl End {
    /// Inside a sandbox a death by signal becomes 128 and its number; that it was one is told apart.
    pub fn of(status: std::process::ExitStatus, died: Option<i32>) -> End {
        use std::os::unix::process::ExitStatusExt as _;
        match (status.code(), died) {
            (Some(code), Some(signal)) if code == 128 + signal => End::Signal(named(signal)),
            (Some(code), _) => End::Status(code.cast_unsigned()),
            (None, _) => End::Signal(named(status.signal().unwrap_or(9))),
        }
    }
}

/// A signal by its number.
fn named(number: i32) -> Sig {
    let all = [
        Sig::ABRT,
        Sig::ALRM,
        Sig::FPE,
        Sig::HUP,
        Sig::ILL,
        Sig::INT,
        Sig::PIPE,
        Sig::QUIT,
        Sig::SEGV,
        Sig::TERM,
        Sig::USR1,
        Sig::Custom("USR2".into()),
    ];
    all.into_iter().find(|signal| known(signal).is_some_and(|known| known.as_raw() == number)).unwrap_or(Sig::KILL)
}

pub(super) fn known(signal: &Sig) -> Option<Signal> {
    Some(match signal {
        Sig::ABRT => Signal::ABORT,
        Sig::ALRM => Signal::ALARM,
        Sig::FPE => Signal::FPE,
        Sig::HUP => Signal::HUP,
        Sig::ILL => Signal::ILL,
        Sig::INT => Signal::INT,
        Sig::KILL => Signal::KILL,
        Sig::PIPE => Signal::PIPE,
        Sig::QUIT => Signal::QUIT,
        Sig::SEGV => Signal::SEGV,
        Sig::TERM => Signal::TERM,
        Sig::USR1 => Signal::USR1,
        Sig::Custom(name) if name == "USR2" => Signal::USR2,
        Sig::Custom(_) => return None,
    })
}

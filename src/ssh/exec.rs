//! One command on one channel: what it reads and writes, how it ends, and what happens when it does not.

use std::time::Duration;

use bytes::Bytes;
use russh::client::Msg;
use russh::{Channel, ChannelMsg, ChannelReadHalf, ChannelWriteHalf, Sig};
use serde_json::Value;

use super::clean::clean;
use super::output::{End, Output};
use crate::error::{Code, Fault};
use crate::pve::Clock;
use crate::redact::Scrubber;

/// How long a command may take to end after it was told to.
const GRACE: Duration = Duration::from_secs(2);
/// How long output that somebody else holds open is waited for once the command has ended.
const LINGER: Duration = Duration::from_secs(2);
/// Characters of the output that an error shows.
const SHOWN: usize = 4000;

/// What runs, and within which bounds.
pub(super) struct Job {
    /// The line for the shell on the other side.
    pub line: String,
    /// What the command reads.
    pub input: Vec<u8>,
    /// Longest time.
    pub time: Duration,
    /// Bytes kept of each output stream.
    pub most: usize,
    /// More output is an error.
    pub whole: bool,
    /// `node pve1`.
    pub who: String,
    /// Knows what may not be shown.
    pub scrubber: Scrubber,
}

/// Runs a command to its end.
///
/// # Errors
/// `timeout`, `ssh_output_too_large`, `ssh_unreachable` when the connection breaks or the other side runs nothing.
pub(super) async fn run(channel: Channel<Msg>, job: Job, clock: &dyn Clock) -> Result<Output, Fault> {
    let (mut read, write) = channel.split();
    let alive = Alive::new(write);
    let mut heard = Heard::new(job.most);
    let ended = converse(alive.half(), &mut read, &mut heard, &job, clock).await;
    alive.done().await;
    ended?;
    Ok(Output {
        stdout: heard.stdout,
        stderr: heard.stderr,
        truncated: heard.truncated,
        end: heard.end.unwrap_or(End::Unknown),
        left_running: heard.left_running,
        scrubber: job.scrubber,
    })
}

/// Starts the command, feeds it and listens, until there is nothing more to hear.
async fn converse(
    write: &ChannelWriteHalf<Msg>,
    read: &mut ChannelReadHalf,
    heard: &mut Heard,
    job: &Job,
    clock: &dyn Clock,
) -> Result<(), Fault> {
    write.exec(true, job.line.as_bytes()).await.map_err(|_| broken(job))?;
    let feed = feed(write, Bytes::copy_from_slice(&job.input));
    tokio::pin!(feed);
    let mut fed = false;
    let mut deadline = clock.sleep(job.time);
    let mut linger = None;
    loop {
        tokio::select! {
            message = read.wait() => {
                if heard.take(message) {
                    break;
                }
                // What is under way when the command ends still comes; what goes on printing later does not.
                linger = heard.end.as_ref().map(|_| clock.sleep(LINGER));
            }
            () = &mut feed, if !fed => fed = true,
            () = &mut deadline => {
                if heard.end.is_none() {
                    stop(write, read, heard, clock).await;
                    return Err(timed_out(job, heard));
                }
                heard.left_running = true;
                break;
            }
            () = async { if let Some(linger) = &mut linger { linger.await } }, if linger.is_some() => {
                heard.left_running = true;
                break;
            }
        }
        if heard.refused {
            return Err(refused(job));
        }
        if job.whole && heard.truncated {
            stop(write, read, heard, clock).await;
            return Err(too_large(job));
        }
    }
    if heard.lost && heard.end.is_none() { Err(broken(job)) } else { Ok(()) }
}

/// Gives the command its input and says that it was all. A command that reads none of it ends all the same.
async fn feed(write: &ChannelWriteHalf<Msg>, input: Bytes) {
    if write.data_bytes(input).await.is_ok() {
        // Whether it is still there to hear it shows on the reading side.
        let _ = write.eof().await;
    }
}

/// Tells the command to end, then kills it. Whether that reaches it is up to the other side.
async fn stop(write: &ChannelWriteHalf<Msg>, read: &mut ChannelReadHalf, heard: &mut Heard, clock: &dyn Clock) {
    for signal in [Sig::TERM, Sig::KILL] {
        if write.signal(signal).await.is_err() {
            return;
        }
        let mut grace = clock.sleep(GRACE);
        loop {
            tokio::select! {
                message = read.wait() => {
                    if heard.take(message) {
                        return;
                    }
                }
                () = &mut grace => break,
            }
        }
    }
}

/// What came from the other side.
#[derive(Default)]
struct Heard {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    most: usize,
    truncated: bool,
    end: Option<End>,
    left_running: bool,
    refused: bool,
    closed: bool,
    lost: bool,
}

impl Heard {
    fn new(most: usize) -> Heard {
        Heard { most, ..Heard::default() }
    }

    /// Takes a message; true when there will be no more.
    fn take(&mut self, message: Option<ChannelMsg>) -> bool {
        match message {
            None => {
                self.lost = true;
                return true;
            }
            Some(ChannelMsg::Close) => {
                self.closed = true;
                return true;
            }
            Some(ChannelMsg::Failure) => self.refused = true,
            Some(ChannelMsg::Data { data }) => self.truncated |= keep(&mut self.stdout, &data, self.most),
            Some(ChannelMsg::ExtendedData { data, .. }) => self.truncated |= keep(&mut self.stderr, &data, self.most),
            Some(ChannelMsg::ExitStatus { exit_status }) => self.end = Some(End::Exit(exit_status)),
            Some(ChannelMsg::ExitSignal { signal_name, .. }) => self.end = Some(End::Signal(name(&signal_name))),
            Some(_) => {}
        }
        false
    }
}

/// Keeps what there is room for; true when that was not all.
fn keep(kept: &mut Vec<u8>, data: &[u8], most: usize) -> bool {
    let room = most.saturating_sub(kept.len());
    kept.extend_from_slice(&data[..room.min(data.len())]);
    data.len() > room
}

/// `TERM`.
pub(super) fn name(signal: &Sig) -> String {
    match signal {
        Sig::Custom(name) => clean(name.as_bytes()),
        known => format!("{known:?}"),
    }
}

/// The writing side of a channel whose command may still run. Dropped early (the caller went away), it tells the command
/// to end and closes the channel.
pub(super) struct Alive {
    write: Option<ChannelWriteHalf<Msg>>,
}

impl Alive {
    pub(super) fn new(write: ChannelWriteHalf<Msg>) -> Alive {
        Alive { write: Some(write) }
    }

    pub(super) fn half(&self) -> &ChannelWriteHalf<Msg> {
        self.write.as_ref().expect("taken when this value ends only")
    }

    /// The command ended, or nothing more can be done about it.
    pub(super) async fn done(mut self) {
        if let Some(write) = self.write.take() {
            // It may be closed already.
            let _ = write.close().await;
        }
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        let Some(write) = self.write.take() else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                // Whoever could be told of a failure is gone.
                let _ = write.signal(Sig::TERM).await;
                let _ = write.close().await;
            });
        }
    }
}

fn timed_out(job: &Job, heard: &Heard) -> Fault {
    let seconds = job.time.as_secs();
    // Only a channel that the other side closed has nobody left on it.
    let hint = match heard.closed {
        true => "it was told to end and did; raise PROXMOX_SSH_TIMEOUT_SECONDS if it needs longer",
        false => {
            "it was told to end, then killed, and the channel was closed, but it may go on on the other side: look before \
             you start it again"
        }
    };
    let fault = Fault::new(Code::Timeout, format!("the command on {} did not end within {seconds} s", job.who));
    let mut fault = fault.hint(hint).detail("may_go_on", !heard.closed).detail("untrusted", true);
    for (stream, bytes) in [("stdout", &heard.stdout), ("stderr", &heard.stderr)] {
        let text = job.scrubber.text(&clean(bytes));
        if !text.is_empty() {
            fault = fault.detail(stream, tail(&text));
        }
    }
    fault
}

/// The end of a text, as much as an error shows.
fn tail(text: &str) -> Value {
    let from = text.char_indices().rev().nth(SHOWN - 1).map_or(0, |(at, _)| at);
    text[from..].into()
}

fn too_large(job: &Job) -> Fault {
    Fault::new(Code::SshOutputTooLarge, format!("{} has more to say than {} bytes", job.who, job.most))
        .hint("ask for a part of it, or raise PROXMOX_SSH_MAX_OUTPUT_BYTES")
        .detail("limit", job.most)
}

fn refused(job: &Job) -> Fault {
    Fault::new(Code::SshUnreachable, format!("{} accepts the login but runs no commands", job.who))
        .hint("is there a ForceCommand, or an option before the key in authorized_keys?")
}

fn broken(job: &Job) -> Fault {
    Fault::new(Code::SshUnreachable, format!("the connection to {} broke while the command ran", job.who))
        .hint("the command may go on on the other side: look before you start it again")
}

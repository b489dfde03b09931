//! One command on one channel: what it reads and writes, how it ends, and what happens when it does not.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rand::Rng;
use russh::client::Msg;
use russh::{Channel, ChannelMsg, ChannelReadHalf, ChannelWriteHalf, Sig};
use serde_json::Value;

use super::clean::clean;
use super::connect::{Connection, within};
use super::output::{End, Output};
use super::quote::{self, QuoteError};
use super::running::Running;
use crate::error::{Code, Fault};
use crate::pve::Clock;
use crate::redact::Scrubber;

/// Longest time to tell a command something.
const TELL: Duration = Duration::from_secs(5);
/// How long a command may take to end after it was told to.
const GRACE: Duration = Duration::from_secs(2);
/// How long output that somebody else holds open is waited for once the command has ended.
const LINGER: Duration = Duration::from_secs(2);
/// Bytes of stderr among which the process id is looked for.
const LONGEST_PREAMBLE: usize = 16 * 1024;
/// Characters of the output that an error shows.
const SHOWN: usize = 4000;

/// What runs, and within which bounds.
pub(super) struct Job {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Whether it runs as another user by `sudo`, as must then who tells it to end.
    pub sudo: bool,
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
pub(super) async fn run(
    channel: Channel<Msg>,
    connection: Arc<Connection>,
    job: Job,
    clock: &dyn Clock,
) -> Result<Output, Fault> {
    let (mut read, write) = channel.split();
    let running = Running::new(write, connection, job.sudo);
    let mut heard = Heard { most: job.most, mark: mark(), ..Heard::default() };
    let ended = converse(&running, &mut read, &mut heard, &job, clock).await;
    running.close().await;
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

/// The line that runs a program and first says its process id on stderr, behind a mark: OpenSSH before version 9.8 hands on
/// no signal to what root runs, so that whoever wants it to end has to know its number.
///
/// # Errors
/// As [`quote::line`].
fn watched(argv: &[String], mark: &str) -> Result<String, QuoteError> {
    let script = format!("echo {mark}$$ >&2; exec \"$@\"");
    // What is wrong with the arguments is counted as the caller counts them.
    quote::line(argv)?;
    let shell = ["sh", "-c", &script, "sh"];
    quote::line(&shell.into_iter().chain(argv.iter().map(String::as_str)).collect::<Vec<_>>())
}

/// A text that nobody else prints.
fn mark() -> String {
    format!("pvemcp-{:016x}-", rand::rng().next_u64())
}

/// Starts the command, feeds it and listens, until there is nothing more to hear.
async fn converse(
    running: &Running,
    read: &mut ChannelReadHalf,
    heard: &mut Heard,
    job: &Job,
    clock: &dyn Clock,
) -> Result<(), Fault> {
    let line = watched(&job.argv, &heard.mark).map_err(|error| Fault::argument("command", error.to_string()))?;
    let write = running.half();
    write.exec(true, line).await.map_err(|_| broken(job))?;
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
                heard.learn(running);
                // What is under way when the command ends still comes; what goes on printing later does not.
                linger = heard.end.as_ref().map(|_| clock.sleep(LINGER));
            }
            () = &mut feed, if !fed => fed = true,
            () = &mut deadline => {
                if heard.end.is_none() {
                    stop(running, read, heard, clock).await;
                    return Err(timed_out(job, heard));
                }
                heard.left_running = true;
                break;
            }
            () = until(&mut linger) => {
                heard.left_running = true;
                break;
            }
        }
        if heard.refused {
            return Err(refused(job));
        }
        if job.whole && heard.truncated {
            stop(running, read, heard, clock).await;
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
async fn stop(running: &Running, read: &mut ChannelReadHalf, heard: &mut Heard, clock: &dyn Clock) {
    for signal in [Sig::TERM, Sig::KILL] {
        let mut tell = Box::pin(within(clock, TELL, running.tell(signal.clone())));
        let mut grace = None;
        loop {
            tokio::select! {
                _ = &mut tell, if grace.is_none() => grace = Some(clock.sleep(GRACE)),
                message = read.wait() => {
                    if heard.take(message) {
                        return;
                    }
                    if heard.learn(running) {
                        // Only now it can be reached for sure.
                        tell = Box::pin(within(clock, TELL, running.tell(signal.clone())));
                        grace = None;
                    }
                }
                () = until(&mut grace) => break,
            }
        }
    }
}

/// Waits for a moment that may not be set yet.
async fn until(moment: &mut Option<Pin<Box<dyn Future<Output = ()> + Send + '_>>>) {
    match moment {
        Some(moment) => moment.await,
        None => std::future::pending().await,
    }
}

/// What came from the other side.
#[derive(Default)]
struct Heard {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    /// What the process id stands behind; empty once it was read.
    mark: String,
    /// What came on stderr before it.
    waiting: Vec<u8>,
    pid: Option<u32>,
    most: usize,
    truncated: bool,
    end: Option<End>,
    left_running: bool,
    refused: bool,
    closed: bool,
    lost: bool,
}

impl Heard {
    /// Takes what the command wrote to stderr; the mark with the process id is ours and not kept.
    fn take_stderr(&mut self, data: &[u8]) {
        if self.mark.is_empty() {
            self.truncated |= keep(&mut self.stderr, data, self.most);
            return;
        }
        // The mark comes first, but a shell may have warned about something before.
        self.waiting.extend_from_slice(data);
        let mark = self.mark.as_bytes();
        let start = self.waiting.windows(mark.len()).position(|part| part == mark);
        let end = start.and_then(|start| Some(start + self.waiting[start..].iter().position(|byte| *byte == b'\n')?));
        if let (Some(start), Some(end)) = (start, end) {
            let pid = str::from_utf8(&self.waiting[start + mark.len()..end]).ok();
            self.pid = pid.and_then(|pid| pid.trim().parse().ok());
            self.waiting.drain(start..=end);
        } else if self.waiting.len() < LONGEST_PREAMBLE {
            return;
        }
        self.mark.clear();
        let waiting = std::mem::take(&mut self.waiting);
        self.truncated |= keep(&mut self.stderr, &waiting, self.most);
    }

    /// Hands the process id on, once it was said; takes it back once the command has ended, because another may get it.
    /// True when it was news.
    fn learn(&mut self, running: &Running) -> bool {
        if self.end.is_some() {
            running.has_pid(0);
            return false;
        }
        let pid = self.pid.take();
        pid.is_some_and(|pid| {
            running.has_pid(pid);
            true
        })
    }

    /// Takes a message; true when there will be no more.
    fn take(&mut self, message: Option<ChannelMsg>) -> bool {
        match message {
            None | Some(ChannelMsg::Close) => {
                self.lost = message.is_none();
                self.closed = message.is_some();
                // The mark never came: what waited for it is output like any other.
                let waiting = std::mem::take(&mut self.waiting);
                self.truncated |= keep(&mut self.stderr, &waiting, self.most);
                return true;
            }
            Some(ChannelMsg::Failure) => self.refused = true,
            Some(ChannelMsg::Data { data }) => self.truncated |= keep(&mut self.stdout, &data, self.most),
            Some(ChannelMsg::ExtendedData { data, .. }) => self.take_stderr(&data),
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

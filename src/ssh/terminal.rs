//! Terminals for programs that talk with a person: opened with a permit, then typed into and read from by their id.
//!
//! At most [`MOST`] are open; one that nobody types into or reads from for [`IDLE`] is closed, and so are all when the
//! server ends. Of the output the last [`KEPT`] bytes are kept, cleaned.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rand::Rng;
use russh::{ChannelMsg, ChannelReadHalf};
use tokio::sync::Notify;
use tokio::sync::mpsc::error::TrySendError;
use tokio_util::sync::CancellationToken;

use super::address::Resolver;
use super::clean::Cleaner;
use super::client::{Line, Ssh};
use super::connect::{Connection, within};
use super::exec::name;
use super::output::End;
use super::running::Running;
use crate::error::{Code, Fault};
use crate::policy::{Act, Permit, Place, SshCommand};
use crate::pve::Clock;
use crate::redact::{self, Scrubber};

/// Terminals at once.
pub const MOST: usize = 8;
/// How long one stays open without anybody typing or reading.
pub const IDLE: Duration = Duration::from_secs(15 * 60);
/// Bytes of output that are kept until they are read.
pub const KEPT: usize = 1 << 20;
/// Longest time for the other side to give us a terminal.
const OPEN: Duration = Duration::from_secs(20);

/// The terminals of one cluster.
#[derive(Debug)]
pub struct Terminals {
    open: Mutex<HashMap<String, Arc<Terminal>>>,
    clock: Arc<dyn Clock>,
    shutdown: CancellationToken,
}

/// One terminal.
#[derive(Debug)]
struct Terminal {
    place: Place,
    opened: Duration,
    state: Mutex<Screen>,
    /// Something was printed, or it ended.
    news: Notify,
    close: CancellationToken,
    input: tokio::sync::mpsc::Sender<Vec<u8>>,
    scrubber: Scrubber,
}

#[derive(Debug, Default)]
struct Screen {
    /// Printed and not read yet.
    text: String,
    /// Characters that were dropped because nobody read them in time.
    missed: usize,
    /// When somebody typed or read last.
    used: Duration,
    ended: Option<Ended>,
}

/// How a terminal ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// Its program ended.
    Program(End),
    /// It was closed from here.
    Closed,
    /// Nobody used it for [`IDLE`].
    Idle,
    /// The connection broke.
    Broken,
}

/// What was printed since the last time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Printed {
    /// The text, cleaned; it comes from the other side and is not to be trusted.
    pub text: String,
    /// Characters before it that were lost, because more than [`KEPT`] bytes were waiting.
    pub missed: usize,
    /// How it ended, if it did.
    pub ended: Option<Ended>,
}

/// A line of the list of terminals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// What it is read and typed into by.
    pub id: String,
    /// Where it is.
    pub place: Place,
    /// Since when it is open.
    pub age: Duration,
    /// Since when nobody typed or read.
    pub idle: Duration,
    /// Whether its program has ended.
    pub ended: bool,
}

impl Ssh {
    /// Opens a terminal and gives its id.
    ///
    /// # Errors
    /// As [`Ssh::run`]; `conflict` when [`MOST`] are open.
    pub async fn open_terminal(&self, permit: Permit<SshCommand>, cluster: &dyn Resolver) -> Result<String, Fault> {
        let command = permit.into_action();
        let opened = self.terminal(&command, cluster).await;
        opened.map_err(|fault| redact::fault(self.scrubber().fault(fault)))
    }

    async fn terminal(&self, command: &SshCommand, cluster: &dyn Resolver) -> Result<String, Fault> {
        let Act::Terminal { columns, rows } = *command.act() else {
            return Err(Fault::new(Code::Internal, "this permit is for something else"));
        };
        self.terminals.room()?;
        let target = self.target(command.place(), cluster).await?;
        // A connection of its own: it lasts, and the shared ones have room for few.
        let Line { channel, connection, room } = self.own_line(&target).await?;
        let (mut read, write) = channel.split();
        let running = Running::new(write, connection.clone(), false);
        let refused = || {
            Fault::new(Code::SshUnreachable, format!("{} accepts the login but gives no terminal", target.check.who))
                .hint("is there a ForceCommand, or 'no-pty' before the key in authorized_keys?")
        };
        let started = async {
            running.half().request_pty(true, "xterm", columns, rows, 0, 0, &[]).await?;
            match self.line(command) {
                Some(line) => running.half().exec(true, line).await,
                None => running.half().request_shell(true).await,
            }
        };
        let answered = within(self.clock.as_ref(), OPEN, async {
            started.await.is_ok() && accepted(&mut read).await && accepted(&mut read).await
        });
        if answered.await != Some(true) {
            return Err(refused());
        }
        drop(room);
        let scrubber = self.scrubber().with(command.secrets());
        self.terminals.enter(command.place().clone(), scrubber, read, running, connection)
    }
}

/// Whether the other side agreed to a request.
async fn accepted(read: &mut ChannelReadHalf) -> bool {
    loop {
        match read.wait().await {
            Some(ChannelMsg::Success) => return true,
            Some(ChannelMsg::WindowAdjusted { .. }) => {}
            _ => return false,
        }
    }
}

impl Terminals {
    pub(super) fn new(clock: Arc<dyn Clock>, shutdown: CancellationToken) -> Terminals {
        Terminals { open: Mutex::default(), clock, shutdown }
    }

    /// Types into a terminal.
    ///
    /// # Errors
    /// `not_found` when there is no such terminal, `conflict` when it has ended or its program reads nothing.
    pub fn send(&self, id: &str, bytes: &[u8]) -> Result<(), Fault> {
        let terminal = self.find(id)?;
        terminal.screen().used = self.clock.now();
        let ended =
            || Fault::new(Code::Conflict, format!("the terminal {id} has ended")).hint("read what it said last");
        if terminal.screen().ended.is_some() {
            return Err(ended());
        }
        terminal.input.try_send(bytes.to_vec()).map_err(|refused| match refused {
            TrySendError::Closed(_) => ended(),
            TrySendError::Full(_) => Fault::new(Code::Conflict, format!("the program in terminal {id} reads nothing"))
                .hint("wait, or close the terminal"),
        })
    }

    /// What was printed since the last reading. When nothing was, it is awaited for up to `wait`. A terminal that has ended
    /// is gone once its last words were read.
    ///
    /// # Errors
    /// `not_found` when there is no such terminal.
    pub async fn read(&self, id: &str, wait: Duration) -> Result<Printed, Fault> {
        let terminal = self.find(id)?;
        let printed = async {
            loop {
                let news = terminal.news.notified();
                if let Some(printed) = terminal.take() {
                    return printed;
                }
                news.await;
            }
        };
        let printed = within(self.clock.as_ref(), wait, printed).await;
        terminal.screen().used = self.clock.now();
        let printed = printed.unwrap_or_else(|| Printed { text: String::new(), missed: 0, ended: None });
        if printed.ended.is_some() {
            self.all().remove(id);
        }
        Ok(printed)
    }

    /// Closes a terminal; its program is told to end.
    ///
    /// # Errors
    /// `not_found` when there is no such terminal.
    pub fn close(&self, id: &str) -> Result<(), Fault> {
        let terminal = self.find(id)?;
        terminal.close.cancel();
        self.all().remove(id);
        Ok(())
    }

    /// The terminals, the oldest first.
    pub fn list(&self) -> Vec<Listed> {
        let now = self.clock.now();
        let mut listed: Vec<Listed> = self
            .all()
            .iter()
            .map(|(id, terminal)| {
                let screen = terminal.screen();
                Listed {
                    id: id.clone(),
                    place: terminal.place.clone(),
                    age: now.saturating_sub(terminal.opened),
                    idle: now.saturating_sub(screen.used),
                    ended: screen.ended.is_some(),
                }
            })
            .collect();
        listed.sort_by(|a, b| b.age.cmp(&a.age).then_with(|| a.id.cmp(&b.id)));
        listed
    }

    fn find(&self, id: &str) -> Result<Arc<Terminal>, Fault> {
        self.all().get(id).cloned().ok_or_else(|| {
            Fault::new(Code::NotFound, format!("there is no terminal {id}")).hint(
                "it may have been closed because nobody used it for 15 minutes; the list shows those that are open",
            )
        })
    }

    /// Whether one more may be opened. Those that have ended make room, the one that ended first at the head.
    fn room(&self) -> Result<(), Fault> {
        let mut all = self.all();
        if all.len() >= MOST {
            all.retain(|_, terminal| terminal.screen().ended.is_none());
        }
        if all.len() < MOST {
            return Ok(());
        }
        Err(Fault::new(Code::Conflict, format!("{MOST} terminals are open, and that is the most"))
            .hint("close one that is not needed any more"))
    }

    fn enter(
        &self,
        place: Place,
        scrubber: Scrubber,
        read: ChannelReadHalf,
        running: Running,
        connection: Arc<Connection>,
    ) -> Result<String, Fault> {
        // Others may have been opened meanwhile.
        self.room()?;
        let now = self.clock.now();
        let (input, typed) = tokio::sync::mpsc::channel(16);
        let terminal = Arc::new(Terminal {
            place,
            opened: now,
            state: Mutex::new(Screen { used: now, ..Screen::default() }),
            news: Notify::new(),
            close: self.shutdown.child_token(),
            input,
            scrubber,
        });
        let id = format!("{:016x}", rand::rng().next_u64());
        self.all().insert(id.clone(), terminal.clone());
        tokio::spawn(pump(terminal, read, running, typed, connection, self.clock.clone()));
        Ok(id)
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Arc<Terminal>>> {
        // A panic while the lock was held leaves a map that is still whole.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Terminal {
    fn screen(&self) -> MutexGuard<'_, Screen> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn print(&self, text: &str) {
        let mut screen = self.screen();
        screen.text.push_str(text);
        let over = screen.text.len().saturating_sub(KEPT);
        if over > 0 {
            let cut = (over..=screen.text.len()).find(|&at| screen.text.is_char_boundary(at)).unwrap_or(over);
            screen.missed += screen.text.drain(..cut).count();
        }
        drop(screen);
        self.news.notify_waiters();
    }

    fn end(&self, how: Ended) {
        self.screen().ended.get_or_insert(how);
        self.news.notify_waiters();
    }

    /// What there is to read, if anything.
    fn take(&self) -> Option<Printed> {
        let mut screen = self.screen();
        if screen.text.is_empty() && screen.ended.is_none() {
            return None;
        }
        let text = std::mem::take(&mut screen.text);
        let missed = std::mem::take(&mut screen.missed);
        let text = self.scrubber.text(&redact::text(&text));
        Some(Printed { text, missed, ended: screen.ended.clone() })
    }
}

/// What was typed, on its way.
type Typing<'t> = Pin<Box<dyn Future<Output = Result<(), russh::Error>> + Send + 't>>;

/// Carries what is typed and printed until the terminal ends, one way or another.
async fn pump(
    terminal: Arc<Terminal>,
    mut read: ChannelReadHalf,
    running: Running,
    mut typed: tokio::sync::mpsc::Receiver<Vec<u8>>,
    connection: Arc<Connection>,
    clock: Arc<dyn Clock>,
) {
    let mut cleaner = Cleaner::default();
    let mut end = None;
    let mut patience = IDLE;
    // A program that does not read must not keep us from reading what it prints.
    let mut typing: Option<Typing<'_>> = None;
    let how = loop {
        let mut idle = clock.sleep(patience);
        tokio::select! {
            message = read.wait() => match message {
                Some(ChannelMsg::Data { data } | ChannelMsg::ExtendedData { data, .. }) => {
                    terminal.print(&cleaner.feed(&data));
                }
                Some(ChannelMsg::ExitStatus { exit_status }) => end = Some(End::Exit(exit_status)),
                Some(ChannelMsg::ExitSignal { signal_name, .. }) => end = Some(End::Signal(name(&signal_name))),
                Some(ChannelMsg::Close) => break Ended::Program(end.unwrap_or(End::Unknown)),
                None => break end.map_or(Ended::Broken, Ended::Program),
                Some(_) => {}
            },
            Some(bytes) = typed.recv(), if typing.is_none() => typing = Some(Box::pin(running.half().data_bytes(bytes))),
            typed = async { typing.as_mut().expect("looked at before").await }, if typing.is_some() => {
                typing = None;
                if typed.is_err() {
                    break Ended::Broken;
                }
            }
            () = terminal.close.cancelled() => break Ended::Closed,
            () = &mut idle => {
                let unused = clock.now().saturating_sub(terminal.screen().used);
                if unused >= IDLE {
                    break Ended::Idle;
                }
                patience = IDLE - unused;
            }
        }
    };
    drop(typing);
    terminal.print(&cleaner.finish());
    // Closing the channel takes the terminal away: its programs are told (SIGHUP).
    running.close().await;
    connection.close().await;
    terminal.end(how);
}

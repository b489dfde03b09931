//! The program behind `qm`, `pct` and the others, as it runs inside: it carries its arguments and its three streams over a
//! Unix socket out of the sandbox, and ends as it is told.

pub(crate) mod serve;

use std::collections::BTreeMap;
use std::io::{IoSlice, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use serde::{Deserialize, Serialize};

use crate::inside::SOCKET;

/// Where the socket is in a sandbox.
const PLACE: &str = "/.fake/socket";
/// Asked by a launcher: its command died by this signal.
pub(crate) const DIED: &str = "__fake-ssh-died";
/// Longest question.
const LONGEST: usize = 4 << 20;

/// What is asked.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Question {
    /// Name of the program, then its arguments.
    pub argv: Vec<String>,
    /// Working folder.
    pub cwd: String,
    /// Environment.
    pub env: BTreeMap<String, String>,
}

/// The socket's place.
fn place() -> String {
    #[expect(clippy::disallowed_methods, reason = "without a sandbox the socket's place stands in the environment")]
    std::env::var(SOCKET).unwrap_or_else(|_| PLACE.into())
}

/// Whether there is somebody to ask.
pub(crate) fn reachable() -> bool {
    std::path::Path::new(&place()).exists()
}

/// Asks fake-ssh to do what a node program does.
pub(crate) fn ask(name: &str, args: &[String]) -> ExitCode {
    match carry(name, args) {
        Ok(status) => ExitCode::from(u8::try_from(status & 0xff).unwrap_or(255)),
        Err(error) => {
            let _written = writeln!(std::io::stderr(), "{name}: the node does not answer: {error}");
            ExitCode::from(255)
        }
    }
}

fn carry(name: &str, args: &[String]) -> std::io::Result<i32> {
    #[expect(clippy::disallowed_methods, reason = "the stub hands on its environment, as lxc-attach keeps it")]
    let env: BTreeMap<String, String> = std::env::vars_os()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
        .collect();
    let cwd = std::env::current_dir().map_or_else(|_| "/".into(), |cwd| cwd.display().to_string());
    let argv = std::iter::once(name.to_string()).chain(args.iter().cloned()).collect();
    let question = serde_json::to_vec(&Question { argv, cwd, env })?;
    let length = u32::try_from(question.len()).map_err(|_| std::io::Error::other("too many arguments"))?;

    let mut socket = UnixStream::connect(place())?;
    let (input, output, errors) = (std::io::stdin(), std::io::stdout(), std::io::stderr());
    let streams = [input.as_fd(), output.as_fd(), errors.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&streams));
    rustix::net::sendmsg(&socket, &[IoSlice::new(&length.to_be_bytes())], &mut control, SendFlags::empty())?;
    socket.write_all(&question)?;
    let mut status = [0; 4];
    socket.read_exact(&mut status)?;
    Ok(i32::from_be_bytes(status))
}

//! A pseudo-terminal: the outer end is ours, the inner end becomes the command's.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::pin::Pin;
use std::process::Stdio;
use std::task::{Context, Poll};

use rustix::fs::OFlags;
use rustix::pty::{self, OpenptFlags};
use rustix::termios::{Winsize, tcsetwinsize};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Both ends, while the command runs.
pub(crate) struct Terminal {
    outer: OwnedFd,
}

impl Terminal {
    /// Opens one; the inner end three times, for the streams of a command.
    pub fn open(columns: u32, rows: u32) -> io::Result<(Terminal, (Stdio, Stdio, Stdio))> {
        let outer = pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        pty::grantpt(&outer)?;
        pty::unlockpt(&outer)?;
        let inner = pty::ioctl_tiocgptpeer(&outer, OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        let terminal = Terminal { outer };
        terminal.resize(columns, rows)?;
        let again = || inner.try_clone().map(Stdio::from);
        let ends = (again()?, again()?, again()?);
        Ok((terminal, ends))
    }

    /// Tells it a new size.
    pub fn resize(&self, columns: u32, rows: u32) -> io::Result<()> {
        let short = |size: u32| u16::try_from(size).unwrap_or(u16::MAX);
        let size = Winsize { ws_row: short(rows), ws_col: short(columns), ws_xpixel: 0, ws_ypixel: 0 };
        Ok(tcsetwinsize(&self.outer, size)?)
    }

    /// Its outer end.
    pub fn outer(&self) -> &OwnedFd {
        &self.outer
    }

    /// What it shows, and what is typed.
    pub fn halves(&self) -> io::Result<(Half, Half)> {
        Ok((Half::new(&self.outer)?, Half::new(&self.outer)?))
    }
}

/// One direction of the outer end.
pub(crate) struct Half(AsyncFd<OwnedFd>);

impl Half {
    fn new(outer: &OwnedFd) -> io::Result<Half> {
        let copy = outer.try_clone()?;
        let flags = rustix::fs::fcntl_getfl(&copy)?;
        rustix::fs::fcntl_setfl(&copy, flags | OFlags::NONBLOCK)?;
        #[expect(deprecated, reason = "the descriptor is owned and stays the same; the newer form is unsafe to call")]
        let ready = AsyncFd::new(copy)?;
        Ok(Half(ready))
    }
}

impl AsyncRead for Half {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut ready = std::task::ready!(self.0.poll_read_ready(context))?;
            let space = buffer.initialize_unfilled();
            match ready.try_io(|inner| Ok(rustix::io::read(inner.get_ref().as_fd(), &mut *space)?)) {
                Ok(Ok(length)) => {
                    buffer.advance(length);
                    return Poll::Ready(Ok(()));
                }
                // The last process with the inner end is gone.
                Ok(Err(_)) => return Poll::Ready(Ok(())),
                Err(_not_yet) => {}
            }
        }
    }
}

impl AsyncWrite for Half {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            let mut ready = std::task::ready!(self.0.poll_write_ready(context))?;
            match ready.try_io(|inner| Ok(rustix::io::write(inner.get_ref().as_fd(), bytes)?)) {
                Ok(written) => return Poll::Ready(written),
                Err(_not_yet) => {}
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

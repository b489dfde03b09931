//! The outer end of a sandbox's socket: it serves that sandbox alone, and does what its stubs ask for.

use std::fs::File;
use std::io::{IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
use tokio::net::UnixListener;
use tokio::sync::Semaphore;

use super::{DIED, LONGEST, Question};
use crate::User;
use crate::program::{self, Call};
use crate::site::{Node, Site, random_word};

/// How many questions of one sandbox are answered at a time.
const AT_ONCE: usize = 32;
/// How long somebody who connects may take to ask.
const PATIENCE: Duration = Duration::from_secs(5);

/// One sandbox's socket; it goes when this goes.
pub(crate) struct Desk {
    socket: PathBuf,
    /// The signal that the sandbox's command died by; 0 where it did not.
    died: Arc<AtomicI32>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.task.abort();
        let _best_effort = std::fs::remove_file(&self.socket);
    }
}

impl Desk {
    /// Makes one, for what a user does on a node.
    pub fn open(site: Arc<Site>, node: Arc<Node>, user: User) -> std::io::Result<Desk> {
        use std::os::unix::fs::PermissionsExt as _;
        let socket = site.folder().join(format!("s{}", random_word(16)));
        let listener = UnixListener::bind(&socket)?;
        std::fs::set_permissions(&socket, std::fs::Permissions::from_mode(0o666))?;
        let died = Arc::new(AtomicI32::new(0));
        let told = Arc::clone(&died);
        let task = tokio::spawn(async move {
            let places = Arc::new(Semaphore::new(AT_ONCE));
            while let Ok((stream, _)) = listener.accept().await {
                let Ok(stream) = stream.into_std() else { continue };
                let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
                let (site, node, user) = (Arc::clone(&site), Arc::clone(&node), user.clone());
                let told = Arc::clone(&told);
                drop(tokio::task::spawn_blocking(move || {
                    answer(stream, &site, &node, &user, &told);
                    drop(place);
                }));
            }
        });
        Ok(Desk { socket, died, task })
    }

    /// The signal that the sandbox's command died by.
    pub fn died(&self) -> Option<i32> {
        Some(self.died.load(Ordering::Acquire)).filter(|signal| *signal > 0)
    }

    /// Where it is, outside.
    pub fn socket(&self) -> &Path {
        &self.socket
    }
}

/// Answers one question. A stub that goes away hears nothing, and needs nothing.
fn answer(mut stream: UnixStream, site: &Arc<Site>, node: &Arc<Node>, user: &User, died: &AtomicI32) {
    let allowed = site.owner.is_none_or(|owner| {
        let mine = owner + user.uid;
        rustix::net::sockopt::socket_peercred(&stream).is_ok_and(|peer| peer.uid.as_raw() == mine)
    });
    if !allowed || stream.set_nonblocking(false).is_err() {
        return;
    }
    let _asked_in_time = stream.set_read_timeout(Some(PATIENCE));
    let Ok((question, streams)) = receive(&mut stream) else { return };
    let _waits = stream.set_read_timeout(None);
    if question.argv.first().is_some_and(|name| name == DIED) {
        let signal = question.argv.get(1).and_then(|signal| signal.parse().ok());
        died.store(signal.unwrap_or(0), Ordering::Release);
        let _gone = stream.write_all(&0_i32.to_be_bytes());
        return;
    }
    let [stdin, stdout, stderr] = streams;
    let Ok(socket) = stream.try_clone() else { return };
    site.remember(question.argv.clone());
    let mut call = Call {
        site: Arc::clone(site),
        node: Arc::clone(node),
        user: user.clone(),
        argv: question.argv,
        cwd: question.cwd,
        env: question.env,
        stdin,
        stdout,
        stderr,
        socket,
    };
    let status = program::run(&mut call);
    site.refresh(node);
    let _gone = stream.write_all(&status.to_be_bytes());
}

fn receive(stream: &mut UnixStream) -> std::io::Result<(Question, [File; 3])> {
    let mut length = [0; 4];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    rustix::net::recvmsg(&*stream, &mut [IoSliceMut::new(&mut length)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let mut streams: Vec<File> = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            streams.extend(rights.map(File::from));
        }
    }
    let streams: [File; 3] = streams.try_into().map_err(|_| std::io::Error::other("three streams are needed"))?;
    let length = u32::from_be_bytes(length) as usize;
    if length > LONGEST {
        return Err(std::io::Error::other("too long"));
    }
    let mut text = vec![0; length];
    stream.read_exact(&mut text)?;
    Ok((serde_json::from_slice(&text)?, streams))
}

//! SSH for one node: who may come in, and what becomes of their channels.

mod conversation;
mod sftp;
mod streams;

use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use russh::keys::PublicKey;
use russh::server::{Auth, ChannelOpenHandle, Config, Handler, Msg, Response, Session, VerifiedPublicKey};
use russh::{Channel, ChannelId, MethodKind, MethodSet, Pty};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::site::{Node, Site};
use crate::{Error, Fault, User};

/// Waits as long as a fault says.
pub(crate) async fn slow(node: &Node) {
    let wait = node.faults().iter().find_map(|fault| match fault {
        Fault::Slow(time) => Some(*time),
        _ => None,
    });
    if let Some(time) = wait {
        #[expect(clippy::disallowed_methods, reason = "a slow node is slow in real time: its clients wait for it")]
        tokio::time::sleep(time).await;
    }
}

/// Listens for one node.
pub(crate) async fn listen(site: Arc<Site>, node: Arc<Node>, port: u16) -> Result<(SocketAddr, JoinHandle<()>), Error> {
    let listener =
        TcpListener::bind(("127.0.0.1", port)).await.map_err(Error::io(format!("cannot listen on port {port}")))?;
    let address = listener.local_addr().map_err(Error::io("cannot find the port"))?;
    let task = tokio::spawn(async move {
        let mut guests = tokio::task::JoinSet::new();
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, from)) => drop(guests.spawn(visit(Arc::clone(&site), Arc::clone(&node), stream, from))),
                    Err(_) => return,
                },
                Some(_) = guests.join_next(), if !guests.is_empty() => {}
            }
        }
    });
    Ok((address, task))
}

async fn visit(site: Arc<Site>, node: Arc<Node>, stream: TcpStream, from: SocketAddr) {
    slow(&node).await;
    if node.has(&Fault::Refuse) {
        return;
    }
    let Ok(line) = Line::new(&stream, &node) else { return };
    let _small_packets_at_once = stream.set_nodelay(true);
    let local = stream.local_addr().unwrap_or(from);
    let config = Arc::new(config(&node));
    let visitor = Visitor { site, node, user: None, from, local, line: Arc::new(line) };
    if let Ok(session) = russh::server::run_stream(config, stream, visitor).await {
        let cut = Cut(session.handle());
        let _why_it_ended = session.await;
        drop(cut);
    }
}

/// Ends a session when nobody waits for it any more.
struct Cut(russh::server::Handle);

impl Drop for Cut {
    fn drop(&mut self) {
        let handle = self.0.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let _gone = handle.disconnect(russh::Disconnect::ByApplication, String::new(), String::new()).await;
            });
        }
    }
}

fn config(node: &Node) -> Config {
    let key = if node.has(&Fault::WrongKey) { &node.other_key } else { &node.key };
    Config {
        server_id: russh::SshId::Standard(Cow::Borrowed("SSH-2.0-OpenSSH_10.0p2 Debian-7")),
        keys: vec![key.clone()],
        methods: MethodSet::from(&[MethodKind::PublicKey, MethodKind::Password, MethodKind::KeyboardInteractive][..]),
        auth_rejection_time: Duration::from_millis(20),
        auth_rejection_time_initial: Some(Duration::ZERO),
        window_size: 8 << 20,
        maximum_packet_size: 65535,
        channel_buffer_size: 256,
        nodelay: true,
        ..Config::default()
    }
}

/// The wire of a connection, to be cut after so many bytes of output.
pub(crate) struct Line {
    socket: std::os::fd::OwnedFd,
    left: Option<AtomicUsize>,
}

impl Line {
    fn new(stream: &TcpStream, node: &Node) -> std::io::Result<Line> {
        use std::os::fd::AsFd as _;
        let left = node.faults().iter().find_map(|fault| match fault {
            Fault::Cut(bytes) => Some(AtomicUsize::new(*bytes)),
            _ => None,
        });
        Ok(Line { socket: stream.as_fd().try_clone_to_owned()?, left })
    }

    /// How much of this may still go out; the rest of the connection ends when that is not all.
    pub fn may(&self, bytes: usize) -> usize {
        let Some(left) = &self.left else { return bytes };
        let before = left.load(Ordering::Relaxed);
        left.store(before.saturating_sub(bytes), Ordering::Relaxed);
        bytes.min(before)
    }

    /// Cuts it.
    pub fn cut(&self) {
        let _gone = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Both);
    }
}

/// One connection.
struct Visitor {
    site: Arc<Site>,
    node: Arc<Node>,
    user: Option<User>,
    from: SocketAddr,
    local: SocketAddr,
    line: Arc<Line>,
}

impl Visitor {
    fn known(&self, name: &str) -> Option<User> {
        self.site.users.iter().find(|user| user.name == name).cloned()
    }

    fn by_password(&mut self, name: &str, password: &str) -> Auth {
        let user = self.known(name).filter(|user| user.password.as_deref() == Some(password));
        self.enter(user)
    }

    fn enter(&mut self, user: Option<User>) -> Auth {
        let Some(user) = user else { return Auth::reject() };
        self.user = Some(user);
        Auth::Accept
    }

    /// The keys of a user: those given at the start, and what stands in the file on the node.
    fn accepts(&self, user: &User, key: &PublicKey) -> bool {
        let home = conversation::home(user);
        let file = self.node.root.text(&format!("{home}/.ssh/authorized_keys")).unwrap_or_default();
        let lines = user.keys.iter().map(String::as_str).chain(file.lines());
        lines
            .filter_map(|line| PublicKey::from_openssh(line.trim()).ok())
            .any(|known| known.key_data() == key.key_data())
    }
}

impl Handler for Visitor {
    type Error = russh::Error;

    async fn auth_password(&mut self, user: &str, password: &str) -> Result<Auth, russh::Error> {
        Ok(self.by_password(user, password))
    }

    async fn auth_keyboard_interactive<'a>(
        &'a mut self,
        user: &str,
        _: &str,
        response: Option<Response<'a>>,
    ) -> Result<Auth, russh::Error> {
        if let Some(answers) = response {
            let answers: Vec<String> = answers.map(|answer| String::from_utf8_lossy(&answer).into_owned()).collect();
            return Ok(self.by_password(user, &answers.concat()));
        }
        let prompts = vec![("Password: ".into(), false)];
        Ok(Auth::Partial { name: "".into(), instructions: "".into(), prompts: prompts.into() })
    }

    async fn auth_publickey(&mut self, user: &str, key: VerifiedPublicKey<'_>) -> Result<Auth, russh::Error> {
        let user = self.known(user).filter(|user| self.accepts(user, key.public_key));
        Ok(self.enter(user))
    }

    async fn channel_open_session(
        &mut self,
        channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        reply.accept().await;
        let Some(user) = self.user.clone() else { return Ok(()) };
        let talk = conversation::Conversation {
            site: Arc::clone(&self.site),
            node: Arc::clone(&self.node),
            user,
            from: self.from,
            local: self.local,
            line: Arc::clone(&self.line),
            handle: session.handle(),
        };
        tokio::spawn(talk.hold(channel));
        Ok(())
    }

    async fn pty_request(
        &mut self,
        channel: ChannelId,
        _: &str,
        _: u32,
        _: u32,
        _: u32,
        _: u32,
        _: &[(Pty, u32)],
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        session.channel_success(channel)
    }

    async fn env_request(
        &mut self,
        channel: ChannelId,
        name: &str,
        _: &str,
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        match conversation::accepts_env(name) {
            true => session.channel_success(channel),
            false => session.channel_failure(channel),
        }
    }

    async fn exec_request(&mut self, channel: ChannelId, _: &[u8], session: &mut Session) -> Result<(), russh::Error> {
        session.channel_success(channel)
    }

    async fn shell_request(&mut self, channel: ChannelId, session: &mut Session) -> Result<(), russh::Error> {
        session.channel_success(channel)
    }

    async fn subsystem_request(
        &mut self,
        channel: ChannelId,
        name: &str,
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        if name == "sftp" { session.channel_success(channel) } else { session.channel_failure(channel) }
    }
}

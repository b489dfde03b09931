//! A small SSH server of our own that takes passwords, which a real one does for root and with PAM only.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use pvemcp::config::{KeyFingerprint, SshAddress, SshSettings};
use russh::keys::ssh_key::private::Ed25519Keypair;
use russh::keys::{HashAlg, PrivateKey};
use russh::server::{Auth, ChannelOpenHandle, Config, Handler, Msg, Response, Session};
use russh::{Channel, ChannelId, MethodKind, MethodSet};

/// How it asks for the password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ways {
    /// As a password.
    Password,
    /// In a dialogue, as PAM does.
    Dialogue,
    /// In a dialogue that wants something else.
    Questions,
}

pub struct Answering {
    address: SocketAddr,
    key: PrivateKey,
    passwords: Arc<Mutex<Vec<String>>>,
}

impl Answering {
    pub async fn start(ways: Ways) -> Answering {
        let key = PrivateKey::from(Ed25519Keypair::from_seed(&[42; 32]));
        let method = if ways == Ways::Password { MethodKind::Password } else { MethodKind::KeyboardInteractive };
        let config = Arc::new(Config {
            keys: vec![key.clone()],
            methods: MethodSet::from(&[method][..]),
            auth_rejection_time: std::time::Duration::ZERO,
            ..Config::default()
        });
        let passwords: Arc<Mutex<Vec<String>>> = Arc::default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let seen = passwords.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let visitor = Visitor { ways, passwords: seen.clone() };
                // Clients that go away are none of our business.
                let _ = russh::server::run_stream(config.clone(), stream, visitor)
                    .await
                    .map(|session| tokio::spawn(session));
            }
        });
        Answering { address, key, passwords }
    }

    /// Settings for it as node `pve1`, with its key pinned; nothing to log in with yet.
    pub fn settings(&self) -> SshSettings {
        let pin = self.key.public_key().fingerprint(HashAlg::Sha256);
        let pin = KeyFingerprint(pin.as_bytes().try_into().expect("32 bytes"));
        SshSettings {
            nodes: [("pve1".into(), SshAddress { host: "127.0.0.1".into(), port: Some(self.address.port()) })].into(),
            pins: [("pve1".into(), vec![pin])].into(),
            ..SshSettings::default()
        }
    }

    /// Every password it was told.
    pub fn passwords(&self) -> Vec<String> {
        self.passwords.lock().expect("no panic inside").clone()
    }
}

struct Visitor {
    ways: Ways,
    passwords: Arc<Mutex<Vec<String>>>,
}

impl Visitor {
    fn told(&self, password: &str) -> Auth {
        self.passwords.lock().expect("no panic inside").push(password.into());
        if password == "canary-secret" { Auth::Accept } else { Auth::reject() }
    }
}

impl Handler for Visitor {
    type Error = russh::Error;

    async fn auth_password(&mut self, _: &str, password: &str) -> Result<Auth, russh::Error> {
        Ok(self.told(password))
    }

    async fn auth_keyboard_interactive<'a>(
        &'a mut self,
        _: &str,
        _: &str,
        response: Option<Response<'a>>,
    ) -> Result<Auth, russh::Error> {
        if let Some(answers) = response {
            let answers: Vec<String> = answers.map(|answer| String::from_utf8_lossy(&answer).into_owned()).collect();
            return Ok(self.told(&answers.join("|")));
        }
        let prompts = match self.ways {
            Ways::Questions => vec![("Verification code: ".into(), true)],
            _ => vec![("Password: ".into(), false)],
        };
        Ok(Auth::Partial { name: "".into(), instructions: "".into(), prompts: prompts.into() })
    }

    async fn channel_open_session(
        &mut self,
        _: Channel<Msg>,
        reply: ChannelOpenHandle,
        _: &mut Session,
    ) -> Result<(), russh::Error> {
        reply.accept().await;
        Ok(())
    }

    async fn exec_request(&mut self, channel: ChannelId, _: &[u8], session: &mut Session) -> Result<(), russh::Error> {
        session.channel_success(channel)?;
        session.data(channel, "answered\n".as_bytes().to_vec())?;
        session.exit_status_request(channel, 0)?;
        session.close(channel)
    }
}

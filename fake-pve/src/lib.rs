//! A Proxmox VE cluster that behaves: for tests and rehearsals, over real HTTPS, without Proxmox.
//!
//! ```no_run
//! # async fn example() -> Result<(), fake_pve::Error> {
//! use fake_pve::{FakePve, Scenario};
//!
//! let pve = FakePve::builder().scenario(Scenario::one_vm()).start().await?;
//! let (url, token, ca) = (pve.url(), pve.token(), pve.ca_pem());
//! // … point a client at it: `Authorization: PVEAPIToken=<token>` …
//! assert_eq!(pve.world(|world| world.guests.len()), 1);
//! assert!(pve.requests().is_empty());
//! # Ok(()) }
//! ```
//!
//! # Map
//! [`world`] is what the cluster is, plain data. `http` turns bytes into requests, `engine` is the pipeline in Proxmox's
//! own order of checks, `behaviour` is what calls do (its documentation says how to add one), `generic` answers what
//! the catalogue alone can answer, `work` runs tasks, [`clock`] is virtual time, [`journal`] remembers requests,
//! [`mod@fault`] is trouble on demand, `control` is the fake's own interface, [`scenario`] holds worlds to start from.
//!
//! # Figures
//! One run of `cargo bench -p fake-pve` on two cores that were busy with other builds, `fakepve` 0.5.0 beside it in
//! brackets, with 1,000 guests. Ready in 52 ms (1,093); 19.6 MB resident at the start (58.1). Requests a second on eight
//! connections: `/version` 27,652 (6,382), `/cluster/resources` 2,553 (42). A write and the list made anew after it cost
//! 65 µs per guest of 100, 32 µs of 1,000 and 33 µs of 10,000.
//!
//! What is not reached: 54.5 MB resident after the load (75.4) where 40 are the aim; `/cluster/resources` on one
//! connection, 432 (32), is 13 times as fast and not 20; changing a guest's configuration is slower, 1,708 (1,846) on
//! eight connections and 852 (944) on one. A world of 10,000 guests is ready in 262 ms, and holds 287 MB after the load.

mod access;
mod apidoc;
mod auth;
mod behaviour;
mod checksum;
pub mod clock;
mod control;
mod direct;
mod engine;
mod envelope;
pub mod fault;
mod generic;
mod http;
pub mod import_etc;
pub mod journal;
pub mod scenario;
mod tls;
mod work;
pub mod world;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub use clock::Mode;
pub use direct::{Direct, Told};
pub use fault::{Effect, Fault, FaultId};
pub use import_etc::{Imported, import_etc};
pub use journal::{Entry, Level};
pub use scenario::Scenario;
pub use tls::Ca;
pub use world::World;

use clock::Clock;
use engine::{Shared, State};
use world::random::Random;

/// What answers each method of the catalogue, in its order: the coverage of the fake.
pub fn coverage() -> Vec<(String, Level)> {
    let methods = pve_catalog::Catalog::embedded().methods();
    methods.iter().map(|method| (method.key(), generic::level(method))).collect()
}

/// Why a cluster does not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address cannot be used.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// As it was asked for.
        address: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// A certificate cannot be made.
    #[error("cannot make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// TLS cannot be set up.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// The scenario is unknown or wrong.
    #[error("the scenario cannot be used: {0}")]
    Scenario(String),
    /// Credentials that everybody knows would be reachable from outside.
    #[error("{0} can be reached from outside, and the default credentials are public: give credentials of your own")]
    PublicCredentials(SocketAddr),
}

/// What clients log in with: the password of `root@pam` and a token of it without privilege separation.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// Password of `root@pam`.
    pub password: String,
    /// Name of the token, after `root@pam!`.
    pub token_name: String,
    /// Secret of the token.
    pub token_secret: String,
}

impl Credentials {
    /// The documented ones of the standalone program: `secret` and token `ci`.
    pub fn well_known() -> Credentials {
        Credentials {
            password: "secret".into(),
            token_name: "ci".into(),
            token_secret: "12345678-1234-1234-1234-1234567890ab".into(),
        }
    }

    /// Random ones.
    pub fn random() -> Credentials {
        let mut random = Random(rand::random());
        let (password, token_secret) = (random.hex(32), random.uuid());
        Credentials { password, token_name: "ci".into(), token_secret }
    }
}

/// How to start a cluster.
pub struct Builder {
    scenario: Scenario,
    bind: String,
    time_scale: f64,
    clock: Mode,
    credentials: Credentials,
    ca: Option<Ca>,
    idle: Duration,
}

impl Builder {
    /// The world to start from (default: [`Scenario::cluster`]).
    pub fn scenario(mut self, scenario: Scenario) -> Builder {
        self.scenario = scenario;
        self
    }

    /// Where to listen (default: `127.0.0.1:0`, a free port).
    pub fn bind(mut self, address: impl Into<String>) -> Builder {
        self.bind = address.into();
        self
    }

    /// Real seconds per virtual second (default 0: nothing waits).
    pub fn time_scale(mut self, scale: f64) -> Builder {
        self.time_scale = scale;
        self
    }

    /// What moves the clock (default: [`Mode::Auto`]).
    pub fn clock(mut self, mode: Mode) -> Builder {
        self.clock = mode;
        self
    }

    /// What clients log in with (default: random).
    pub fn credentials(mut self, credentials: Credentials) -> Builder {
        self.credentials = credentials;
        self
    }

    /// The certificate authority (default: a new one).
    pub fn ca(mut self, ca: Ca) -> Builder {
        self.ca = Some(ca);
        self
    }

    /// How long a connection may stay silent before it is closed, in real time (default: 5 seconds, as Proxmox does).
    pub fn idle_timeout(mut self, idle: Duration) -> Builder {
        self.idle = idle;
        self
    }

    /// Starts it on the current runtime.
    ///
    /// # Errors
    /// [`Error`]: the address, the certificate, or well-known credentials on an address that is not loopback.
    pub async fn start(self) -> Result<FakePve, Error> {
        let bind = |source| Error::Bind { address: self.bind.clone(), source };
        let listener = TcpListener::bind(&self.bind).await.map_err(bind)?;
        let address = listener.local_addr().map_err(bind)?;
        if !address.ip().is_loopback() && self.credentials == Credentials::well_known() {
            return Err(Error::PublicCredentials(address));
        }
        let mut world = self.scenario.world;
        let clock = Clock::new(self.clock, self.time_scale);
        ready(&mut world, &self.credentials, clock.now());

        let ca = self.ca.map_or_else(Ca::generate, Ok)?;
        let mut names: Vec<String> = ["127.0.0.1", "::1", "localhost"].map(String::from).into();
        names.extend(world.nodes.keys().cloned());
        if !address.ip().is_loopback() && !address.ip().is_unspecified() {
            names.push(address.ip().to_string());
        }
        let leaf = ca.leaf(names)?;
        let served = json!({"ca": ca.pem(), "certificate": leaf.pem, "fingerprint": leaf.fingerprint});
        if let Some(node) = world.nodes.get_mut(&world.entry) {
            node.state.insert(behaviour::certificates::SERVED.into(), served);
        }

        let shared = Shared::new(State::new(world, clock), Random(rand::random()).hex(32), ca.pem());
        let handler = Arc::clone(&shared);
        let patience = http::Patience::of_idle(self.idle);
        let server =
            http::serve(listener, leaf.config, patience, move |request| engine::answer(Arc::clone(&handler), request));
        let task = tokio::spawn(server);
        Ok(FakePve { shared, address, fingerprint: leaf.fingerprint, ca, credentials: self.credentials, task })
    }
}

/// Puts credentials in, and gives times to what has none.
fn ready(world: &mut World, credentials: &Credentials, now: i64) {
    world.access.add_user("root@pam", &credentials.password);
    world.access.add_token(&format!("root@pam!{}", credentials.token_name), &credentials.token_secret, false);
    scenario::moments::settle(world, now);
}

/// A running cluster. It stops, with all its connections, when this is dropped.
pub struct FakePve {
    shared: Arc<Shared>,
    address: SocketAddr,
    fingerprint: String,
    ca: Ca,
    credentials: Credentials,
    task: JoinHandle<()>,
}

impl FakePve {
    /// How to start one: a cluster on a free loopback port, with random credentials, where nothing waits.
    pub fn builder() -> Builder {
        Builder {
            scenario: Scenario::cluster(),
            bind: "127.0.0.1:0".into(),
            time_scale: 0.0,
            clock: Mode::Auto,
            credentials: Credentials::random(),
            ca: None,
            idle: Duration::from_secs(5),
        }
    }

    /// `https://127.0.0.1:41234`.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// SHA-256 of its certificate: `AA:BB:…`.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Certificate of its authority as PEM.
    pub fn ca_pem(&self) -> &str {
        self.ca.pem()
    }

    /// `root@pam!ci=<uuid>`: what goes after `PVEAPIToken=`.
    pub fn token(&self) -> String {
        format!("root@pam!{}={}", self.credentials.token_name, self.credentials.token_secret)
    }

    /// What clients log in with.
    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// The token of the control interface under `/_rehearsal/`.
    pub fn control_token(&self) -> &str {
        &self.shared.control_token
    }

    /// Reads or changes the world under its lock. Tasks that are due are finished first.
    pub fn world<T>(&self, act: impl FnOnce(&mut World) -> T) -> T {
        act(&mut self.shared.lock().world)
    }

    /// The same cluster asked in process: nothing is authenticated, and no request stands in the journal.
    pub fn direct(&self) -> Direct {
        Direct { shared: Arc::clone(&self.shared) }
    }

    /// Virtual seconds since the epoch.
    pub fn now(&self) -> i64 {
        self.shared.lock().clock.now()
    }

    /// Moves time forward; what is due by then is finished.
    pub fn advance(&self, by: Duration) {
        self.shared.lock().clock.advance(by);
        drop(self.shared.lock());
    }

    /// The requests so far, oldest first (the last 10,000).
    pub fn requests(&self) -> Vec<Entry> {
        self.shared.lock().journal.entries().cloned().collect()
    }

    /// Forgets the requests so far.
    pub fn forget_requests(&self) {
        self.shared.lock().journal.clear();
    }
}

impl Drop for FakePve {
    fn drop(&mut self) {
        self.task.abort();
    }
}

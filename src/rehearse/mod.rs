//! `pvemcp rehearse`: a fake cluster and its nodes' shells in this process, and the server pointed at them. Nothing else can
//! be reached.
//!
//! The cluster has a certificate authority, a token and an address of its own, all made at the start. Of the environment
//! only limits and the choice of tools count; the client refuses any address but loopback.

mod changes;
mod run;
mod shells;
mod show;

use std::path::PathBuf;

use fake_pve::{FakePve, Scenario};
use pve_catalog::{Catalog, Verb};
use secrecy::SecretString;
use serde_json::Value;

use crate::config::{Connection, Credentials, Settings, Tls};
use crate::redact;

use shells::Shells;

pub use run::{call_once, run};

/// How to rehearse.
#[derive(Debug, Default, Clone)]
pub struct Options {
    /// A built-in scenario, or a file with one; `cluster` when none is named.
    pub scenario: Option<String>,
    /// Real seconds per virtual second.
    pub time_scale: f64,
    /// Opens no gate.
    pub read_only: bool,
    /// File that gets the requests as JSON lines at the end.
    pub journal: Option<PathBuf>,
}

/// Why a rehearsal cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The cluster does not start.
    #[error("the rehearsal cluster does not start: {0}")]
    Cluster(#[from] fake_pve::Error),
    /// The scenario is not there.
    #[error("there is no scenario '{0}', and no such file can be read: {1}")]
    Scenario(String, std::io::Error),
    /// A file or a connection.
    #[error("{0}")]
    Io(std::io::Error),
    /// Settings of the environment that count are wrong.
    #[error("{0}")]
    Settings(String),
}

/// A cluster that was made for this process, and what it was like at the start.
pub struct Rehearsal {
    fake: FakePve,
    shells: Shells,
    before: Value,
    options: Options,
}

impl Rehearsal {
    /// Makes the cluster.
    ///
    /// # Errors
    /// When the scenario cannot be read or the cluster does not start.
    pub async fn start(options: Options) -> Result<Rehearsal, Error> {
        let scenario = scenario(options.scenario.as_deref())?;
        let fake = FakePve::builder().scenario(scenario).time_scale(options.time_scale).start().await?;
        let shells = Shells::beside(&fake).await;
        let before = changes::picture(&fake);
        Ok(Rehearsal { fake, shells, before, options })
    }

    /// The settings of a server for it, and the variables of the environment that do not count.
    ///
    /// # Errors
    /// When a variable that counts is wrong.
    pub fn settings(&self) -> Result<(Settings, Vec<String>), Error> {
        let (get, names) = Settings::environment();
        let told = |errors: Vec<crate::config::ConfigError>| {
            Error::Settings(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
        };
        let (mut settings, ignored) =
            Settings::for_rehearsal(&get, &names, self.connection(), self.options.read_only).map_err(told)?;
        settings.instances.iter_mut().for_each(|instance| self.shells.tell(instance));
        settings.warnings.extend(self.shells.missing().map(|why| format!("this rehearsal has no SSH: {why}")));
        Ok((settings, ignored))
    }

    /// The cluster.
    pub fn cluster(&self) -> &FakePve {
        &self.fake
    }

    /// What changed since the start and which requests were made, a line each.
    pub fn report(&self) -> String {
        changes::report(&self.before, &changes::picture(&self.fake), &self.fake.requests())
    }

    /// Writes the journal where one was asked for.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_journal(&self) -> std::io::Result<()> {
        let Some(file) = &self.options.journal else { return Ok(()) };
        let lines: String = self.fake.requests().iter().map(|entry| masked(entry).to_string() + "\n").collect();
        std::fs::write(file, lines)
    }

    fn connection(&self) -> Connection {
        let credentials = self.fake.credentials();
        Connection {
            url: self.fake.url(),
            credentials: Credentials::Token {
                id: format!("root@pam!{}", credentials.token_name),
                secret: SecretString::from(credentials.token_secret.clone()),
            },
            tls: Tls::Fingerprint(show::fingerprint_bytes(self.fake.fingerprint())),
            timeout: std::time::Duration::from_secs(30),
            only_loopback: true,
        }
    }
}

/// A request as data; what would be secret on a real cluster is masked.
fn masked(entry: &fake_pve::Entry) -> Value {
    let mut line = serde_json::to_value(entry).unwrap_or_default();
    let verb = entry.verb.parse::<Verb>().ok();
    let method = verb.zip(entry.template).and_then(|(verb, template)| Catalog::embedded().get(verb, template));
    line["params"] = redact::value(method, &line["params"]);
    line
}

fn scenario(name: Option<&str>) -> Result<Scenario, Error> {
    let name = name.unwrap_or("cluster");
    if let Ok(scenario) = Scenario::named(name) {
        return Ok(scenario);
    }
    let text = std::fs::read_to_string(name).map_err(|error| Error::Scenario(name.into(), error))?;
    Ok(Scenario::from_json(&text)?)
}

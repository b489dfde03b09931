//! What one process shares: the clusters, the registry of tools, and the token that ends everything.
//!
//! Every way in (stdio, HTTP, the command line) comes to [`Server::call`].

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use pve_catalog::Catalog;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::config::{ConfirmFallback, Instance, Settings};
use crate::error::Fault;
use crate::policy::Policy;
use crate::policy::confirm::Ledger;
use crate::pve::{Client, Clock, WallClock};
use crate::redact;
use crate::ssh::Ssh;
use crate::tools::aliases::Aliases;
use crate::tools::api::index::Index;
use crate::tools::confirm::Call;
use crate::tools::context::Caller;
use crate::tools::nearest::{nearest, question};
use crate::tools::{Ctx, Registry, Reply, Tool, aliases};

/// Everything that calls share.
#[derive(Debug)]
pub struct Server {
    settings: Settings,
    clusters: Vec<Cluster>,
    registry: Registry,
    index: OnceLock<Index>,
    ledger: Ledger,
    shutdown: CancellationToken,
}

/// One cluster at work.
#[derive(Debug)]
pub struct Cluster {
    /// Its name in results.
    pub name: String,
    /// `https://host:port`.
    pub url: String,
    /// What may be done to it.
    pub policy: Policy,
    /// How it is reached.
    pub client: Client,
    /// Time, for whoever has to wait for a guest.
    pub clock: Arc<dyn Clock>,
    /// How its nodes and guests are reached over SSH.
    pub ssh: Ssh,
    /// The node taken when none is named and no guest tells it.
    pub default_node: Option<String>,
    /// How long a task is awaited unless told otherwise.
    pub task_wait: Duration,
}

impl Server {
    /// A server; no cluster is contacted.
    ///
    /// # Errors
    /// When a file that the settings name cannot be read.
    pub fn new(settings: Settings) -> Result<Arc<Server>, Fault> {
        Server::with_clock(settings, Arc::new(WallClock::default()))
    }

    /// The same with another clock, for tests.
    ///
    /// # Errors
    /// As [`Server::new`].
    pub fn with_clock(settings: Settings, clock: Arc<dyn Clock>) -> Result<Arc<Server>, Fault> {
        Server::with_aliases(settings, clock, Catalog::rules().aliases.clone())
    }

    /// The same with other old names of tools, for tests.
    ///
    /// # Errors
    /// As [`Server::new`].
    pub fn with_aliases(settings: Settings, clock: Arc<dyn Clock>, aliases: Aliases) -> Result<Arc<Server>, Fault> {
        let shutdown = CancellationToken::new();
        let made = settings.instances.iter().map(|instance| Cluster::new(instance, clock.clone(), &shutdown));
        let clusters = made.collect::<Result<Vec<_>, Fault>>()?;
        let policies: Vec<&Policy> = clusters.iter().map(|cluster| &cluster.policy).collect();
        let registry = Registry::all(&settings, &policies).with_aliases(aliases);
        Ok(Arc::new(Server {
            settings,
            clusters,
            registry,
            index: OnceLock::new(),
            ledger: Ledger::default(),
            shutdown,
        }))
    }

    /// What it was told.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The clusters, in the order of the settings.
    pub fn clusters(&self) -> &[Cluster] {
        &self.clusters
    }

    /// The clusters' policies, in the same order.
    pub fn policies(&self) -> Vec<&Policy> {
        self.clusters.iter().map(|cluster| &cluster.policy).collect()
    }

    /// What the API is taken to be.
    pub fn catalog(&self) -> &'static Catalog {
        self.settings.catalog
    }

    /// The search over methods and tools, made when it is first asked.
    pub fn index(&self) -> &Index {
        self.index.get_or_init(|| Index::of(self.catalog()))
    }

    /// The questions that are open.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// All tools.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Cancelled when the server is being stopped: waits end, answers are still written.
    pub fn shutdown(&self) -> &CancellationToken {
        &self.shutdown
    }

    /// The names of the clusters.
    pub fn instance_names(&self) -> Vec<String> {
        self.clusters.iter().map(|cluster| cluster.name.clone()).collect()
    }

    /// Calls a tool. Whatever goes wrong becomes a reply that says so.
    pub async fn call(self: &Arc<Server>, name: &str, arguments: Map<String, Value>, caller: Caller) -> Reply {
        let renamed = self.registry.renamed(name);
        let reply = match self.registry.get(renamed.unwrap_or(name)) {
            Ok(tool) => self.run(tool, arguments, caller).await,
            Err(fault) => Err(fault),
        };
        let reply = reply.unwrap_or_else(|fault| Reply::of_fault(&redact::fault(fault)));
        let reply = match renamed {
            Some(new) => aliases::noted(reply, name, new),
            None => reply,
        };
        reply.fit(self.settings.max_response_chars)
    }

    async fn run(self: &Arc<Server>, tool: &Tool, args: Map<String, Value>, caller: Caller) -> Result<Reply, Fault> {
        let (instance, mut args) = self.instance(args)?;
        let plans = self.clusters[instance].policy.access().confirm_fallback == ConfirmFallback::Plan;
        let confirm = if plans { args.shift_remove("confirm") } else { None };
        let confirm = confirm.and_then(|value| value.as_str().map(str::to_string));
        let about = Call { tool: tool.name.into(), arguments: args.clone(), confirm };
        let ctx = Ctx::new(self.clone(), instance, caller).about_call(about);
        tool.call(&ctx, args).await
    }

    /// Which cluster is meant. With one, there is nothing to say; with several, `instance` must be given.
    fn instance(&self, mut args: Map<String, Value>) -> Result<(usize, Map<String, Value>), Fault> {
        if self.clusters.len() == 1 {
            return Ok((0, args));
        }
        let names: Vec<&str> = self.clusters.iter().map(|cluster| cluster.name.as_str()).collect();
        let all = names.join(", ");
        let Some(given) = args.shift_remove("instance") else {
            return Err(Fault::argument("instance", format!("must be given: one of {all}")));
        };
        let wanted = given.as_str().unwrap_or_default();
        match names.iter().position(|name| *name == wanted) {
            Some(at) => Ok((at, args)),
            None => {
                let near = question(&nearest(wanted, names, 1)).unwrap_or_else(|| format!("there are {all}"));
                Err(Fault::argument("instance", format!("there is no such cluster, {near}")))
            }
        }
    }
}

impl Cluster {
    fn new(instance: &Instance, clock: Arc<dyn Clock>, shutdown: &CancellationToken) -> Result<Cluster, Fault> {
        Ok(Cluster {
            name: instance.name.clone(),
            url: instance.connection.url.clone(),
            policy: Policy::new(instance.access.clone()),
            client: Client::with_clock(instance.connection.clone(), clock.clone())?,
            clock: clock.clone(),
            ssh: Ssh::new(instance.ssh.clone(), clock, shutdown.child_token()),
            default_node: instance.default_node.clone(),
            task_wait: instance.task_wait,
        })
    }
}

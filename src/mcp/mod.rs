//! MCP over the registry: rmcp's `ServerHandler`, written by hand.
//!
//! Nothing is kept per connection but what an older client subscribed to: over HTTP, the newer protocol makes a fresh handler for every request, and the list of
//! tools must be the same for everybody. What is shared lives in [`Server`].

mod asking;
mod completion;
mod handler;
mod jobs;
mod listing;
mod progress;
pub mod prompts;
pub mod resources;
pub mod stdio;
mod subscriptions;
mod watch;

use std::sync::{Arc, OnceLock};

use rmcp::model;
use rmcp::task_manager::TaskManager;

use self::subscriptions::Subscriptions;
use self::watch::Watch;
use crate::server::Server;

/// What answers MCP requests; cheap to clone.
#[derive(Clone)]
pub struct Handler {
    server: Arc<Server>,
    tools: Arc<OnceLock<Vec<model::Tool>>>,
    watch: Arc<Watch>,
    subscriptions: Arc<Subscriptions>,
    jobs: TaskManager,
}

impl std::fmt::Debug for Handler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handler").field("watch", &self.watch).finish_non_exhaustive()
    }
}

impl Handler {
    /// A handler over a server.
    pub fn new(server: Arc<Server>) -> Handler {
        let watch = Arc::new(Watch::new(server.clusters().len()));
        Handler { server, tools: Arc::default(), watch, subscriptions: Arc::default(), jobs: TaskManager::new() }
    }

    /// One for another session: all is shared but what a client of the older protocol subscribed to.
    pub fn for_session(&self) -> Handler {
        Handler { subscriptions: Arc::default(), ..self.clone() }
    }

    /// The server behind it.
    pub fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// The offered tools as clients see them, in the order of their names.
    pub fn tools(&self) -> &[model::Tool] {
        self.tools.get_or_init(|| listing::all(&self.server))
    }
}

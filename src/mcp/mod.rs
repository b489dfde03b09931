//! MCP over the registry: rmcp's `ServerHandler`, written by hand.
//!
//! Nothing is kept per connection: over HTTP, the newer protocol makes a fresh handler for every request, and the list of
//! tools must be the same for everybody. What is shared lives in [`Server`].

mod asking;
mod handler;
mod listing;
mod progress;
pub mod stdio;

use std::sync::{Arc, OnceLock};

use rmcp::model;

use crate::server::Server;

/// What answers MCP requests; cheap to clone.
#[derive(Debug, Clone)]
pub struct Handler {
    server: Arc<Server>,
    tools: Arc<OnceLock<Vec<model::Tool>>>,
}

impl Handler {
    /// A handler over a server.
    pub fn new(server: Arc<Server>) -> Handler {
        Handler { server, tools: Arc::default() }
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

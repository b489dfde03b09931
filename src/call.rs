//! `pvemcp call TOOL [JSON]`: one tool call from the shell, through the same door as an MCP call.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::server::Server;
use crate::tools::context::Caller;

/// What the shell is given.
#[derive(Debug)]
pub struct Called {
    /// The result as JSON, for stdout.
    pub output: String,
    /// 0 or 1.
    pub status: u8,
}

/// Reads the JSON of the command line.
///
/// # Errors
/// What is wrong with it, in words.
pub fn arguments(json: Option<&str>) -> Result<Map<String, Value>, String> {
    match json {
        None => Ok(Map::new()),
        Some(text) => match serde_json::from_str(text) {
            Ok(Value::Object(arguments)) => Ok(arguments),
            Ok(_) => Err("the arguments must be a JSON object, such as '{\"vmid\": 100}'".into()),
            Err(error) => Err(format!("the arguments are no JSON: {error}")),
        },
    }
}

/// Calls the tool.
pub async fn call(server: &Arc<Server>, tool: &str, arguments: Map<String, Value>) -> Called {
    let reply = server.call(tool, arguments, Caller::default()).await;
    let shown = Value::Object(reply.structured);
    Called { output: format!("{shown:#}"), status: u8::from(reply.is_error) }
}

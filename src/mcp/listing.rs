//! Tools as clients see them: only what differs from MCP's defaults is said.

use std::sync::Arc;

use rmcp::model::{self, ToolAnnotations};
use serde_json::{Value, json};

use crate::config::ConfirmFallback;
use crate::server::Server;
use crate::tools::Tool;

/// Every offered tool, sorted by name.
pub fn all(server: &Server) -> Vec<model::Tool> {
    let full = server.settings().offer.full_schemas;
    let instances = server.instance_names();
    let plans = server.policies().iter().any(|policy| policy.access().confirm_fallback == ConfirmFallback::Plan);
    server.registry().offered().map(|tool| one(tool, full, &instances, plans)).collect()
}

fn one(tool: &Tool, full: bool, instances: &[String], plans: bool) -> model::Tool {
    let mut input = tool.input_schema(full, instances);
    // Any write can be destructive by its arguments.
    if let Some(Value::Object(properties)) = input.get_mut("properties").filter(|_| plans && !tool.reads) {
        properties.insert("confirm".into(), json!({"type": "string"}));
    }
    let input = Arc::new(input);
    let mut listed = model::Tool::new_with_raw(tool.name, Some(tool.description(full)), input);
    if let Some(title) = tool.title {
        listed = listed.with_title(title);
    }
    if let Some(output) = tool.output_schema(full) {
        listed = listed.with_raw_output_schema(Arc::new(output));
    }
    match annotations(tool) {
        Some(annotations) => listed.with_annotations(annotations),
        None => listed,
    }
}

/// MCP's defaults: not read-only, destructive, not idempotent. The last two mean nothing for a tool that only reads.
fn annotations(tool: &Tool) -> Option<ToolAnnotations> {
    let none = ToolAnnotations::new();
    if tool.reads {
        return Some(none.read_only(true));
    }
    let harmless = if tool.destructive { none } else { none.destructive(false) };
    let said = if tool.idempotent { harmless.idempotent(true) } else { harmless };
    (said != ToolAnnotations::new()).then_some(said)
}

//! Every method of the catalogue as a tool.

use std::borrow::Cow;

use pve_catalog::json_schema::{self, Detail};
use pve_catalog::{Method, Verb};
use serde_json::{Map, Value, json};

use crate::error::Fault;
use crate::policy::ApiCall;
use crate::tools::{Ctx, Reply, Run, Tool, advice, arguments, result, transfer};

/// The tool of a method, where it has one. `is_tool` tells which names of tools there are.
pub fn tool(method: &'static Method, is_tool: impl Fn(&str) -> bool) -> Option<Tool> {
    Some(Tool {
        name: method.tool?,
        title: None,
        summary: summary(method, is_tool),
        gate: method.gate,
        domains: Cow::Borrowed(&method.domains),
        reads: method.verb == Verb::Get,
        destructive: method.destructive,
        idempotent: method.idempotent,
        run: Run::Generated(method),
    })
}

/// The summary, and what is worth its place in the list of tools.
fn summary(method: &'static Method, is_tool: impl Fn(&str) -> bool) -> Cow<'static, str> {
    let listed = method.advice().filter(|advice| advice.listed && advice::holds(&advice.text, &is_tool));
    let listed: Vec<&str> = listed.map(|advice| advice.text.as_str()).collect();
    match listed.is_empty() {
        true => Cow::Borrowed(method.summary),
        false => Cow::Owned(format!("{}. {}", method.summary, listed.join(". "))),
    }
}

/// The JSON Schema of its arguments.
pub fn input_schema(method: &Method, full: bool) -> Map<String, Value> {
    let mut schema = json_schema::input_schema(method, if full { Detail::Official } else { Detail::Compact });
    if transfer::is_file(method) {
        transfer::add_save_as(&mut schema);
    }
    schema
}

/// The JSON Schema of its result, in full detail.
pub fn output_schema(method: &Method) -> Map<String, Value> {
    let data = json_schema::output_schema(method, Detail::Full).unwrap_or_default();
    let mut properties = Map::new();
    properties.insert("data".into(), data.into());
    if method.verb == Verb::Get {
        properties.insert("total".into(), json!({"type": "integer"}));
        properties.insert("untrusted".into(), json!({"type": "boolean"}));
    } else {
        properties.insert("upid".into(), json!({"type": "string"}));
        properties.extend(["task", "sent", "request"].map(|name| (name.to_string(), json!({"type": "object"}))));
        properties.insert("dry_run".into(), json!({"type": "boolean"}));
        properties.insert("warnings".into(), json!({"type": "array"}));
    }
    result::schema(properties.into())
}

/// Calls the method.
///
/// # Errors
/// What the arguments, the policy or Proxmox object to.
pub async fn run(method: &'static Method, ctx: &Ctx, mut args: Map<String, Value>) -> Result<Reply, Fault> {
    if transfer::is_file(method)
        && let Some(Value::String(name)) = args.shift_remove(transfer::SAVE_AS)
    {
        return transfer::save(method, ctx, args, &name).await;
    }
    let request = arguments::normalise(method, args, ctx).await?;
    let call = ApiCall::of(method, request.values, request.params).map_err(arguments::unacceptable)?;
    ctx.perform(call, &request.options).await
}

//! Completions for arguments of prompts and parts of resource addresses: clusters, nodes, guests, storages, snapshots, tasks.

use std::collections::HashMap;
use std::sync::Arc;

use pve_catalog::{Catalog, Verb};
use rmcp::model::{CompleteRequestParams, CompletionInfo};
use serde_json::Value;

use crate::policy::ApiCall;
use crate::server::Server;
use crate::ssh::clean;
use crate::tools::Ctx;
use crate::tools::arguments::value::plain_text;
use crate::tools::context::Caller;

/// Values that begin with what was typed. A cluster that cannot be asked completes nothing.
pub async fn of(server: &Arc<Server>, request: &CompleteRequestParams, caller: Caller) -> CompletionInfo {
    let others = request.context.as_ref().and_then(|context| context.arguments.clone()).unwrap_or_default();
    let mut values = candidates(server, &request.argument.name, &others, caller).await.unwrap_or_default();
    values.retain(|value| value.starts_with(&request.argument.value) && clean::line(value) == *value);
    values.sort();
    values.dedup();
    let all = values.len();
    values.truncate(CompletionInfo::MAX_VALUES);
    let more = all > values.len();
    CompletionInfo::with_pagination(values, u32::try_from(all).ok(), more).unwrap_or_default()
}

async fn candidates(
    server: &Arc<Server>,
    argument: &str,
    others: &HashMap<String, String>,
    caller: Caller,
) -> Option<Vec<String>> {
    if argument == "instance" {
        return Some(server.instance_names());
    }
    let instance = match others.get("instance") {
        Some(name) => server.clusters().iter().position(|cluster| cluster.name == *name)?,
        None if server.clusters().len() == 1 => 0,
        None => return None,
    };
    let ctx = Ctx::new(server.clone(), instance, caller);
    let listed = async |path: &str, params: &[(&str, &str)], key: &str| {
        let answer = ctx.get(path, params).await.ok()?;
        Some(column(&answer.data, key))
    };
    match argument {
        "node" => listed("/nodes", &[], "node").await,
        "vmid" => listed("/cluster/resources", &[("type", "vm")], "vmid").await,
        "storage" => listed("/cluster/resources", &[("type", "storage")], "storage").await,
        "upid" => listed("/cluster/tasks", &[], "upid").await,
        "snapshot" => snapshots(&ctx, others.get("vmid")?).await,
        _ => None,
    }
}

async fn snapshots(ctx: &Ctx, vmid: &str) -> Option<Vec<String>> {
    let guests = ctx.get("/cluster/resources", &[("type", "vm")]).await.ok()?.data;
    let row = guests.as_array()?.iter().find(|row| row.get("vmid").map(plain_text).as_deref() == Some(vmid))?;
    let text = |key: &str| row.get(key).and_then(Value::as_str).map(str::to_string);
    let template = format!("/nodes/{{node}}/{}/{{vmid}}/snapshot", text("type")?);
    let method = Catalog::embedded().get(Verb::Get, &template)?;
    let values = vec![("node".into(), text("node")?), ("vmid".into(), vmid.to_string())];
    let listed = ctx.read(ApiCall::of(method, values, Vec::new()).ok()?).await.ok()?;
    let mut names = column(&listed.data, "name");
    // No snapshot, but the state now.
    names.retain(|name| name != "current");
    Some(names)
}

fn column(data: &Value, key: &str) -> Vec<String> {
    let rows = data.as_array().map(Vec::as_slice).unwrap_or_default();
    rows.iter().filter_map(|row| row.get(key).map(plain_text)).collect()
}

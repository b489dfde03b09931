//! Resources: what a cluster looks like now, one guest, one task, as JSON.
//!
//! `proxmox://<instance>/cluster|nodes|guests|storage|tasks`, `proxmox://<instance>/guests/<vmid>` and
//! `proxmox://<instance>/tasks/<upid>`. All of it is read through the same door as a tool's call, masked and cut alike.

use std::sync::Arc;

use percent_encoding::percent_decode_str;
use pve_catalog::{Catalog, Verb};
use rmcp::ErrorData;
use rmcp::model::{ErrorCode, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::{Map, Value, json};

use crate::error::{Code, Fault};
use crate::policy::ApiCall;
use crate::redact;
use crate::server::Server;
use crate::ssh::clean;
use crate::tools::arguments::value::plain_text;
use crate::tools::arguments::{Options, node, unacceptable};
use crate::tools::context::Caller;
use crate::tools::{Ctx, Reply};

const SCHEME: &str = "proxmox://";

/// One whole list of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listing {
    /// The last part of its address.
    pub name: &'static str,
    /// What it holds.
    pub summary: &'static str,
    path: &'static str,
    params: &'static [(&'static str, &'static str)],
    /// Whether changes of it are told.
    pub watched: bool,
}

/// Every list.
pub const LISTINGS: &[Listing] = &[
    listing("cluster", "Cluster name, quorum, and which nodes are online", "/cluster/status", &[], true),
    listing("nodes", "Nodes with status, load and memory", "/nodes", &[], true),
    listing("guests", "VMs and containers of all nodes", "/cluster/resources", &[("type", "vm")], true),
    listing("storage", "Storages of all nodes with usage", "/cluster/resources", &[("type", "storage")], true),
    listing("tasks", "Recent tasks of all nodes", "/cluster/tasks", &[], false),
];

const fn listing(
    name: &'static str,
    summary: &'static str,
    path: &'static str,
    params: &'static [(&'static str, &'static str)],
    watched: bool,
) -> Listing {
    Listing { name, summary, path, params, watched }
}

/// Templates: address, name, what they hold.
pub const TEMPLATES: [(&str, &str, &str); 2] = [
    ("proxmox://{instance}/guests/{vmid}", "guest", "One VM or container: where it is, its state and configuration"),
    ("proxmox://{instance}/tasks/{upid}", "task", "One task: its state and the end of its log"),
];

/// What an address names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// A whole list.
    Listing(Listing),
    /// One guest.
    Guest(String),
    /// One task.
    Task(String),
}

/// Reads an address: which cluster, and what of it. `None` when it names nothing here.
pub fn parse(server: &Server, uri: &str) -> Option<(usize, What)> {
    let (instance, rest) = uri.strip_prefix(SCHEME)?.split_once('/')?;
    let at = server.clusters().iter().position(|cluster| cluster.name == instance)?;
    let what = match rest.split_once('/') {
        None => What::Listing(*LISTINGS.iter().find(|listing| listing.name == rest)?),
        Some(("guests", vmid)) => What::Guest(vmid.parse::<u32>().ok()?.to_string()),
        Some(("tasks", upid)) => What::Task(percent_decode_str(upid).decode_utf8().ok()?.into_owned()),
        Some(_) => return None,
    };
    Some((at, what))
}

/// Whether changes of what the address names are told.
pub fn is_watched(server: &Server, uri: &str) -> bool {
    parse(server, uri).is_some_and(|(_, what)| match what {
        What::Listing(listing) => listing.watched,
        What::Guest(_) => true,
        What::Task(_) => false,
    })
}

/// The address of a list.
pub fn uri(instance: &str, name: &str) -> String {
    format!("{SCHEME}{instance}/{name}")
}

/// Every list of every cluster.
pub fn all(server: &Server) -> Vec<Resource> {
    let of = |instance: &str| {
        let one = |listing: &Listing| {
            Resource::new(uri(instance, listing.name), listing.name)
                .with_description(listing.summary)
                .with_mime_type("application/json")
        };
        LISTINGS.iter().map(one).collect::<Vec<_>>()
    };
    server.clusters().iter().flat_map(|cluster| of(&cluster.name)).collect()
}

/// The templates.
pub fn templates() -> Vec<ResourceTemplate> {
    let one = |(uri, name, summary): (&str, &str, &str)| {
        ResourceTemplate::new(uri, name).with_description(summary).with_mime_type("application/json")
    };
    TEMPLATES.into_iter().map(one).collect()
}

/// Reads one.
///
/// # Errors
/// When nothing here has this address (`modern` tells which code says so), or it cannot be read.
pub async fn read(
    server: &Arc<Server>,
    uri: &str,
    caller: Caller,
    modern: bool,
) -> Result<ReadResourceResult, ErrorData> {
    let unknown = |message: String| {
        let code = if modern { ErrorCode::INVALID_PARAMS } else { ErrorCode::RESOURCE_NOT_FOUND };
        ErrorData::new(code, message, Some(json!({"uri": uri})))
    };
    let Some((instance, what)) = parse(server, uri) else {
        return Err(unknown(
            "nothing here has this address; resources/list and its templates name what there is".into(),
        ));
    };
    let ctx = Ctx::new(server.clone(), instance, caller);
    let read = match &what {
        What::Listing(listing) => ctx.perform(node::listing(listing.path, listing.params), &Options::default()).await,
        What::Guest(vmid) => guest(&ctx, vmid).await,
        What::Task(upid) => task(&ctx, upid).await,
    };
    match read {
        Ok(reply) => {
            let fitted = reply.fit(server.settings().max_response_chars);
            let text = plain(Value::Object(fitted.structured)).to_string();
            let contents = ResourceContents::text(text, uri).with_mime_type("application/json");
            Ok(ReadResourceResult::new(vec![contents]))
        }
        Err(fault) => {
            let fault = redact::fault(fault);
            match fault.code {
                Code::NotFound | Code::BadArgument => Err(unknown(fault.to_string())),
                _ => Err(ErrorData::internal_error(fault.to_string(), Some(fault.to_json().into()))),
            }
        }
    }
}

async fn guest(ctx: &Ctx, vmid: &str) -> Result<Reply, Fault> {
    let rows = ctx.get("/cluster/resources", &[("type", "vm")]).await?.data;
    let rows = rows.as_array().map(Vec::as_slice).unwrap_or_default();
    let row = rows.iter().find(|row| row.get("vmid").map(plain_text).as_deref() == Some(vmid));
    let Some(row) = row else {
        return Err(Fault::new(Code::NotFound, format!("there is no guest {vmid} in this cluster")));
    };
    let text = |key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default();
    let (kind, node) = (text("type"), text("node"));
    let values = [("node", node), ("vmid", vmid)];
    let mut told = Map::new();
    told.insert("guest".into(), redact::value(None, row));
    for (section, rest) in [("status", "status/current"), ("config", "config")] {
        // A guest on a node that is down still has its row.
        match part(ctx, &format!("/nodes/{{node}}/{kind}/{{vmid}}/{rest}"), &values, &[]).await {
            Ok(data) => drop(told.insert(section.into(), data)),
            Err(fault) => {
                let reason = redact::fault(fault).to_string();
                let missing = told.entry("unavailable").or_insert_with(|| json!([]));
                missing
                    .as_array_mut()
                    .into_iter()
                    .for_each(|list| list.push(json!({"section": section, "reason": reason})));
            }
        }
    }
    told.insert("untrusted".into(), true.into());
    Ok(Reply::new(told))
}

async fn task(ctx: &Ctx, upid: &str) -> Result<Reply, Fault> {
    let parsed: pve_catalog::upid::Upid =
        upid.parse().map_err(|error| Fault::new(Code::BadArgument, format!("{error}")))?;
    let values = [("node", parsed.node.as_str()), ("upid", upid)];
    let mut told = Map::new();
    told.insert("status".into(), part(ctx, "/nodes/{node}/tasks/{upid}/status", &values, &[]).await?);
    told.insert("log".into(), part(ctx, "/nodes/{node}/tasks/{upid}/log", &values, &[("limit", "500")]).await?);
    told.insert("untrusted".into(), true.into());
    Ok(Reply::new(told))
}

/// The data of one request, masked.
async fn part(ctx: &Ctx, template: &str, values: &[(&str, &str)], params: &[(&str, &str)]) -> Result<Value, Fault> {
    let method = Catalog::embedded().get(Verb::Get, template);
    let method = method.ok_or_else(|| Fault::new(Code::NotFound, format!("there is no {template}")))?;
    let owned = |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
    let call = ApiCall::of(method, owned(values), owned(params)).map_err(unacceptable)?;
    Ok(redact::value(Some(method), &ctx.read(call).await?.data))
}

/// The same without control and direction characters in any text.
fn plain(value: Value) -> Value {
    match value {
        Value::String(text) => clean::clean(text.as_bytes()).into(),
        Value::Array(list) => list.into_iter().map(plain).collect(),
        Value::Object(map) => Value::Object(map.into_iter().map(|(name, value)| (name, plain(value))).collect()),
        value => value,
    }
}

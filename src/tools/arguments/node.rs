//! The node of a request that names none: the one that runs the guest or the task, the default one, or the only one.

use pve_catalog::{Catalog, Method, Verb};
use serde_json::{Map, Value};

use super::hint::other_kind;
use super::value;
use crate::error::{Code, Fault};
use crate::policy::ApiCall;
use crate::tools::Ctx;

/// Whether the node may be left out.
pub fn can_be_found(method: &Method) -> bool {
    method.path.starts_with("/nodes/{node}")
}

/// The node, when the method needs one and `given` does not name it.
///
/// # Errors
/// `not_found` when no such guest exists; `bad_argument` when the node cannot be guessed; whatever looking can cause.
pub async fn find(method: &Method, given: &Map<String, Value>, ctx: &Ctx) -> Result<Option<String>, Fault> {
    if !can_be_found(method) || given.contains_key("node") {
        return Ok(None);
    }
    if let Some(kind) = guest_kind(method.path)
        && let Some(vmid) = given.get("vmid").map(value::plain_text)
    {
        return of_guest(method, kind, &vmid, ctx).await.map(Some);
    }
    if method.path.contains("{upid}")
        && let Some(node) = given.get("upid").and_then(Value::as_str).and_then(of_task)
    {
        return Ok(Some(node.to_string()));
    }
    otherwise(ctx).await.map(Some)
}

/// The node when nothing tells it: the default one, or the only one.
///
/// # Errors
/// `bad_argument` when there are several; whatever looking can cause.
pub async fn otherwise(ctx: &Ctx) -> Result<String, Fault> {
    match ctx.default_node() {
        Some(node) => Ok(node.to_string()),
        None => only_one(ctx).await,
    }
}

/// `qemu` or `lxc`, for methods on one guest.
fn guest_kind(path: &str) -> Option<&'static str> {
    if path.starts_with("/nodes/{node}/qemu/{vmid}") {
        Some("qemu")
    } else if path.starts_with("/nodes/{node}/lxc/{vmid}") {
        Some("lxc")
    } else {
        None
    }
}

/// A UPID names the node that runs the task: `UPID:pve1:…`.
fn of_task(upid: &str) -> Option<&str> {
    upid.strip_prefix("UPID:")?.split(':').next().filter(|node| !node.is_empty())
}

async fn of_guest(method: &Method, kind: &str, vmid: &str, ctx: &Ctx) -> Result<String, Fault> {
    let guests = guests(ctx, vmid).await?;
    let of_kind: Vec<&(String, String)> = guests.iter().filter(|(found, _)| found == kind).collect();
    match (of_kind.as_slice(), guests.first()) {
        ([(_, node)], _) => Ok(node.clone()),
        ([], Some((other, _))) => Err(wrong_kind(method, vmid, other)),
        ([], None) => Err(Fault::new(Code::NotFound, format!("there is no guest {vmid} in this cluster")).hint(
            "pve_list_cluster_resources lists the guests; one that the account may not see (VM.Audit) is not there",
        )),
        (several, _) => {
            let nodes: Vec<&str> = several.iter().map(|(_, node)| node.as_str()).collect();
            Err(Fault::argument("node", format!("guest {vmid} is listed on {}: say which one", nodes.join(" and "))))
        }
    }
}

/// Kind and node of every guest with this number.
async fn guests(ctx: &Ctx, vmid: &str) -> Result<Vec<(String, String)>, Fault> {
    let rows = ctx.get("/cluster/resources", &[("type", "vm")]).await?;
    let rows = rows.data.as_array().cloned().unwrap_or_default();
    let with_number = rows.iter().filter(|row| row.get("vmid").map(value::plain_text).as_deref() == Some(vmid));
    let text = |row: &Value, key: &str| row.get(key).and_then(Value::as_str).map(str::to_string);
    Ok(with_number.filter_map(|row| Some((text(row, "type")?, text(row, "node")?))).collect())
}

fn wrong_kind(method: &Method, vmid: &str, found: &str) -> Fault {
    let what = if found == "lxc" { "a container" } else { "a VM" };
    let fault = Fault::argument("vmid", format!("{vmid} is {what}"));
    let other = other_kind(method.path).and_then(|(path, _)| Catalog::embedded().get(method.verb, &path));
    match other.and_then(|other| other.tool) {
        Some(tool) => fault.hint(format!("nothing was sent; use {tool}")),
        None => fault.hint(format!("nothing was sent; there is no such method for {what}")),
    }
}

async fn only_one(ctx: &Ctx) -> Result<String, Fault> {
    let answer = ctx.get("/nodes", &[]).await?;
    let rows = answer.data.as_array().cloned().unwrap_or_default();
    let names = rows.iter().filter_map(|row| row.get("node").and_then(Value::as_str));
    let mut names: Vec<String> = names.map(str::to_string).collect();
    names.sort();
    match names.as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(Fault::argument("node", "must be given: the account sees no node to choose from")),
        names => Err(Fault::argument("node", format!("must be given: the nodes are {}", names.join(", ")))
            .hint("a person can set PROXMOX_DEFAULT_NODE")),
    }
}

/// `GET` of a path without values.
///
/// # Panics
/// When the path is not in the catalogue: it is written in this crate, and a test looks at each.
pub fn listing(path: &str, params: &[(&str, &str)]) -> ApiCall {
    let method = Catalog::embedded().get(Verb::Get, path).expect("a path of the catalogue");
    let params = params.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    ApiCall::of(method, Vec::new(), params).expect("no values to object to")
}

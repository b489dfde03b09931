//! Where a node listens: from the settings, else from the cluster.

use std::future::Future;
use std::pin::Pin;

use serde_json::Value;

use crate::config::{SshAddress, SshSettings};
use crate::error::{Code, Fault};

/// Knows what the cluster says about its nodes. `Ctx` is one: it reads `/cluster/status` through the policy, as everything.
pub trait Resolver: Send + Sync {
    /// The data of `GET /cluster/status`.
    fn cluster_status(&self) -> Pin<Box<dyn Future<Output = Result<Value, Fault>> + Send + '_>>;

    /// The host that the API is reached at, without port and brackets.
    fn api_host(&self) -> String;
}

/// The address of a node.
///
/// # Errors
/// `not_found` when the cluster has no such node, `ssh_unreachable` when it does not say the address, or what went wrong
/// while asking.
pub(super) async fn of(node: &str, settings: &SshSettings, cluster: &dyn Resolver) -> Result<SshAddress, Fault> {
    if let Some(address) = settings.nodes.get(node) {
        return Ok(address.clone());
    }
    let status = cluster.cluster_status().await.map_err(|fault| {
        let also = format!("with PROXMOX_SSH_NODES={node}=… the cluster need not be asked for the address");
        let hint = fault.hint.as_ref().map_or_else(|| also.clone(), |hint| format!("{hint}; {also}"));
        fault.hint(hint)
    })?;
    let rows = status.as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |row: &Value, key: &str| row[key].as_str().map(str::to_string);
    let nodes: Vec<&Value> = rows.iter().filter(|row| row["type"] == "node").collect();
    let Some(row) = nodes.iter().find(|row| row["name"] == node) else {
        let names = nodes.iter().filter_map(|row| text(row, "name")).collect::<Vec<_>>().join(", ");
        return Err(
            Fault::new(Code::NotFound, format!("there is no node '{node}'")).hint(format!("there are: {names}"))
        );
    };
    let found = match nodes.len() {
        1 => Some(cluster.api_host()),
        _ => text(row, "ip"),
    };
    let address = found.as_deref().and_then(|address| address.parse().ok());
    address.ok_or_else(|| {
        Fault::new(Code::SshUnreachable, format!("the cluster does not say the address of node {node}"))
            .hint(format!("set PROXMOX_SSH_NODES={node}=…"))
    })
}

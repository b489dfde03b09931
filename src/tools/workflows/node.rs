//! The nodes of a cluster, and what time it is there.

use serde_json::Value;

use super::reading::{data, number, rows, text, whole};
use super::report::Report;
use crate::error::{Code, Fault};
use crate::tools::Ctx;

/// One node as the list shows it.
#[derive(Clone, Debug)]
pub struct Node {
    pub name: String,
    pub online: bool,
    /// Processors, and the share of them that is in use.
    pub cpus: f64,
    pub cpu: f64,
    /// Bytes.
    pub memory: f64,
    pub memory_used: f64,
    pub rootfs: f64,
    pub rootfs_used: f64,
}

impl Node {
    fn of(row: &Value) -> Option<Node> {
        let figure = |key: &str| number(row, key).unwrap_or_default();
        Some(Node {
            name: text(row, "node")?.to_string(),
            online: text(row, "status") == Some("online"),
            cpus: figure("maxcpu"),
            cpu: figure("cpu"),
            memory: figure("maxmem"),
            memory_used: figure("mem"),
            rootfs: figure("maxdisk"),
            rootfs_used: figure("disk"),
        })
    }

    /// Reads one of its own paths.
    ///
    /// # Errors
    /// As [`super::reading::answer`].
    pub async fn read(&self, ctx: &Ctx, rest: &str) -> Result<Value, Fault> {
        data(ctx, &format!("/nodes/{{node}}{rest}"), &[("node", &self.name)]).await
    }

    /// The rows of one of its own lists.
    ///
    /// # Errors
    /// As [`super::reading::answer`].
    pub async fn rows(&self, ctx: &Ctx, rest: &str, params: &[(&str, &str)]) -> Result<Vec<Value>, Fault> {
        rows(ctx, &format!("/nodes/{{node}}{rest}"), &[("node", &self.name)], params).await
    }
}

/// Every node, by name.
///
/// # Errors
/// As [`Ctx::api`].
pub async fn all(ctx: &Ctx) -> Result<Vec<Node>, Fault> {
    let mut nodes: Vec<Node> = rows(ctx, "/nodes", &[], &[]).await?.iter().filter_map(Node::of).collect();
    nodes.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(nodes)
}

/// Every node for a section of a report, which says when the account sees no figures of one.
///
/// # Errors
/// What ends the whole check.
pub async fn seen(ctx: &Ctx, report: &mut Report, section: &'static str) -> Result<Vec<Node>, Fault> {
    let read = all(ctx).await;
    let nodes = report.taken(section, "", read)?.unwrap_or_default();
    for node in nodes.iter().filter(|node| node.online && node.memory == 0.0) {
        let fault = Fault::new(Code::Forbidden, format!("the account sees no figures of node {}", node.name))
            .hint(format!("it needs Sys.Audit on /nodes/{}", node.name));
        report.taken::<()>(section, &node.name, Err(fault))?;
    }
    Ok(nodes)
}

/// Whether a node is there and answers.
///
/// # Errors
/// `not_found` with the nodes that there are; `node_unreachable`.
pub fn standing(nodes: &[Node], name: &str) -> Result<(), Fault> {
    match nodes.iter().find(|node| node.name == name) {
        Some(node) if node.online => Ok(()),
        Some(_) => Err(Fault::new(Code::NodeUnreachable, format!("node {name} is offline")).hint("nothing was sent")),
        None => {
            let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
            Err(Fault::new(Code::NotFound, "no node has this name").hint(format!("the nodes are {}", names.join(", "))))
        }
    }
}

/// The time of the cluster in seconds since 1970: that of the first node that tells it. This server's own clock may differ.
///
/// # Errors
/// What the last node that was asked said.
pub async fn time(ctx: &Ctx, nodes: &[Node]) -> Result<i64, Fault> {
    let mut fault = Fault::new(Code::NodeUnreachable, "no node is online that could tell the time");
    for node in nodes.iter().filter(|node| node.online) {
        match node.read(ctx, "/time").await {
            Ok(answer) => match whole(&answer, "time") {
                Some(time) => return Ok(time),
                None => fault = Fault::new(Code::Internal, format!("node {} does not tell the time", node.name)),
            },
            Err(refused) => fault = refused,
        }
    }
    Err(fault)
}

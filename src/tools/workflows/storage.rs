//! Storages as nodes see them.

use serde_json::{Value, json};

use super::reading::{is_on, number, percent, rows, size, text};
use super::report::Report;
use super::rights;
use crate::error::Fault;
use crate::tools::Ctx;

/// One storage on one node; a shared one stands once, under the first node that reaches it.
#[derive(Clone, Debug)]
pub struct Storage {
    pub name: String,
    pub node: String,
    pub shared: bool,
    /// The other nodes that have a shared one.
    pub also_on: Vec<String>,
    /// `dir`, `lvmthin` …
    pub plugin: String,
    pub content: Vec<String>,
    /// Whether the node reaches it.
    pub available: bool,
    /// Bytes.
    pub total: f64,
    pub used: f64,
}

impl Storage {
    fn of(row: &Value) -> Option<Storage> {
        let content = text(row, "content").unwrap_or_default();
        Some(Storage {
            name: text(row, "storage")?.to_string(),
            node: text(row, "node")?.to_string(),
            shared: is_on(row, "shared"),
            also_on: Vec::new(),
            plugin: text(row, "plugintype").unwrap_or_default().to_string(),
            content: content.split(',').filter(|kind| !kind.is_empty()).map(str::to_string).collect(),
            available: text(row, "status") == Some("available"),
            total: number(row, "maxdisk").unwrap_or_default(),
            used: number(row, "disk").unwrap_or_default(),
        })
    }

    /// `pve1/local`; a shared one has no node.
    pub fn place(&self) -> String {
        if self.shared { self.name.clone() } else { format!("{}/{}", self.node, self.name) }
    }

    /// Whether a node has it.
    pub fn is_on(&self, node: &str) -> bool {
        self.node == node || self.also_on.iter().any(|other| other == node)
    }

    /// How full it is, in per cent.
    pub fn used_percent(&self) -> Option<f64> {
        percent(self.used, self.total)
    }

    /// Whether it may hold a kind of content.
    pub fn holds(&self, content: &str) -> bool {
        self.content.iter().any(|kind| kind == content)
    }

    /// What is said about it.
    pub fn told(&self) -> Value {
        let mut told = json!({"storage": self.name, "type": self.plugin, "shared": self.shared});
        if !self.shared {
            told["node"] = self.node.clone().into();
        }
        if !self.available {
            told["status"] = "unknown".into();
        }
        if let Some(used) = self.used_percent().filter(|_| self.available) {
            told["used_percent"] = used.into();
            told["total_bytes"] = (self.total as u64).into();
            told["used"] = format!("{} of {}", size(self.used), size(self.total)).into();
        }
        told
    }
}

/// Every storage of every node, shared ones once, by name and node.
///
/// # Errors
/// As [`Ctx::api`].
pub async fn all(ctx: &Ctx) -> Result<Vec<Storage>, Fault> {
    let rows = rows(ctx, "/cluster/resources", &[], &[("type", "storage")]).await?;
    let mut storages: Vec<Storage> = rows.iter().filter_map(Storage::of).collect();
    // Of a shared one, a node that reaches it comes first, and stands for the others.
    storages.sort_by(|one, other| {
        let key =
            |storage: &Storage| (storage.name.clone(), storage.shared && !storage.available, storage.node.clone());
        key(one).cmp(&key(other))
    });
    storages.dedup_by(|later, earlier| {
        let same = later.shared && earlier.shared && later.name == earlier.name;
        if same && later.available {
            earlier.also_on.push(later.node.clone());
        }
        same
    });
    Ok(storages)
}

/// Every storage for a section of a report, which says when the account may not see all of them.
///
/// # Errors
/// What ends the whole check.
pub async fn seen(ctx: &Ctx, report: &mut Report, section: &'static str) -> Result<Vec<Storage>, Fault> {
    let read = all(ctx).await;
    let Some(storages) = report.taken(section, "", read)? else { return Ok(Vec::new()) };
    rights::require(ctx, report, section, "/storage", &["Datastore.Audit", "Datastore.AllocateSpace"]).await?;
    Ok(storages)
}

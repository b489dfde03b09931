//! `pve_overview`: the cluster on one screen.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::guest::{self, Guest, Kind};
use super::health_check::failed;
use super::node::{self, Node};
use super::reading::{data, foreign_of, is_on, moment, percent, rows, size, text, whole};
use super::storage::{self, Storage};
use super::{reads, report};
use crate::error::Fault;
use crate::redact;
use crate::tools::{Ctx, Given, Reply, Tool, result, text as screen};

/// Most failed tasks that are named.
const MOST_TASKS: usize = 5;

/// The tool.
pub fn tool() -> Tool {
    reads(
        "pve_overview",
        "The cluster on one screen: version, quorum, nodes, guests, storage, HA, failed tasks",
        &[],
        output,
        |ctx, given| Box::pin(run(ctx, given)),
    )
}

fn output() -> Value {
    let properties = json!({
        "version": {"type": "string"}, "cluster": {"type": "object"}, "nodes": {"type": "array"},
        "guests": {"type": "object"}, "storages": {"type": "array"}, "ha": {"type": "object"},
        "failed_tasks": {"type": "array"}, "unavailable": {"type": "array"}, "untrusted": {"type": "boolean"},
    });
    result::schema(properties).into()
}

/// Sections so far: their data, their lines, and those that could not be read.
#[derive(Default)]
struct Overview {
    told: Map<String, Value>,
    lines: Vec<String>,
    missing: Vec<Value>,
}

impl Overview {
    /// What was read, or a note that it could not be.
    fn taken<T>(&mut self, section: &str, read: Result<T, Fault>) -> Result<Option<T>, Fault> {
        match read {
            Ok(value) => Ok(Some(value)),
            Err(fault) if report::ends_everything(fault.code) => Err(fault),
            Err(fault) => {
                let reason = redact::text(&fault.message).into_owned();
                self.lines.push(format!("{section}: unavailable ({reason})"));
                self.missing.push(json!({"section": section, "code": fault.code.word(), "reason": reason}));
                Ok(None)
            }
        }
    }

    fn tell(&mut self, section: &str, value: Value) {
        self.told.insert(section.into(), value);
    }
}

async fn run(ctx: &Ctx, _: Given) -> Result<Reply, Fault> {
    let mut overview = Overview::default();
    version(ctx, &mut overview).await?;
    quorum(ctx, &mut overview).await?;
    let read = node::all(ctx).await;
    let nodes = overview.taken("nodes", read)?;
    nodes.into_iter().for_each(|nodes| of_nodes(&mut overview, &nodes));
    let read = guest::all(ctx).await;
    let guests = overview.taken("guests", read)?;
    guests.into_iter().for_each(|guests| of_guests(&mut overview, &guests));
    let read = storage::all(ctx).await;
    let storages = overview.taken("storages", read)?;
    storages.into_iter().for_each(|storages| of_storages(&mut overview, &storages));
    ha(ctx, &mut overview).await?;
    failed_tasks(ctx, &mut overview).await?;
    let Overview { mut told, lines, missing } = overview;
    told.insert("untrusted".into(), true.into());
    if !missing.is_empty() {
        told.insert("unavailable".into(), missing.into());
    }
    Ok(Reply::with_text(told, screen::screen(lines)))
}

async fn version(ctx: &Ctx, overview: &mut Overview) -> Result<(), Fault> {
    let read = data(ctx, "/version", &[]).await;
    if let Some(answer) = overview.taken("version", read)? {
        let version = text(&answer, "version").unwrap_or("unknown").to_string();
        overview.lines.push(format!("Proxmox VE {version}"));
        overview.tell("version", version.into());
    }
    Ok(())
}

async fn quorum(ctx: &Ctx, overview: &mut Overview) -> Result<(), Fault> {
    let read = rows(ctx, "/cluster/status", &[], &[]).await;
    let Some(status) = overview.taken("cluster", read)? else { return Ok(()) };
    let told = match status.iter().find(|row| text(row, "type") == Some("cluster")) {
        Some(cluster) => json!({"name": text(cluster, "name"), "quorate": is_on(cluster, "quorate")}),
        None => json!({"name": null, "standalone": true}),
    };
    overview.lines.push(match (text(&told, "name"), &told["quorate"]) {
        (None, _) => "no cluster: one node on its own".into(),
        (Some(name), Value::Bool(true)) => format!("cluster {name}: quorate"),
        (Some(name), _) => format!("cluster {name}: NO QUORUM"),
    });
    overview.tell("cluster", told);
    Ok(())
}

fn of_nodes(overview: &mut Overview, nodes: &[Node]) {
    let told = nodes.iter().map(|node| {
        if !node.online {
            return json!({"node": node.name, "status": "offline"});
        }
        json!({
            "node": node.name, "status": "online", "cpus": node.cpus, "cpu_used_percent": (node.cpu * 1000.0).round() / 10.0,
            "memory": size(node.memory), "memory_used_percent": percent(node.memory_used, node.memory),
            "rootfs_used_percent": percent(node.rootfs_used, node.rootfs),
        })
    });
    let told: Vec<Value> = told.collect();
    let says = |row: &Value, key: &str| {
        row.get(key).filter(|value| !value.is_null()).map_or_else(|| "?".into(), Value::to_string)
    };
    overview.lines.extend(nodes.iter().zip(&told).map(|(node, row)| match node.online {
        false => format!("node {}: OFFLINE", node.name),
        true => format!(
            "node {}: cpu {} % of {}, memory {} % of {}, root {} %",
            node.name,
            says(row, "cpu_used_percent"),
            node.cpus,
            says(row, "memory_used_percent"),
            size(node.memory),
            says(row, "rootfs_used_percent")
        ),
    }));
    overview.tell("nodes", told.into());
}

fn of_guests(overview: &mut Overview, guests: &[Guest]) {
    let of = |kind: Kind| {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for guest in guests.iter().filter(|guest| guest.kind == kind) {
            let state = if guest.template { "template".to_string() } else { guest.status.clone() };
            *counts.entry(state).or_default() += 1;
        }
        counts
    };
    let locked: Vec<String> = guests.iter().filter(|guest| guest.lock.is_some()).map(Guest::to_string).collect();
    for (noun, kind) in [("VMs", Kind::Vm), ("containers", Kind::Lxc)] {
        let counts = of(kind).into_iter().map(|(state, count)| format!("{count} {state}")).collect::<Vec<_>>();
        overview.lines.push(format!("{noun}: {}", if counts.is_empty() { "none".into() } else { counts.join(", ") }));
    }
    if !locked.is_empty() {
        overview.lines.push(format!("locked: {}", locked.join(", ")));
    }
    overview.tell("guests", json!({"vm": of(Kind::Vm), "lxc": of(Kind::Lxc), "locked": locked}));
}

/// Every node has a storage: none is one that the account may not see.
fn of_storages(overview: &mut Overview, storages: &[Storage]) {
    if storages.is_empty() {
        let reason = "the account sees no storage: it has no Datastore.Audit";
        overview.lines.push(format!("storages: unavailable ({reason})"));
        overview.missing.push(json!({"section": "storages", "code": "forbidden", "reason": reason}));
    }
    overview.lines.extend(storages.iter().map(|storage| match storage.used_percent().filter(|_| storage.available) {
        Some(used) => format!("storage {}: {used} % of {}", storage.place(), size(storage.total)),
        None => format!("storage {}: NOT REACHED", storage.place()),
    }));
    overview.tell("storages", storages.iter().map(Storage::told).collect::<Vec<_>>().into());
}

async fn ha(ctx: &Ctx, overview: &mut Overview) -> Result<(), Fault> {
    let read = rows(ctx, "/cluster/ha/status/current", &[], &[]).await;
    let Some(status) = overview.taken("ha", read)? else { return Ok(()) };
    let services = status.iter().filter(|row| text(row, "type") == Some("service"));
    let states: Vec<String> = services
        .map(|row| {
            let sid = text(row, "sid").or(text(row, "id")).unwrap_or("?");
            format!("{sid} {}", text(row, "crm_state").or(text(row, "state")).unwrap_or("?"))
        })
        .collect();
    overview.lines.push(format!("HA: {}", if states.is_empty() { "not used".into() } else { states.join(", ") }));
    overview.tell("ha", json!({"resources": states}));
    Ok(())
}

/// Of those that the cluster remembers.
async fn failed_tasks(ctx: &Ctx, overview: &mut Overview) -> Result<(), Fault> {
    let read = rows(ctx, "/cluster/tasks", &[], &[]).await;
    let Some(mut tasks) = overview.taken("tasks", read)? else { return Ok(()) };
    tasks.retain(failed);
    tasks.sort_by_key(|task| std::cmp::Reverse(whole(task, "starttime")));
    let told: Vec<Value> = tasks
        .iter()
        .take(MOST_TASKS)
        .map(|task| {
            json!({
                "upid": text(task, "upid"), "type": text(task, "type"), "id": foreign_of(task, "id"),
                "node": text(task, "node"), "status": foreign_of(task, "status"),
                "started": whole(task, "starttime").map(moment),
            })
        })
        .collect();
    let says = |row: &Value, key: &str| text(row, key).unwrap_or_default().to_string();
    overview
        .lines
        .push(format!("failed tasks: {}", if tasks.is_empty() { "none".into() } else { tasks.len().to_string() }));
    overview.lines.extend(told.iter().map(|row| {
        format!(
            "  {} {} on {}: {} ({})",
            says(row, "type"),
            says(row, "id"),
            says(row, "node"),
            says(row, "status"),
            says(row, "started")
        )
    }));
    overview.tell("failed_tasks", told.into());
    Ok(())
}

//! `pve_health_check`: nodes, quorum, storage, services, tasks, high availability, Ceph, replication, subscription.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::node::{self, Node};
use super::reading::{each, foreign, foreign_of, is_on, moment, percent, rows, text, whole};
use super::report::{self, Report, Severity};
use super::{reads, rights, storage};
use crate::error::{Code, Fault};
use crate::tools::{Ctx, Given, Parameter, Reply, Tool};

const SECTIONS: [&str; 9] =
    ["nodes", "quorum", "storage", "services", "tasks", "ha", "ceph", "replication", "subscription"];

const PARAMETERS: &[Parameter] = &[
    Parameter::integer("memory_percent", 1, 100, "default 90"),
    Parameter::integer("rootfs_percent", 1, 100, "default 85"),
    Parameter::integer("storage_percent", 1, 100, "default 85"),
    Parameter::integer("task_hours", 1, 720, "failed tasks of so many hours; default 24"),
];

/// Most failed tasks that are asked of one node.
const MOST_TASKS: &str = "50";

/// What the check does not look at.
const LIMITS: &[&str] = &["the inside of guests", "disks' own health", "networks outside the cluster"];

/// The tool.
pub fn tool() -> Tool {
    reads(
        "pve_health_check",
        "Nodes, quorum, storage, services, failed tasks, HA, Ceph, replication, subscription; overall is 'incomplete' when a part cannot be read",
        PARAMETERS,
        || report::schema(json!({"limits": {"type": "array"}})),
        |ctx, given| Box::pin(run(ctx, given)),
    )
}

async fn run(ctx: &Ctx, given: Given) -> Result<Reply, Fault> {
    let limit = |name: &str, default: i64| given.integer(name).unwrap_or(default);
    let thresholds = json!({
        "memory_percent": limit("memory_percent", 90), "rootfs_percent": limit("rootfs_percent", 85),
        "storage_percent": limit("storage_percent", 85), "task_hours": limit("task_hours", 24),
    });
    let most = |name: &str| thresholds[name].as_f64().unwrap_or(100.0);
    let mut report = Report::new(&SECTIONS, thresholds.clone(), LIMITS);
    let nodes = node::seen(ctx, &mut report, "nodes").await?;
    look_at_nodes(&mut report, &nodes, most("memory_percent"), most("rootfs_percent"));
    quorum(ctx, &mut report).await?;
    storages(ctx, &mut report, most("storage_percent")).await?;
    let (online, silent): (Vec<Node>, Vec<Node>) = nodes.into_iter().partition(|node| node.online);
    for node in &silent {
        for section in ["services", "tasks", "replication", "subscription"] {
            report.taken::<()>(section, &node.name, Err(offline(&node.name)))?;
        }
    }
    services(ctx, &mut report, &online).await?;
    tasks(ctx, &mut report, &online, most("task_hours")).await?;
    ha(ctx, &mut report).await?;
    ceph(ctx, &mut report).await?;
    replication(ctx, &mut report, &online).await?;
    subscription(ctx, &mut report, &online).await?;
    Ok(report.reply(Map::new(), Vec::new()))
}

fn offline(node: &str) -> Fault {
    Fault::new(Code::NodeUnreachable, format!("node {node} is offline"))
}

fn look_at_nodes(report: &mut Report, nodes: &[Node], memory: f64, rootfs: f64) {
    for node in nodes {
        if !node.online {
            report.found("nodes", Severity::Critical, "node_offline", &node.name, "the node does not answer");
            continue;
        }
        if let Some(used) = percent(node.memory_used, node.memory).filter(|used| *used >= memory) {
            report.found(
                "nodes",
                Severity::Warning,
                "node_memory",
                &node.name,
                format!("{used} % of its memory is in use"),
            );
        }
        if let Some(used) = percent(node.rootfs_used, node.rootfs).filter(|used| *used >= rootfs) {
            let says = format!("its root file system is {used} % full");
            report.found("nodes", Severity::Warning, "node_rootfs", &node.name, says);
        }
    }
}

async fn quorum(ctx: &Ctx, report: &mut Report) -> Result<(), Fault> {
    let read = rows(ctx, "/cluster/status", &[], &[]).await;
    let Some(status) = report.taken("quorum", "", read)? else { return Ok(()) };
    match status.iter().find(|row| text(row, "type") == Some("cluster")) {
        None => report.not_used("quorum"),
        Some(cluster) if is_on(cluster, "quorate") => {}
        Some(cluster) => {
            let name = text(cluster, "name").unwrap_or("cluster");
            let says = "the cluster has no majority of its nodes: it can be read, not changed";
            report.found("quorum", Severity::Critical, "no_quorum", name, says);
        }
    }
    Ok(())
}

async fn storages(ctx: &Ctx, report: &mut Report, most: f64) -> Result<(), Fault> {
    for storage in storage::seen(ctx, report, "storage").await? {
        if !storage.available {
            report.found("storage", Severity::Critical, "storage_unavailable", storage.place(), "it cannot be reached");
        } else if let Some(used) = storage.used_percent().filter(|used| *used >= most) {
            report.found("storage", Severity::Warning, "storage_full", storage.place(), format!("it is {used} % full"));
        }
    }
    Ok(())
}

/// A service counts as failed when it is enabled and not active. Corosync of a node on its own is neither wanted nor missing.
async fn services(ctx: &Ctx, report: &mut Report, online: &[Node]) -> Result<(), Fault> {
    let alone = online.len() == 1;
    let read = each(online, |node| node.rows(ctx, "/services", &[])).await;
    for (node, read) in online.iter().zip(read) {
        for service in report.taken("services", &node.name, read)?.unwrap_or_default() {
            let name = text(&service, "service").or(text(&service, "name")).unwrap_or("?");
            let enabled = text(&service, "unit-state").is_none_or(|state| state == "enabled");
            let active = match text(&service, "active-state") {
                Some(state) => matches!(state, "active" | "activating" | "reloading"),
                None => text(&service, "state") == Some("running"),
            };
            if enabled && !active && !(alone && name == "corosync") {
                let says = format!("the service is {}", text(&service, "state").unwrap_or("not active"));
                report.found("services", Severity::Warning, "service_stopped", format!("{}/{name}", node.name), says);
            }
        }
    }
    Ok(())
}

async fn tasks(ctx: &Ctx, report: &mut Report, online: &[Node], hours: f64) -> Result<(), Fault> {
    let time = node::time(ctx, online).await;
    let Some(now) = report.taken("tasks", "", time)? else { return Ok(()) };
    rights::require(ctx, report, "tasks", "/nodes", &["Sys.Audit"]).await?;
    let since = (now - (hours * 3600.0) as i64).to_string();
    let params = [("errors", "1"), ("limit", MOST_TASKS), ("since", since.as_str())];
    let read = each(online, |node| node.rows(ctx, "/tasks", &params)).await;
    for (node, read) in online.iter().zip(read) {
        let mut tasks = report.taken("tasks", &node.name, read)?.unwrap_or_default();
        tasks.retain(failed);
        tasks.sort_by_key(|task| std::cmp::Reverse(whole(task, "endtime")));
        let mut counts: BTreeMap<String, (usize, &Value)> = BTreeMap::new();
        tasks.iter().for_each(|task| counts.entry(named(task)).or_insert((0, task)).0 += 1);
        for (name, (count, newest)) in counts {
            let ended = whole(newest, "endtime").map(moment).unwrap_or_default();
            let status = foreign_of(newest, "status").unwrap_or_default();
            let often = if count > 1 { format!("{count} times, the last: ") } else { String::new() };
            let says = format!("{often}{status} ({}, {ended})", node.name);
            report.found("tasks", Severity::Warning, "task_failed", name, says);
        }
    }
    Ok(())
}

/// Whether a finished task ended badly; warnings are no failure.
pub fn failed(task: &Value) -> bool {
    text(task, "status").is_some_and(|status| status != "OK" && status != "running" && !status.starts_with("WARNINGS"))
}

/// `vzdump 100`.
fn named(task: &Value) -> String {
    let kind = text(task, "type").map(foreign).unwrap_or_default();
    match foreign_of(task, "id") {
        Some(id) => format!("{kind} {id}"),
        None => kind,
    }
}

/// Rows about quorum, master and the nodes' managers are no services.
async fn ha(ctx: &Ctx, report: &mut Report) -> Result<(), Fault> {
    let read = rows(ctx, "/cluster/ha/status/current", &[], &[]).await;
    let Some(status) = report.taken("ha", "", read)? else { return Ok(()) };
    let services: Vec<&Value> = status.iter().filter(|row| text(row, "type") == Some("service")).collect();
    if services.is_empty() {
        report.not_used("ha");
    }
    for service in services {
        let state = text(service, "crm_state").or(text(service, "state")).unwrap_or_default();
        if matches!(state, "error" | "fence" | "recovery") {
            let sid = text(service, "sid").or(text(service, "id")).unwrap_or("?");
            report.found("ha", Severity::Critical, "ha_service", sid, format!("its state is {state}"));
        }
    }
    for manager in status.iter().filter(|row| text(row, "type") == Some("lrm")) {
        let words = text(manager, "status").unwrap_or_default();
        if words.contains("dead") {
            let node = text(manager, "node").unwrap_or("?");
            report.found("ha", Severity::Critical, "ha_manager", node, foreign(words));
        }
    }
    Ok(())
}

async fn ceph(ctx: &Ctx, report: &mut Report) -> Result<(), Fault> {
    let read = super::reading::data(ctx, "/cluster/ceph/status", &[]).await;
    if read.as_ref().is_err_and(has_no_ceph) {
        report.not_used("ceph");
        return Ok(());
    }
    let Some(status) = report.taken("ceph", "", read)? else { return Ok(()) };
    let health = &status["health"];
    let severity = match text(health, "status") {
        Some("HEALTH_OK") | None => return Ok(()),
        Some("HEALTH_ERR") => Severity::Critical,
        Some(_) => Severity::Warning,
    };
    let checks = health["checks"].as_object().into_iter().flatten();
    let checks: Vec<String> = checks.map(|(name, _)| foreign(name)).collect();
    report.found(
        "ceph",
        severity,
        "ceph_health",
        "ceph",
        format!("{}: {}", text(health, "status").unwrap_or_default(), checks.join(", ")),
    );
    Ok(())
}

/// What Proxmox says where Ceph was never installed or set up.
fn has_no_ceph(fault: &Fault) -> bool {
    let words = ["binary not installed", "not initialized", "not configured", "/etc/pve/ceph.conf"];
    words.iter().any(|word| fault.message.contains(word))
}

async fn replication(ctx: &Ctx, report: &mut Report, online: &[Node]) -> Result<(), Fault> {
    let read = each(online, |node| node.rows(ctx, "/replication", &[])).await;
    let mut jobs = 0;
    for (node, read) in online.iter().zip(read) {
        for job in report.taken("replication", &node.name, read)?.unwrap_or_default() {
            jobs += 1;
            let failures = whole(&job, "fail_count").unwrap_or_default();
            let error = foreign_of(&job, "error");
            if failures > 0 || error.is_some() {
                let says =
                    format!("failed {failures} times in a row: {}", error.unwrap_or_else(|| "no reason given".into()));
                report.found(
                    "replication",
                    Severity::Warning,
                    "replication_failed",
                    text(&job, "id").unwrap_or("?"),
                    says,
                );
            }
        }
    }
    if jobs == 0 {
        report.not_used("replication");
    }
    Ok(())
}

async fn subscription(ctx: &Ctx, report: &mut Report, online: &[Node]) -> Result<(), Fault> {
    let read = each(online, |node| node.read(ctx, "/subscription")).await;
    for (node, read) in online.iter().zip(read) {
        let Some(subscription) = report.taken("subscription", &node.name, read)? else { continue };
        let status = text(&subscription, "status").unwrap_or("unknown");
        if !status.eq_ignore_ascii_case("active") {
            report.found(
                "subscription",
                Severity::Info,
                "no_subscription",
                &node.name,
                format!("its status is {status}"),
            );
        }
    }
    Ok(())
}

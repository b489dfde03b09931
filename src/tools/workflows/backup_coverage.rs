//! `pve_backup_coverage`: guests that no job backs up, age of the newest backups, jobs, failed backups.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::guest::{self, Guest};
use super::health_check::failed;
use super::node::{self, Node};
use super::reading::{answer, data, each, foreign_of, is_on, moment, rows, text, whole};
use super::report::{self, Report, Severity};
use super::storage::{self, Storage};
use super::{reads, rights};
use crate::error::{Code, Fault};
use crate::tools::{Ctx, Given, Parameter, Reply, Tool};

const PARAMETERS: &[Parameter] = &[
    Parameter::integer("max_age_days", 1, 3650, "of the newest backup; default 7"),
    Parameter::integer("task_days", 1, 365, "failed backups of so many days; default 7"),
    Parameter::flag("templates", "count templates too"),
];

const LIMITS: &[&str] = &[
    "whether a backup can be restored",
    "backups on storages that this cluster does not know",
    "replicas and snapshots",
];

const DAY: i64 = 86_400;

/// The tool.
pub fn tool() -> Tool {
    reads(
        "pve_backup_coverage",
        "Guests without a backup job or a recent backup, jobs, failed backups, age of each guest's newest backup",
        PARAMETERS,
        || report::schema(json!({"guests": {"type": "array"}, "jobs": {"type": "array"}, "limits": {"type": "array"}})),
        |ctx, given| Box::pin(run(ctx, given)),
    )
}

/// A guest's newest backup.
#[derive(Clone)]
struct Backup {
    volid: String,
    at: i64,
}

async fn run(ctx: &Ctx, given: Given) -> Result<Reply, Fault> {
    let (max_age, task_days) = (given.integer("max_age_days").unwrap_or(7), given.integer("task_days").unwrap_or(7));
    let thresholds = json!({"max_age_days": max_age, "task_days": task_days});
    let mut report = Report::new(&["guests", "jobs", "backups", "tasks"], thresholds, LIMITS);
    let nodes = node::all(ctx).await;
    let nodes = report.taken("guests", "", nodes)?.unwrap_or_default();
    let now = node::time(ctx, &nodes).await;
    let now = report.taken("backups", "", now)?;
    let mut guests = guest::seen(ctx, &mut report, "guests").await?;
    let templates = given.flag("templates").unwrap_or(false);
    guests.retain(|guest| templates || !guest.template);
    let (jobs, covered) = jobs(ctx, &mut report).await?;
    let backups = backups(ctx, &mut report).await?;
    let sees_all = sees_all(ctx, &mut report).await?;
    if let Some(now) = now {
        rights::require(ctx, &mut report, "tasks", "/nodes", &["Sys.Audit"]).await?;
        failures(ctx, &mut report, &nodes, now - task_days * DAY).await?;
    }
    let mut told = Vec::new();
    for guest in &guests {
        let own = covered.get(&guest.vmid).cloned().unwrap_or_default();
        if own.is_empty() {
            report.found(
                "jobs",
                Severity::Warning,
                "guest_without_job",
                guest.to_string(),
                "no job that is switched on backs it up",
            );
        }
        let newest = backups.get(&guest.vmid);
        if newest.is_some() || sees_all {
            judge(&mut report, guest, newest, now, max_age);
        }
        told.push(row(guest, own, newest, now));
    }
    let with_job = guests.iter().filter(|guest| covered.contains_key(&guest.vmid)).count();
    let lines = vec![format!("guests: {}, of them {with_job} in a job", guests.len()), format!("jobs: {}", jobs.len())];
    let facts = json!({"guests": told, "jobs": jobs});
    Ok(report.reply(facts.as_object().cloned().unwrap_or_default(), lines))
}

fn judge(report: &mut Report, guest: &Guest, newest: Option<&Backup>, now: Option<i64>, max_age: i64) {
    match (newest, now) {
        (None, _) => {
            let says = "there is no backup of it on the storages that could be read";
            report.found("backups", Severity::Warning, "guest_without_backup", guest.to_string(), says);
        }
        (Some(backup), Some(now)) if now - backup.at > max_age * DAY => {
            let says = format!("its newest backup is {} days old", (now - backup.at) / DAY);
            report.found("backups", Severity::Warning, "backup_too_old", guest.to_string(), says);
        }
        _ => {}
    }
}

fn row(guest: &Guest, jobs: BTreeSet<String>, newest: Option<&Backup>, now: Option<i64>) -> Value {
    let mut told = guest.named();
    told["jobs"] = jobs.into_iter().collect::<Vec<_>>().into();
    if let Some(backup) = newest {
        told["newest_backup"] = backup.volid.clone().into();
        told["newest_backup_at"] = moment(backup.at).into();
        if let Some(now) = now {
            told["age_hours"] = ((now - backup.at) / 3600).into();
        }
    }
    told
}

/// The jobs, and which of those that are switched on include each guest.
async fn jobs(ctx: &Ctx, report: &mut Report) -> Result<(Vec<Value>, BTreeMap<u32, BTreeSet<String>>), Fault> {
    let listed = rows(ctx, "/cluster/backup", &[], &[]).await;
    let listed = report.taken("jobs", "", listed)?.unwrap_or_default();
    let mut covered: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
    let mut jobs = Vec::new();
    let included = each(&listed, |job| async move {
        let id = text(job, "id").unwrap_or_default();
        data(ctx, "/cluster/backup/{id}/included_volumes", &[("id", id)]).await
    })
    .await;
    for (job, included) in listed.iter().zip(included) {
        let id = foreign_of(job, "id").unwrap_or_default();
        let enabled = job.get("enabled").is_none() || is_on(job, "enabled");
        let mut told = json!({"id": id, "enabled": enabled});
        for key in ["schedule", "storage", "mode", "comment"] {
            if let Some(value) = foreign_of(job, key) {
                told[key] = value.into();
            }
        }
        if !enabled {
            report.found("jobs", Severity::Info, "job_switched_off", id.as_str(), "the job does not run");
        } else if let Some(included) = report.taken("jobs", &id, included)? {
            let children = included["children"].as_array().cloned().unwrap_or_default();
            let vmids: Vec<u32> = children.iter().filter_map(|child| u32::try_from(whole(child, "id")?).ok()).collect();
            told["guests"] = vmids.len().into();
            for vmid in vmids {
                covered.entry(vmid).or_default().insert(id.clone());
            }
        }
        jobs.push(told);
    }
    if listed.is_empty() {
        report.not_used("jobs");
    }
    Ok((jobs, covered))
}

/// The newest backup of each guest, over every storage that may hold one.
async fn backups(ctx: &Ctx, report: &mut Report) -> Result<BTreeMap<u32, Backup>, Fault> {
    let storages = storage::seen(ctx, report, "backups").await?;
    let (reached, silent): (Vec<Storage>, Vec<Storage>) =
        storages.into_iter().filter(|storage| storage.holds("backup")).partition(|storage| storage.available);
    for storage in silent {
        let fault = Fault::new(Code::NodeUnreachable, format!("storage {} cannot be reached", storage.name));
        report.taken::<()>("backups", &storage.place(), Err(fault))?;
    }
    let read = each(&reached, |storage| async move {
        let values = [("node", storage.node.as_str()), ("storage", storage.name.as_str())];
        answer(ctx, "/nodes/{node}/storage/{storage}/content", &values, &[("content", "backup")]).await
    })
    .await;
    let mut newest: BTreeMap<u32, Backup> = BTreeMap::new();
    for (storage, read) in reached.iter().zip(read) {
        let Some(answer) = report.taken("backups", &storage.place(), read)? else { continue };
        for volume in answer.data.as_array().into_iter().flatten() {
            let vmid = whole(volume, "vmid").and_then(|vmid| u32::try_from(vmid).ok());
            let (Some(vmid), Some(at)) = (vmid, whole(volume, "ctime")) else { continue };
            let backup = Backup { volid: foreign_of(volume, "volid").unwrap_or_default(), at };
            let known = newest.entry(vmid).or_insert_with(|| backup.clone());
            if known.at < at {
                *known = backup;
            }
        }
    }
    Ok(newest)
}

/// Whether the account sees every backup: Proxmox leaves those out of the list that it may not restore, without a word.
async fn sees_all(ctx: &Ctx, report: &mut Report) -> Result<bool, Fault> {
    let manages = rights::has_any(ctx, "/storage", &["Datastore.Allocate"]).await;
    if report.taken("backups", "/storage", manages)? == Some(true) {
        return Ok(true);
    }
    let uses = rights::require(ctx, report, "backups", "/storage", &["Datastore.AllocateSpace"]).await?;
    let backs_up = rights::require(ctx, report, "backups", "/vms", &["VM.Backup"]).await?;
    Ok(uses && backs_up)
}

/// Backups that failed and were not done again since.
async fn failures(ctx: &Ctx, report: &mut Report, nodes: &[Node], since: i64) -> Result<(), Fault> {
    let since = since.to_string();
    let params = [("typefilter", "vzdump"), ("since", since.as_str()), ("limit", "200")];
    let read = each(nodes, |node| node.rows(ctx, "/tasks", &params)).await;
    for (node, read) in nodes.iter().zip(read) {
        let mut seen = BTreeSet::new();
        let mut tasks = report.taken("tasks", &node.name, read)?.unwrap_or_default();
        tasks.sort_by_key(|task| std::cmp::Reverse(whole(task, "starttime")));
        for task in tasks.iter().filter(|task| text(task, "status").is_some()) {
            let id = foreign_of(task, "id").unwrap_or_else(|| format!("job on {}", node.name));
            let first = seen.insert(id.clone());
            if first && failed(task) {
                let at = whole(task, "starttime").map(moment).unwrap_or_default();
                let says = format!("the last backup failed: {} ({at})", foreign_of(task, "status").unwrap_or_default());
                report.found("tasks", Severity::Warning, "backup_failed", id, says);
            }
        }
    }
    Ok(())
}

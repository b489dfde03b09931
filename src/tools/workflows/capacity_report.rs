//! `pve_capacity_report`: processors, memory, disks, overcommitment, how storages fill up, the largest guests.

use serde_json::{Map, Value, json};

use super::growth::{self, Growth};
use super::guest::{self, Guest};
use super::node::{self, Node};
use super::reading::{answer, each, number, percent, size};
use super::reads;
use super::report::{self, Report, Severity};
use super::storage::{self, Storage};
use crate::error::{Code, Fault};
use crate::tools::{Ctx, Given, Parameter, Reply, Tool};

const PARAMETERS: &[Parameter] = &[
    Parameter::integer("memory_percent", 1, 100, "default 90"),
    Parameter::integer("rootfs_percent", 1, 100, "default 85"),
    Parameter::integer("storage_percent", 1, 100, "default 85"),
    Parameter::integer("memory_overcommit_percent", 1, 10_000, "guests' memory of the node's; default 100"),
    Parameter::integer("cpu_overcommit_percent", 1, 100_000, "default 400"),
    Parameter::integer("days_until_full", 1, 3650, "default 90"),
    Parameter::choice("timeframe", &["week", "month", "year"], "of the projection; default month"),
];

const LIMITS: &[&str] = &[
    "storages are taken to go on growing as they did, in a straight line",
    "thin volumes that outgrow their pool",
    "what guests use inside their disks",
];

/// How many of the largest guests are named.
const LARGEST: usize = 5;

/// The tool.
pub fn tool() -> Tool {
    reads(
        "pve_capacity_report",
        "CPU, memory, disk and overcommitment per node, projected growth of storages, largest guests",
        PARAMETERS,
        output,
        |ctx, given| Box::pin(run(ctx, given)),
    )
}

fn output() -> Value {
    report::schema(json!({
        "nodes": {"type": "array"}, "storages": {"type": "array"}, "largest": {"type": "object"}, "limits": {"type": "array"},
    }))
}

async fn run(ctx: &Ctx, given: Given) -> Result<Reply, Fault> {
    let limits = [
        ("memory_percent", 90),
        ("rootfs_percent", 85),
        ("storage_percent", 85),
        ("memory_overcommit_percent", 100),
        ("cpu_overcommit_percent", 400),
        ("days_until_full", 90),
    ];
    let thresholds: Map<String, Value> = limits
        .into_iter()
        .map(|(name, default)| (name.to_string(), given.integer(name).unwrap_or(default).into()))
        .collect();
    let thresholds = Value::Object(thresholds);
    let most = |name: &str| thresholds[name].as_f64().unwrap_or_default();
    let timeframe = given.text("timeframe").unwrap_or("month");
    let mut report = Report::new(&["nodes", "guests", "storage", "growth"], thresholds.clone(), LIMITS);
    let nodes = node::seen(ctx, &mut report, "nodes").await?;
    let mut guests = guest::seen(ctx, &mut report, "guests").await?;
    guests.retain(|guest| !guest.template);
    let mut told = Vec::new();
    for node in &nodes {
        if !node.online {
            let fault = Fault::new(Code::NodeUnreachable, format!("node {} is offline", node.name));
            report.taken::<()>("nodes", &node.name, Err(fault))?;
            continue;
        }
        let load = Load::of(node, &guests);
        load.judge(&mut report, node, &most);
        told.push(load.told(node));
    }
    let storages = storage::seen(ctx, &mut report, "storage").await?;
    let storages = look_at_storages(ctx, &mut report, storages, timeframe, &most).await?;
    let lines = told.iter().chain(&storages).map(line).collect();
    let facts = json!({"nodes": told, "storages": storages, "largest": largest(&guests)});
    Ok(report.reply(facts.as_object().cloned().unwrap_or_default(), lines))
}

/// What the guests of a node were given, and what it uses.
struct Load {
    memory_percent: Option<f64>,
    rootfs_percent: Option<f64>,
    /// Of all guests, switched on or not, in per cent of the node.
    memory_given: Option<f64>,
    cpus_given: Option<f64>,
    /// Of those that run.
    memory_running: Option<f64>,
    guests: usize,
}

impl Load {
    fn of(node: &Node, guests: &[Guest]) -> Load {
        let own: Vec<&Guest> = guests.iter().filter(|guest| guest.node == node.name).collect();
        let memory: f64 = own.iter().map(|guest| guest.memory).sum();
        let running: f64 = own.iter().filter(|guest| guest.runs()).map(|guest| guest.memory).sum();
        let cpus: f64 = own.iter().map(|guest| guest.cpus).sum();
        Load {
            memory_percent: percent(node.memory_used, node.memory),
            rootfs_percent: percent(node.rootfs_used, node.rootfs),
            memory_given: percent(memory, node.memory),
            cpus_given: percent(cpus, node.cpus),
            memory_running: percent(running, node.memory),
            guests: own.len(),
        }
    }

    fn judge(&self, report: &mut Report, node: &Node, most: &impl Fn(&str) -> f64) {
        let checks = [
            ("node_memory", self.memory_percent, "memory_percent", "of its memory is in use"),
            ("node_rootfs", self.rootfs_percent, "rootfs_percent", "of its root file system is in use"),
            (
                "memory_overcommitted",
                self.memory_given,
                "memory_overcommit_percent",
                "of its memory is given to guests",
            ),
            ("cpu_overcommitted", self.cpus_given, "cpu_overcommit_percent", "of its processors are given to guests"),
        ];
        for (check, has, threshold, says) in checks {
            // Overcommitment begins above its threshold; use counts from it on.
            let over =
                has.filter(|has| *has > most(threshold) || (*has == most(threshold) && check.starts_with("node")));
            if let Some(has) = over {
                report.found("nodes", Severity::Warning, check, &node.name, format!("{has} % {says}"));
            }
        }
    }

    fn told(&self, node: &Node) -> Value {
        json!({
            "node": node.name, "cpus": node.cpus, "cpu_used_percent": (node.cpu * 1000.0).round() / 10.0,
            "memory": size(node.memory), "memory_used_percent": self.memory_percent,
            "rootfs_used_percent": self.rootfs_percent, "guests": self.guests,
            "memory_given_percent": self.memory_given, "memory_given_to_running_percent": self.memory_running,
            "cpus_given_percent": self.cpus_given,
        })
    }
}

async fn look_at_storages(
    ctx: &Ctx,
    report: &mut Report,
    storages: Vec<Storage>,
    timeframe: &str,
    most: &impl Fn(&str) -> f64,
) -> Result<Vec<Value>, Fault> {
    let (reached, silent): (Vec<Storage>, Vec<Storage>) = storages.into_iter().partition(|storage| storage.available);
    for storage in silent {
        let fault = Fault::new(Code::NodeUnreachable, format!("storage {} cannot be reached", storage.name));
        report.taken::<()>("storage", &storage.place(), Err(fault))?;
    }
    let read = each(&reached, |storage| async move {
        let values = [("node", storage.node.as_str()), ("storage", storage.name.as_str())];
        let params = [("timeframe", timeframe), ("cf", "AVERAGE")];
        answer(ctx, "/nodes/{node}/storage/{storage}/rrddata", &values, &params).await
    })
    .await;
    let mut told = Vec::new();
    for (storage, read) in reached.iter().zip(read) {
        let mut row = storage.told();
        if let Some(used) = storage.used_percent().filter(|used| *used >= most("storage_percent")) {
            report.found("storage", Severity::Warning, "storage_full", storage.place(), format!("it is {used} % full"));
        }
        if let Some(record) = report.taken("growth", &storage.place(), read)? {
            let growth = course(&record.data, storage);
            add_growth(&mut row, growth.as_ref());
            if let Some(days) =
                growth.and_then(|growth| growth.days_until_full).filter(|days| *days < most("days_until_full"))
            {
                let says = format!("at its pace of the last {timeframe} it is full in {days:.0} days");
                report.found("growth", Severity::Warning, "storage_fills_up", storage.place(), says);
            }
        }
        told.push(row);
    }
    Ok(told)
}

/// Steps without a value are gaps, not zeros.
fn course(record: &Value, storage: &Storage) -> Option<Growth> {
    let rows = record.as_array()?.iter();
    let points: Vec<(f64, f64)> = rows.filter_map(|row| Some((number(row, "time")?, number(row, "used")?))).collect();
    growth::of(&points, storage.used, storage.total)
}

fn add_growth(row: &mut Value, growth: Option<&Growth>) {
    let Some(growth) = growth else {
        row["growth"] = "not known: the record is too short".into();
        return;
    };
    let sign = if growth.per_day < 0.0 { "-" } else { "+" };
    row["growth"] = format!("{sign}{} per day over {:.0} days", size(growth.per_day.abs()), growth.days_seen).into();
    row["growth_bytes_per_day"] = (growth.per_day as i64).into();
    if let Some(days) = growth.days_until_full {
        row["days_until_full"] = (days as u64).into();
    }
}

fn largest(guests: &[Guest]) -> Value {
    let top = |figure: fn(&Guest) -> f64, say: fn(f64) -> Value| {
        let mut sorted: Vec<&Guest> = guests.iter().filter(|guest| figure(guest) > 0.0).collect();
        sorted.sort_by(|one, other| figure(other).total_cmp(&figure(one)).then(one.vmid.cmp(&other.vmid)));
        let rows = sorted.into_iter().take(LARGEST).map(
            |guest| json!({"vmid": guest.vmid, "name": guest.name, "node": guest.node, "has": say(figure(guest))}),
        );
        rows.collect::<Vec<Value>>()
    };
    json!({
        "memory": top(|guest| guest.memory, |bytes| size(bytes).into()),
        "cpus": top(|guest| guest.cpus, |count| json!(count)),
        "cpu_load": top(|guest| guest.cpu * guest.cpus, |load| json!((load * 100.0).round() / 100.0)),
        "disk": top(|guest| guest.disk, |bytes| size(bytes).into()),
    })
}

/// One line of the text.
fn line(row: &Value) -> String {
    let says = |key: &str| {
        row.get(key)
            .filter(|value| !value.is_null())
            .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_string))
    };
    if let Some(node) = says("node").filter(|_| row.get("cpus").is_some()) {
        let part = |key: &str| says(key).unwrap_or_else(|| "?".into());
        return format!(
            "node {node}: cpu {} %, memory {} % of {}, root {} %; given to {} guests: memory {} %, cpus {} %",
            part("cpu_used_percent"),
            part("memory_used_percent"),
            part("memory"),
            part("rootfs_used_percent"),
            part("guests"),
            part("memory_given_percent"),
            part("cpus_given_percent"),
        );
    }
    let place = [says("node"), says("storage")].into_iter().flatten().collect::<Vec<_>>().join("/");
    let until = says("days_until_full").map(|days| format!(", full in {days} days")).unwrap_or_default();
    let used = says("used").unwrap_or_default();
    format!(
        "storage {place}: {used} ({} %), {}{until}",
        says("used_percent").unwrap_or_default(),
        says("growth").unwrap_or_default()
    )
}

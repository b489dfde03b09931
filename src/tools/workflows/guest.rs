//! A guest as the list of resources shows it, and where its own methods are.

use std::fmt;

use serde_json::{Map, Value, json};

use super::reading::{foreign_of, is_on, number, percent, rows, text, whole};
use super::report::Report;
use super::rights;
use crate::error::{Code, Fault};
use crate::tools::Ctx;

/// Virtual machine or container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A virtual machine.
    Vm,
    /// A container.
    Lxc,
}

impl Kind {
    /// Its word in paths and lists.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Vm => "qemu",
            Kind::Lxc => "lxc",
        }
    }

    /// Its word for people.
    pub fn noun(self) -> &'static str {
        match self {
            Kind::Vm => "VM",
            Kind::Lxc => "container",
        }
    }
}

/// One guest. Text of its own has been made plain.
#[derive(Clone, Debug)]
pub struct Guest {
    pub vmid: u32,
    pub kind: Kind,
    pub node: String,
    /// Not known while its node is silent.
    pub name: Option<String>,
    /// `running`, `stopped`, `unknown` …
    pub status: String,
    pub tags: Vec<String>,
    pub template: bool,
    pub lock: Option<String>,
    pub pool: Option<String>,
    /// What it has and uses: processors, share of them, bytes.
    pub cpus: f64,
    pub cpu: f64,
    pub memory: f64,
    pub memory_used: f64,
    pub disk: f64,
}

/// `100 (web)`.
impl fmt::Display for Guest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{} ({name})", self.vmid),
            None => write!(f, "{}", self.vmid),
        }
    }
}

impl Guest {
    fn of(row: &Value) -> Option<Guest> {
        let kind = match text(row, "type")? {
            "qemu" => Kind::Vm,
            "lxc" => Kind::Lxc,
            _ => return None,
        };
        let tags = foreign_of(row, "tags").unwrap_or_default();
        let figure = |key: &str| number(row, key).unwrap_or_default();
        Some(Guest {
            vmid: u32::try_from(whole(row, "vmid")?).ok()?,
            kind,
            node: text(row, "node")?.to_string(),
            name: foreign_of(row, "name"),
            status: text(row, "status").unwrap_or("unknown").to_string(),
            tags: tags.split([';', ',', ' ']).filter(|tag| !tag.is_empty()).map(str::to_string).collect(),
            template: is_on(row, "template"),
            lock: text(row, "lock").map(str::to_string),
            pool: foreign_of(row, "pool"),
            cpus: figure("maxcpu"),
            cpu: figure("cpu"),
            memory: figure("maxmem"),
            memory_used: figure("mem"),
            disk: figure("maxdisk"),
        })
    }

    /// One that was just made and is on no list yet.
    pub fn new(vmid: u32, kind: Kind, node: &str) -> Guest {
        let (name, lock, pool, tags) = Default::default();
        let (cpus, cpu, memory, memory_used, disk) = Default::default();
        let (node, status, template) = (node.to_string(), "unknown".to_string(), false);
        Guest { vmid, kind, node, name, status, tags, template, lock, pool, cpus, cpu, memory, memory_used, disk }
    }

    /// Whether it is on.
    pub fn runs(&self) -> bool {
        self.status == "running"
    }

    /// `/nodes/{node}/qemu/{vmid}` with what follows.
    pub fn path(&self, rest: &str) -> String {
        format!("/nodes/{{node}}/{}/{{vmid}}{rest}", self.kind.word())
    }

    /// Reads one of its own paths.
    ///
    /// # Errors
    /// As [`super::reading::answer`].
    pub async fn read(&self, ctx: &Ctx, rest: &str) -> Result<Value, Fault> {
        let vmid = self.vmid.to_string();
        super::reading::data(ctx, &self.path(rest), &[("node", &self.node), ("vmid", &vmid)]).await
    }

    /// The values of its path, as arguments.
    pub fn arguments(&self) -> Map<String, Value> {
        let values = json!({"node": self.node, "vmid": self.vmid});
        values.as_object().cloned().unwrap_or_default()
    }

    /// Who it is.
    pub fn named(&self) -> Value {
        let mut named = json!({"vmid": self.vmid, "type": self.kind.word(), "node": self.node, "status": self.status});
        if let Some(name) = &self.name {
            named["name"] = name.clone().into();
        }
        named
    }

    /// All that the list says.
    pub fn told(&self) -> Value {
        let mut told = self.named();
        let optional = [("pool", &self.pool), ("lock", &self.lock)];
        for (key, value) in optional.into_iter().filter_map(|(key, value)| Some((key, value.clone()?))) {
            told[key] = value.into();
        }
        if !self.tags.is_empty() {
            told["tags"] = self.tags.clone().into();
        }
        if self.template {
            told["template"] = true.into();
        }
        if self.status != "unknown" {
            told["memory_bytes"] = (self.memory as u64).into();
            told["cpus"] = (self.cpus as u64).into();
        }
        if self.runs()
            && let Some(used) = percent(self.memory_used, self.memory)
        {
            told["memory_used_percent"] = used.into();
        }
        told
    }
}

/// Every guest that the account may see, by number.
///
/// # Errors
/// As [`Ctx::api`].
pub async fn all(ctx: &Ctx) -> Result<Vec<Guest>, Fault> {
    let rows = rows(ctx, "/cluster/resources", &[], &[("type", "vm")]).await?;
    let mut guests: Vec<Guest> = rows.iter().filter_map(Guest::of).collect();
    guests.sort_by_key(|guest| guest.vmid);
    Ok(guests)
}

/// Every guest for a section of a report, which says when the account may not see all of them.
///
/// # Errors
/// What ends the whole check.
pub async fn seen(ctx: &Ctx, report: &mut Report, section: &'static str) -> Result<Vec<Guest>, Fault> {
    let read = all(ctx).await;
    let Some(guests) = report.taken(section, "", read)? else { return Ok(Vec::new()) };
    rights::require(ctx, report, section, "/vms", &["VM.Audit"]).await?;
    Ok(guests)
}

/// The guest with this number.
///
/// # Errors
/// `not_found`; what looking can cause.
pub async fn one(ctx: &Ctx, vmid: i64) -> Result<Guest, Fault> {
    let found = all(ctx).await?.into_iter().find(|guest| i64::from(guest.vmid) == vmid);
    found.ok_or_else(|| {
        Fault::new(Code::NotFound, format!("there is no guest {vmid} in this cluster"))
            .hint("pve_find_guest lists the guests; one that the account may not see (VM.Audit) is not there")
    })
}

//! What the Proxmox VE API is: data and pure functions, no network, no async.
//!
//! [`Catalog::embedded`] is the single description of the API that the server and the fake share: 680 methods on 449
//! paths of Proxmox VE 9.2, each with its *facts* (from the official document, `data/facts.jsonl`, generated) and our
//! *decisions* (`data/*.toml`, written by hand: gate, domains, tool name, danger). `build.rs` joins both into one file
//! that is embedded; heads of methods are read at start, schemas when somebody asks.
//!
//! # Map
//! - [`schema`]: the schema dialect as types. [`verb`], [`gate`]: small vocabularies.
//! - [`path`]: path templates; what a path value may hold.
//! - [`permission`]: who may call a method, and who holds what. [`upid`]: task identifiers.
//! - [`json_schema`]: facts -> JSON Schema of a tool. [`example`]: the smallest call that works.
//! - [`tables`]: privileges, built-in roles, words on parameters, example values, as plain tables.
//! - [`verify`]: parameters against a schema, in Proxmox's wording. [`format`]: formats by name. [`property`]: property
//!   strings. [`pattern`]: Perl patterns in a linear-time engine.
//! - [`import`]: `apidoc.js` -> facts; [`texts`]: what may be kept of its texts; [`document`]: facts -> `apidoc.js`.
//!   [`decide`] and [`name`]: decisions by rule. [`secrets`]: which fields hold secrets. [`encode`]: both -> stored form.
//! - [`imported`]: a catalogue of another version, from a file. [`diff`]: what two catalogues do not have in common.
//! - [`advice`]: what goes wrong with a method although the call looks right.

pub mod advice;
pub mod arguments;
pub mod decide;
pub mod diff;
pub mod document;
pub mod encode;
pub mod example;
pub mod format;
pub mod gate;
mod glob;
pub mod import;
pub mod imported;
pub mod json_schema;
pub mod name;
pub mod path;
pub mod pattern;
pub mod permission;
pub mod property;
mod record;
mod route;
pub mod schema;
pub mod secrets;
pub mod tables;
pub mod texts;
pub mod upid;
pub mod verb;
pub mod verify;

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

pub use advice::Advice;
pub use decide::Rules;
pub use gate::Gate;
pub use schema::{Format, Kind, Properties, Schema};
pub use verb::Verb;

use permission::Permission;
use record::{Body, Record};
use route::Route;
use tables::Tables;

/// The version of Proxmox VE that the embedded facts describe.
pub const PVE_VERSION: &str = "9.2";

static EMBEDDED: LazyLock<Catalog> = LazyLock::new(|| Catalog::decode(Catalog::embedded_bytes()));

static RULES: LazyLock<Rules> = LazyLock::new(|| {
    let bytes = include_bytes!(concat!(env!("OUT_DIR"), "/rules.postcard"));
    postcard::from_bytes(bytes).expect("written by build.rs from the same types")
});

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let bytes = include_bytes!(concat!(env!("OUT_DIR"), "/tables.postcard"));
    postcard::from_bytes(bytes).expect("written by build.rs from the same types")
});

/// All methods, and ways to find one.
#[derive(Debug)]
pub struct Catalog {
    methods: Vec<Method>,
    by_tool: HashMap<&'static str, usize>,
    by_path: HashMap<&'static str, [Option<usize>; 4]>,
    routes: &'static Route,
    version: Option<&'static str>,
}

/// One method of the API: a verb on a path.
#[derive(Debug)]
pub struct Method {
    /// The verb.
    pub verb: Verb,
    /// Path template, such as `/nodes/{node}/qemu/{vmid}/config`.
    pub path: &'static str,
    /// Proxmox's own name for the method, such as `vm_config`.
    pub name: &'static str,
    /// The generated tool; `None` where the policy blocks the method or a hand-written tool does its job.
    pub tool: Option<&'static str>,
    /// What must be open before it may be called (arguments can raise it, never lower it).
    pub gate: Gate,
    /// Why the gate is stricter than its rule, when it is.
    pub stricter: Option<&'static str>,
    /// Toolsets that load it; the main one first.
    pub domains: Vec<&'static str>,
    /// One line in our own words.
    pub summary: &'static str,
    /// Cannot be taken back, or stops something that runs.
    pub destructive: bool,
    /// Calling it again with the same arguments changes nothing more.
    pub idempotent: bool,
    /// Answers the UPID of a task.
    pub task: bool,
    /// Runs as root on the node (Proxmox's `protected`).
    pub protected: bool,
    /// The parameter that names the node which answers (Proxmox's `proxyto`).
    pub proxyto: Option<&'static str>,
    /// Whether an API token may call it.
    pub allow_token: bool,
    /// Whether it may answer raw content instead of the envelope (Proxmox's `download_allowed`).
    pub download: bool,
    bytes: &'static [u8],
    routes: &'static Route,
    body: OnceLock<Body>,
    permission: OnceLock<Permission>,
}

/// A method found by path, with the path's values in template order.
#[derive(Debug)]
pub struct Found<'c, 'p> {
    /// The method.
    pub method: &'c Method,
    /// Placeholder and value.
    pub values: Vec<(&'c str, &'p str)>,
}

impl Catalog {
    /// The catalogue of this build.
    pub fn embedded() -> &'static Catalog {
        &EMBEDDED
    }

    /// The catalogue of this build as it is stored.
    pub fn embedded_bytes() -> &'static [u8] {
        include_bytes!(concat!(env!("OUT_DIR"), "/catalog.postcard"))
    }

    /// The decision rules of this build.
    pub fn rules() -> &'static Rules {
        &RULES
    }

    /// The tables of this build: privileges, roles, words, examples.
    pub fn tables() -> &'static Tables {
        &TABLES
    }

    /// Reads what [`encode::encode`] wrote. The tree of its paths stays in memory until the process ends.
    ///
    /// # Panics
    /// When the bytes are not of this build: they are never read from outside.
    pub fn decode(bytes: &'static [u8]) -> Catalog {
        let records: Vec<&'static [u8]> = postcard::from_bytes(bytes).expect("written by encode");
        let mut methods: Vec<Method> = Vec::with_capacity(records.len());
        let mut by_tool = HashMap::with_capacity(records.len());
        let mut by_path: HashMap<&'static str, [Option<usize>; 4]> = HashMap::with_capacity(records.len());
        let read = |bytes: &'static [u8]| postcard::from_bytes::<Record<'static>>(bytes).expect("written by encode");
        let records: Vec<Record<'static>> = records.into_iter().map(read).collect();
        let mut routes = Route::default();
        records.iter().for_each(|record| routes.insert(record.path));
        let routes: &'static Route = Box::leak(Box::new(routes));
        for (at, record) in records.into_iter().enumerate() {
            if let Some(tool) = record.tool {
                by_tool.insert(tool, at);
            }
            by_path.entry(record.path).or_default()[record.verb as usize] = Some(at);
            methods.push(Method::from_record(record, routes));
        }
        Catalog { methods, by_tool, by_path, routes, version: Some(PVE_VERSION) }
    }

    pub(crate) fn with_version(self, version: Option<String>) -> Catalog {
        Catalog { version: version.map(|version| &*version.leak()), ..self }
    }

    /// The version of Proxmox VE that it describes, such as `9.2`; an imported one need not say.
    pub fn version(&self) -> Option<&'static str> {
        self.version
    }

    /// The version in words, for messages.
    pub fn version_words(&self) -> String {
        match self.version {
            Some(version) => format!("Proxmox VE {version}"),
            None => "an imported version that does not say which".into(),
        }
    }

    /// Whether it is the catalogue of this build.
    pub fn is_embedded(&self) -> bool {
        std::ptr::eq(self, Catalog::embedded())
    }

    /// Every method, sorted by path, then verb as a word.
    pub fn methods(&self) -> &[Method] {
        &self.methods
    }

    /// The method of a template, exactly as written in the catalogue.
    pub fn get(&self, verb: Verb, template: &str) -> Option<&Method> {
        self.by_path.get(template)?[verb as usize].map(|at| &self.methods[at])
    }

    /// The method behind a generated tool.
    pub fn by_tool(&self, tool: &str) -> Option<&Method> {
        self.by_tool.get(tool).map(|at| &self.methods[*at])
    }

    /// Finds a method by a decoded path, the way Proxmox routes it (empty segments are skipped).
    pub fn find<'p>(&self, verb: Verb, path: &'p str) -> Option<Found<'_, 'p>> {
        let (template, values) = self.route(path)?;
        Some(Found { method: self.get(verb, template)?, values })
    }

    /// The template that a decoded path belongs to, whatever the verb, with the path's values.
    pub fn route<'p>(&self, path: &'p str) -> Option<(&'static str, Vec<(&'static str, &'p str)>)> {
        self.routes.find(path)
    }

    /// Whether the decisions of this build know the method of that verb and template.
    pub fn knows(verb: Verb, template: &str) -> bool {
        Catalog::embedded().get(verb, template).is_some()
    }

    /// Every path template, sorted.
    pub fn templates(&self) -> impl Iterator<Item = &'static str> + '_ {
        let mut last = "";
        self.methods
            .iter()
            .filter_map(move |method| (method.path != std::mem::replace(&mut last, method.path)).then_some(method.path))
    }
}

impl Method {
    fn from_record(record: Record<'static>, routes: &'static Route) -> Method {
        Method {
            verb: record.verb,
            path: record.path,
            name: record.name,
            tool: record.tool,
            gate: record.gate,
            stricter: record.stricter,
            domains: record.domains,
            summary: record.summary,
            destructive: record.destructive,
            idempotent: record.idempotent,
            task: record.task,
            protected: record.protected,
            proxyto: record.proxyto,
            allow_token: record.allow_token,
            download: record.download,
            bytes: record.body,
            routes,
            body: OnceLock::new(),
            permission: OnceLock::new(),
        }
    }

    fn body(&self) -> &Body {
        self.body.get_or_init(|| postcard::from_bytes(self.bytes).expect("written by encode"))
    }

    /// The parameters as an object schema: `properties`, `additional`, and `all_of` for section configurations.
    pub fn parameters(&self) -> &Schema {
        &self.body().parameters
    }

    /// The result's schema.
    pub fn returns(&self) -> &Schema {
        &self.body().returns
    }

    /// The official text of the method (`""`), of a parameter (`net[n]`) or of a key of its property string
    /// (`net[n].bridge`): cleaned, somebody else's, and there only in a catalogue that was imported with texts.
    pub fn text(&self, about: &str) -> Option<&str> {
        self.body().texts.get(about).map(String::as_str)
    }

    /// All its official texts, by what they are about.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.body().texts.iter().map(|(about, text)| (about.as_str(), text.as_str()))
    }

    /// Whether a decoded path leads to this method's template by the paths of its own catalogue.
    pub fn is_reached_by(&self, path: &str) -> bool {
        self.routes.find(path).is_some_and(|(template, _)| template == self.path)
    }

    /// The permission expression as JSON text (`{"check":[…]}`, `{"user":"all"}`), empty when Proxmox states none:
    /// then only `root@pam` may call it.
    pub fn permissions(&self) -> &str {
        &self.body().permissions
    }

    /// The permission expression, read once.
    pub(crate) fn permission(&self) -> &Permission {
        self.permission.get_or_init(|| Permission::parse(self.permissions()))
    }

    /// Advice about the method and about parameters that it has, in the order of `data/advice.toml`.
    pub fn advice(&self) -> impl Iterator<Item = &'static Advice> + '_ {
        let about = Catalog::rules().advice.advice.iter().filter(|advice| advice.is_about(self.verb, self.path));
        about.filter(|advice| {
            advice.params.is_empty()
                || advice.params.iter().any(|name| self.parameters().properties.get(name).is_some())
        })
    }

    /// `GET /nodes/{node}/qemu`: how a method is named in data and messages.
    pub fn key(&self) -> String {
        format!("{} {}", self.verb, self.path)
    }
}

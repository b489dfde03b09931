//! All tools of this server, whether they are offered, and what to say about those that are not.

use std::collections::HashSet;

use pve_catalog::{Gate, Verb};

use crate::config::Settings;
use crate::error::{Code, Fault};
use crate::policy::Policy;
use crate::tools::aliases::Aliases;
use crate::tools::nearest::{nearest, question};
use crate::tools::{Run, Tool, by_hand, generated, offer};

/// Every tool, sorted by name.
#[derive(Debug)]
pub struct Registry {
    tools: Vec<(Tool, Standing)>,
    aliases: Aliases,
}

/// Whether a tool is offered, and if not, why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Clients see it.
    Offered,
    /// Its gate is closed on every cluster; these settings are missing.
    Closed(Vec<&'static str>),
    /// None of its toolsets is loaded.
    NotLoaded,
    /// `PROXMOX_TOOLS` or `PROXMOX_EXCLUDE_TOOLS` leaves it out.
    LeftOut,
}

impl Registry {
    /// The tools of the catalogue and those written by hand. `policies` are those of the clusters: a tool is offered when
    /// one of them could ever admit it.
    pub fn all(settings: &Settings, policies: &[&Policy]) -> Registry {
        let by_hand = by_hand();
        let names: HashSet<&str> = by_hand.iter().map(|tool| tool.name).collect();
        let is_tool = |name: &str| names.contains(name) || settings.catalog.by_tool(name).is_some();
        let methods = settings.catalog.methods().iter();
        let generated: Vec<Tool> = methods.filter_map(|method| generated::tool(method, is_tool)).collect();
        let tools = generated.into_iter().chain(by_hand);
        let judged = tools.map(|tool| {
            let standing = standing(&tool, settings, policies);
            (tool, standing)
        });
        let mut tools: Vec<(Tool, Standing)> = judged.collect();
        tools.sort_by_key(|(tool, _)| tool.name);
        Registry { tools, aliases: Aliases::new() }
    }

    /// With old names of tools.
    pub fn with_aliases(self, aliases: Aliases) -> Registry {
        Registry { aliases, ..self }
    }

    /// The name that a tool of this old name has now; `None` for a name that a tool has.
    pub fn renamed(&self, name: &str) -> Option<&str> {
        self.aliases.get(name).filter(|_| self.find(name).is_none()).map(String::as_str)
    }

    /// Every tool with its standing, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&Tool, &Standing)> {
        self.tools.iter().map(|(tool, standing)| (tool, standing))
    }

    /// The tools that clients see, sorted by name.
    pub fn offered(&self) -> impl Iterator<Item = &Tool> {
        self.iter().filter(|(_, standing)| **standing == Standing::Offered).map(|(tool, _)| tool)
    }

    /// A tool, offered or not.
    pub fn find(&self, name: &str) -> Option<(&Tool, &Standing)> {
        let at = self.tools.binary_search_by(|(tool, _)| tool.name.cmp(name)).ok()?;
        self.tools.get(at).map(|(tool, standing)| (tool, standing))
    }

    /// A tool by its name or by an old one.
    pub fn find_renamed(&self, name: &str) -> Option<(&Tool, &Standing)> {
        self.find(self.renamed(name).unwrap_or(name))
    }

    /// An offered tool.
    ///
    /// # Errors
    /// `gate_closed` with the variables to set; `unknown_tool` with the toolset to load, or with the nearest names.
    pub fn get(&self, name: &str) -> Result<&Tool, Fault> {
        let (tool, standing) = self.find(name).ok_or_else(|| self.unknown(name))?;
        standing.fault(tool).map_or(Ok(tool), Err)
    }

    /// The nearest names among the offered tools.
    pub fn nearest(&self, name: &str) -> Vec<&str> {
        nearest(name, self.offered().map(|tool| tool.name), 3)
    }

    fn unknown(&self, name: &str) -> Fault {
        let near = self.nearest(name);
        let hint = question(&near).unwrap_or_else(|| "pve_api_search finds tools by what they do".into());
        let shown: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
        Fault::new(Code::UnknownTool, format!("there is no tool '{shown}'")).hint(hint).detail("nearest", near)
    }
}

fn standing(tool: &Tool, settings: &Settings, policies: &[&Policy]) -> Standing {
    if !offer::loaded(&settings.offer, &tool.domains) {
        return Standing::NotLoaded;
    }
    let open = |policy: &&Policy| match &tool.run {
        Run::Generated(method) => policy.could_admit(method),
        Run::Hand(_) => policy.opens(tool.gate, tool.verb()),
    };
    if !policies.iter().any(open) {
        return Standing::Closed(what_opens(policies, tool.gate, tool.verb()));
    }
    if offer::wanted(&settings.offer, tool.name) { Standing::Offered } else { Standing::LeftOut }
}

/// What the cluster that is nearest to opening this gate lacks.
pub fn what_opens(policies: &[&Policy], gate: Gate, verb: Verb) -> Vec<&'static str> {
    let lacking = policies.iter().map(|policy| policy.what_opens(gate, verb));
    lacking.min_by_key(Vec::len).unwrap_or_default()
}

impl Standing {
    /// Why a tool of this standing cannot be called; `None` when it can.
    pub fn fault(&self, tool: &Tool) -> Option<Fault> {
        match self {
            Standing::Offered => None,
            Standing::Closed(settings) => Some(
                Fault::new(Code::GateClosed, format!("{} needs the gate {}, which is closed", tool.name, tool.gate))
                    .hint(format!("a person can open it by starting the server with {}", settings.join(" and ")))
                    .detail("gate", tool.gate.word()),
            ),
            Standing::NotLoaded => Some(not_loaded(tool)),
            Standing::LeftOut => Some(
                Fault::new(Code::UnknownTool, format!("{} exists, but the settings leave it out", tool.name))
                    .hint("a person can change PROXMOX_TOOLS or PROXMOX_EXCLUDE_TOOLS"),
            ),
        }
    }

    /// One word for lists.
    pub fn word(&self) -> &'static str {
        match self {
            Standing::Offered => "offered",
            Standing::Closed(_) => "gate_closed",
            Standing::NotLoaded => "toolset_not_loaded",
            Standing::LeftOut => "left_out",
        }
    }
}

fn not_loaded(tool: &Tool) -> Fault {
    let generic = if tool.reads { "pve_api_read" } else { "pve_api_write" };
    let reach = match tool.method() {
        Some(method) => format!("; {generic} reaches {} meanwhile", method.path),
        None => String::new(),
    };
    Fault::new(Code::UnknownTool, format!("{} exists, but its toolset '{}' is not loaded", tool.name, tool.domain()))
        .hint(format!("a person can add '{}' to PROXMOX_TOOLSETS{reach}", tool.domain()))
        .detail("toolset", tool.domain())
}

//! `pve_mcp_info`: what this server is, what it reaches, and why a tool is absent.

use std::borrow::Cow;
use std::collections::BTreeMap;

use pve_catalog::{Catalog, Gate, Verb};
use serde_json::{Map, Value, json};

use super::{DOMAINS, subject};
use crate::error::Fault;
use crate::server::Server;
use crate::tools::registry::{Standing, what_opens};
use crate::tools::unsupported::is_of;
use crate::tools::{Ctx, Given, Hand, Parameter, Reply, Run, Tool, result};

const PARAMETERS: &[Parameter] = &[Parameter::text("tool", "why this tool is or is not offered")];

/// The tool.
pub fn tool() -> Tool {
    Tool {
        name: "pve_mcp_info",
        title: None,
        summary: Cow::Borrowed(
            "This server: versions, whether the cluster answers, open gates, toolsets, why a tool is absent",
        ),
        gate: Gate::Read,
        domains: Cow::Borrowed(DOMAINS),
        reads: true,
        destructive: false,
        idempotent: true,
        run: Run::Hand(Hand { parameters: PARAMETERS, output, run: |ctx, given| Box::pin(run(ctx, given)) }),
    }
}

fn output() -> Value {
    let properties = json!({
        "server": {"type": "object"},
        "catalogue": {"type": "object"},
        "cluster": {"type": "object"},
        "gates": {"type": "object"},
        "toolsets": {"type": "array", "items": {"type": "string"}},
        "tools": {"type": "object"},
        "tool": {"type": "object"},
    });
    result::schema(properties).into()
}

async fn run(ctx: &Ctx, given: Given) -> Result<Reply, Fault> {
    let server = ctx.server();
    let mut info = Map::new();
    info.insert("server".into(), json!({"name": "pvemcp", "version": env!("CARGO_PKG_VERSION")}));
    info.insert("catalogue".into(), catalogue(server.catalog()));
    info.insert("cluster".into(), cluster(ctx).await);
    info.insert("gates".into(), gates(ctx));
    info.insert("toolsets".into(), server.settings().offer.toolsets.clone().into());
    info.insert("tools".into(), counts(server));
    if let Some(name) = given.text("tool") {
        info.insert("tool".into(), why(server, name).into());
    }
    Ok(Reply::new(info))
}

/// Which API the tools are made from.
fn catalogue(catalog: &Catalog) -> Value {
    let source = if catalog.is_embedded() { "embedded" } else { "PROXMOX_CATALOG" };
    let mut told = json!({"pve_version": catalog.version(), "methods": catalog.methods().len(), "source": source});
    let unknown = catalog.methods().iter().filter(|method| !Catalog::knows(method.verb, method.path)).count();
    if unknown > 0 {
        told["unknown_to_our_decisions"] = unknown.into();
    }
    told
}

/// Whether the cluster answers, and which version it is. That it does not is an answer, not an error.
async fn cluster(ctx: &Ctx) -> Value {
    let cluster = ctx.cluster();
    let mut told = json!({"name": cluster.name, "url": cluster.url});
    match ctx.get("/version", &[]).await {
        Ok(answer) => {
            told["reachable"] = true.into();
            told["version"] = answer.data.get("version").cloned().unwrap_or_default();
            let catalog = ctx.server().catalog();
            let ours = catalog.version();
            let same = ours.zip(told["version"].as_str()).is_some_and(|(ours, version)| is_of(version, ours));
            if !same {
                let words = catalog.version_words();
                told["note"] = format!("the catalogue describes {words}: some methods may differ").into();
            }
        }
        Err(fault) => {
            told["reachable"] = false.into();
            told["problem"] = Value::Object(fault.to_json());
        }
    }
    told
}

/// Each gate: open, or what would open it.
fn gates(ctx: &Ctx) -> Value {
    let policy = &ctx.cluster().policy;
    let gates = Gate::ALL.into_iter().filter(|gate| *gate != Gate::Blocked).map(|gate| {
        let told = match policy.opens(gate, Verb::Post) {
            true if policy.access().dry_run && gate != Gate::Read && gate != Gate::Sensitive => "dry run".to_string(),
            true => "open".to_string(),
            false => format!("closed; opens with {}", what_opens(&[policy], gate, Verb::Post).join(" and ")),
        };
        (gate.word().to_string(), Value::from(told))
    });
    gates.collect::<Map<String, Value>>().into()
}

fn counts(server: &Server) -> Value {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    server.registry().iter().for_each(|(_, standing)| *counts.entry(standing.word()).or_default() += 1);
    json!(counts)
}

fn why(server: &Server, name: &str) -> Map<String, Value> {
    let told = |value: Value| value.as_object().cloned().unwrap_or_default();
    match server.registry().find_renamed(name) {
        Some((tool, standing)) => {
            let mut why = subject::of_tool(server, tool, standing);
            why.insert("standing".into(), standing.word().into());
            let reason = match standing.fault(tool) {
                Some(fault) => fault.to_json().into(),
                None => Value::Null,
            };
            if *standing != Standing::Offered {
                why.insert("reason".into(), reason);
            }
            why
        }
        None => told(json!({"tool": name, "standing": "unknown", "nearest": server.registry().nearest(name)})),
    }
}

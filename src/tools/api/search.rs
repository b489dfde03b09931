//! `pve_api_search`: finds methods and tools by what they do.

use std::borrow::Cow;

use pve_catalog::Gate;
use serde_json::{Map, Value, json};

use super::index::Found;
use super::{DOMAINS, subject};
use crate::config::all_toolsets;
use crate::error::Fault;
use crate::tools::nearest::{nearest, question};
use crate::tools::{Ctx, Given, Hand, Parameter, Reply, Run, Tool, result};

const PARAMETERS: &[Parameter] = &[
    Parameter::text("query", "words, a tool name or a path").required(),
    Parameter::integer("limit", 1, 50, "default 10"),
    Parameter::text("domain", "only this toolset"),
];

/// The tool.
pub fn tool() -> Tool {
    Tool {
        name: "pve_api_search",
        title: None,
        summary: Cow::Borrowed(
            "Find API methods and tools by what they do, with their gate, whether it is open, and required arguments",
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
        "results": {"type": "array", "items": {"type": "object"}},
        "hint": {"type": "string"},
    });
    result::schema(properties).into()
}

async fn run(ctx: &Ctx, given: Given) -> Result<Reply, Fault> {
    let domain = given.text("domain").map(str::to_lowercase);
    if let Some(domain) = &domain {
        known_domain(domain)?;
    }
    let query = given.text("query").unwrap_or_default();
    let found = ctx.server().index().search(query, domain.as_deref(), given.count("limit").unwrap_or(10));
    let results: Vec<Value> = found.into_iter().filter_map(|(found, _)| told(ctx, found)).collect();
    let hint = match results.is_empty() {
        true => {
            "nothing like it: say what it does in the words of the API (vm, lxc, node, storage, snapshot, backup …)"
        }
        false => "pve_api_describe explains the parameters of one of them",
    };
    Ok(Reply::of(json!({"results": results, "hint": hint})))
}

fn told(ctx: &Ctx, found: Found) -> Option<Value> {
    let told: Map<String, Value> = match found {
        Found::Method(method) => {
            let mut told = subject::of_method(ctx.server(), method);
            told.insert("required".into(), subject::required(method).into());
            told
        }
        Found::Hand(name) => {
            let (tool, standing) = ctx.server().registry().find(name)?;
            subject::of_tool(ctx.server(), tool, standing)
        }
    };
    Some(told.into())
}

fn known_domain(domain: &str) -> Result<(), Fault> {
    let domains = all_toolsets();
    if domains.iter().any(|known| known == domain) {
        return Ok(());
    }
    let near = nearest(domain, domains.iter().map(String::as_str), 1);
    let advice = question(&near).unwrap_or_else(|| format!("there are {}", domains.join(", ")));
    Err(Fault::argument("domain", format!("there is no toolset '{domain}', {advice}")))
}

//! One trial per tool, by its name.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use conformance::effect::{self, Kind};
use conformance::report::effects;
use conformance::{Gates, Stage, Subject, expected, over_ssh, prerequisites, trial, workflow};
use libtest_mimic::{Arguments, Failed, Trial};
use pve_catalog::{Catalog, Method};

/// The generic tools: always offered with the toolset `api`, apart from the one that writes.
const ALWAYS: [&str; 4] = ["pve_api_describe", "pve_api_read", "pve_api_search", "pve_mcp_info"];

/// What showed that writes were done, of every trial that got so far.
static EFFECTS: Mutex<Vec<Kind>> = Mutex::new(Vec::new());

fn main() -> ExitCode {
    // The sandboxes of the nodes' shells run this same program.
    if let Some(status) = fake_ssh::inside::main() {
        return status;
    }
    let arguments = Arguments::from_args();
    let listed = expected::not_modelled().tools;
    let methods = Catalog::embedded().methods().iter().filter_map(|method| Some((method, method.tool?)));
    let stale: Vec<String> =
        listed.keys().filter(|tool| Catalog::embedded().by_tool(tool).is_none()).cloned().collect();
    let mut trials: Vec<Trial> = methods
        .map(|(method, tool)| {
            let reason = listed.get(tool).cloned();
            Trial::test(tool, move || blocking(one_tool(method, tool, reason)))
        })
        .collect();
    trials.extend(workflow::all().iter().map(|one| Trial::test(one.tool.as_str(), || blocking(one_workflow(one)))));
    trials.extend(over_ssh::all().iter().map(|one| Trial::test(one.tool.as_str(), || blocking(one_over_ssh(one)))));
    trials.push(Trial::test("the lists of tools follow the gates", || blocking(lists_follow_gates())));
    trials.push(Trial::test("the list not-modelled names tools that exist", move || match stale.is_empty() {
        true => Ok(()),
        false => Err(Failed::from(format!("there are no such tools: {stale:?}"))),
    }));
    let methods: Vec<String> = Catalog::embedded().methods().iter().map(Method::key).collect();
    let mut stale: Vec<&str> = prerequisites::stale();
    stale.extend(effect::in_table().filter(|key| !methods.iter().any(|method| method == key)));
    trials.push(Trial::test("the tables name methods that exist", move || match stale.is_empty() {
        true => Ok(()),
        false => Err(Failed::from(format!("there are no such methods: {stale:?}"))),
    }));
    let conclusion = libtest_mimic::run(&arguments, trials);
    let kinds = EFFECTS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let _ = std::io::stdout().lock().write_all(effects(kinds.into_iter()).as_bytes());
    conclusion.exit_code()
}

fn blocking(work: impl Future<Output = Result<(), String>>) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failed::from)?;
    runtime.block_on(work).map_err(Failed::from)
}

async fn one_tool(method: &'static Method, tool: &'static str, not_modelled: Option<String>) -> Result<(), String> {
    let outcome = trial::of_tool(&Subject::Here, method, tool).await?;
    EFFECTS.lock().unwrap_or_else(PoisonError::into_inner).extend(outcome.effect);
    let called = outcome.called;
    match (called.is_error, not_modelled) {
        (false, None) | (true, Some(_)) => Ok(()),
        (false, Some(reason)) => Err(format!("it works now: take it off not-modelled.toml ({reason})")),
        (true, None) => Err(format!("{} answered {}", method.key(), called.raw)),
    }
}

async fn one_workflow(workflow: &workflow::Workflow) -> Result<(), String> {
    let called = workflow::of_tool(&Subject::Here, workflow).await?;
    if called.is_error { Err(format!("{} answered {}", workflow.tool, called.raw)) } else { Ok(()) }
}

/// Where commands cannot be confined it is skipped, which fails where CI=true.
async fn one_over_ssh(tool: &over_ssh::OverSsh) -> Result<(), String> {
    if over_ssh::of_tool(&Subject::Here, tool).await?.is_some() {
        return Ok(());
    }
    let _ = writeln!(std::io::stdout(), "skipped: {} needs bubblewrap", tool.tool);
    #[expect(clippy::disallowed_methods, reason = "whether a skip is a failure stands in the environment")]
    let ci = std::env::var("CI");
    if ci.as_deref() == Ok("true") { Err("bubblewrap must be installed where CI=true".into()) } else { Ok(()) }
}

/// For every combination of gates: the list over MCP is exactly what the gates open.
async fn lists_follow_gates() -> Result<(), String> {
    let stage = Stage::set(&Subject::Here, Gates::default()).await.map_err(|error| error.to_string())?;
    for gates in Gates::every() {
        let mut session = stage.second(gates).await.map_err(|error| error.to_string())?;
        let tools = session.tools().await.map_err(|error| error.to_string())?;
        let listed: BTreeSet<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
        let mut wanted: BTreeSet<&str> = ALWAYS.into();
        if gates.writes || gates.dry_run {
            wanted.extend(["pve_api_write", "pve_upload_to_storage"]);
        }
        let methods = Catalog::embedded().methods().iter();
        wanted.extend(methods.filter(|m| trial::opens(gates, m.gate, m.verb)).filter_map(|method| method.tool));
        let open = |one: &&workflow::Workflow| !one.writes || gates.writes || gates.dry_run;
        wanted.extend(workflow::all().iter().filter(open).map(|one| one.tool.as_str()));
        let missing: Vec<_> = wanted.difference(&listed).collect();
        let extra: Vec<_> = listed.difference(&wanted).collect();
        if !missing.is_empty() || !extra.is_empty() {
            return Err(format!("{gates:?}: missing {missing:?}, too many {extra:?}"));
        }
        let again = session.tools().await.map_err(|error| error.to_string())?;
        if again != tools {
            return Err(format!("{gates:?}: the list changes from one call to the next"));
        }
    }
    Ok(())
}

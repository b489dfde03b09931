//! What must hold for every workflow: `workflows.toml` says how each is called.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::session::Called;
use crate::stage::{Gates, Stage, StageError, Subject};

/// What stands in every secret argument, and may stand in no answer.
const CANARY: &str = "canary-0123456789";

/// One workflow.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workflow {
    /// Its name.
    pub tool: String,
    /// Whether it changes something.
    #[serde(default)]
    pub writes: bool,
    /// Whether it takes the UPID of a task that was started before.
    #[serde(default)]
    task: bool,
    /// What it is called with.
    #[serde(default)]
    arguments: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    workflow: Vec<Workflow>,
}

static FILE: LazyLock<File> =
    LazyLock::new(|| toml::from_str(include_str!("../workflows.toml")).expect("workflows.toml has the form it says"));

/// All of them.
///
/// # Panics
/// When the file is malformed: it is part of the source.
pub fn all() -> &'static [Workflow] {
    &FILE.workflow
}

/// Everything that must hold for one workflow, and the answer of a call that should succeed.
///
/// # Errors
/// What does not hold.
pub async fn of_tool(subject: &Subject, workflow: &Workflow) -> Result<Called, String> {
    let told = |error: StageError| error.to_string();
    let mut stage = Stage::set(subject, Gates::ALL).await.map_err(told)?;
    let mut arguments = workflow.arguments.clone();
    if workflow.task {
        let begun = stage.session.call("pve_guest_power", &json!({"vmid": 101, "action": "start"})).await;
        let begun = begun.map_err(|error| error.to_string())?;
        let upid = begun.structured.get("upid").ok_or_else(|| format!("no task was started: {}", begun.raw))?;
        arguments.insert("upid".into(), upid.clone());
    }
    let arguments = Value::Object(arguments);
    refuses_unknown_arguments(&mut stage, workflow, &arguments).await?;
    if workflow.writes {
        dry_run_sends_nothing(&mut stage, workflow, &arguments).await?;
        refused_when_closed(&stage, workflow, &arguments).await?;
    }
    let called = stage.session.call(&workflow.tool, &arguments).await.map_err(|error| error.to_string())?;
    keeps_to_its_schema(&mut stage, workflow, &called).await?;
    shows_no_secret(&called)?;
    Ok(called)
}

async fn refuses_unknown_arguments(stage: &mut Stage, workflow: &Workflow, arguments: &Value) -> Result<(), String> {
    stage.take_requests();
    let mut wrong = arguments.clone();
    wrong["frobnicate"] = json!("x");
    let called = stage.session.call(&workflow.tool, &wrong).await.map_err(|error| error.to_string())?;
    match called.is_error && called.code() == "bad_argument" && stage.take_requests().is_empty() {
        true => Ok(()),
        false => Err(format!("an unknown argument was answered {}", called.raw)),
    }
}

/// It may read to make its plan.
async fn dry_run_sends_nothing(stage: &mut Stage, workflow: &Workflow, arguments: &Value) -> Result<(), String> {
    stage.take_requests();
    let mut dry = arguments.clone();
    dry["dry_run"] = json!(true);
    let called = stage.session.call(&workflow.tool, &dry).await.map_err(|error| error.to_string())?;
    if called.is_error || called.structured["dry_run"] != true {
        return Err(format!("a dry run was answered {}", called.raw));
    }
    shows_no_secret(&called)?;
    match stage.take_requests().into_iter().find(|request| !request.starts_with("GET ")) {
        Some(request) => Err(format!("a dry run, and yet the cluster saw {request}")),
        None => Ok(()),
    }
}

async fn refused_when_closed(stage: &Stage, workflow: &Workflow, arguments: &Value) -> Result<(), String> {
    let mut session = stage.second(Gates::default()).await.map_err(|error| error.to_string())?;
    stage.take_requests();
    let called = session.call(&workflow.tool, arguments).await.map_err(|error| error.to_string())?;
    match called.is_error && called.code() == "gate_closed" && stage.take_requests().is_empty() {
        true => Ok(()),
        false => Err(format!("with a closed gate it answered {}", called.raw)),
    }
}

/// Every member of the answer is one that the listed output schema names, and of its type.
async fn keeps_to_its_schema(stage: &mut Stage, workflow: &Workflow, called: &Called) -> Result<(), String> {
    if called.is_error {
        return Ok(());
    }
    let tools = stage.session.tools().await.map_err(|error| error.to_string())?;
    let listed = tools.iter().find(|tool| tool["name"] == workflow.tool.as_str());
    let schema = listed.map(|tool| &tool["outputSchema"]).ok_or("it is not listed")?;
    for (member, value) in called.structured.as_object().into_iter().flatten() {
        let stated = &schema["properties"][member];
        let is = |name: &str| match name {
            "string" => value.is_string(),
            "integer" => value.is_i64() || value.is_u64(),
            "boolean" => value.is_boolean(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            _ => true,
        };
        if !stated.is_object() || !stated["type"].as_str().is_none_or(is) {
            return Err(format!("{member} is {value}, and its output schema says {stated}"));
        }
    }
    Ok(())
}

fn shows_no_secret(called: &Called) -> Result<(), String> {
    if called.raw.contains(CANARY) { Err(format!("a secret is shown: {}", called.raw)) } else { Ok(()) }
}

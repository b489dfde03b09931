//! What must hold for every tool over SSH: `ssh.toml` says how each is called.

use std::collections::HashSet;
use std::sync::LazyLock;

use fake_ssh::FakeSsh;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::session::Called;
use crate::stage::{Gates, Stage, StageError, Subject};

/// What stands in every secret argument, and may stand in no answer and on no command line.
const CANARY: &str = "canary-0123456789";

/// One tool.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OverSsh {
    /// Its name.
    pub tool: String,
    #[serde(default)]
    writes: bool,
    #[serde(default)]
    dry: bool,
    #[serde(default)]
    session: bool,
    fails: Option<String>,
    first: Option<String>,
    #[serde(default)]
    arguments: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    tool: Vec<OverSsh>,
}

static FILE: LazyLock<File> =
    LazyLock::new(|| toml::from_str(include_str!("../ssh.toml")).expect("ssh.toml has the form it says"));

/// All of them.
///
/// # Panics
/// When the file is malformed: it is part of the source.
pub fn all() -> &'static [OverSsh] {
    &FILE.tool
}

/// Everything that must hold for one tool. `None` where the nodes' commands cannot be confined, with the reason.
///
/// # Errors
/// What does not hold.
pub async fn of_tool(subject: &Subject, tool: &OverSsh) -> Result<Option<Called>, String> {
    let told = |error: StageError| error.to_string();
    let mut stage = Stage::set(subject, Gates::default()).await.map_err(told)?;
    let ssh = match FakeSsh::builder().join(&stage.fake).start().await {
        Ok(ssh) => ssh,
        Err(fake_ssh::Error::Confinement(_)) => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let local = tempfile::tempdir().map_err(|error| error.to_string())?;
    std::fs::write(local.path().join("file"), "text\n").map_err(|error| error.to_string())?;
    let mut variables = variables(&ssh);
    variables.push(("PROXMOX_LOCAL_DIR".into(), local.path().display().to_string()));
    let reading = stage.session_with(&variables).await.map_err(told)?;
    variables.push(("PROXMOX_ALLOW_WRITES".into(), "true".into()));
    stage.session = stage.session_with(&variables).await.map_err(told)?;
    let mut arguments = tool.arguments.clone();
    if let Some(command) = &tool.first {
        call(&mut stage, "pve_ssh_exec", &json!({"node": "pve1", "command": command})).await?;
    }
    if tool.session {
        let opened = call(&mut stage, "pve_ssh_session_open", &json!({"node": "pve1"})).await?;
        let session = opened.structured.get("session").ok_or_else(|| format!("no terminal: {}", opened.raw))?;
        arguments.insert("session".into(), session.clone());
    }
    let arguments = Value::Object(arguments);
    let before = ssh.commands().len();
    let silent = |what: &str| match ssh.commands().len() == before {
        true => Ok(()),
        false => Err(format!("{what}, and yet a node saw {:?}", ssh.commands().split_off(before))),
    };
    let mut wrong = arguments.clone();
    wrong["frobnicate"] = json!("x");
    must_fail(&call(&mut stage, &tool.tool, &wrong).await?, "bad_argument", "an unknown argument")?;
    silent("an unknown argument")?;
    if tool.dry {
        let mut dry = arguments.clone();
        dry["dry_run"] = json!(true);
        let called = call(&mut stage, &tool.tool, &dry).await?;
        if called.is_error || called.structured["dry_run"] != true || called.raw.contains(CANARY) {
            return Err(format!("a dry run was answered {}", called.raw));
        }
        silent("a dry run")?;
    }
    let called = call(&mut stage, &tool.tool, &arguments).await?;
    match &tool.fails {
        Some(code) => must_fail(&called, code, "a call to where nothing listens")?,
        None if called.is_error => return Err(format!("it answered {}", called.raw)),
        None => {}
    }
    keeps_to_its_schema(&mut stage, tool, &called).await?;
    let seen = format!("{}{:?}{:?}", called.raw, ssh.commands(), ssh.calls());
    if seen.contains(CANARY) {
        return Err(format!("a secret is shown: {seen}"));
    }
    let after = ssh.commands().len();
    let mut closed = stage.second(Gates { writes: true, ..Gates::default() }).await.map_err(told)?;
    must_fail(
        &closed.call(&tool.tool, &arguments).await.map_err(|error| error.to_string())?,
        "gate_closed",
        "SSH off",
    )?;
    let mut reading = reading;
    let tools = reading.tools().await.map_err(|error| error.to_string())?;
    let listed: HashSet<&str> = tools.iter().filter_map(|listed| listed["name"].as_str()).collect();
    if listed.contains(tool.tool.as_str()) == tool.writes {
        return Err("without writes it is listed when it should not be, or the other way round".into());
    }
    if tool.writes {
        let called = reading.call(&tool.tool, &arguments).await.map_err(|error| error.to_string())?;
        must_fail(&called, "gate_closed", "writes off")?;
    }
    match ssh.commands().len() == after {
        true => Ok(Some(called)),
        false => Err("with a closed gate, a node saw a command".into()),
    }
}

async fn call(stage: &mut Stage, tool: &str, arguments: &Value) -> Result<Called, String> {
    stage.session.call(tool, arguments).await.map_err(|error| error.to_string())
}

fn must_fail(called: &Called, code: &str, what: &str) -> Result<(), String> {
    match called.is_error && called.code() == code {
        true => Ok(()),
        false => Err(format!("{what} was answered {}", called.raw)),
    }
}

/// Every member of the answer is one that the listed output schema names.
async fn keeps_to_its_schema(stage: &mut Stage, tool: &OverSsh, called: &Called) -> Result<(), String> {
    if called.is_error {
        return Ok(());
    }
    let tools = stage.session.tools().await.map_err(|error| error.to_string())?;
    let listed = tools.iter().find(|listed| listed["name"] == tool.tool.as_str()).ok_or("it is not listed")?;
    let schema = &listed["outputSchema"]["properties"];
    match called.structured.as_object().into_iter().flatten().find(|(member, _)| !schema[member].is_object()) {
        Some((member, value)) => Err(format!("{member} is {value}, and its output schema does not name it")),
        None => Ok(()),
    }
}

/// The settings for the nodes.
fn variables(ssh: &FakeSsh) -> Vec<(String, String)> {
    let nodes = ssh.nodes().iter();
    let listed = |of: fn(&fake_ssh::NodeAddress) -> String| {
        nodes.clone().map(|(name, node)| format!("{name}={}", of(node))).collect::<Vec<_>>().join(",")
    };
    vec![
        ("PROXMOX_ALLOW_SSH".into(), "true".into()),
        ("PROXMOX_SSH_PASSWORD".into(), ssh.password().into()),
        ("PROXMOX_GUEST_SSH_PASSWORD".into(), ssh.password().into()),
        ("PROXMOX_SSH_NODES".into(), listed(|node| node.address.to_string())),
        ("PROXMOX_SSH_FINGERPRINTS".into(), listed(|node| node.fingerprint.clone())),
    ]
}

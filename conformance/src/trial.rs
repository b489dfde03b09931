//! What must hold for every generated tool.

use fake_pve::{Entry, FakePve, World};
use pve_catalog::path::{placeholder, placeholders};
use pve_catalog::{Catalog, Gate, Method, Verb};
use serde_json::{Map, Value, json};

use crate::effect::{self, Kind, Watch};
use crate::session::Called;
use crate::stage::{Gates, Stage, StageError, Subject};
use crate::{cluster, prerequisites};

/// How a tool's smallest call went.
pub struct Outcome {
    /// What it answered.
    pub called: Called,
    /// What shows that a write which succeeded was done.
    pub effect: Option<Kind>,
}

/// Everything that must hold for one tool, apart from whether its smallest call succeeds: that is the answer. When it
/// does, what it did to the world must hold too.
///
/// # Errors
/// What does not hold.
pub async fn of_tool(subject: &Subject, method: &Method, tool: &str) -> Result<Outcome, String> {
    let mut stage = Stage::for_method(subject, method).await.map_err(|error| error.to_string())?;
    refuses_unknown_arguments(&mut stage, method, tool).await?;
    dry_run_sends_nothing(&mut stage, method, tool).await?;
    refused_when_closed(&stage, method, tool).await?;
    smallest_call(&mut stage, method, tool).await
}

/// An argument that no method takes.
const UNHEARD_OF: &str = "frobnicate";

/// Whether settings open a gate, said once more and apart from the server, so that the two can disagree.
pub fn opens(gates: Gates, gate: Gate, verb: Verb) -> bool {
    let changes = gates.writes || gates.dry_run;
    match gate {
        Gate::Read => true,
        Gate::Sensitive => gates.sensitive,
        Gate::Write => changes,
        Gate::Elevated => changes && gates.elevated,
        Gate::GuestExec if verb == Verb::Get => gates.guest_exec,
        Gate::GuestExec => gates.guest_exec && changes,
        Gate::Console => gates.writes && gates.elevated && gates.sensitive && !gates.dry_run,
        Gate::SshRead | Gate::SshWrite | Gate::Blocked => false,
    }
}

/// Calls the tool with its smallest arguments on a cluster where what it needs exists.
///
/// # Errors
/// When what it needs cannot be made, or the stage breaks; the tool's own error is a result.
pub async fn smallest_call(stage: &mut Stage, method: &Method, tool: &str) -> Result<Outcome, String> {
    let made = prerequisites::make(&stage.fake, method)?;
    let arguments = made.arguments(method);
    prepare(&stage.fake, method, &arguments);
    let before = effect::before(&stage.fake, method, &arguments);
    stage.fake.forget_requests();
    let called = stage.session.call(tool, &Value::Object(arguments.clone())).await;
    let called = called.map_err(|error| error.to_string())?;
    if called.is_error {
        return Ok(Outcome { called, effect: None });
    }
    one_request(&stage.fake, method, &arguments)?;
    if method.verb == Verb::Get {
        return Ok(Outcome { called, effect: None });
    }
    if let Some(upid) = called.structured["upid"].as_str() {
        cluster::ended(&stage.fake, upid)?;
    }
    let effect = effect::judge(&stage.fake, method, &arguments, &called.structured["data"], &before)?;
    Ok(Outcome { called, effect: Some(effect) })
}

/// The cluster saw the one request of a write, as the arguments say it, and nothing else that changes something; of a read,
/// nothing that changes something.
fn one_request(fake: &FakePve, method: &Method, arguments: &Map<String, Value>) -> Result<(), String> {
    let requests = fake.requests();
    let login = |entry: &&Entry| entry.path != "/access/ticket" || method.path == "/access/ticket";
    let writes: Vec<&Entry> = requests.iter().filter(login).filter(|entry| entry.verb != "GET").collect();
    let (path, _) = cluster::split(method.path, arguments.clone());
    match (method.verb, writes.as_slice()) {
        (Verb::Get, []) => Ok(()),
        (verb, [only]) if verb != Verb::Get && only.verb == verb.word() && only.path == path => {
            effect::sent(arguments, &only.params)
        }
        (_, writes) => {
            let lines: Vec<String> = writes.iter().map(|entry| format!("{} {}", entry.verb, entry.path)).collect();
            Err(format!("{} {path} was called, and the cluster saw {lines:?}", method.verb))
        }
    }
}

/// Makes the objects on which a method acts, with the smallest calls that create them. What exists already stays; what
/// cannot be made shows in the call itself.
fn prepare(fake: &FakePve, method: &Method, values: &Map<String, Value>) {
    let catalog = Catalog::embedded();
    for template in items_on_the_way(method.path) {
        let parent = template.rsplit_once('/').map_or("", |(parent, _)| parent);
        let in_parent = catalog.get(Verb::Post, parent);
        // The method itself may be what creates it.
        let creates = template == method.path && method.verb == Verb::Post && in_parent.is_none();
        if creates || exists(fake, &template, values) {
            continue;
        }
        let maker = in_parent.or_else(|| catalog.get(Verb::Post, &template));
        if let Some(maker) = maker.filter(|maker| maker.key() != method.key()) {
            let mut params = prerequisites::arguments(maker);
            // The object must get the very name by which the method calls it.
            for name in placeholders(&template) {
                if let (Some(value), true) = (values.get(name), params.contains_key(name)) {
                    params.insert(name.into(), value.clone());
                }
            }
            let _ = cluster::call(fake, maker, params);
        }
    }
}

/// `/pools/{poolid}` of `/pools/{poolid}/x`, and so on, without nodes: they are there.
fn items_on_the_way(path: &str) -> Vec<String> {
    let segments: Vec<&str> = path.split('/').collect();
    let ends = (1..segments.len()).filter(|at| placeholder(segments[*at]).is_some_and(|name| name != "node"));
    ends.map(|at| segments[..=at].join("/")).collect()
}

fn exists(fake: &FakePve, template: &str, values: &Map<String, Value>) -> bool {
    let Some(read) = Catalog::embedded().get(Verb::Get, template) else { return false };
    let mut params = prerequisites::arguments(read);
    for name in placeholders(template) {
        if let Some(value) = values.get(name) {
            params.insert(name.into(), value.clone());
        }
    }
    cluster::call(fake, read, params).is_ok_and(|data| !data.as_array().is_some_and(Vec::is_empty))
}

/// The smallest valid arguments of a method, before anything was made for it.
fn arguments(method: &Method) -> Value {
    Value::Object(prerequisites::arguments(method))
}

/// With the gate closed, neither the tool nor the generic ones may reach the cluster.
///
/// # Errors
/// What got through.
pub async fn refused_when_closed(stage: &Stage, method: &Method, tool: &str) -> Result<(), String> {
    let closed = Gates::default();
    if opens(closed, method.gate, method.verb) {
        return Ok(());
    }
    stage.take_requests();
    let world = stage.fake.world(|world| world.clone());
    let told = |error: StageError| error.to_string();
    let mut session = stage.second(closed).await.map_err(told)?;
    let called = session.call(tool, &arguments(method)).await.map_err(|error| error.to_string())?;
    must_be_closed(tool, &called)?;
    let (path, params) = cluster::split(method.path, prerequisites::arguments(method));
    let (generic, arguments) = match method.verb {
        Verb::Get => ("pve_api_read", json!({"path": path, "params": params})),
        verb => ("pve_api_write", json!({"method": verb.word(), "path": path, "params": params})),
    };
    let called = session.call(generic, &arguments).await.map_err(|error| error.to_string())?;
    must_be_closed(generic, &called)?;
    match stage.take_requests() {
        requests if requests.is_empty() => unchanged(stage, &world),
        requests => Err(format!("closed, and yet the cluster saw {requests:?}")),
    }
}

fn must_be_closed(tool: &str, called: &Called) -> Result<(), String> {
    let names_variable = called.structured["hint"].as_str().is_some_and(|hint| hint.contains("PROXMOX_ALLOW_"));
    match called.is_error && called.code() == "gate_closed" && names_variable {
        true => Ok(()),
        false => Err(format!("{tool} with a closed gate answered {}", called.raw)),
    }
}

/// An argument that does not exist is refused, and nothing leaves.
///
/// # Errors
/// What was answered instead, or what left.
pub async fn refuses_unknown_arguments(stage: &mut Stage, method: &Method, tool: &str) -> Result<(), String> {
    if method.parameters().additional == Some(true) {
        return Ok(());
    }
    stage.take_requests();
    let mut arguments = arguments(method);
    arguments[UNHEARD_OF] = json!("x");
    let called = stage.session.call(tool, &arguments).await.map_err(|error| error.to_string())?;
    if !(called.is_error && called.code() == "bad_argument" && called.raw.contains(UNHEARD_OF)) {
        return Err(format!("an unknown argument was answered {}", called.raw));
    }
    match stage.take_requests() {
        requests if requests.is_empty() => Ok(()),
        requests => Err(format!("an unknown argument, and yet the cluster saw {requests:?}")),
    }
}

/// A dry run shows the request and sends none.
///
/// # Errors
/// What was answered instead, or what left.
pub async fn dry_run_sends_nothing(stage: &mut Stage, method: &Method, tool: &str) -> Result<(), String> {
    if method.verb == Verb::Get {
        return Ok(());
    }
    stage.take_requests();
    let world = stage.fake.world(|world| world.clone());
    let mut arguments = arguments(method);
    arguments["dry_run"] = json!(true);
    let called = stage.session.call(tool, &arguments).await.map_err(|error| error.to_string())?;
    let request = &called.structured["request"];
    if called.is_error || called.structured["dry_run"] != true || request["method"] != method.verb.word() {
        return Err(format!("a dry run was answered {}", called.raw));
    }
    // A login is the client's own doing, needed before it can look for a guest's node.
    let own = |line: &String| line.starts_with("GET ") || line == "POST /access/ticket";
    let writes: Vec<String> = stage.take_requests().into_iter().filter(|line| !own(line)).collect();
    match writes.is_empty() {
        true => unchanged(stage, &world),
        false => Err(format!("a dry run, and yet the cluster saw {writes:?}")),
    }
}

/// The world is what it was.
fn unchanged(stage: &Stage, before: &World) -> Result<(), String> {
    match effect::changes(before, &stage.fake.world(|world| world.clone()), Watch::All) {
        changed if changed.is_empty() => Ok(()),
        changed => Err(format!("nothing was to be done, and yet {changed:?} of the world changed")),
    }
}

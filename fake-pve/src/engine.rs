//! The pipeline: one request in, one reply out, in Proxmox's own order of checks. Nothing else may answer.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pve_catalog::permission::Denied;
use pve_catalog::verify::verify;
use pve_catalog::{Catalog, Method, Verb};
use serde_json::{Map, Value};

use crate::access;
use crate::auth::{self, Identity, Keys};
use crate::behaviour::{Answer, Call, Failure, Params, table};
use crate::clock::{self, Clock};
use crate::control;
use crate::envelope::{self, Format};
use crate::fault::{At, Faults, Point};
use crate::generic;
use crate::http::body::BodyError;
use crate::http::multipart::{self, Upload};
use crate::http::params::{self, BodyType};
use crate::http::{Reply, Request};
use crate::journal::{Entry, Journal, Level};
use crate::work::Workers;
use crate::world::World;

/// Longest body of a call.
const BODY_LIMIT: usize = 512 << 10;

/// What a refused login costs, in virtual time.
const LOGIN_DELAY: Duration = Duration::from_secs(3);

/// Calls that nobody needs to be authenticated for.
const OPEN: [(Verb, &str); 6] = [
    (Verb::Get, "/access/domains"),
    (Verb::Get, "/access/ticket"),
    (Verb::Post, "/access/ticket"),
    (Verb::Post, "/access/vncticket"),
    (Verb::Post, "/access/openid/login"),
    (Verb::Post, "/access/openid/auth-url"),
];

/// Everything that one lock guards.
pub(crate) struct State {
    pub world: World,
    pub clock: Clock,
    pub workers: Workers,
    pub journal: Journal,
    pub faults: Faults,
}

/// A cluster, as connections share it.
pub(crate) struct Shared {
    state: Mutex<State>,
    pub keys: Keys,
    pub control_token: String,
}

impl Shared {
    pub fn new(state: State, control_token: String, ca: &str) -> Arc<Shared> {
        let mut keys = Keys::random();
        keys.ca = ca.into();
        Arc::new(Shared { state: Mutex::new(state), keys, control_token })
    }

    /// Takes the lock. Every task that is due is finished first.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now_ms = state.clock.now_ms();
        let State { world, workers, .. } = &mut *state;
        workers.settle(world, now_ms);
        state
    }
}

/// What became of a request, for the journal.
#[derive(Default)]
struct Trace {
    verb: String,
    path: String,
    format: String,
    template: Option<&'static str>,
    params: Map<String, Value>,
    authid: Option<String>,
}

/// Answers one request, dated by the virtual clock.
pub(crate) async fn answer(shared: Arc<Shared>, request: Request) -> Reply {
    let mut reply = pipeline(&shared, request).await;
    reply.date = Some(shared.lock().clock.now());
    reply
}

/// The whole way of a request, in order.
async fn pipeline(shared: &Shared, mut request: Request) -> Reply {
    let Ok(verb) = request.verb.parse::<Verb>() else {
        return Reply::bare(501, &format!("method '{}' not available", request.verb));
    };
    if let Some(reply) = unknown_transfer(&request) {
        return reply;
    }
    if control::is_mine(&request.path) {
        return control::answer(shared, &mut request).await;
    }
    let Some((format, path)) = api_path(&request.path) else { return control::page(verb, &request.path) };
    let mut trace =
        Trace { verb: request.verb.clone(), path: path.clone(), format: format.clone(), ..Trace::default() };

    if let Some((status, message)) = strike(shared, &trace, Point::Connection, None) {
        return finish(shared, trace, None, Level::Pipeline, Err(Failure::transport(status, message)));
    }
    let identity = match identify(shared, verb, &path, &request) {
        Ok(identity) => identity,
        Err(reason) => {
            let delay = shared.lock().clock.real(LOGIN_DELAY);
            clock::wait(delay).await;
            return finish(shared, trace, None, Level::Pipeline, Err(Failure::transport(401, reason)));
        }
    };
    trace.authid = identity.as_ref().map(|identity| identity.authid.clone());
    if let Some(failure) = refuse_upload(shared, verb, &path, identity.as_ref()) {
        request.body.skip(BODY_LIMIT).await;
        let delay = shared.lock().clock.real(LOGIN_DELAY);
        clock::wait(delay).await;
        return finish(shared, trace, None, Level::Pipeline, Err(failure));
    }

    let (given, upload) = match read_params(&mut request, verb, &path).await {
        Ok(read) => read,
        Err(reply) => return refuse(shared, trace, reply),
    };
    trace.params.clone_from(&given);
    let Some(formatter) = Format::named(&format) else {
        return refuse(shared, trace, Reply::text(501, &format!("no formatter for uri {path}, {format}")));
    };

    let (level, answer) = dispatch(shared, verb, &path, given, upload, identity.as_ref(), &mut trace);
    if answer.as_ref().is_err_and(|failure| failure.status == 401) {
        let delay = shared.lock().clock.real(LOGIN_DELAY);
        clock::wait(delay).await;
    }
    finish(shared, trace, Some(formatter), level, answer)
}

/// One call by somebody who is known, without envelope and journal.
pub(crate) fn call(
    shared: &Shared,
    verb: Verb,
    path: &str,
    given: Map<String, Value>,
    authid: Option<&str>,
) -> (Level, Answer) {
    let identity = authid.map(|authid| Identity { authid: authid.into(), token: authid.contains('!') });
    dispatch(shared, verb, path, given, None, identity.as_ref(), &mut Trace::default())
}

/// From an authenticated call to its answer: find, permit, route, verify, act.
fn dispatch(
    shared: &Shared,
    verb: Verb,
    path: &str,
    given: Map<String, Value>,
    upload: Option<Upload>,
    identity: Option<&Identity>,
    trace: &mut Trace,
) -> (Level, Answer) {
    let refused = |failure: Failure| (Level::Pipeline, Err(failure));
    let Some(found) = Catalog::embedded().find(verb, path) else {
        return refused(Failure::new(501, format!("Method '{verb} {path}' not implemented")).bare());
    };
    let method = found.method;
    trace.template = Some(method.path);
    let params = match with_path_values(given, &found.values) {
        Ok(params) => params,
        Err(failure) => return refused(failure),
    };
    trace.params.clone_from(&params);
    if identity.is_some_and(|identity| identity.token) && !method.allow_token {
        return refused(Failure::new(403, Denied::token_not_accepted(path).message));
    }

    let mut guard = shared.lock();
    let state = &mut *guard;
    let authid = identity.map(|identity| identity.authid.clone()).unwrap_or_default();
    if let Err(failure) = access::check(&state.world.access.config, method, &authid, &params) {
        return refused(failure);
    }
    let node = target_node(method, &params);
    let at = |point| At { point, verb: verb.word(), path, node: node.as_deref(), authid: Some(&authid) };
    if let Some((status, message)) = state.faults.strike(at(Point::Node)) {
        return refused(Failure::transport(status, message));
    }
    if let Err(failure) = reach(&state.world, node.as_deref()) {
        return refused(failure);
    }
    let params = match verify(method.parameters(), &params) {
        Ok(params) => Params(params),
        Err(errors) => return refused(Failure::params(errors.0)),
    };
    if let Some((status, message)) = state.faults.strike(at(Point::Call)) {
        return refused(Failure::new(status, message));
    }
    let mut call = Call {
        world: &mut state.world,
        method,
        params,
        upload,
        authid,
        path: path.to_string(),
        clock: &mut state.clock,
        workers: &mut state.workers,
        keys: &shared.keys,
    };
    let level = generic::level(method);
    match table::find(&method.key()) {
        Some(behaviour) => (level, behaviour(&mut call)),
        None => (level, generic::answer(&mut call, level)),
    }
}

/// Answer faults, envelope, journal.
fn finish(shared: &Shared, trace: Trace, format: Option<Format>, level: Level, answer: Answer) -> Reply {
    let failure = answer.as_ref().err();
    let (status, message) = (failure.map_or(200, |failure| failure.status), failure.map(|f| f.message.clone()));
    let answer = match strike(shared, &trace, Point::Answer, trace.authid.as_deref()) {
        Some((status, message)) => Err(Failure::new(status, message)),
        None => answer,
    };
    record(shared, trace, status, message, level);
    match (format, answer) {
        (_, Err(failure)) if failure.transport => Reply::bare(failure.status, &failure.message),
        (Some(format), answer) => envelope::reply(format, answer),
        (None, Err(failure)) => Reply::bare(failure.status, &failure.message),
        (None, Ok(_)) => Reply::bare(200, "OK"),
    }
}

/// A refusal of the server itself, outside the formatters.
fn refuse(shared: &Shared, trace: Trace, reply: Reply) -> Reply {
    record(shared, trace, reply.status, Some(reply.reason.clone()), Level::Pipeline);
    reply
}

fn record(shared: &Shared, trace: Trace, status: u16, message: Option<String>, level: Level) {
    let Trace { verb, path, format, template, params, authid } = trace;
    let mut state = shared.lock();
    let at_ms = state.clock.now_ms();
    state.journal.push(Entry { at_ms, verb, path, format, template, params, authid, status, message, level });
}

fn strike(shared: &Shared, trace: &Trace, point: Point, authid: Option<&str>) -> Option<(u16, String)> {
    shared.lock().faults.strike(At { point, verb: &trace.verb, path: &trace.path, node: None, authid })
}

/// Only bodies of an announced length are read.
fn unknown_transfer(request: &Request) -> Option<Reply> {
    match request.header("transfer-encoding") {
        "" => None,
        "chunked" => Some(Reply::text(501, "chunked transfer encoding not supported")),
        other => Some(Reply::text(501, &format!("Unknown transfer encoding '{other}'"))),
    }
}

/// `/api2/json/version` -> `json`, `/version`. An empty format is an unknown one.
fn api_path(path: &str) -> Option<(String, String)> {
    let rest = path.strip_prefix("/api2/")?.trim_start_matches('/');
    let (format, rest) = rest.split_once('/').unwrap_or((rest, ""));
    let word = format.starts_with(|c: char| c.is_ascii_lowercase()) && format.len() > 1;
    let plain = format.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    (word && plain).then(|| (format.to_string(), format!("/{rest}")))
}

/// `None` is nobody, on the few calls that are open to all.
fn identify(shared: &Shared, verb: Verb, path: &str, request: &Request) -> Result<Option<Identity>, &'static str> {
    if OPEN.contains(&(verb, path)) {
        return Ok(None);
    }
    let needs_csrf = verb != Verb::Get && upload_storage(verb, path).is_none();
    let state = shared.lock();
    let (access, now) = (&state.world.access, state.clock.now());
    auth::authenticate(&shared.keys, access, &request.headers, needs_csrf, now).map(Some)
}

/// The storage that a call uploads to: such calls need no CSRF token, and their body may be a file.
fn upload_storage(verb: Verb, path: &str) -> Option<&str> {
    match path.strip_prefix("/nodes/")?.split('/').collect::<Vec<_>>()[..] {
        [_, "storage", storage, "upload"] if verb == Verb::Post => Some(storage),
        _ => None,
    }
}

/// Who may not upload is told before the file is read.
fn refuse_upload(shared: &Shared, verb: Verb, path: &str, identity: Option<&Identity>) -> Option<Failure> {
    let (storage, authid) = (upload_storage(verb, path)?, &identity?.authid);
    let state = shared.lock();
    let on = format!("/storage/{storage}");
    let lacks = access::lacks(&state.world.access.config, authid, &on, &["Datastore.AllocateTemplate"])?;
    Some(Failure::transport(403, format!("Permission check failed ({on}, {lacks})")))
}

/// Body, then query on top of it; the file of an upload.
async fn read_params(
    request: &mut Request,
    verb: Verb,
    path: &str,
) -> Result<(Map<String, Value>, Option<Upload>), Reply> {
    let (mut given, mut upload) = (Map::new(), None);
    let query = params::form(request.query.as_bytes());
    let boundary = upload_storage(verb, path).and_then(|_| multipart::boundary(request.header("content-type")));
    if let Some(boundary) = boundary {
        let algorithm = query.get("checksum-algorithm").and_then(Value::as_str).map(str::to_string);
        let read = multipart::read(&mut request.body, &boundary, algorithm).await;
        (given, upload) = read.map_err(|text| Reply::text(500, &text))?;
        if upload.is_some() && !query.contains_key("tmpfilename") {
            let name = format!("/var/tmp/pveupload-{:032x}", rand::random::<u128>());
            given.insert("tmpfilename".into(), name.into());
        }
    } else if verb.has_body() {
        let kind = BodyType::of(request.header("content-type"))
            .map_err(|kind| Reply::text(506, &format!("upload 'Content-Type '{kind}' not implemented")))?;
        let body = request.body.read(BODY_LIMIT).await.map_err(|error| match error {
            BodyError::TooLarge => Reply::text(501, "for data too large"),
            BodyError::Cut => Reply::bare(400, "bad request"),
        })?;
        given = match kind {
            BodyType::Form => params::form(&body),
            BodyType::Json => params::json(&body).map_err(|text| Reply::text(500, &text))?,
        };
    } else if request.body.announced() > 0 {
        return Err(Reply::text(501, &format!("Unexpected content for method '{verb}'")));
    }
    given.extend(query);
    Ok((given, upload))
}

/// A parameter of the path may be given again, but not with another value.
fn with_path_values(mut given: Map<String, Value>, values: &[(&str, &str)]) -> Result<Map<String, Value>, Failure> {
    let mut conflicts = std::collections::BTreeMap::new();
    for (name, value) in values {
        let before = given.insert((*name).to_string(), Value::from(*value));
        let before = before.as_ref().and_then(crate::behaviour::params::scalar);
        if before.is_some_and(|before| before != *value) {
            let text = "duplicate parameter (already defined in URI) with conflicting values!";
            conflicts.insert((*name).to_string(), text.to_string());
        }
    }
    if conflicts.is_empty() { Ok(given) } else { Err(Failure::params(conflicts)) }
}

/// The node that a method is handed to, when the catalogue says so.
fn target_node(method: &Method, params: &Map<String, Value>) -> Option<String> {
    params.get(method.proxyto?).and_then(crate::behaviour::params::scalar)
}

/// Whether the node is known and answers.
fn reach(world: &World, node: Option<&str>) -> Result<(), Failure> {
    let Some(node) = node.filter(|node| *node != "localhost" && *node != world.entry) else { return Ok(()) };
    match world.nodes.get(node) {
        Some(found) if found.online => Ok(()),
        Some(_) => Err(Failure::transport(595, "No route to host")),
        None => Err(Failure::die(format!(
            "hostname lookup '{node}' failed - failed to get address info for: {node}: Name or service not known"
        ))),
    }
}

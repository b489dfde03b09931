//! The pipeline: one request in, one reply out, in Proxmox's own order of checks. Nothing else may answer.

pub(crate) mod kept;
mod reading;
mod state;
mod upgrade;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pve_catalog::permission::Denied;
use pve_catalog::verify::verify;
use pve_catalog::{Catalog, Method, Verb};
use serde_json::{Map, Value, json};

use crate::access;
use crate::auth::{self, Identity, Keys};
use crate::behaviour::{Answer, Call, Data, Failure, Params, table};
use crate::clock;
use crate::control;
use crate::envelope::{self, Format};
use crate::fault::{At, Blow, Point, refused_write};
use crate::generic;
use crate::http::{Cut, Reply, Request};
use crate::journal::{Entry, Level};
use crate::world::World;
use kept::{Moment, READ_ONLY, Template};
use reading::{Given, api_path, unknown_transfer, with_path_values};
pub(crate) use state::State;

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
        state.catch_up();
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
    /// Whether another process answers: pvedaemon, or another node.
    passed_on: bool,
    /// The state and second that an answer is of which was only read.
    read: Option<Moment>,
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

    if connection_faults(shared, &trace).await {
        return refuse(shared, trace, Reply { cut: Some(Cut::Unanswered), ..Reply::bare(0, "connection reset") });
    }
    let identity = match identify(shared, verb, &path, &request) {
        Ok(identity) => identity,
        Err(failure) => {
            let delay = shared.lock().clock.real(LOGIN_DELAY);
            clock::wait(delay).await;
            if format == "html" && failure.status == 401 {
                return refuse(shared, trace, envelope::moved("/api2/html/access/ticket"));
            }
            return finish(shared, trace, None, Level::Pipeline, Err(failure));
        }
    };
    trace.authid = identity.as_ref().map(|identity| identity.authid.clone());

    let given = match reading::given(shared, &mut request, verb, &path).await {
        Ok(given) => given,
        Err(reply) => return refuse(shared, trace, reply),
    };
    trace.params.clone_from(&given.params);
    let Some(formatter) = Format::named(&format) else {
        return refuse(shared, trace, Reply::text(501, &format!("no formatter for uri {path}, {format}")));
    };

    if let Some(reply) = answered_before(shared, &mut trace, formatter) {
        return reply;
    }
    let uploads = given.upload.is_some();
    let (level, answer) = dispatch(shared, verb, &path, given, identity.as_ref(), &mut trace);
    if answer.as_ref().is_err_and(|failure| failure.status == 401) {
        let delay = shared.lock().clock.real(LOGIN_DELAY);
        clock::wait(delay).await;
    }
    let socket = verb == Verb::Get && answer.is_ok() && upgrade::wanted(&path, &request.headers);
    let ticket = socket.then(|| ticket_of(&trace.params));
    let long = trace.read.and_then(|read| Some((read, kept::key(&trace, formatter)?)));
    let template = Template { template: trace.template, level };
    let mut reply = finish(shared, trace, Some(formatter), level, answer);
    if let Some((read, asked)) = long {
        shared.lock().kept.keep(asked, read, &template, &mut reply);
    }
    reply.closes |= uploads;
    match ticket {
        Some(ticket) if reply.status == 200 && reply.cut.is_none() => upgrade::switch(&request.headers, ticket),
        _ => reply,
    }
}

/// What opens a console's socket.
fn ticket_of(params: &Map<String, Value>) -> String {
    let ticket = params.get("vncticket").or_else(|| params.get("ticket"));
    ticket.and_then(Value::as_str).unwrap_or_default().to_string()
}

/// The body that is kept of the same request, when nothing has changed since. Faults want to be asked each time.
fn answered_before(shared: &Shared, trace: &mut Trace, format: Format) -> Option<Reply> {
    let state = shared.lock();
    if !state.faults.is_empty() {
        return None;
    }
    let moment = Moment { revision: state.world.revision(), now: state.clock.now() };
    let (reply, level) = state.kept.find(trace, format, moment)?;
    drop(state);
    record(shared, std::mem::take(trace), 200, None, level);
    Some(reply)
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
    let given = Given { params: given, upload: None };
    dispatch(shared, verb, path, given, identity.as_ref(), &mut Trace::default())
}

/// From an authenticated call to its answer: find, permit, route, verify, act.
fn dispatch(
    shared: &Shared,
    verb: Verb,
    path: &str,
    given: Given,
    identity: Option<&Identity>,
    trace: &mut Trace,
) -> (Level, Answer) {
    let refused = |failure: Failure| (Level::Pipeline, Err(failure));
    if verb == Verb::Get && path.trim_matches('/').is_empty() {
        return (Level::Index, Ok(root_index()));
    }
    let Some(found) = Catalog::embedded().find(verb, path) else {
        return refused(Failure::new(501, format!("Method '{verb} {path}' not implemented")).bare());
    };
    let method = found.method;
    trace.template = Some(method.path);
    let params = match with_path_values(given.params, &found.values) {
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
    let at = |point| At { point, verb: verb.word(), path, node: node.as_deref() };
    if let Some(failure) = struck(state.strike(at(Point::Node))) {
        return refused(failure);
    }
    if let Err(failure) = reach(&state.world, node.as_deref()) {
        return refused(failure);
    }
    let local = node.as_deref().is_none_or(|node| node == "localhost" || node == state.world.entry);
    trace.passed_on = method.protected || !local;
    let params = match verified(method, params) {
        Ok(params) => Params(params),
        Err(failure) => return refused(failure),
    };
    if let Some(failure) = struck(state.strike(at(Point::Call))) {
        return refused(failure);
    }
    let fate = state.faults.fate(at(Point::Call));
    let before = (state.world.no_quorum && verb != Verb::Get).then(|| World::clone(&state.world));
    // HA that has something to do moves the clock when somebody looks.
    let reads = verb == Verb::Get && READ_ONLY.contains(&method.path) && state.world.ha.next_round_ms.is_none();
    trace.read = reads.then(|| Moment { revision: state.world.revision(), now: state.clock.now() });
    state.workers.fate = fate.as_ref().map(|(_, fate)| fate.clone());
    let mut call = Call {
        world: if reads { state.world.unchanged() } else { &mut state.world },
        method,
        params,
        authid,
        path: path.to_string(),
        upload: given.upload,
        clock: &mut state.clock,
        workers: &mut state.workers,
        keys: &shared.keys,
    };
    let level = generic::level(method);
    let mut answer = match table::find(&method.key()) {
        Some(behaviour) => behaviour(&mut call),
        None => generic::answer(&mut call, level),
    };
    if let Some(before) = before
        && answer.is_ok()
        && let Some(refused) = refused_write(&before, &state.world)
    {
        *state.world = before;
        answer = Err(Failure::die(refused));
    }
    if let Some((id, _)) = fate.filter(|_| state.workers.fate.take().is_none()) {
        state.faults.spend(&mut state.world, id);
    }
    if !state.faults.is_empty() {
        state.faults.review(&mut state.world, verb, path, &answer);
    }
    (level, answer)
}

/// The refusal among some blows.
fn struck(blows: Vec<Blow>) -> Option<Failure> {
    blows.into_iter().find_map(|blow| if let Blow::Fail(failure) = blow { Some(failure) } else { None })
}

/// Waits as faults want it; whether one resets the connection.
async fn connection_faults(shared: &Shared, trace: &Trace) -> bool {
    let blows = strike(shared, trace, Point::Connection);
    for blow in &blows {
        let real = match blow {
            Blow::Delay(by) => {
                let mut state = shared.lock();
                let real = state.clock.real(*by);
                if real.is_none() {
                    state.clock.advance(*by);
                }
                real
            }
            Blow::Stall(by) => Some(*by),
            _ => None,
        };
        clock::wait(real).await;
    }
    blows.contains(&Blow::Reset)
}

/// Parameters that fit the method. One that declares none looks at none: Proxmox lets any pass there.
///
/// # Errors
/// 400 with what is wrong.
pub(crate) fn verified(method: &Method, params: Map<String, Value>) -> Result<Map<String, Value>, Failure> {
    let schema = method.parameters();
    if schema.properties.is_empty() && schema.all_of.is_empty() {
        return Ok(params);
    }
    verify(schema, &params).map_err(|errors| Failure::params(errors.0))
}

/// `GET /`, for everybody who is known; the catalogue begins one level below.
fn root_index() -> Data {
    let names = ["version", "cluster", "nodes", "storage", "access", "pools"];
    names.map(|name| json!({ "subdir": name })).to_vec().into()
}

/// Answer faults, envelope, journal.
fn finish(shared: &Shared, trace: Trace, format: Option<Format>, level: Level, answer: Answer) -> Reply {
    let failure = answer.as_ref().err();
    let (status, message) = (failure.map_or(200, |failure| failure.status), failure.map(|f| f.message.clone()));
    let blows = strike(shared, &trace, Point::Answer);
    let passed_on = trace.passed_on;
    let login = trace.verb == "POST" && trace.path == "/access/ticket";
    record(shared, trace, status, message, level);
    let mut reply = match (format, answer) {
        (_, Err(failure)) if failure.transport => Reply::bare(failure.status, &failure.message),
        (Some(Format::Html), Ok(data)) if login => envelope::logged_in(&data),
        (Some(format), answer) => envelope::reply(format, answer, passed_on),
        (None, Err(failure)) => Reply::bare(failure.status, &failure.message),
        (None, Ok(_)) => Reply::bare(200, "OK"),
    };
    reply.passed_on = passed_on;
    reply.cut = blows.iter().find_map(|blow| match blow {
        Blow::Reset => Some(Cut::Unanswered),
        Blow::CutBody => Some(Cut::InBody),
        _ => None,
    });
    reply
}

/// A refusal of the server itself, outside the formatters.
fn refuse(shared: &Shared, trace: Trace, reply: Reply) -> Reply {
    record(shared, trace, reply.status, Some(reply.reason.clone()), Level::Pipeline);
    reply
}

fn record(shared: &Shared, trace: Trace, status: u16, message: Option<String>, level: Level) {
    let Trace { verb, path, format, template, params, authid, .. } = trace;
    let mut state = shared.lock();
    let at_ms = state.clock.now_ms();
    state.journal.push(Entry { at_ms, verb, path, format, template, params, authid, status, message, level });
}

fn strike(shared: &Shared, trace: &Trace, point: Point) -> Vec<Blow> {
    shared.lock().strike(At { point, verb: &trace.verb, path: &trace.path, node: None })
}

/// `None` is nobody, on the few calls that are open to all. For uploads the storage's permission is asked here already,
/// before the file is taken, and no CSRF token.
fn identify(shared: &Shared, verb: Verb, path: &str, request: &Request) -> Result<Option<Identity>, Failure> {
    if OPEN.contains(&(verb, path)) {
        return Ok(None);
    }
    let upload = reading::upload_target(verb, path);
    let needs_csrf = verb != Verb::Get && upload.is_none();
    let mut guard = shared.lock();
    let state = &mut *guard;
    let at = At { point: Point::Login, verb: verb.word(), path, node: None };
    if let Some(failure) = struck(state.strike(at)) {
        return Err(failure);
    }
    let (access, now) = (&state.world.access, state.clock.now());
    let identity = auth::authenticate(&shared.keys, access, &request.headers, needs_csrf, now)
        .map_err(|reason| Failure::transport(401, reason))?;
    if let Some(storage) = upload {
        let path = format!("/storage/{storage}");
        if let Some(privilege) = access::lacks(&access.config, &identity.authid, &path, &["Datastore.AllocateTemplate"])
        {
            return Err(Failure { transport: true, ..Failure::denied(&format!("{path}, {privilege}")) });
        }
    }
    Ok(Some(identity))
}

/// The node that a method is handed to, when the catalogue says so.
fn target_node(method: &Method, params: &Map<String, Value>) -> Option<String> {
    params.get(method.proxyto?).and_then(crate::behaviour::params::scalar)
}

/// Whether the node is known and answers.
fn reach(world: &World, node: Option<&str>) -> Result<(), Failure> {
    let Some(node) = node.filter(|node| *node != "localhost") else { return Ok(()) };
    match world.nodes.get(node) {
        Some(found) if found.online => Ok(()),
        None if node == world.entry => Ok(()),
        Some(_) => Err(Failure::transport(595, "No route to host")),
        None => Err(Failure::die(format!(
            "hostname lookup '{node}' failed - failed to get address info for: {node}: Name or service not known"
        ))),
    }
}
